"""Words that the option `--accept` of a migration takes."""

from __future__ import annotations


def accept_words() -> list[str]:
    """Return the ids of findings and questions that a run of a migration accepts."""
    from kafkactl.migration.checks.ids import ids_by_check

    of_checks = (id for ids in ids_by_check().values() for id in ids)
    return sorted({*of_checks, "election-between-observations", "soak-too-short"})


def rollback_words() -> list[str]:
    """Return the ids of the refusals that a rollback of a migration accepts."""
    from kafkactl.migration.steps.refusals import ACCEPTABLE

    return sorted(ACCEPTABLE)
