"""Ids of findings and questions of `check`, and what an operator accepts by one: schemas/migration_checks.toml.

A word that is accepted is the id of a finding (`controller-down`) or of a question that the observation does not answer
(`automation-unknown`), for every subject, or for one only (`controller-down@controller-3001`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from string import ascii_lowercase
from typing import Final

from kafkactl.core.data_files import read_data
from kafkactl.core.findings import Finding

UNKNOWN_ID: Final = "check-unknown"
OBSERVED: Final = "X-SEEN"  # what the observation itself could not see or read
_NODE: Final = re.compile(r"\b(?:broker|controller) \d+\b")


@functools.cache
def ids_by_check() -> Mapping[str, tuple[str, ...]]:
    """Return the ids of findings and questions by the check that reports them."""
    import tomli

    table = tomli.loads(read_data("migration_checks.toml").decode("utf-8"))["checks"]
    return {check: tuple(ids) for check, ids in table.items()}


def check_of(id: str, check: str) -> str:
    """Return `check` if it reports the id, else the first check that does, else `check`."""
    found = [name for name, ids in ids_by_check().items() if id in ids]
    return check if check in found or not found else found[0]


@functools.lru_cache(maxsize=1000)
def present_word(word: str) -> str:
    """Return a word that accepts something with the id in place of the number of an earlier build."""
    name, at, subject = word.partition("@")
    return f"{id_of_number(name) or name}{at}{subject}"


def id_of_number(number: str) -> str | None:
    """Return the id that an earlier build gave this number (`C-41`, `C-13d`); None for another text."""
    for check, ids in ids_by_check().items():
        letters = ascii_lowercase if check == OBSERVED else ("", *ascii_lowercase)
        for letter, id in zip(letters, ids, strict=False):
            if number == check + letter:
                return id
    return None


def is_accepted(finding: Finding, accepted: frozenset[str]) -> bool:
    """Return True if one of these words accepts this finding."""
    name = _name(finding)
    return not {name, f"{name}@{_subject(finding)}"}.isdisjoint(map(present_word, accepted))


def accept_word(finding: Finding) -> str:
    """Return the word that accepts this finding and nothing else; for a finding about one node it names the node.

    The nodes of a finding about several change as the migration goes on, and the word must not.
    """
    name = _name(finding)
    return f"{name}@{_subject(finding)}" if len(_NODE.findall(finding.subject)) == 1 else name


def _name(finding: Finding) -> str:
    return str(finding.evidence["question"]) if finding.id == UNKNOWN_ID else finding.id


def _subject(finding: Finding) -> str:
    return re.sub(r"\s+", "-", finding.subject.strip())
