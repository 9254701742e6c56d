"""The moves of a migration: the function that carries out each kind of step, and the context of a run.

A step is done when the plan of two observations some time apart no longer has the step as pending. No plan shows that a
broker follows a controller, or that a disk was put aside: these moves observe their own end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from kafkactl.change.clock import Deadline
from kafkactl.change.hooks.words import directory_of_node
from kafkactl.change.progress import Event, ProgressCallback
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome, blocker, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.migration.driver import actions as apply
from kafkactl.migration.driver.actions import Applied, Place
from kafkactl.migration.driver.journal import DriverJournal
from kafkactl.migration.driver.ports import DriverLock, MigrationPort, MigrationWaitPolicy
from kafkactl.migration.inventory import Inventory, InventoryNode
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.steps.step import Step
from kafkactl.migration.zktree.znode import Znode, render_znode

ORIGINAL: Final = "original"
_STARTS_IN_ZOOKEEPER: Final = frozenset({ORIGINAL, "migration"})


@frozen
class StepPlan:
    """A plan made from one observation: the steps that are left, or the reasons of a refusal."""

    outcome: Outcome
    state: str
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()
    next_action: str = ""


class Files(Protocol):
    """The source of the nodes' configuration files."""

    def content(
        self, node: InventoryNode, phase: str, current: bytes | None, observation: Observation
    ) -> bytes | Finding:
        """Return the file that brings a node to a phase, or the reason why there is none."""
        ...

    def keep_originals(self, journal: DriverJournal) -> None:
        """Keep every node's own file, before the first of them is changed."""
        ...

    def objections(self, seen: Observation, steps: Iterable[Step]) -> tuple[Finding, ...]:
        """Return files that need consent to be replaced, and files that the steps need and cannot use."""
        ...

    def settle(self, journal: DriverJournal, seen: Observation, steps: Iterable[Step]) -> tuple[str, ...]:
        """Write the consent of an operator to the journal before the first step; return lines for the operator."""
        ...


@frozen
class RunContext:
    """The context of a run, which each move gets."""

    world: MigrationPort
    inventory: Inventory
    journal: DriverJournal
    files: Files
    policy: MigrationWaitPolicy
    tell: ProgressCallback
    cluster_id: str
    release: str
    format_flags: Mapping[int, tuple[str, ...]]
    lock: DriverLock

    def node(self, id: int) -> InventoryNode:
        """Return a node of the inventory; a plan names no other node."""
        found = self.inventory.node(id)
        assert found is not None, id
        return found

    def place(self, step: Step, seq: int) -> Place:
        """Return the node that a step is about, for its action."""
        assert step.node is not None
        return Place(node=step.node, name=step.target, phase=phase_of(step), seq=seq)

    def waits(self, what: str, seen: str) -> None:
        """Report a wait within an action."""
        self.tell(Event(kind="wait", text=what, seen=seen))

    def controllers(self, seq: int) -> tuple[Place, ...]:
        """Return every controller of the inventory, for an action."""
        return tuple(
            Place(node=controller.id, name=controller.name, phase=ORIGINAL, seq=seq)
            for controller in self.inventory.controllers
        )


def phase_of(step: Step) -> str:
    """Return the phase whose file a node gets, or is restarted with."""
    return ORIGINAL if step.file is None else str(step.file)


Act = Callable[[RunContext, Step, int, Observation], Applied]


def _put(context: RunContext, step: Step, seq: int, seen: Observation) -> Applied:
    place = context.place(step, seq)
    node = context.node(place.node)
    current, finding = apply.read_file(context.world, place)
    if finding is not None:
        return Applied(finding=finding)
    content = context.files.content(node, place.phase, current, seen)
    if isinstance(content, Finding):
        return Applied(finding=content)
    kept = context.journal.keep("file", {"node": node.name, "phase": place.phase}, content)
    return apply.put_file(context.world, place, content, before=current, copy=str(context.journal.folder / kept))


def _restart(context: RunContext, step: Step, seq: int, seen: Observation) -> Applied:
    place = context.place(step, seq)
    in_zookeeper = step.role is Role.BROKER and (
        phase_of(step) in _STARTS_IN_ZOOKEEPER or _is_in_zookeeper(seen, place.node)
    )
    return apply.restart(
        context.world,
        place,
        in_zookeeper=in_zookeeper,
        policy=context.policy,
        waits=context.waits,
        starting=lambda: _starting(context, seq, place.name, place.phase),
    )


def _is_in_zookeeper(seen: Observation, broker: int) -> bool:
    node = seen.node(broker, Role.BROKER)
    return node is None or node.mode is not Mode.KRAFT


def _stop(context: RunContext, step: Step, seq: int, _seen: Observation) -> Applied:
    return apply.stop(context.world, context.place(step, seq), policy=context.policy, waits=context.waits)


def _starting(context: RunContext, seq: int, target: str, phase: str) -> None:
    """Write to the journal that a node is about to start with the file of a phase, as a part of this intent."""
    context.journal.append("starting", {"of": seq, "target": target, "phase": phase})


def _start(context: RunContext, step: Step, seq: int, _seen: Observation) -> Applied:
    _starting(context, seq, step.target, phase_of(step))
    return apply.start(context.world, context.place(step, seq))


def _format(context: RunContext, step: Step, seq: int, _seen: Observation) -> Applied:
    place = context.place(step, seq)
    if context.world.listens(place.node):
        return Applied(finding=_something_listens(step))
    flags = context.format_flags.get(place.node, ())
    return apply.format_disk(context.world, place, cluster_id=context.cluster_id, release=context.release, flags=flags)


