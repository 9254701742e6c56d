"""The bill of materials that `make dist` writes: complete, valid by CycloneDX's schema, and the same again."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tomli
from packaging.requirements import Requirement

from scripts.licenses import license_expression, needed
from scripts.make_requirements import CORE, FILES, locked
from tests.repository.tree import ROOT

PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def wheel_of(folder: Path, *more: str) -> Path:
    """Return an archive with the metadata that setuptools makes of pyproject.toml, and nothing else."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {PROJECT['name']}",
        "Version: 9.9",
        f"License-Expression: {PROJECT['license']}",
    ]
    lines += [f"Requires-Dist: {line}" for line in (*PROJECT["dependencies"], *more)]
    for extra, wanted in PROJECT["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {line}; extra == "{extra}"' for line in wanted)]
    path = folder / "kafkactl-9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("kafkactl-9.9.dist-info/METADATA", "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module", name="make_sbom")
def _make_sbom() -> Any:
    """Return the writer, imported late: its model of the format takes long to load."""
    from scripts import make_sbom

    return make_sbom


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    return wheel_of(tmp_path)


@pytest.mark.slow
def test_every_locked_package_has_version_licence_and_hashes(
    make_sbom: Any, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_sbom.main([str(wheel.parent)])
    text = (wheel.parent / "kafkactl-9.9.cdx.json").read_text(encoding="utf-8")
    assert text == make_sbom.bill(wheel), "the same wheel gives the same bytes"
    document = json.loads(text)
    assert "components" in capsys.readouterr().out
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    root = document["metadata"]["component"]
    assert root["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    assert document["metadata"]["timestamp"] == "2026-09-21T14:13:20+00:00"
    wanted = {
        (requirement.name, *(exact.version for exact in requirement.specifier)): sorted(hashes)
        for name in FILES
        if name != "dev"
        for requirement, hashes in locked(name).items()
    }
    assert {(part["name"], part["version"]): _hashes(part) for part in document["components"]} == wanted
    assert all(part["licenses"] for part in document["components"])
    core = {requirement.name for requirement in locked(CORE)}
    assert {part["name"] for part in document["components"] if part["scope"] == "required"} == core
    spark = next(part for part in document["components"] if part["name"] == "pyspark")
    assert spark["properties"] == [{"name": "kafkactl:extra", "value": "spark"}] and spark["scope"] == "optional"
    _every_component_is_required(document)


def _hashes(part: dict[str, Any]) -> list[str]:
    (reference,) = part["externalReferences"]
    return sorted(each["content"] for each in reference["hashes"])


def _every_component_is_required(document: dict[str, Any]) -> None:
    below = {each["ref"]: each.get("dependsOn", []) for each in document["dependencies"]}
    todo, seen = [document["metadata"]["component"]["bom-ref"]], set()
    while todo:
        seen.add(ref := todo.pop())
        todo += [each for each in below[ref] if each not in seen]
    optional = {"pkg:pypi/pure-sasl@" + version for version in _versions("pure-sasl", document)}
    assert seen | optional >= {part["bom-ref"] for part in document["components"]}, "nothing leads there"


def _versions(name: str, document: dict[str, Any]) -> list[str]:
    return [part["version"] for part in document["components"] if part["name"] == name]


@pytest.mark.slow
def test_unlocked_requirement_is_an_error(make_sbom: Any, tmp_path: Path) -> None:
    with pytest.raises(make_sbom.SbomError, match="pytest"):
        make_sbom.bill(wheel_of(tmp_path, "pytest>=1"))
    with pytest.raises(SystemExit, match="usage"):
        make_sbom.main([str(tmp_path / "empty")])


@pytest.mark.slow
def test_bill_of_materials_against_the_schema_is_an_error(
    make_sbom: Any, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Outputter:
        def output_as_string(self, indent: int) -> str:
            return '{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"name": "x"}]}'

    monkeypatch.setattr(make_sbom, "make_outputter", lambda *_: Outputter())
    with pytest.raises(make_sbom.SbomError, match="breaks its schema"):
        make_sbom.bill(wheel)


@pytest.mark.slow
def test_unknown_licence_is_an_error(make_sbom: Any, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_sbom, "license_expression", lambda package: "")
    with pytest.raises(make_sbom.SbomError, match="the licence of"):
        make_sbom.bill(wheel)


@pytest.mark.slow
def test_noted_requirements_are_those_of_installed_packages(make_sbom: Any) -> None:
    for name, (license_, requires) in make_sbom.NOT_INSTALLED.items():
        assert any(Requirement(line).name == name for line in map(str, locked("gssapi"))), f"{name} is no longer locked"
        if (package := needed([name])[name]) is not None:
            assert license_expression(package) == license_
            assert set(requires.split()) == set(needed([name])) - {name}
