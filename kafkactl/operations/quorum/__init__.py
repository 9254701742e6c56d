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
    "QuorumPlanFile",
    "QuorumWatch",
    "addition",
    "change_voters",
    "conversion",
    "describe",
    "load_plan",
    "plan_change",
    "planned_goal",
    "reassignment",
    "removal",
    "save_plan",
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
    from kafkactl.operations.quorum.plan_files import load_plan, planned_goal, save_plan
    from kafkactl.quorum.plan_file import QuorumPlanFile
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.change": (
                "Candidate", "QuorumChange", "addition", "change_voters", "conversion", "plan_change", "reassignment",
                "removal", "survivable", "wait_policy",
            ),
            f"{__name__}.plan_files": ("load_plan", "planned_goal", "save_plan"),
            "kafkactl.quorum.plan_file": ("QuorumPlanFile",),
            f"{__name__}.observation": ("QuorumDescription", "QuorumWatch", "describe"),
        },
    )  # fmt: skip
