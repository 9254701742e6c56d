"""What kafkactl needs is freely licensed: no package of it, or of what it needs itself, is under the GPL, LGPL or AGPL.

The licence is what the installed package declares (PEP 639's License-Expression, else License, else its classifiers). A
word that is not in the table is looked at by a person, and then stands there.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.tree import ROOT

PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = tuple(name for name in PROJECT["optional-dependencies"] if name not in ("test", "dev"))
ALLOWED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib"}
)
# As packages without a licence expression say it.
WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
}


def needed(lines: list[str]) -> dict[str, Distribution | None]:
    """These requirements and theirs, by name; None where one is not installed."""
    found: dict[str, Distribution | None] = {}
    todo = [Requirement(line) for line in lines]
    done = set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if (name, frozenset(requirement.extras)) in done:
            continue
        done.add((name, frozenset(requirement.extras)))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            found[name] = None
            continue
        for line in found[name].requires or []:
            below = Requirement(line)
            if below.marker is None or any(
                below.marker.evaluate({"extra": each}) for each in ("", *requirement.extras)
            ):
                todo.append(below)
    return found


def licenses(package: Distribution) -> set[str]:
    """All licences that a package names: where it offers a choice, each of them has to do."""
    fields = package.metadata
    expression = fields.get("License-Expression")
    if expression is None:
        classifiers = [
            line.rpartition(" :: ")[2] for line in fields.get_all("Classifier") or () if "License ::" in line
        ]
        stated = (fields.get("License") or "").strip()
        expression = " AND ".join(WORDS.get(word, word) for word in ([stated] if stated else classifiers))
    return set(re.split(r"\s+(?:AND|OR)\s+|[()]", expression)) - {""}


def test_the_core_is_installed_and_free() -> None:
    packages = needed(PROJECT["dependencies"])
    assert None not in packages.values()
    named = {name: licenses(package) for name, package in packages.items() if package is not None}
    assert len(named) >= len(PROJECT["dependencies"])
    assert {name: found for name, found in named.items() if not found or found - ALLOWED} == {}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_is_free(extra: str) -> None:
    packages = needed(PROJECT["optional-dependencies"][extra])
    missing = sorted(name for name, package in packages.items() if package is None)
    named = {name: licenses(package) for name, package in packages.items() if package is not None}
    assert {name: found for name, found in named.items() if not found or found - ALLOWED} == {}
    if missing:
        pytest.skip(f"not installed here: {', '.join(missing)}")


def test_the_licence_of_another_kind_is_seen() -> None:
    class Package:
        def __init__(self, **fields: str) -> None:
            self.metadata = Fields(fields)

    class Fields(dict):
        def get_all(self, name: str) -> list[str]:
            return [self[name]] if name in self else []

    gpl = Package(Classifier="License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)")
    assert licenses(gpl) - ALLOWED
    assert licenses(Package(**{"License-Expression": "MIT OR GPL-2.0-only"})) - ALLOWED == {"GPL-2.0-only"}
    assert licenses(Package()) == set()
    assert licenses(Package(License="Apache 2.0")) == {"Apache-2.0"}
