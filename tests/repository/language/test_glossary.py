"""Plain words: texts use the glossary's terms, and messages and docstrings can be read on their own."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafkactl.core.explanations import explanations
from tests.repository.language.glossary import PRONOUN, banned_in_names, banned_words
from tests.repository.tree import ROOT, nodes, product_files, python_files, shown, text_of

GUIDES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FOR_CONTRIBUTORS = [ROOT / "CONTRIBUTING.md", *(path for folder in ("decisions", "contributing")
                    for path in sorted((ROOT / "docs" / folder).glob("*.md")))]  # fmt: skip
CODE = re.compile(r"`[^`\n]+`")
HELP = ROOT / "docs" / "reference" / "commands.md"
UNINSTALLED = ("tests", "bench", "scripts")


COMMENT = re.compile(r"(?:^\s*|  )# (.*)")

MESSAGES_OF = ("blocker", "warning", "note", "remark", "Finding", "Unknown")
WORD = re.compile(r"[A-Za-z]{2,}")
WORDS_OF_A_MESSAGE = 3
CITED = re.compile(
    r"\b[\w-]+\.md\b|\b[\w-]+-measured\b|\b[Mm]easured(?: page)?, \d|\bmeasured page\b|\blist of pre-flight checks\b"
)


class Texts(NamedTuple):
    """Texts of a file, by place: texts of its code, the messages of its findings, its docstrings."""

    messages: list[tuple[str, str]]
    subjects: list[tuple[str, str]]
    docstrings: list[tuple[str, str]]


@functools.cache
def _texts() -> Texts:
    """Return the texts of all files: f-strings in one piece with `{}` for each value."""
    found = Texts([], [], [])
    for path in product_files():
        alone = [node.value for node in nodes(path, ast.Expr) if isinstance(node.value, ast.Constant)]
        docstrings = [(node.lineno, node.value) for node in alone if isinstance(node.value, str)]
        found.docstrings.extend((f"{shown(path)}:{line}", text) for line, text in docstrings)
        values = [value for call in nodes(path, ast.Call) for value in _subjects(call)]
        found.subjects.extend((f"{shown(path)}:{value.lineno}", _text(value)) for value in values)
        joined = nodes(path, ast.JoinedStr)
        parts = {id(part) for node in joined for part in node.values} | set(map(id, alone))
        for node in (*joined, *(node for node in nodes(path, ast.Constant) if id(node) not in parts)):
            text = _text(node)
            if len(WORD.findall(text)) >= WORDS_OF_A_MESSAGE:
                found.messages.append((f"{shown(path)}:{node.lineno}", text))
    return found


def _text(node: ast.AST) -> str:
    """Return a literal; empty for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _subjects(call: ast.Call) -> list[ast.expr]:
    """Return the message of a finding: the third argument, or `message`; and the only one of an Unknown."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name not in MESSAGES_OF:
        return []
    place = 0 if name == "Unknown" else 2
    values = [keyword.value for keyword in call.keywords if keyword.arg == "message"] + call.args[place : place + 1]
    return [
        arm for value in values for arm in ((value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,))
    ]


def test_explanations_use_plain_words():
    found = {
        (entry.id, phrase): use
        for entry in explanations().values()
        for text in (entry.cause, entry.consequence, entry.remedy)
        for phrase, use in banned_words(text)
    }
    assert not found


@pytest.mark.parametrize("path", [*GUIDES, HELP], ids=lambda path: path.name)
def test_guides_and_help_use_plain_words(path):
    assert list(banned_words(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", FOR_CONTRIBUTORS, ids=lambda path: path.name)
def test_pages_for_contributors_use_plain_words_but_for_names_of_code(path):
    assert list(banned_words(CODE.sub("", path.read_text(encoding="utf-8")))) == []


def test_messages_use_plain_words():
    texts = [(place, text) for place, text in _texts().messages if text not in explanations()]  # an id is not a message
    found = {place: (phrase, use) for place, text in texts for phrase, use in banned_words(text)}
    assert not found


def test_messages_name_their_subject():
    assert not {place: text for place, text in _texts().subjects if PRONOUN.match(text)}


def test_docstrings_use_plain_words():
    found = {
        place: (phrase, use)
        for place, text in _texts().docstrings
        for phrase, use in banned_words(" ".join(CODE.sub("", text).split()))
    }
    assert not found


def test_comments_use_plain_words():
    assert not _banned_in_comments(product_files())


def _banned_in_comments(files: list[Path]) -> dict[str, tuple[str, str]]:
    return {
        f"{shown(path)}:{number}": (phrase, use)
        for path in files
        for number, line in enumerate(text_of(path).splitlines(), 1)
        for comment in COMMENT.findall(line)
        for phrase, use in banned_words(CODE.sub("", comment))
    }


def test_names_and_docstrings_of_tests_and_tools_use_plain_words():
    found = {
        f"{shown(path)}:{getattr(node, 'lineno', 1)}": (phrase, use)
        for path in python_files(*UNINSTALLED)
        for node in nodes(path, ast.Module, ast.ClassDef, ast.FunctionDef)
        for phrase, use in banned_words(_name_of_a_test(node) + CODE.sub("", " ".join(_docstring(node).split())))
    }
    assert not found


def test_names_in_tests_and_tools_use_plain_words():
    found = {
        f"{shown(path)}:{line}: {name}": (phrase, use)
        for path in python_files(*UNINSTALLED)
        for line, name in names_given_in(path)
        for phrase, use in banned_words(in_words(name))
    }
    assert not found


def test_names_in_the_library_use_plain_words():
    found = {
        f"{shown(path)}:{line}: {name}": (phrase, use)
        for path in product_files()
        for line, name in names_given_in(path)
        for phrase, use in (*banned_words(in_words(name)), *banned_in_names(in_words(name)))
    }
    assert not found


def names_given_in(path: Path) -> Iterator[tuple[int, str]]:
    """Yield what one file calls its functions, classes, parameters and variables, by line."""
    for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.arg, ast.Name, ast.Attribute):
        if isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Store):
            continue
        named = (
            "id" if isinstance(node, ast.Name) else next(key for key in ("name", "arg", "attr") if hasattr(node, key))
        )
        yield node.lineno, getattr(node, named)


def in_words(name: str) -> str:
    """Return `_theWayBack` and `the_way_back` as three words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")


