"""What the ids of errors and findings mean."""

from __future__ import annotations

import re

from kafkactl.migration.checks.numbers import ids_of
from kafkactl.protocol.schema import explanations as texts
from kafkactl.protocol.schema.explanations import Explanation
from kafkactl.protocol.schema.kafka_lines import ids_by_line


def explain(text: str) -> list[Explanation]:
    """Return cause, consequence and remedy of an id, of a number of `migrate check`, or of a line of Kafka.

    C-13 means all findings of that check. A line of Kafka's log or an error text leads to the ids that explain the
    text, the best first. Raises InputError `unknown-id`, which names the nearest ids.
    """
    return [texts.explain(name) for name in ids_of(_number(text)) or _ids(text)]


def kafka_text(text: str, id: str) -> str | None:
    """Return the text of Kafka by which a line led to an id; None if the line is an id itself."""
    return None if _is_id(text) else dict(ids_by_line(text)).get(id)


def _ids(text: str) -> list[str]:
    if _is_id(text):
        return [text]
    words = "-".join(re.findall(r"[a-z0-9]+", text.lower()))
    found = [id for id, _ in ids_by_line(text)]
    if words in texts.explanations():
        found = [words, *(id for id in found if id != words)]
    return found or [text]


def _is_id(text: str) -> bool:
    return text in texts.explanations() or text in texts.renamed_ids()


def explanations() -> list[Explanation]:
    """All explanations, by id."""
    return list(texts.explanations().values())


def renamed_from(id: str) -> str | None:
    """The id itself where it is one of an earlier version, which has a new name now; None otherwise."""
    return id if id in texts.renamed_ids() else None


def _number(text: str) -> str:
    """As the numbers are written: capital letters, and a small one after a digit."""
    return re.sub(r"(?<=[0-9N])[A-Z]$", lambda found: found[0].lower(), text.upper())
