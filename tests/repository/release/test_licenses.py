"""Licences of dependencies: no package that kafkactl needs, directly or not, is under the GPL, LGPL or AGPL.

A person checks a licence that is not in the table of scripts/licenses.py, and adds it there.
"""

from __future__ import annotations

import pytest
import tomli

from scripts.licenses import licenses, needed
from tests.repository.tree import ROOT

PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = tuple(name for name in PROJECT["optional-dependencies"] if name not in ("dryrun", "dev"))
ALLOWED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0", "Zlib"}
)


def test_core_is_installed_and_free() -> None:
    packages = needed(PROJECT["dependencies"])
    assert None not in packages.values()
    named = {name: licenses(package) for name, package in packages.items() if package is not None}
    assert len(named) >= len(PROJECT["dependencies"])
    assert {name: found for name, found in named.items() if not found or found - ALLOWED} == {}


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_is_free(extra: str) -> None:
    packages = needed(PROJECT["optional-dependencies"][extra])
    missing = sorted(name for name, package in packages.items() if package is None)
    named = {name: licenses(package) for name, package in packages.items() if package is not None}
    assert {name: found for name, found in named.items() if not found or found - ALLOWED} == {}
    if missing:
        pytest.skip(f"not installed here: {', '.join(missing)}")


def test_licence_of_another_kind_is_seen() -> None:
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
    whole_text = {
        "License": "BSD 3-Clause License\n\nRedistribution",
        "Classifier": "License :: OSI Approved :: BSD License",
    }
    assert licenses(Package(**whole_text)) == {"BSD-3-Clause"}
