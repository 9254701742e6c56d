"""The import contracts in setup.cfg: they hold, they name every package, and the packages declared pure are pure."""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tree import (
    EDGES,
    PURE_PACKAGES,
    ROOT,
    nodes,
    parsed,
    product_files,
    pure_files,
    python_files,
    shown,
)

TOUCHES_THE_WORLD = {"open", "input", "print", "exit", "breakpoint"}
READS_THE_CLOCK = {("datetime", "now"), ("datetime", "utcnow"), ("date", "today")}
TOUCHES_DISKS = {"read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "iterdir", "rename"}
# Reads the data that belongs to the package; what it reads is as fixed as the code.
READS_PACKAGE_DATA = "kafkactl/core/package_data.py"


def _plan() -> configparser.ConfigParser:
    plan = configparser.ConfigParser()
    plan.read(ROOT / "setup.cfg", encoding="utf-8")
    return plan


@pytest.mark.slow  # `make check` runs lint-imports
def test_no_import_breaks_the_plan():
    tool = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [str(tool), "--config", "setup.cfg", "--no-logo", "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_contracts_name_every_package():
    plan = _plan()
    layers = plan["importlinter:contract:layers"]["layers"].replace("|", " ").split()
    pure = {f"kafkactl.{package}" for package in PURE_PACKAGES}
    edges = {f"kafkactl.{package}" for package in EDGES}
    assert set(layers) == pure | edges | {"kafkactl.commands", "kafkactl._version"}
    assert set(plan["importlinter:contract:pure"]["source_modules"].split()) == pure
    assert set(plan["importlinter:contract:no-click"]["source_modules"].split()) == pure | edges
    assert set(plan["importlinter:contract:commands"]["forbidden_modules"].split()) == (
        (pure | edges) - {"kafkactl.core", "kafkactl.report"}
    )


def test_pure_packages_open_no_file_and_read_no_clock():
    found = [
        f"{shown(path)}:{node.lineno} {ast.unparse(node.func)}"
        for path in pure_files()
        if shown(path) != READS_PACKAGE_DATA
        for node in nodes(path, ast.Call)
        if _touches_the_world(node.func)
    ]
    assert not found


def _touches_the_world(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in TOUCHES_THE_WORLD
    if isinstance(function, ast.Attribute):
        owner = function.value.attr if isinstance(function.value, ast.Attribute) else getattr(function.value, "id", "")
        return (owner, function.attr) in READS_THE_CLOCK or function.attr in TOUCHES_DISKS
    return False


def test_chance_has_a_seed():
    # The one module that may import `random` takes generators of its own from it, each with a seed.
    tree = parsed(ROOT / "kafkactl/simulator/chance.py")
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "random"]
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "random.Random"]
    assert len(used) == len(made) > 0
    assert all(len(call.args) == 1 for call in made)


def test_library_never_prints_or_exits():
    found = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files("kafkactl")
        # word_cache.py ends a child process of its own, and nothing else.
        if path.name not in ("__main__.py", "word_cache.py")
        for node in nodes(path, ast.Call)
        if _called(node.func) in ("print", "sys.exit", "exit", "os._exit")
    ]
    assert not found


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
    return ""


def test_imports_are_absolute_and_by_the_installed_name():
    found = [
        f"{shown(path)}:{node.lineno}"
        for path in product_files()
        for node in nodes(path, ast.ImportFrom, ast.Import)
        if (isinstance(node, ast.ImportFrom) and (node.level or _is_bare(node.module or "")))
        or (isinstance(node, ast.Import) and any(_is_bare(alias.name) for alias in node.names))
    ]
    assert not found


def _is_bare(module: str) -> bool:
    return module.partition(".")[0] in ("commands", "schemas", "tests")
