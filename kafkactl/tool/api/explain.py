"""Meaning of the ids of errors and findings."""

from __future__ import annotations

import re

from kafkactl.core import explanations as texts
from kafkactl.core.explanations import Explanation
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_lines import ids_by_line
from kafkactl.migration.checks.ids import UNKNOWN_ID, id_of_number, ids_by_check


def explain(text: str) -> list[Explanation]:
    """Return cause, consequence and remedy of an id, of a check of a migration, or of a line of Kafka.

    C-13 means all findings of that check. A line of Kafka's log or an error text leads to the ids that explain the
    text, the best first. Raises InputError `unknown-id`, which names the nearest ids.
    """
    known = texts.explanations()
    ids = ids_by_check().get(text.upper(), ())
    if len(ids) > 1:
        return [known[id] for id in dict.fromkeys(id if id in known else UNKNOWN_ID for id in ids)]
    id = ids[0] if ids else id_of_earlier_number(text) or text
    return [_question(id)] if _is_question(id) else [texts.explain(name) for name in _ids(id)]


def id_of_earlier_number(text: str) -> str | None:
    """Return the id of a finding or question that earlier builds numbered (`C-13d`); None for another text."""
    is_check = text.upper() in ids_by_check()
    return None if is_check else id_of_number(text[:-1].upper() + text[-1:].lower())


def question_ids() -> list[str]:
    """Return the ids of all questions of the checks of a migration that an observation may leave open."""
    return sorted(id for ids in ids_by_check().values() for id in ids if _is_question(id))


def _is_question(id: str) -> bool:
    return id not in texts.explanations() and any(id in ids for ids in ids_by_check().values())


def _question(id: str) -> Explanation:
    from kafkactl.migration.checks.registry import ROWS

    row = next(row for row in ROWS if row.question == id)
    general = texts.explain(UNKNOWN_ID)
    return changed(general, id=id, cause=f"Check {row.check} ({row.title}) cannot be answered. {general.cause}")


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
    """Return all explanations, by id."""
    return list(texts.explanations().values())


def renamed_from(id: str) -> str | None:
    """Return the id itself where it is one of an earlier version, which has a new name now; None otherwise."""
    return id if id in texts.renamed_ids() else None
