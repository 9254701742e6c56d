"""The public API: what it names is there, is documented and typed, and is loaded when it is asked for."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import kafkactl
from kafkactl.commands.framework.leaf import LeafCommand
from kafkactl.dryrun.api import answer_question
from kafkactl.simulator.api.simulation import simulate
from scripts import make_api, make_reference
from tests.repository.tree import ROOT, nodes, parsed

GROUPS = ("bundle", "features", "log", "migrate", "nodes", "quorum", "roll", "status", "storage")
OWN_GETATTR = ("bundle", "features", "quorum", "roll", "status", "storage", "tiered")
# Their `api` has no table of names that are imported on demand, or has more names for the commands.
WITHOUT_TABLE = ("dryrun", "simulate", "tiered")


# Packages that commands may import whole; of any other package they import `api` and `page`.
FOR_COMMANDS = ("_version", "commands", "core", "report")
LEAVES = [
    (ctx.command_path, command) for ctx, command in make_reference.every_command() if isinstance(command, LeafCommand)
]
# The framework of commands may import these, too: setup.cfg has the reasons.
FOR_FRAMEWORK = {"kafkactl.files.input_files", "kafkactl.protocol.redact"}
WITH_FAKE_NODES = "kafkactl demo"  # they speak Kafka's protocol
WITHOUT_THE_LIBRARY = ("kafkactl completion", "kafkactl schema")
# Commands about kafkactl itself: its contexts, its catalogue, its demonstration.
WITHOUT_API = (*WITHOUT_THE_LIBRARY, "kafkactl config ", "kafkactl demo", "kafkactl explain")


def _operations(group: str):
    return importlib.import_module(make_api.HOMES[group])


def _home(group: str) -> Path:
    """Return the folder of a group's `api`."""
    home = ROOT.joinpath(*make_api.HOMES[group].split("."))
    return home if home.is_dir() else home.parent


def test_page_and_these_tests_have_every_group():
    assert set(make_api.GROUPS) == {*GROUPS, *WITHOUT_TABLE}
    assert set(kafkactl.__all__) - {"__version__"} == {*make_api.GROUPS, *make_api._TOP}


@pytest.mark.parametrize("group", [*GROUPS, *WITHOUT_TABLE])
def test_every_name_is_there_and_documented(group):
    given = getattr(kafkactl, group)
    names = _operations(group).__all__
    if group == "dryrun":
        names = [name for name in names if hasattr(given, name)]
        assert "predict" in names
    for name in names:
        found = getattr(given, name)
        assert inspect.getdoc(found), name
        if inspect.isfunction(found):
            hints = inspect.get_annotations(found)
            assert set(hints) == {*inspect.signature(found).parameters, "return"}, name


@pytest.mark.parametrize("group", GROUPS)
def test_type_checkers_see_the_same_names(group):
    # What type checkers read, under TYPE_CHECKING, and what Python finds at run time are the same list.
    tree = parsed(_home(group) / "__init__.py")
    declared = {
        alias.name: node.module
        for test in tree.body
        if isinstance(test, ast.If)
        for node in test.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    module = _operations(group)
    assert sorted(declared) == sorted(module.__all__)
    assert {name: getattr(module, name) for name in declared} == {
        name: getattr(importlib.import_module(home), name) for name, home in declared.items()
    }


@pytest.mark.parametrize("group", [*GROUPS, "tiered"])
def test_no_operation_has_the_name_of_a_private_module(group):
    # Else whichever was imported first would be found.
    folders = [_home(group), *([ROOT / "kafkactl" / group] if group in OWN_GETATTR else [])]
    modules = {path.stem for folder in folders for path in folder.iterdir()}
    assert not modules & set(_operations(group).__all__)


def test_top_level_names_are_there():
    assert {name: getattr(kafkactl, name) for name in kafkactl.__all__}
    with pytest.raises(AttributeError, match=r"module 'kafkactl' has no attribute 'missing'"):
        kafkactl.missing  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'kafkactl.storage' has no attribute 'missing'"):
        kafkactl.storage.missing  # noqa: B018


def test_importing_kafkactl_loads_nothing():
    script = "import sys; before = set(sys.modules); import kafkactl; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("kafkactl")}
    assert loaded == {"kafkactl", "kafkactl._version", "kafkactl.core", "kafkactl.core.lazy"}


@pytest.mark.parametrize(("name", "command"), LEAVES)
def test_verb_calls_operations_and_nothing_else_of_the_library(name, command):
    found = _imported_by(command.callback.__module__)
    asks = {module for module in found if module.split(".")[2:3] == ["api"]}
    shows = {module for module in found if module.split(".")[2:3] == ["page"]}
    if command.callback.__module__.startswith("kafkactl.commands.framework."):
        found -= FOR_FRAMEWORK
    others = {module for module in found - asks - shows if module.split(".")[1] not in FOR_COMMANDS}
    assert not others or name == WITH_FAKE_NODES
    assert bool(asks) is (name not in WITHOUT_THE_LIBRARY)


@pytest.mark.parametrize(("name", "command"), LEAVES)
def test_verb_calls_a_function_of_the_public_api(name, command):
    # Else a program cannot do what the command does: its function is private, or the verb has none.
    #
    # `dryrun.predict` and `report` are `answer_question`, but for reading the log, and `simulate.script` and `profile`
    # are `simulate`, but for making the input of words.
    module = command.callback.__module__
    group = f"{module.rpartition('.')[0]}."
    shared = {each for each in _imported_by(module) if group != "kafkactl.commands." and each.startswith(group)}
    called = {id(found) for each in (module, *shared) for found in _operations_of(each)}
    public = {id(found) for group in make_api.GROUPS for found in _public_functions(group)} | {
        id(answer_question),
        id(simulate),
    }
    assert bool(called & public) is not name.startswith(WITHOUT_API), (
        f"{name}: add its use case to the names of `kafkactl/CAPABILITY/api/__init__.py`"
    )


def _public_functions(group: str) -> list[object]:
    given, operations = getattr(kafkactl, group), _operations(group)
    public = [getattr(operations, name) for name in operations.__all__ if hasattr(given, name)]
    return [found for found in public if inspect.isfunction(found) or found is kafkactl.quorum.QuorumWatch]


def _operations_of(module: str) -> list[object]:
    """Return what a module of commands takes of operations by name, if that is not a module."""
    path = ROOT / f"{module.removeprefix('kafkactl.').replace('.', '/')}.py"
    imports = nodes(path, ast.ImportFrom) if path.is_file() else []
    return [
        getattr(importlib.import_module(node.module), alias.name, None)
        for node in imports
        if (node.module or "").split(".")[2:3] == ["api"]
        for alias in node.names
    ]


def _imported_by(module: str) -> set[str]:
    """Return the modules of kafkactl that a command imports when it runs, those that its group shares included."""
    group = module.rpartition(".")[0]
    found, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        shared = group != "kafkactl.commands" and name.startswith(f"{group}.")
        if name not in found and (shared or name == module):
            waiting += _runtime_imports(name)
        found.add(name)
    return found


def _runtime_imports(module: str) -> list[str]:
    path = ROOT / f"{module.removeprefix('kafkactl.').replace('.', '/')}.py"
    if not path.is_file():  # a package: the table of its verbs
        return []
    for_types = {
        id(node) for test in nodes(path, ast.If) if ast.unparse(test.test) == "TYPE_CHECKING" for node in ast.walk(test)
    }
    return [
        node.module
        for node in nodes(path, ast.ImportFrom)
        if id(node) not in for_types and (node.module or "").startswith("kafkactl.")
    ]
