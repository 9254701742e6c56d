"""requirements/*.txt cover what pyproject.toml asks for, agree with each other, and hold a hash for everything."""

from __future__ import annotations

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts import make_requirements
from tests.repository.tree import ROOT

PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13")
FILES = sorted((ROOT / "requirements").iterdir())


def pinned(name: str) -> dict[Requirement, int]:
    """Return what a file asks for, and by how many hashes each is known."""
    return {requirement: len(hashes) for requirement, hashes in make_requirements.locked(name).items()}


def versions(name: str, python: str) -> dict[str, str]:
    """Return the version of each distribution that a file installs under this Python on Linux."""
    place = {
        "python_full_version": f"{python}.1", "python_version": python, "sys_platform": "linux", "os_name": "posix",
        "platform_python_implementation": "CPython", "implementation_name": "cpython",
    }  # fmt: skip
    found: dict[str, str] = {}
    for requirement in pinned(name):
        if requirement.marker is None or requirement.marker.evaluate(place):
            (exact,) = requirement.specifier
            assert exact.operator == "==" and canonicalize_name(requirement.name) not in found, requirement
            found[canonicalize_name(requirement.name)] = exact.version
    return found


def asked_for(extras: tuple[str, ...]) -> list[Requirement]:
    """Return the core's dependencies and those of extras, through extras that are named by others."""
    lines = [*PROJECT["dependencies"]]
    for extra in extras:
        for line in PROJECT["optional-dependencies"][extra]:
            requirement = Requirement(line)
            lines += (
                map(str, asked_for(tuple(sorted(requirement.extras))))
                if requirement.name == PROJECT["name"]
                else [line]
            )
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("name", make_requirements.FILES)
@pytest.mark.parametrize("python", PYTHONS)
def test_file_covers_what_the_project_asks_for(name: str, python: str) -> None:
    found = versions(name, python)
    for requirement in asked_for(make_requirements.FILES[name]):
        assert canonicalize_name(requirement.name) in found, f"{requirement} is missing: run `make requirements`"
        assert requirement.specifier.contains(found[canonicalize_name(requirement.name)]), (
            f"{requirement}: run `make requirements`"
        )
        if "sasl" in requirement.extras:
            assert "pure-sasl" in found


@pytest.mark.parametrize("python", PYTHONS)
def test_all_files_agree_so_that_several_can_be_installed(python: str) -> None:
    every = [item for name in make_requirements.FILES for item in versions(name, python).items()]
    assert len(dict(every)) == len(set(every))


def test_there_is_a_file_for_every_extra_and_no_other() -> None:
    extras = set(PROJECT["optional-dependencies"]) - {"dryrun"}  # the same as spark
    assert {path.stem for path in FILES} == extras | {make_requirements.CORE, "build"}
    assert set(make_requirements.FILES) == extras | {make_requirements.CORE}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_everything_has_a_hash_and_no_place_is_named(path) -> None:
    text = path.read_text(encoding="utf-8")
    assert min(pinned(path.stem).values()) >= 1
    assert text.startswith(make_requirements.head(path.stem))
    assert "://" not in text and "-index" not in text and "--find-links" not in text and " @ " not in text


def test_build_requirements_are_locked() -> None:
    system = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    for requirement in map(Requirement, system):
        assert str(requirement) in make_requirements.BUILD
        assert requirement.specifier.contains(versions("build", PYTHONS[0])[canonicalize_name(requirement.name)])


def test_dryrun_is_another_name_of_spark() -> None:
    assert PROJECT["optional-dependencies"]["dryrun"] == [f"{PROJECT['name']}[spark]"]


def test_core_has_what_one_machine_needs_and_neither_spark_nor_logins() -> None:
    core = set(versions(make_requirements.CORE, PYTHONS[0]))
    assert {"numpy", "jinja2"} <= core
    assert not {"pure-sasl", "cryptography", "pyspark", "pyarrow", "pandas"} & core