def test_name_of_the_old_idiom_is_found(tmp_path):
    path = tmp_path / "example.py"
    path.write_text("def play(told):\n    self.wayBack = told\n    print(told.anew)\nclass Nobody: ...\n")
    found = [name for _, name in names_given_in(path) if list(banned_words(in_words(name)))]
    assert sorted(found) == ["Nobody", "play", "told", "wayBack"]
    assert [word for word, _ in banned_in_names("first sight of a situation")] == ["sight", "situation"]


def test_comments_of_tests_and_tools_use_plain_words():
    assert not _banned_in_comments(python_files(*UNINSTALLED))


def _name_of_a_test(node: ast.AST) -> str:
    name: str = getattr(node, "name", "")
    return f"{name.replace('_', ' ')}. " if name.startswith("test_") else ""


def _docstring(node: ast.AST) -> str:
    body = getattr(node, "body", None)
    return _text(body[0].value) if body and isinstance(body[0], ast.Expr) else ""


def test_docstrings_cite_pages_of_this_repository():
    pages = {path.name for path in (ROOT / "docs").rglob("*.md")} | {path.name for path in ROOT.glob("*.md")}
    found = {
        place: cited[0]
        for place, text in _texts().docstrings
        for cited in CITED.finditer(text)
        if cited[0] not in pages
    }
    assert not found


def test_patterns_catch_the_old_idiom():
    for text in (
        "the way back",
        "nobody leads",
        "it is no list",
        "stands still",
        "told twice",
        "held it against KRaft",
    ):
        assert list(banned_words(text)), text
    for text in ("there is no leader", "is no longer a voter", "3 records behind the log", "counts of records"):
        assert not list(banned_words(text)), text
    assert PRONOUN.match("it does not answer") and not PRONOUN.match("this node does not answer")
