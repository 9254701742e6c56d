"""Known bugs of the migration in each release of Kafka: schemas/migration_bugs.toml as values."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TypeAlias

from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen

Version: TypeAlias = tuple[int, int, int]


@frozen
class Bug:
    """A fault. `loses` is the kind of data that it loses or spoils in the copy, "" for none."""

    issue: str
    effect: str
    fixed_in: tuple[Version, ...]
    loses: str


def bugs_of(version: Version) -> tuple[Bug, ...]:
    """Return the faults that a version has, in the order of the table."""
    return tuple(bug for bug in known_bugs() if not _has_correction(version, bug.fixed_in))


@functools.cache
def known_bugs() -> tuple[Bug, ...]:
    """Return every fault of the table."""
    import tomli

    rows = tomli.loads(read_data("migration_bugs.toml").decode("utf-8"))["bug"]
    return tuple(
        Bug(
            issue=row["issue"],
            effect=row["effect"],
            fixed_in=tuple(_version(text) for text in row["fixed_in"]),
            loses=row.get("loses", ""),
        )
        for row in rows
    )


def _has_correction(version: Version, fixed_in: Sequence[Version]) -> bool:
    """Return True for the patch that corrects a fault.

    A later patch of its line, or a line after the last corrected one.
    """
    return version >= max(fixed_in) or any(version[:2] == fix[:2] and version >= fix for fix in fixed_in)


def _version(text: str) -> Version:
    major, minor, patch = text.split(".")
    return int(major), int(minor), int(patch)
