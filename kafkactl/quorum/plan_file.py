"""A reassignment of voters as a file: planned and reviewed at one time, applied at another.

Invariant: no voter comes or goes that was not reviewed. The file states which voters there were, with their
directories, and every step. If the quorum still has these voters, the plan that is made of it now has to be the file's,
step for step. If some of the steps were taken, the steps that are left have to be the rest of the file's; their order
is chosen by who leads then, as for every change of voters (`quorum/order`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkactl.change.plan_document import (
    CHECKSUM,
    list_in,
    not_a_plan,
    number_in,
    read_document,
    tables_in,
    text_in,
    texts_in,
)
from kafkactl.cluster.quorum.state import QuorumState, key_text
from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import ZERO_UUID, ReplicaKey, Uuid
from kafkactl.quorum.guard import OVERRIDES
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.step import Action, QuorumChange, Step

KIND: Final = "quorum.plan"
SCHEMA_VERSION: Final = 1
MADE_BY: Final = "kafkactl quorum reassign --target IDS --out plan.json"

_Move = tuple[Action, ReplicaKey]


@frozen
class QuorumPlanFile:
    """Content of a plan file: the voters before, and the moves in order.

    `overrides` are the flags that were given, `max_lag` is in records.
    """

    sha256: str
    cluster_id: str
    created_ms: int
    overrides: tuple[str, ...]
    max_lag: int
    voters: VoterKeys
    moves: tuple[_Move, ...]

    @property
    def target(self) -> VoterKeys:
        """Return the voters after the last move."""
        voters = set(self.voters)
        for action, key in self.moves:
            (voters.add if action is Action.ADD else voters.discard)(key)
        return frozenset(voters)

    @property
    def target_text(self) -> str:
        """Return the target as `--target` takes it, every voter with its directory."""
        return ",".join(f"{key.node_id}@{key.directory_id}" for key in sorted(self.target))


def plan_document(
    state: QuorumState, steps: Iterable[Step], findings: Iterable[Finding], *, overrides: Iterable[str], max_lag: int,
    created_ms: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the content of the file, without its checksum, of a plan made from this state."""
    return {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "cluster_id": state.cluster_id,
        "created_ms": created_ms,
        "overrides": sorted(overrides),
        "max_lag": max_lag,
        "leader_id": state.leader_id,
        "voters": [{"id": key.node_id, "directory_id": str(key.directory_id)} for key in sorted(state.voter_keys)],
        "steps": [step.to_dict() for step in steps],
        "findings": [finding.to_dict() for finding in findings],
    }


def read_plan(data: bytes, *, file: str) -> QuorumPlanFile:
    """Read a plan file.

    Raises InputError `not-a-plan-file`, RefusedError `plan-file-edited`, and RefusedError `plan-forged` if its
    steps do not follow from its voters.
    """
    document = read_document(data, file=file, kind=KIND, schema_version=SCHEMA_VERSION, made_by=MADE_BY)
    try:
        plan = _plan_from(document)
        shown = [[checked_id(item) for item in list_in(step, "voters_after")] for step in tables_in(document, "steps")]
    except (KeyError, TypeError, ValueError, AttributeError, InputError) as error:
        raise not_a_plan(file, f"{type(error).__name__}: {error}", MADE_BY) from None
    for problem in _forged(plan, [step["action"] for step in document["steps"]], shown):
        raise RefusedError(f"{file} was not made by `quorum reassign`: {problem}", id="plan-forged")
    return plan


def guarded(file: QuorumPlanFile, state: QuorumState, plan: QuorumChange) -> QuorumChange:
    """Return the plan that was made from this state, without steps and with a blocker if it is not the file's."""
    found = check_plan(file, state, plan)
    return plan if found is None else changed(plan, steps=(), findings=(found, *plan.findings))


