"""Names of variables and tests: a variable is named for its value, a test for its subject."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.repository.language.verbs import VERBS
from tests.repository.tree import nodes, product_files, python_files, shown

BANNED = {"one"}
WITHOUT_SUBJECT = re.compile(r"test_(how|what|whatever|when|where|whether|which|who|whoever|why)_")
# A name that ends with its condition: `test_file_that_cannot_be_read`.
WITHOUT_RESULT = re.compile(
    r"test_(\w+?)_(that|who|which)_(is|are|was|were|cannot|may|does|do)(_not|_never)?(_be)?(_[a-z]+)?$"
)
ARTICLE = re.compile(r"test_(a|an|the)_")


def badly_named(path: Path) -> Iterator[str]:
    """Yield where one file gives a value a name that says nothing of it."""
    for node in nodes(path, ast.Name, ast.arg):
        name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node.ctx, ast.Store) else ""
        if name in BANNED:
            yield f"{shown(path)}:{node.lineno}"


def test_variables_are_named_for_what_they_hold():
    paths = [*product_files(), *python_files("tests", "scripts", "bench")]
    found = [where for path in paths for where in badly_named(path)]
    assert not found, "name the variable for what it holds: finding, voter, path"


def test_bad_name_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.repository.language.test_names.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text("for one in voters:\n    print(one)\nids = [voter.id for voter in voters]\n"
                    "def first(one):\n    return one\nlast = max(voters, key=lambda one: one.id)\n")  # fmt: skip
    assert sorted(badly_named(path)) == ["example.py:1", "example.py:4", "example.py:6"]


def without_subject(path: Path) -> list[str]:
    """Return the places of tests in one file whose name begins with a question."""
    return _named(path, WITHOUT_SUBJECT)


def with_an_article(path: Path) -> list[str]:
    """Return the places of tests in one file whose name begins with an article."""
    return _named(path, ARTICLE)


def _named(path: Path, pattern: re.Pattern[str]) -> list[str]:
    functions = nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
    return [f"{shown(path)}:{node.lineno} {node.name}" for node in functions if pattern.match(node.name)]


def test_tests_are_named_by_their_subject():
    found = [place for path in python_files("tests") for place in without_subject(path)]
    assert not found, "name subject, condition and result: test_unreachable_node_is_reported_as_unknown"


def test_names_of_tests_begin_without_an_article():
    found = [place for path in python_files("tests") for place in with_an_article(path)]
    assert not found, "leave out the article: test_unreachable_node_is_reported_as_unknown"


def test_name_with_an_article_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.repository.language.test_names.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text("def test_the_leader_is_named():\n    pass\n\n\ndef test_andesite():\n    pass\n")
    assert with_an_article(path) == ["example.py:1 test_the_leader_is_named"]


def test_name_without_a_subject_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.repository.language.test_names.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text("def test_what_leads():\n    pass\n\n\ndef test_leader_is_named():\n    pass\n")
    assert without_subject(path) == ["example.py:1 test_what_leads"]


def without_verb(path: Path) -> list[str]:
    """Return the places of tests in one file whose name has no verb."""
    return [
        f"{shown(path)}:{node.lineno} {node.name}"
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if node.name.startswith("test_") and VERBS.isdisjoint(node.name.split("_"))
    ]


def without_result(path: Path) -> list[str]:
    """Return the places of tests in one file whose name has a subject and a condition, and no verb of its own."""
    found = []
    for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef):
        condition = WITHOUT_RESULT.match(node.name)
        if condition is not None and VERBS.isdisjoint(condition[1].split("_")):
            found.append(f"{shown(path)}:{node.lineno} {node.name}")
    return found


def test_names_of_tests_have_a_result():
    found = [place for path in python_files("tests") for place in without_result(path)]
    assert not found, "state the result: test_unreadable_file_is_refused, not test_file_that_cannot_be_read"


def test_name_without_a_result_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.repository.language.test_names.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text(
        "def test_file_that_cannot_be_read():\n    pass\n\n\ndef test_file_that_is_gone_is_named():\n    pass\n"
    )
    assert without_result(path) == ["example.py:1 test_file_that_cannot_be_read"]


def test_names_of_tests_have_a_verb():
    found = [place for path in python_files("tests") for place in without_verb(path)]
    assert not found, "state the result (… is refused, … are reported), or add the verb to language/verbs.py"


def test_name_without_a_verb_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.repository.language.test_names.shown", lambda path: path.name)
    path = tmp_path / "example.py"
    path.write_text("def test_leader_of_a_quorum():\n    pass\n\n\ndef test_leader_is_named():\n    pass\n")
    assert without_verb(path) == ["example.py:1 test_leader_of_a_quorum"]
