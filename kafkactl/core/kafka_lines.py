"""Ids by the words of Kafka: an operator who has a line of a log or an error text has no id.

The texts are data (schemas/kafka_lines.toml) and what explanations quote. `…` in a text means any words.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import tomli

from kafkactl.core.data_files import read_data
from kafkactl.core.errors import InputError
from kafkactl.core.explanations import Explanation, explain_id, explanations

_FILE: Final = "kafka_lines.toml"
_NO_ID: Final = "no-id"  # the key of lines that lead to no id
# A line of the log of another partition than that of the metadata.
_OTHER_LOG: Final = re.compile(r"\b(?:partition=|topic partition )(?!__cluster_metadata-0\b)[\w.-]+-\d+\b")
_OF_METADATA_LOG: Final = (
    "metadata-log-",
    "broken-checkpoint",
    "cluster-founded-twice",
    "segment-not-named-by-its-offset",
)
_GAP: Final = "…"
_QUOTED: Final = re.compile(r'"([^"]+)"')
_EXCEPTION: Final = re.compile(r"\b([A-Z]\w+)Exception\b")
# An exception without words. One of Kafka's own classes is an error code, and those say what happened.
_BARE: Final = re.compile(r"(?:Caused by: )?(?:(?:java|javax|scala)(?:\.\w+)*\.)?([A-Z]\w*(?:Exception|Error)):?")
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")
_LEAST_QUOTED: Final = 16  # characters of a quoted text: shorter ones are single words and names
_LEAST_PART: Final = 24  # characters of a text that is found without its other parts
_LEAST_GIVEN: Final = 15
_MOST: Final = 5
_LINES_AROUND: Final = "Give the lines before and after it too, in the same quotes."


class KafkaText(NamedTuple):
    """A text of Kafka, and the id that explains it. `parts` are its words between what differs, in lower case."""

    text: str
    id: str
    parts: tuple[str, ...]
    pattern: re.Pattern[str]


def ids_by_line(line: str) -> list[tuple[str, str]]:
    """Return (id, text of Kafka) for a line of a log or an error text, the longest text first; [] if none fits.

    A line fits a text that is in the line; a text of `no-id` excludes shorter ones. What concerns the metadata log does
    not fit a line about another partition. If there is none, a text fits of which a long part is in the line, or which
    has the line as a part: logs wrap lines, and operators shorten them. An exception without words fits every text
    that has its class.
    """
    given, coded = _plain(line), _plain(_with_codes(line))
    found = [text for text in _texts() if text.pattern.search(coded)]
    if bare := _BARE.fullmatch(line.strip()):
        found += [text for text in _texts() if any(_plain(bare[1]) in part for part in text.parts)]
        found = [text for text in found if text.id != _NO_ID]
    if not found:
        found = [text for text in _texts() if any(len(part) >= _LEAST_PART and part in given for part in text.parts)]
    if not found and len(given) >= _LEAST_GIVEN and " " in given:
        found = [text for text in _texts() if any(given in part for part in text.parts)]
    found.sort(key=lambda text: -sum(map(len, text.parts)))
    found = list(itertools.takewhile(lambda text: text.id != _NO_ID, found))
    if _OTHER_LOG.search(line):
        found = [text for text in found if not text.id.startswith(_OF_METADATA_LOG)]
    best: dict[str, str] = {}
    for text in found:
        best.setdefault(text.id, text.text)
    return list(best.items())[:_MOST]


def is_bare_exception(line: str) -> bool:
    """Return True for an exception of Java without words, which has many causes: what fits it is a candidate."""
    return _BARE.fullmatch(line.strip()) is not None


def explain_text(text: str) -> list[Explanation]:
    """Return the explanation of an id, or those of a line of Kafka's log or an error text, the best first.

    Raises InputError `unknown-id`, which names the nearest ids.
    """
    return [explain_id(id) for id in ([text] if text in explanations() else _ids(text))]


def kafka_text(text: str, id: str) -> str | None:
    """Return the text of Kafka by which a line led to an id; None if the line is an id itself."""
    return None if text in explanations() else dict(ids_by_line(text)).get(id)


def _ids(line: str) -> list[str]:
    words = "-".join(re.findall(r"[a-z0-9]+", line.lower()))
    found = [id for id, _ in ids_by_line(line)]
    if words in explanations():
        found = [words, *(id for id in found if id != words)]
    if not found and is_bare_exception(line):
        raise InputError(f"the class {line.strip()!r} alone names no cause", id="unknown-id", next_step=_LINES_AROUND)
    return found or [line]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _with_codes(line: str) -> str:
    """Return a line with the error codes of its exceptions: `VoterNotFoundException` is VOTER_NOT_FOUND."""
    codes = (_CAPITAL.sub("_", name) for name in _EXCEPTION.findall(line))
    return " ".join([line, *codes])


@functools.cache
def _texts() -> tuple[KafkaText, ...]:
    return tuple(_each_text())


def _each_text() -> Iterator[KafkaText]:
    for id, texts in _all_lines().items():
        for text in texts:
            yield _kafka_text(text, id)
    for id, explanation in explanations().items():
        for text in _QUOTED.findall(f"{explanation.cause} {explanation.consequence}"):
            if len(text) >= _LEAST_QUOTED:
                yield _kafka_text(text, id)


@functools.cache
def _all_lines() -> Mapping[str, tuple[str, ...]]:
    data = tomli.loads(read_data(_FILE).decode("utf-8"))
    return {id: tuple(texts) for id, texts in data.items()}


def _kafka_text(text: str, id: str) -> KafkaText:
    parts = tuple(part for part in map(_plain, text.rstrip(".").split(_GAP)) if part)
    return KafkaText(text, id, parts, re.compile(r".*?".join(map(re.escape, parts))))
