"""What the ids of errors and findings mean."""

from __future__ import annotations

import re

from kafkactl.migration.checks.numbers import ids_of
from kafkactl.schema import explanations as texts
from kafkactl.schema.explanations import Explanation


def explain(id: str) -> list[Explanation]:
    """Cause, consequence and remedy of an id, or of a number of `migrate check`: C-13 means all of its findings.

    Raises InputError `unknown-id`, which names the nearest ids.
    """
    return [texts.explain(name) for name in ids_of(_number(id)) or (id,)]


def explanations() -> list[Explanation]:
    """All explanations, by id."""
    return list(texts.explanations().values())


def renamed_from(id: str) -> str | None:
    """The id itself where it is one of an earlier version, which has a new name now; None otherwise."""
    return id if id in texts.renamed_ids() else None


def _number(text: str) -> str:
    """As the numbers are written: capital letters, and a small one after a digit."""
    return re.sub(r"(?<=[0-9N])[A-Z]$", lambda found: found[0].lower(), text.upper())
