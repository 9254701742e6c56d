"""A recovery plan as the object that is printed and kept next to the new directory (`quorum.recover`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from kafkactl.change.plan_document import checked, number_in, table_in, tables_in, text_in
from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.answers import plain_dict, plain_values
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import JsonInputError, parse_json
from kafkactl.core.values import Uuid
from kafkactl.protocol.catalog.levels import metadata_version
from kafkactl.quorum.recover.observed_disks import DiskSeen
from kafkactl.quorum.recover.plan import RecoveryPlan
from kafkactl.quorum.recover.published_answers import RecoverDisk, RecoverResult
from kafkactl.quorum.recover.rank import SHOWN, at_new_addresses, ranked, role_of
from kafkactl.quorum.recover.steps import Step, Way, steps_of

KIND: Final = "quorum.recover"
PLAN_SUFFIX: Final = ".recovery.json"
# What may differ between two looks at the same plan.
_NOT_PLANNED: Final = frozenset({"outcome", "steps", "findings", "plan_sha256", "kind", "schema_version"})


def plan_file_of(directory: str) -> str:
    """Return the path of the plan of a new directory: next to the directory."""
    return directory.rstrip("/") + PLAN_SUFFIX


@frozen
class Disk:
    """A disk of a recovery: `rank` is 1 for the best, `behind` how many offsets it is behind that one."""

    seen: DiskSeen
    role: Literal["controller", "broker"]
    is_voter: bool
    behind: int | None
    rank: int | None

    @property
    def damage(self) -> str | None:
        """Return the damage that ends the metadata log before its last record; None if there is none."""
        return None if self.seen.candidate is None else self.seen.candidate.damage

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of a disk in the answer `quorum.recover`."""
        seen, found = self.seen, self.seen.candidate
        snapshot = None if seen.log is None else seen.log.newest_snapshot
        shown: RecoverDisk = {
            "path": seen.path,
            "node_id": seen.node_id,
            "directory_id": None if seen.directory_id is None else str(seen.directory_id),
            "role": self.role,
            "voter": self.is_voter,
            "log_end_offset": None if found is None else found.end_offset,
            "last_epoch": None if found is None else found.last_epoch,
            "quorum_state_epoch": None if seen.quorum_state is None else seen.quorum_state.leader_epoch,
            "snapshot": None if snapshot is None else {"offset": snapshot.offset, "epoch": snapshot.epoch},
            "damaged": self.damage is not None,
            "damage": self.damage,
            "behind": self.behind,
            "rank": self.rank,
            "partition_folders": len(seen.folders),
        }
        return plain_dict(shown)


@frozen
class Recovery:
    """A plan, and what became of it: `outcome` is the plan's or a later one, which `more` findings are about."""

    plan: RecoveryPlan
    outcome: Outcome
    more: tuple[Finding, ...] = ()

    @property
    def mode(self) -> Literal["static", "dynamic"]:
        """Return `dynamic` or `static`."""
        return "dynamic" if self.plan.is_dynamic else "static"

    @property
    def metadata_version(self) -> tuple[int, str | None] | None:
        """Return the level of the image, and its name if a release has it."""
        level = self.plan.image.metadata_version
        return None if level is None else (level, _level_name(level))

    @property
    def disks(self) -> list[Disk]:
        """Return the disks in the order in which they were given."""
        plan, order = self.plan, ranked(self.plan.read.disks)
        ids = [voter.id for voter in plan.voters]
        keys = {(voter.id, voter.directory_id) for voter in plan.voters}
        return [
            Disk(
                seen=seen,
                role=role_of(seen, plan.image, ids),
                is_voter=seen.log is not None
                and bool(keys & {(seen.node_id, seen.directory_id), (seen.node_id, None)}),
                behind=None if seen.candidate is None else max(0, order[0].place[1] - seen.candidate.end_offset),
                rank=order.index(seen) + 1 if seen in order else None,
            )
            for seen in plan.read.disks
        ]

    @property
    def shown(self) -> int:
        """Return the number of voters whose disks were given."""
        return sum(voter.state == SHOWN for voter in self.plan.voters)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the operator's steps; none if the recovery is refused."""
        return _steps(self.plan, self.outcome)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the plan, then those of its application."""
        return (*self.plan.findings, *self.more)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `quorum.recover`."""
        plan, version = self.plan, self.metadata_version
        body: dict[str, Any] = {
            "outcome": self.outcome.value,
            "cluster_id": plan.cluster_id,
            "mode": self.mode,
            "kraft_version": plan.image.kraft_version or 0,
            "metadata_version": None if version is None else {"level": version[0], "name": version[1]},
            "disks": [disk.to_dict() for disk in self.disks],
            "voters_before": [voter.to_dict() for voter in plan.voters],
            "majority": majority(len(plan.voters)),
            "shown": self.shown,
            "source": {
                "path": plan.source.path,
                "end_offset": plan.source.place[1],
                "epoch": plan.source.place[0],
                "committed_at_least": plan.committed_at_least,
            },
            "result": plain_values(_result(plan)),
            "losses": plan.losses.to_dict(),
            "repairs": plan.repairs.to_dict(),
            "steps": [step.to_dict() for step in self.steps],
            "findings": [finding.to_dict() for finding in self.findings],
            "inputs": [
                {"path": file.path, "size": file.size, "sha256": file.sha256}
                for disk in plan.read.disks
                for file in disk.files
            ],
        }
        return {**body, "plan_sha256": plan_sha256(body)}


