"""The packages that kafkactl needs, as they are installed here, and the licences that they declare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# As packages without a licence expression name it.
WORDS: Final = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
}


def needed(lines: Iterable[str]) -> dict[str, Distribution | None]:
    """Return the packages of these requirements and theirs, by canonical name; None if one is not installed."""
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
            found[name] = package = distribution(name)
        except PackageNotFoundError:
            found[name] = None
            continue
        todo += below(package, requirement.extras)
    return found


def below(package: Distribution, extras: Iterable[str] = ()) -> list[Requirement]:
    """Return what a package requires on this machine, with these of its extras."""
    requirements = map(Requirement, package.requires or [])
    return [
        each
        for each in requirements
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def license_expression(package: Distribution) -> str:
    """Return the licence of a package in the words of SPDX as far as `WORDS` has them; empty if it declares none.

    PEP 639's License-Expression, else the field License unless it holds a whole text, else the classifiers.
    """
    fields = package.metadata
    if (expression := fields.get("License-Expression")) is not None:
        return str(expression)
    classifiers = [line.rpartition(" :: ")[2] for line in fields.get_all("Classifier") or () if "License ::" in line]
    stated = (fields.get("License") or "").strip()
    is_name = stated and "\n" not in stated
    return " AND ".join(WORDS.get(word, word) for word in ([stated] if is_name else classifiers))


def licenses(package: Distribution) -> set[str]:
    """Return all licences that a package names: if it offers a choice, each of them has to do."""
    return set(re.split(r"\s+(?:AND|OR)\s+|[()]", license_expression(package))) - {""}
