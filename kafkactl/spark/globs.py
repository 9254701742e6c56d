r"""Hadoop's globs: `*`, `?`, `[a-z]`, `[^a]` and `{a,b}`; a backslash takes the meaning from the character after it.

A path that exists under its exact name is that path, whatever its characters; any other path is a glob.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from glob import escape
from posixpath import normpath
from typing import Final
from urllib.parse import urlsplit

_SPECIAL: Final = re.compile(r"[\\\[\]{}*?,]")
_PART: Final = re.compile(r"\\(.)|(\[[^\[\]]+\])|([*?{},])|(.)", re.DOTALL)
_SCHEME: Final = "(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://[^/]*)?"
_REGEX: Final = {"*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


def escaped(path: str) -> str:
    """Return a path as a glob that matches this path alone.

    >>> print(escaped("/logs/a[1],b"))
    /logs/a\\[1\\]\\,b
    """
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", path)


def is_glob(path: str) -> bool:
    """Return True if a path has a character that Hadoop expands."""
    return bool(_SPECIAL.search(path.replace(",", "")))


def _parts(glob: str) -> Iterator[tuple[str, str | None, int]]:
    """Return each part of a glob as it is written, its literal character (None for a special part), and the
    number of braces around the part."""
    depth = 0
    for found in _PART.finditer(glob):
        text = found[0]
        depth -= text == "}" and depth > 0
        literal = found[1] or found[4] or ("," if text == "," and not depth else None)
        yield text, literal, depth
        depth += text == "{"


def alternative(glob: str) -> str:
    """Return a glob that can stand between the commas of braces.

    >>> print(alternative("a,b-{c,d}"))
    a\\,b-{c,d}
    """
    return "".join(escaped(literal) if literal == "," else text for text, literal, _ in _parts(glob))


def path_alternative(glob: str) -> str:
    """Return a glob that can stand between the commas of braces that contain a slash: Hadoop expands such braces before
    everything else, and drops the backslashes in them.

    >>> print(path_alternative("logs/a,b"))
    logs/a\\\\\\,b
    """
    return "".join(escaped(text) if text.startswith("\\") else text for text, _, _ in _parts(alternative(glob)))


def divided(glob: str) -> tuple[str, str]:
    """Return the part before the name of a glob, with the slash, and the name: the last part outside of braces.

    >>> divided("/logs/{a/b,c}")
    ('/logs/', '{a/b,c}')
    """
    parts = list(_parts(glob))
    last = max((at for at, (text, _, depth) in enumerate(parts) if text == "/" and not depth), default=-1)
    texts = [text for text, _, _ in parts]
    return "".join(texts[: last + 1]), "".join(texts[last + 1 :])


def normal(given: str) -> str:
    """Return a path or glob without the parts `.` and `..`, as Hadoop resolves them.

    >>> normal("s3a://logs/a/../b/."), normal("./a"), normal("../a"), normal("/a//b/")
    ('s3a://logs/b', 'a', '../a', '/a//b/')
    """
    path = _without_scheme(given)
    if not {".", ".."} & set(path.split("/")):
        return given
    return given.removesuffix(path) + normpath(path)


def pattern_of(given: str) -> re.Pattern[str]:
    """Return a regular expression that matches the paths of a Hadoop path or glob, in whatever scheme."""
    path = re.sub(r"/+", "/", _without_scheme(normal(given)))
    path = path if "://" in given or ":/" not in given else f"/{path.lstrip('/')}"
    path = re.sub(r"^(\.\.?(/|$))+", "", path).rstrip("/")  # of a relative path, which is below an unknown folder
    start = "" if path.startswith("/") or not path else ".*/"
    try:
        return re.compile(f"{_SCHEME}{start}(?:{_regex(path)}|{re.escape(path)})(?=/|\\Z)")
    except re.error:  # it is not a glob
        return re.compile(f"{_SCHEME}{start}{re.escape(path)}(?=/|\\Z)")


def _without_scheme(given: str) -> str:
    if "://" in given:
        return given.removeprefix(given.partition("://")[0] + "://" + urlsplit(given).netloc)
    return given.partition(":/")[2] or given


def _regex(glob: str) -> str:
    out = []
    for text, literal, _ in _parts(glob):
        if literal is not None:
            out.append(re.escape(literal))
        elif text.startswith("["):
            out.append(f"[^{text[2:]}" if text[1] in "!^" else text)
        else:
            out.append("|" if text == "," else _REGEX[text])
    return "".join(out)


def python_globs(path: str) -> list[str]:
    """Return a glob as patterns of Python's module `glob`, which knows no braces.

    >>> python_globs("/a{b,[^c]}*")
    ['/ab*', '/a[!c]*']
    """
    return _without_braces(path, lambda text, literal: escape(literal) if literal else text.replace("[^", "[!"))


def without_slashes_in_braces(glob: str) -> list[str]:
    """Return a glob with a slash in its braces as several globs without one there: the folder above a file then follows
    from each of them. Another glob is returned unchanged.

    >>> without_slashes_in_braces("/{a/b,c}/{d,e}"), without_slashes_in_braces("/a/{b,c}")
    (['/a/b/d', '/a/b/e', '/c/d', '/c/e'], ['/a/{b,c}'])
    """
    if not any(text == "/" and depth for text, _, depth in _parts(glob)):
        return [glob]
    return _without_braces(glob, lambda text, _: text) or [glob]


def _without_braces(glob: str, piece: Callable[[str, str | None], str]) -> list[str]:
    """Return the alternatives of a glob, made of a piece for each of its parts; none if a brace is not closed."""
    done, outer = [""], list[tuple[list[str], list[str]]]()
    for text, literal, _ in _parts(glob):
        if text == "{":
            outer.append((done, []))
            done = [""]
        elif outer and text == "," and literal is None:
            outer[-1][1].extend(done)
            done = [""]
        elif outer and text == "}":
            before, others = outer.pop()
            done = [start + end for start in before for end in (*others, *done)]
        else:
            done = [start + piece(text, literal) for start in done]
    return [] if outer else done