def _stop_controllers(context: RunContext, _step: Step, seq: int, _seen: Observation) -> Applied:
    applied = apply.stop_controllers(
        context.world, context.controllers(seq), policy=context.policy, waits=context.waits
    )
    if applied.finding is not None or applied.asked:
        return applied
    finding = apply.verified_gone(context.world, context.controllers(seq), policy=context.policy, waits=context.waits)
    return Applied(finding=finding, evidence=applied.evidence)


def _raise(context: RunContext, _step: Step, seq: int, _seen: Observation) -> Applied:
    return apply.raise_epoch(context.world, context.controllers(seq), policy=context.policy)


def _delete_controller(context: RunContext, _step: Step, seq: int, _seen: Observation) -> Applied:
    return apply.delete_controller(context.world, context.controllers(seq), _keeper(context), policy=context.policy)


def _delete_migration(context: RunContext, _step: Step, seq: int, _seen: Observation) -> Applied:
    return apply.delete_migration(context.world, context.controllers(seq), _keeper(context), policy=context.policy)


def _keeper(context: RunContext) -> Callable[[Znode], str]:
    def keep(znode: Znode) -> str:
        return context.journal.keep("znode", {"path": znode.path}, render_znode(znode).encode())

    return keep


def _follows(context: RunContext, step: Step, _seq: int, _seen: Observation) -> Applied:
    """Wait until the broker's own Metadata answer names the ZooKeeper controller in two observations."""
    world, until, times = context.world, Deadline.after(context.policy.gate_ms, context.world.clock), 0
    while True:
        holder = apply.zookeeper_controller(world)
        named = None if step.node is None else world.controller_of(step.node)
        times = times + 1 if holder is not None and named == holder else 0
        if times == 2:
            return Applied(evidence={"controller": holder})
        if until.passed:
            return Applied(finding=_does_not_follow(step, holder, named))
        if named == holder and holder is not None:
            seen = f"both are broker {holder}; observed once, to be confirmed by a second observation"
        else:
            seen = f"{step.target} names {_broker(named)}, /controller is held by {_broker(holder)}"
        context.waits(f"{step.target} to name the broker that holds /controller", seen)
        world.clock.sleep_ms(context.policy.observe_every_ms)


def _broker(id: int | None) -> str:
    return "no broker" if id is None else f"broker {id}"


def _wait(_context: RunContext, _step: Step, _seq: int, _seen: Observation) -> Applied:
    return Applied()


def _wipe(context: RunContext, step: Step, seq: int, _seen: Observation) -> Applied:
    place = context.place(step, seq)
    folder = metadata_dir(context.node(place.node), context, place)
    if isinstance(folder, Finding):
        return Applied(finding=folder)
    return apply.wipe_disk(context.world, place, metadata_dir=folder, cluster_id=context.cluster_id)


def metadata_dir(node: InventoryNode, context: RunContext, place: Place) -> str | Finding:
    """Return the directory of a controller's metadata log: by its file, else by the inventory."""
    from kafkactl.protocol.text.properties import parse_properties

    current, _ = apply.read_file(context.world, place)
    known = {} if current is None else parse_properties(current, file=node.config).mapping
    for key in ("metadata.log.dir", "log.dirs", "log.dir"):
        if first := (known.get(key) or "").split(",")[0].strip():
            try:
                return first if node.hooks.is_local else directory_of_node(first, where=node.name)
            except InputError as error:
                return error_finding(node.name, error)
    return node.log_dirs[0] if node.log_dirs else _no_directory(node)


ACTS: Final[Mapping[str, Act]] = {
    "put-config": _put,
    "restore-config": _put,
    "restart-node": _restart,
    "stop-node": _stop,
    "start-node": _start,
    "format-disk": _format,
    "stop-controllers": _stop_controllers,
    "raise-controller-epoch": _raise,
    "delete-controller-znode": _delete_controller,
    "delete-migration-znode": _delete_migration,
    "wait-zookeeper-controller": _wait,
    "wait-quorum": _wait,
    "wait-broker-registered": _wait,
    "wait-copy": _wait,
    "wait-finalized": _wait,
    "wait-broker-follows-controller": _follows,
    "wipe-disk": _wipe,
}

WITHOUT_OBSERVATION: Final = frozenset({"wait-broker-follows-controller", "wipe-disk"})
"""Actions whose end no observation may show: their own observation has to suffice, and the start after them."""


CONFIRMED_ALREADY: Final = frozenset(
    {
        "put-config",
        "restore-config",
        "format-disk",
        "start-node",
        "stop-controllers",
        "raise-controller-epoch",
        "delete-controller-znode",
        "delete-migration-znode",
    }
)
"""Actions that read back their result, observed twice that every process is gone, or are awaited by the step after
them: one more observation is enough, and every second counts while there is no controller."""


def step_entry(step: Step) -> dict[str, Any]:
    """Return the entry of a step for the journal, before the step is taken."""
    return {"number": step.number, "phase": None if step.file is None else str(step.file), "gate": step.gate}


def _something_listens(step: Step) -> Finding:
    return blocker(
        "format-of-running-node",
        step.target,
        f"something listens at the address of {step.target}, which is to be formatted: a node that runs is never"
        " formatted",
    )


def _does_not_follow(step: Step, holder: int | None, named: int | None) -> Finding:
    return blocker(
        "broker-does-not-follow-controller",
        step.target,
        f"{step.target} names controller {named}, active is {holder}: stopped now, {step.target} would wait"
        " indefinitely",
        controller=holder,
        named=named,
    )


def _no_directory(node: InventoryNode) -> Finding:
    return blocker(
        "metadata-directory-unknown",
        node.name,
        f"neither the file of {node.name} nor the inventory says where its metadata log is",
    )