def check_plan(file: QuorumPlanFile, state: QuorumState, plan: QuorumChange) -> Finding | None:
    """Return a blocker if the quorum, or the plan that is made of it now, differs from the file."""
    if state.cluster_id is not None and state.cluster_id != file.cluster_id:
        return blocker(
            "cluster-id-mismatch",
            "quorum",
            f"the plan was made for cluster {file.cluster_id}, and {state.cluster_id} answers",
            "Nothing was changed. Check the addresses, and the plan file.",
            planned=file.cluster_id,
            found=state.cluster_id,
        )
    if not state.has_leader:
        return None  # the plan has blockers of its own
    differences = tuple(_differences(file, state, plan))
    if not differences:
        return None
    listed = "; ".join(f"{what}: planned {planned}, found {found}" for what, planned, found in differences)
    return blocker(
        "cluster-changed-since-plan",
        "quorum",
        f"the quorum is not in the state that the plan was made for: {listed}",
        changed=[{"what": what, "planned": planned, "found": found} for what, planned, found in differences],
    )


def _differences(file: QuorumPlanFile, state: QuorumState, plan: QuorumChange) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences from the file, as (what, planned, found)."""
    here, target = state.voter_keys, file.target
    if not file.voters & target <= here <= file.voters | target:
        yield "voters", _names(file.voters), _names(here)
        return
    found = [(step.action, step.key) for step in plan.steps if step.action is not Action.WAIT]
    if not found:
        return
    if here == file.voters:
        if found != list(file.moves):
            yield "steps", _words(file.moves), _words(found)
        return
    left = Counter(move for move in file.moves if (move[1] in here) is (move[0] is Action.REMOVE))
    if Counter(found) != left:
        yield "steps that are left", _words(left), _words(found)


def _names(keys: VoterKeys) -> list[str]:
    return [key_text(key) for key in sorted(keys)]


def _words(moves: Iterable[tuple[Action, ReplicaKey | None]]) -> list[str]:
    return [action.value if key is None else f"{action.value} {key_text(key)}" for action, key in moves]


def _forged(file: QuorumPlanFile, actions: list[str], shown: list[list[int]]) -> Iterator[str]:
    """Yield the statements of the file that contradict a plan of its steps from its voters."""
    voters = set(file.voters)
    moves = iter(file.moves)
    for action, ids_shown in zip(actions, shown, strict=True):
        if action != Action.WAIT:
            turn, key = next(moves)
            if (key in voters) is (turn is Action.ADD):
                votes = "votes" if key in voters else "does not vote"
                yield f"it is to {turn.value} {key_text(key)}, which {votes} then"
            (voters.add if turn is Action.ADD else voters.discard)(key)
        ids = sorted(key.node_id for key in voters)
        if sorted(ids_shown) != ids:
            yield f"it shows the voters {ids_shown} after a step that leaves {ids}"
    if len({key.node_id for key in file.target}) != len(file.target) or not file.target:
        yield "its last step leaves no voter, or one id twice"


def checked_id(value: object) -> int:
    """Return a node id. Raises ValueError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise ValueError(f"{value!r} is not a node id")
    return value


def _plan_from(document: Mapping[str, Any]) -> QuorumPlanFile:
    steps = tables_in(document, "steps")
    if not steps:
        raise ValueError("it has no steps")
    moves = [
        (Action(text_in(step, "action")), _key(step)) for step in steps if text_in(step, "action") != Action.WAIT.value
    ]
    if any(action is Action.UPGRADE for action, _ in moves):
        raise ValueError("a conversion is a change of its own, not a step of a plan file")
    overrides = texts_in(document, "overrides")
    if unknown := set(overrides) - set(OVERRIDES.values()):
        raise ValueError(f"{sorted(unknown)[0]!r} is not a flag that overrides a refusal")
    voters = frozenset(map(_key, tables_in(document, "voters")))
    if len(voters) != len(document["voters"]):
        raise ValueError("a voter occurs twice")
    return QuorumPlanFile(
        sha256=text_in(document, CHECKSUM),
        cluster_id=text_in(document, "cluster_id"),
        created_ms=number_in(document, "created_ms"),
        overrides=overrides,
        max_lag=number_in(document, "max_lag"),
        voters=voters,
        moves=tuple(moves),
    )


def _key(document: Mapping[str, Any]) -> ReplicaKey:
    directory = document["directory_id"]
    return ReplicaKey(
        node_id=checked_id(document["id"]),
        directory_id=ZERO_UUID if directory is None else Uuid.parse(text_in(document, "directory_id")),
    )