def plan_sha256(answer: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what is planned: the same for equal disks, arguments, ids and times."""
    planned = {name: value for name, value in answer.items() if name not in _NOT_PLANNED}
    text = json.dumps(planned, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _level_name(level: int) -> str | None:
    try:
        return metadata_version(level).name
    except KeyError:
        return None


def _result(plan: RecoveryPlan) -> RecoverResult | None:
    made = plan.result
    if made is None:
        return None
    return {
        "node_id": made.node_id,
        "directory_id": str(made.directory_id),
        "endpoints": made.endpoints,
        "directory": plan.request.target.directory,
        "offset": made.offset,
        "epoch": made.epoch,
        "files": [
            {"path": f"{plan.request.target.directory}/{file.name}", "size": file.size, "sha256": file.sha256}
            for file in made.files
        ],
        "image_sha256": made.image_sha256,
        "planned_at_ms": made.now_ms,
    }


def _steps(plan: RecoveryPlan, outcome: Outcome) -> tuple[Step, ...]:
    if plan.result is None or outcome is Outcome.REFUSED:
        return ()
    directory = plan.request.target.directory
    return steps_of(
        Way(
            read=plan.read,
            voters=at_new_addresses(plan.voters, plan.request.new_addresses),
            brokers=tuple(sorted(plan.image.brokers)),
            brokers_run=plan.request.overrides.brokers_run,
            node_id=plan.result.node_id,
            endpoints=plan.result.endpoints,
            directory=directory,
            plan_file=plan_file_of(directory),
            is_dynamic=plan.is_dynamic,
            adopted=plan.repairs.adopted,
            written=outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO),
        )
    )


@frozen
class KeptPlan:
    """Content of a kept plan: the input that a later run must equal, and that `verify` compares."""

    cluster_id: str
    node_id: int
    directory_id: Uuid
    directory: str
    is_dynamic: bool
    offset: int
    epoch: int
    files: tuple[tuple[str, int, str], ...]
    image_sha256: str
    planned_at_ms: int
    plan_sha256: str


def read_kept_plan(data: bytes, *, file: str) -> KeptPlan:
    """Read a plan that `Recovery` made, as JSON. Raise InputError `not-a-recovery-plan`, `recovery-plan-edited`."""
    try:
        found = parse_json(data)
    except JsonInputError as error:
        raise InputError(f"{file} is not the plan of a recovery: not JSON: {error}", id="not-a-recovery-plan") from None
    try:
        answer = checked(found, dict, "the file")
        made = table_in(answer, "result")
        kept = KeptPlan(
            cluster_id=text_in(answer, "cluster_id"),
            node_id=number_in(made, "node_id"),
            directory_id=Uuid.parse(text_in(made, "directory_id")),
            directory=text_in(made, "directory"),
            is_dynamic=text_in(answer, "mode") == "dynamic",
            offset=number_in(made, "offset"),
            epoch=number_in(made, "epoch"),
            files=tuple(
                (text_in(file, "path"), number_in(file, "size"), text_in(file, "sha256"))
                for file in tables_in(made, "files")
            ),
            image_sha256=text_in(made, "image_sha256"),
            planned_at_ms=number_in(made, "planned_at_ms"),
            plan_sha256=text_in(answer, "plan_sha256"),
        )
    except (ValueError, KeyError, InputError) as error:
        raise InputError(f"{file} is not the plan of a recovery", id="not-a-recovery-plan") from error
    if plan_sha256(answer) != kept.plan_sha256:
        raise InputError(
            f"{file} was changed after it was made: its checksum does not fit what it says",
            id="recovery-plan-edited",
            next_step="Restore the original file. Make a new plan with `kafkactl quorum recover --plan` only if no"
            " controller was started from the directory of this one.",
        )
    return kept
