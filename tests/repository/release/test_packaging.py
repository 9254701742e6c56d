"""The mapped folders: listed, linked, and in the wheel as they are in the tree; what is released is tried."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import tomli

from kafkactl._version import __version__
from kafkactl.commands.framework.lazy_group import LazyGroup
from kafkactl.core.answer_kinds import answer_kinds
from kafkactl.core.explanations import explanations
from scripts import make_man, make_reference, try_dist
from tests.repository.tree import ROOT, product_files, shown

MAPPED = {"commands": "kafkactl/commands", "schemas": "kafkactl/schemas"}


def _project() -> dict:
    return tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _installed_path(path: Path) -> str:
    top, _, rest = shown(path).partition("/")
    return f"{MAPPED.get(top, top)}/{rest}"


def test_list_of_packages_equals_the_tree():
    folders = {Path(_installed_path(path)).parent for path in product_files() if path.name == "__init__.py"}
    assert set(_project()["tool"]["setuptools"]["packages"]) == {".".join(folder.parts) for folder in folders}


def test_every_folder_of_python_files_is_a_package():
    assert [shown(path) for path in product_files() if not (path.parent / "__init__.py").exists()] == []


@pytest.mark.parametrize("name", MAPPED)
def test_both_links_stand(name):
    link = ROOT / MAPPED[name]
    assert link.is_symlink(), f"{link} is no link: this checkout has lost its links (core.symlinks=false?)"
    assert link.readlink() == Path("..") / name


def test_every_data_file_is_declared():
    declared = _project()["tool"]["setuptools"]["package-data"]
    for path in (ROOT / "schemas").rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            package = ".".join(("kafkactl", *path.parent.relative_to(ROOT).parts))
            assert any(path.match(pattern) for pattern in declared.get(package, [])), shown(path)


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """Return what `make dist` makes: a source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _python("-m", "build", "--outdir", str(folder), str(ROOT))
    return folder


def _python(*words: str) -> None:
    run = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]


@pytest.mark.slow
def test_wheel_holds_every_file_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        license_text = [name for name in archive.namelist() if name.endswith("LICENSE")]
    code = {_installed_path(path) for path in product_files()}
    data = {
        _installed_path(path)
        for path in (ROOT / "schemas").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    place = f"kafkactl-{__version__}.data/data/share/man/man1"
    manual = {f"{place}/{path.name}" for path in make_man.FOLDER.iterdir()}
    assert names == code | data | manual | {"kafkactl/py.typed"}
    assert license_text


@pytest.mark.slow
def test_release_is_valid_and_works_in_a_fresh_environment(dist, tmp_path):
    from scripts import make_sbom  # which takes long to load

    _python("-m", "twine", "check", "--strict", *map(str, dist.iterdir()))
    (wheel,) = dist.glob("*.whl")
    tried = list(try_dist.try_wheel(wheel, tmp_path, installed_dependencies=True))
    counts = json.loads(tried[-1].partition(": ")[2])
    assert counts == {"ids": len(explanations()), "kinds": len(answer_kinds())}
    assert json.loads(make_sbom.bill(wheel))["metadata"]["component"]["version"] == __version__


def test_command_of_every_group_is_tried():
    groups = {
        ctx.command_path.split()[1]
        for ctx, command in make_reference.every_command()
        if isinstance(command, LazyGroup) and ctx.parent is not None
    }
    assert groups | {"demo"} == {words.split()[0] for words, _, _ in try_dist.TRIED if not words.startswith("--")}


def test_tree_runs_uninstalled():
    script = (
        "import kafkactl.commands.main as main, kafkactl.core.data_files as data_files;"
        "print(main.__file__); data_files.read_data('explain/common.toml')"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert Path(run.stdout.strip()) in (ROOT / "kafkactl/commands/main.py", ROOT / "commands/main.py")
