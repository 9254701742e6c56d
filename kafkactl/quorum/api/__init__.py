"""The voter set of a live cluster: describe, plan and change it.

`client` is what `kafkactl.connect` gives. A goal comes from `addition`, `removal`, `reassignment` or `conversion`.

A quorum that lost its majority is recovered from disks: `plan_recovery` and `apply_recovery` write one new directory.

    target = kafkactl.quorum.recovery_target("/disk/recovered", config="/etc/kafka/controller.properties")
    request = kafkactl.quorum.RecoveryRequest(log_dirs=("/mnt/c2", "/mnt/b11"), target=target, lost=(1, 3))
    planned = kafkactl.quorum.plan_recovery(request)
    planned.outcome, planned.plan.losses
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.lazy import lazy_names

__all__ = [
    "Candidate",
    "PlannedRecovery",
    "QuorumChange",
    "QuorumDescription",
    "QuorumPlanFile",
    "QuorumWatch",
    "RecoveryCheck",
    "RecoveryCopy",
    "RecoveryOverrides",
    "RecoveryRequest",
    "RecoveryTarget",
    "WrittenRecovery",
    "addition",
    "apply_recovery",
    "change_voters",
    "collect_recovery",
    "conversion",
    "describe",
    "load_plan",
    "plan_change",
    "plan_recovery",
    "planned_goal",
    "reassignment",
    "recovery_probe",
    "recovery_target",
    "removal",
    "save_plan",
    "survivable",
    "verify_recovery",
    "wait_policy",
]

if TYPE_CHECKING:
    from kafkactl.quorum.api.change import (
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
    from kafkactl.quorum.api.observation import QuorumDescription, QuorumWatch, describe
    from kafkactl.quorum.api.plan_files import load_plan, planned_goal, save_plan
    from kafkactl.quorum.api.recover.check import RecoveryCheck, verify_recovery
    from kafkactl.quorum.api.recover.collect import RecoveryCopy, collect_recovery
    from kafkactl.quorum.api.recover.plan import PlannedRecovery, RecoveryRequest, apply_recovery, plan_recovery
    from kafkactl.quorum.api.recover.words import recovery_probe, recovery_target
    from kafkactl.quorum.io.recover.apply import WrittenRecovery
    from kafkactl.quorum.plan_file import QuorumPlanFile
    from kafkactl.quorum.recover.observed_disks import RecoveryTarget
    from kafkactl.quorum.recover.request import RecoveryOverrides
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
            "kafkactl.quorum.api.recover.plan": (
                "PlannedRecovery", "RecoveryRequest", "apply_recovery", "plan_recovery",
            ),
            "kafkactl.quorum.api.recover.words": ("recovery_probe", "recovery_target"),
            "kafkactl.quorum.api.recover.collect": ("RecoveryCopy", "collect_recovery"),
            "kafkactl.quorum.api.recover.check": ("RecoveryCheck", "verify_recovery"),
            "kafkactl.quorum.io.recover.apply": ("WrittenRecovery",),
            "kafkactl.quorum.recover.request": ("RecoveryOverrides",),
            "kafkactl.quorum.recover.observed_disks": ("RecoveryTarget",),
        },
    )  # fmt: skip
