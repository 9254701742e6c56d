"""Docstrings of functions begin with a verb in the imperative, those of classes and modules with a noun phrase."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.repository.tree import nodes, python_files, shown, text_of

NO_VERB = re.compile(
    r"(A|After|All|An|Another|Any|Anything|As|At|Back|Before|Between|Both|By|Each|Either|Every|Everybody|Everything"
    r"|Exactly|False|First|For|From|Have|How|In|Into|It|Its|Let|Many|May|More|Nearly|Neither|Never|New|No|None|Not"
    r"|Nothing|Of|On|Once|One|Only|Other|Our|Over|Same|Say|Several|Since|So|Some|Something|Tell|That|The|Their"
    r"|There|These|They|This|Those|Three|Through|To|True|Two|Until|Up|What|When|Where|Whether|Which|While|Who|Whom"
    r"|Whose|Why|Will|With|Without)\b"
)
NO_NOUN = re.compile(
    r"(All|Are|As|By|Do|Does|Each|Every|Everything|For|From|How|If|In|Is|It|Its|No|Not|Nothing|Of|On|One|Only|That"
    r"|The same|These|They|This|Those|To|What|When|Where|Whether|Which|Who|Whom|Whose|Why|With"
    # Verbs that are not nouns as well.
    r"|Asks|Carries|Carrying|Changing|Collects|Decodes|Drive|Fetches|Finds|Follows|Gather|Gives|Keeps"
    r"|Listens|Make|Makes|Observes|Predict|Puts|Read|Reads|Recover|Replaces|See|Shows|Takes|Undo)\b"
)
# A verb in the imperative begins with a capital letter and has no `s` at its end: "Nodes that …" has no verb there.
# Neither has it a second capital letter or a digit: `C-14`, `YAML`, `EndTransactionRecord`.
NO_VERB_FORM = re.compile(r"[^A-Z]|[A-Za-z]+[^\Ws]s\b|\w+'s\b|\w+:|[A-Z][\w#-]*[A-Z0-9]")


def without_verb(path: Path) -> list[str]:
    """Return the places of functions in one file whose docstring begins with another word than a verb."""
    return [
        f"{shown(path)}:{node.lineno}"
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if NO_VERB.match(ast.get_docstring(node) or "")
    ]


def with_a_noun(path: Path) -> list[str]:
    """Return the places of functions in one file whose docstring begins with the form of a noun, or with code."""
    return [
        f"{shown(path)}:{node.lineno}"
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if NO_VERB_FORM.match(ast.get_docstring(node) or "")
    ]


def without_noun(path: Path) -> list[str]:
    """Return the places of classes in one file, and of its module, whose docstring begins with a clause."""
    return [
        f"{shown(path)}:{getattr(node, 'lineno', 1)}"
        for node in nodes(path, ast.Module, ast.ClassDef)
        if NO_NOUN.match(ast.get_docstring(node) or "")
    ]


def _all(found_in: Callable[[Path], list[str]]) -> list[str]:
    """Return the places in all files of the product, its tests and its tools."""
    files = python_files("kafkactl", "commands", "schemas", "tests", "bench", "scripts")
    return [place for path in files for place in found_in(path)]


def test_functions_begin_with_a_verb():
    assert not _all(without_verb), "begin with a verb: Return, Read, Report, Check, Yield …"


def test_functions_do_not_begin_with_a_noun():
    assert not _all(with_a_noun), "begin with a verb: `Report nodes that …`, `Return `broker 4`.`"


def test_tests_have_no_docstring():
    found = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files("tests")
        for node in nodes(path, ast.FunctionDef)
        if node.name.startswith("test_") and ast.get_docstring(node)
    ]
    assert not found, "a test's name has subject, condition and result; write the reason as a comment"


def test_classes_and_modules_begin_with_a_noun():
    assert not _all(without_noun), "begin with a noun phrase: Result of …, Plan of …"


@pytest.mark.parametrize(
    ("docstring", "is_found"),
    [("Whether it leads.", True), ("The leader.", True), ("Return the leader.", False), ("Theme the page.", False)],
)
def test_docstring_without_a_verb_is_found(tmp_path, monkeypatch, docstring, is_found):
    monkeypatch.setattr("tests.repository.language.test_docstrings.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text(f'def leader():\n    """{docstring}"""\n\n\nclass Leader:\n    """The leader."""\n')
    assert without_verb(path) == (["example.py:1"] if is_found else [])


@pytest.mark.parametrize(
    ("docstring", "is_found"),
    [
        ("Nodes that lead.", True),
        ("`broker 4`.", True),
        ("Kafka's name.", True),
        ("C-14. It leads.", True),
        ("YAML.", True),
        ("Pass the name.", False),
    ],
)
def test_docstring_with_a_noun_is_found(tmp_path, monkeypatch, docstring, is_found):
    monkeypatch.setattr("tests.repository.language.test_docstrings.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text(f'def leader():\n    """{docstring}"""\n')
    assert with_a_noun(path) == (["example.py:1"] if is_found else [])


@pytest.mark.parametrize(
    ("docstring", "is_found"), [("What leads.", True), ("The same leader.", True), ("The leader.", False)]
)
@pytest.mark.parametrize("text", ['class Leader:\n    """{}"""\n', '"""{}"""\n'], ids=["class", "module"])
def test_docstring_of_a_class_or_module_without_a_noun_is_found(tmp_path, monkeypatch, text, docstring, is_found):
    monkeypatch.setattr("tests.repository.language.test_docstrings.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text(text.format(docstring))
    assert without_noun(path) == (["example.py:1"] if is_found else [])


def test_docstring_does_not_end_with_a_line_twice():
    found = []
    for path in python_files("kafkactl", "commands", "tests", "bench", "scripts"):
        lines = [line.strip() for line in text_of(path).splitlines()]
        for number, (before, line) in enumerate(pairwise(lines), start=2):
            last = line.removesuffix('"""')
            if last != line and len(last.split()) > 1 and before.endswith(last):
                found.append(f"{shown(path)}:{number}")
    assert not found, "the last line repeats the end of the line before"
