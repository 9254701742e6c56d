"""Meaning of the answer to a request that changes a cluster."""

from __future__ import annotations

from enum import StrEnum


class Reply(StrEnum):
    """Meaning of an answer, or of its absence."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNCLEAR = "unclear"
