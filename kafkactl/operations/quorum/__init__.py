"""The voter set of a live cluster: describe, plan and change it.

`client` is what `kafkactl.connect` gives. A goal comes from `addition`, `removal`, `reassignment` or `conversion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.lazy import lazy_names

__all__ = [
    "Candidate",
    "QuorumChange",
    "QuorumDescription",
    "QuorumWatch",
    "addition",
    "change_voters",
    "conversion",
    "describe",
    "plan_change",
    "reassignment",
    "removal",
    "survivable",
    "wait_policy",
]

if TYPE_CHECKING:
    from kafkactl.operations.quorum.change import (
        Candidate,
        QuorumChange,
        addition,
        change_voters,
        conversion,
        plan_change,
        reassignment,
        removal,
        survivable,
        wait_policy,
    )
    from kafkactl.operations.quorum.observation import QuorumDescription, QuorumWatch, describe
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.change": (
                "Candidate", "QuorumChange", "addition", "change_voters", "conversion", "plan_change", "reassignment",
                "removal", "survivable", "wait_policy",
            ),
            f"{__name__}.observation": ("QuorumDescription", "QuorumWatch", "describe"),
        },
    )  # fmt: skip
