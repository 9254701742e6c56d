"""Meaning of the ids of errors and findings, and of the checks of a migration, whose numbers lead to ids."""

from __future__ import annotations

from kafkactl.core.explanations import Explanation, explain_id, explanations
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_lines import explain_text
from kafkactl.migration.checks.ids import UNKNOWN_ID, id_of_number, ids_by_check


def explain(text: str) -> list[Explanation]:
    """Return cause, consequence and remedy of an id, of a check of a migration, or of a line of Kafka.

    C-13 means all findings of that check. Else as `explain_text`.
    """
    ids = ids_by_check().get(text.upper(), ())
    if len(ids) > 1:
        known = explanations()
        return [known[id] for id in dict.fromkeys(id if id in known else UNKNOWN_ID for id in ids)]
    id = ids[0] if ids else id_of_earlier_number(text) or text
    return [_question(id)] if _is_question(id) else explain_text(id)


def id_of_earlier_number(text: str) -> str | None:
    """Return the id of a finding or question that earlier builds numbered (`C-13d`); None for another text."""
    is_check = text.upper() in ids_by_check()
    return None if is_check else id_of_number(text[:-1].upper() + text[-1:].lower())


def question_ids() -> list[str]:
    """Return the ids of all questions of the checks of a migration that an observation may leave open."""
    return sorted(id for ids in ids_by_check().values() for id in ids if _is_question(id))


def _is_question(id: str) -> bool:
    return id not in explanations() and any(id in ids for ids in ids_by_check().values())


def _question(id: str) -> Explanation:
    from kafkactl.migration.checks.registry import ROWS

    row = next(row for row in ROWS if row.question == id)
    general = explain_id(UNKNOWN_ID)
    return changed(general, id=id, cause=f"Check {row.check} ({row.title}) cannot be answered. {general.cause}")
