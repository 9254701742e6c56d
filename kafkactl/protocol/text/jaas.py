"""The login line of a client: `sasl.jaas.config`, as Kafka's `JaasConfig` reads it.

Grammar: `LoginModuleClass flag option="value" option=value … ;`. The line is cut into words as Java's StreamTokenizer
does there: a bare word begins with a letter, `_` or `$` and continues with those, digits, `.` and `-`, so a number or
anything with other characters needs quotation marks; in these a backslash escapes. Values may be secrets, so no error
and no repr shows one. Sources: clients `JaasConfig`, `JaasContext` (a client has exactly one entry); KIP-85.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen

_FLAGS = ("required", "requisite", "sufficient", "optional")
_SPACES = re.compile(r"(?:[\x00-\x20]|//[^\r\n]*|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_QUOTED = re.compile(r"(\"|')((?:\\.|(?!\1)[^\\\r\n])*)\1", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$\u00a0-\uffff][A-Za-z0-9._$\u00a0-\uffff-]*")
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "b": "\b", "r": "\r", "f": "\f", "a": "\x07", "v": "\x0b"}


@frozen
class JaasEntry:
    """A login module. `options` may hold secrets and stay out of its repr."""

    login_module: str
    flag: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def short_name(self) -> str:
        """Return the class without its package: `ScramLoginModule`."""
        return self.login_module.rpartition(".")[2]

    @property
    def shown_module(self) -> str:
        """Return the class for a message if it is named like a login module: it may be a misplaced secret."""
        return self.short_name if re.fullmatch(r"\w{1,40}LoginModule", self.short_name) else "another one"


def parse_jaas(text: str) -> JaasEntry:
    """Read a client's login line.

    Raises InputError `invalid-jaas-line` (the text states at which option, never what its value is).
    """
    words = list(_words(text))
    reader = _Words(words)
    login_module = reader.take("the class of a login module")
    flag = reader.take("required, requisite, sufficient or optional")
    if flag.lower() not in _FLAGS:
        raise _invalid("behind the login module stands no control flag", f"one of {', '.join(_FLAGS)}")
    options: dict[str, str] = {}
    while not reader.at_end_of_entry():
        name = reader.take("the name of an option, or ;")
        reader.expect("=", f"behind the option {_shown(name)}")
        value = reader.take(f"a value for the option {_shown(name)}")
        options[name] = value
    if reader.left:
        raise _invalid("more follows behind the ;", "one login module: a client has a single one")
    return JaasEntry(login_module=login_module, flag=flag.lower(), options=options)


@frozen(kw_only=False)
class _Word:
    text: str
    is_sign: bool


class _Words:
    def __init__(self, words: list[_Word]) -> None:
        self._words = words
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._words) - self._at

    def take(self, expected: str) -> str:
        """Return the next word or text; signs and the end are refused."""
        if not self.left or self._words[self._at].is_sign:
            found = self._words[self._at].text if self.left else "the end of the line"
            raise _invalid(f"found {found}", expected)
        self._at += 1
        return self._words[self._at - 1].text

    def expect(self, sign: str, where: str) -> None:
        """Step over a sign that must stand here."""
        if not self.left or self._words[self._at] != _Word(sign, True):
            raise _invalid(f"{where} stands no {sign}", sign)
        self._at += 1

    def at_end_of_entry(self) -> bool:
        """Step over a `;`, if here is one. The end without one is refused: Java requires it."""
        if not self.left:
            raise _invalid("the line does not end with ;", "; behind the last option")
        if self._words[self._at] == _Word(";", True):
            self._at += 1
            return True
        return False


def _words(text: str) -> Iterator[_Word]:
    at = 0
    while at < len(text):
        if match := _SPACES.match(text, at):
            pass
        elif match := _QUOTED.match(text, at):
            yield _Word(_ESCAPE.sub(_unescaped, match[2]), False)
        elif match := _WORD.match(text, at):
            yield _Word(match[0], False)
        elif text[at] in "=;":
            yield _Word(text[at], True)
            at += 1
            continue
        elif text[at] in "\"'":
            raise _invalid("a quotation mark has no partner on its line", 'a value like "secret", or \\" for the mark')
        else:
            raise _invalid("a value, or another part, that is not a plain word", "quotation marks around every value")
        at = match.end()


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)


def _shown(name: str) -> str:
    """Return an option's name for a message; hide an unusual one, which may be a misplaced secret."""
    return (
        name
        if re.fullmatch(r"(?i)(user(name|_\w{1,30})?|password|token\w{0,20}|\w{0,20}id|scope|\w{1,20}secret)", name)
        else "…"
    )


def _invalid(found: str, expected: str) -> InputError:
    return InputError(f"sasl.jaas.config: {found}; expected {expected}", id="invalid-jaas-line")
