"""Numbers of findings and questions of `check`, and what an operator accepts by one: schemas/migration_checks.toml.

A word that is accepted names one finding: by its number (`C-41`, `C-13d`) or its id (`controller-down`), for every
subject of that finding, or for one only (`controller-down@controller-3001`). A question that the observation does not
answer (`check-unknown`) has the number of its question and no other name.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final

from kafkactl.core.findings import Finding
from kafkactl.protocol.schema.explanations import renamed_ids
from kafkactl.protocol.schema.source import read_data

UNKNOWN_ID: Final = "check-unknown"
OBSERVED: Final = "X-SEEN"  # what the observation itself could not see or read
_QUESTION: Final = "? "
_LETTER: Final = re.compile(r"[a-z]$")
_NODE: Final = re.compile(r"\b(?:broker|controller) \d+\b")


@functools.cache
def meanings() -> Mapping[str, tuple[str, ...]]:
    """By number the ids of findings that it means, and the titles of questions, which begin with `? `."""
    import tomli

    table = tomli.loads(read_data("migration_checks.toml").decode("utf-8"))["numbers"]
    return {number: (said,) if isinstance(said, str) else tuple(said) for number, said in table.items()}


@functools.cache
def _numbers() -> Mapping[str, tuple[str, ...]]:
    """By id or question the numbers that it has; more than one where several checks find the same."""
    found: dict[str, tuple[str, ...]] = {}
    for number, said in meanings().items():
        for word in said:
            found[word] = (*found.get(word, ()), number)
    return found


def check_of(number: str) -> str:
    """The check that a number belongs to: `C-13` of `C-13d`."""
    return _LETTER.sub("", number)


def number_of_question(title: str) -> str:
    """The number of the question of this title. Raises KeyError where the table has none."""
    return _numbers()[_QUESTION + title][0]


def number_of_finding(id: str, check: str | None = None) -> str | None:
    """The number of a finding, of this check where several checks find it; None for one that has none."""
    numbers = _numbers().get(id, ())
    return next((number for number in numbers if check_of(number) == check), numbers[0] if numbers else None)


def ids_of(word: str) -> tuple[str, ...]:
    """The ids that a number, or the number of a check with all its findings, means; empty for another word."""
    numbers = [number for number in meanings() if word in (number, check_of(number))]
    said = [text for number in numbers for text in meanings()[number]]
    return tuple(dict.fromkeys(UNKNOWN_ID if text.startswith(_QUESTION) else text for text in said))


def is_accepted(finding: Finding, accepted: frozenset[str]) -> bool:
    """Whether one of these words names this finding."""
    own = f"@{_subject(finding)}"
    return any({name, name + own} & accepted for name in _names(finding))


def accept_word(finding: Finding) -> str:
    """Return the word that accepts this finding and nothing else; for a finding about one node it names the node.

    The nodes of a finding about several change as the migration goes on, and the word must not.
    """
    name = _names(finding)[0]
    return f"{name}@{_subject(finding)}" if len(_NODE.findall(finding.subject)) == 1 else name


def _names(finding: Finding) -> tuple[str, ...]:
    number = finding.evidence.get("number")
    if finding.id == UNKNOWN_ID:
        return (str(number),)
    found = str(number) if number else number_of_finding(finding.id)
    earlier = tuple(old for old, new in renamed_ids().items() if new == finding.id)
    return (finding.id, *earlier) if found is None else (finding.id, found, *earlier)


def _subject(finding: Finding) -> str:
    return re.sub(r"\s+", "-", finding.subject.strip())
