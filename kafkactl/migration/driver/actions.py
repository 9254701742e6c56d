"""Actions of a migration: a file swapped, a node restarted, a znode deleted at the observed version.

Invariant: nothing here decides whether an action is due, and no answer here means that it worked: a gate is observed
for that. What cannot be undone is looked at again in the moment before it is done: no `/controller` goes while a
controller process may live (a split brain without a log line), and none but KRaft's; a file goes only over the one that
was hashed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from kafkactl.change.clock import Deadline
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import Value, Verb
from kafkactl.core.findings import Finding, blocker
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import parse_json
from kafkactl.migration.driver.ports import MigrationPort, MigrationWaitPolicy, Waits, in_silence
from kafkactl.migration.zktree.checks import highest_controller_epoch
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.znode import Znode

ABSENT: Final = "absent"
CONTROLLER, EPOCH, MIGRATION = "/controller", "/controller_epoch", "/migration"
_GONE: Final = frozenset({"gone", "inactive", "stopped", "dead", "failed", "exited", "no", "false", "succeeded"})


@frozen
class Applied:
    """The result of an action. `asked`: an operator was asked, and only the gate can show when it is done.

    `finding` says what is wrong if it is; `unknown` that it is not known whether it happened; `came_up` that its
    gate was open before anything was done. `evidence` is for the journal.
    """

    asked: bool = False
    came_up: bool = False
    unknown: bool = False
    finding: Finding | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


def sha256(content: bytes) -> str:
    """Return the hash for `sha_before` and `sha_after`."""
    return hashlib.sha256(content).hexdigest()


@frozen
class Place:
    """Target of an action: a node by id and name (`broker 2`), the phase to which it is brought, the journal entry."""

    node: int
    name: str
    phase: str
    seq: int


def read_file(world: MigrationPort, place: Place) -> tuple[bytes | None, Finding | None]:
    """Read the node's configuration file as it is now; return None without a finding if no hook can read it."""
    if not world.has_hook(Verb.GET_CONFIG, place.node):
        return None, None
    run = world.ask(_request(place, Verb.GET_CONFIG, ""))
    if not run.is_done:
        return None, _failed(place, Verb.GET_CONFIG, run)
    return run.stdout, None


def put_file(world: MigrationPort, place: Place, content: bytes, *, before: bytes | None, copy: str = "") -> Applied:
    """Swap the node's file, if it is still `before` (None: if there is none), and read it back.

    `copy` is where an operator finds the new file.
    """
    old, new = ABSENT if before is None else sha256(before), sha256(content)
    evidence = {"sha_before": old, "sha_after": new}
    if old == new:
        return Applied(evidence=evidence)
    instruction = f"put the {place.phase} file of {place.name} in its place: {copy or 'sha256 ' + new}"
    request = _request(place, Verb.PUT_CONFIG, instruction, text=content, sha_before=old, sha_after=new, copy=copy)
    run = world.ask(request)
    if run.end is HookEnd.CHANGED_MEANWHILE:
        return Applied(finding=_edited(place), evidence=evidence)
    if run.end is HookEnd.ASKED:
        return Applied(asked=True, evidence=evidence)
    if not run.is_done and run.end is not HookEnd.TIMED_OUT:
        return Applied(finding=_failed(place, Verb.PUT_CONFIG, run), evidence=evidence)
    there, finding = read_file(world, place)
    if there is not None and sha256(there) != new:
        finding = _not_written(place) if sha256(there) == old else _edited(place)
    return Applied(finding=finding, unknown=run.end is HookEnd.TIMED_OUT and there is None, evidence=evidence)


def restart(
    world: MigrationPort,
    place: Place,
    *,
    in_zookeeper: bool,
    policy: MigrationWaitPolicy,
    waits: Waits = in_silence,
    starting: Callable[[], None] = lambda: None,
) -> Applied:
    """Stop and start a node. A broker that was in ZooKeeper is started only when its old session is over: it would die
    of its own znode (measured on 3.9.2). `starting` is called right before it is started.
    """
    parts = (Verb.STOP, Verb.START)
    if not all(world.has_hook(verb, place.node) for verb in parts):
        starting()
        return _one(world, place, Verb.RESTART, f"restart {place.name}")
    stopped = stop(world, place, policy=policy, waits=waits)
    if stopped.finding is not None or stopped.unknown:
        return stopped
    if in_zookeeper and not _vanishes(world, f"/brokers/ids/{place.node}", policy, waits):
        return Applied(finding=_session_lives(place) if not is_alive(world, place) else _did_nothing(place))
    starting()
    return start(world, place)


def stop(world: MigrationPort, place: Place, *, policy: MigrationWaitPolicy, waits: Waits = in_silence) -> Applied:
    """Stop a node, and check that its process is gone if there is a hook for that, else that its port is closed."""
    applied = _one(world, place, Verb.STOP, f"stop {place.name}")
    if applied.finding is not None or applied.asked:
        return applied
    until = Deadline.after(policy.gone_ms, world.clock)
    while is_alive(world, place):
        listens = world.listens(place.node)
        if until.passed:
            return Applied(finding=_did_nothing(place) if listens else _still_runs(place), evidence=applied.evidence)
        waits(f"the process of {place.name} to end", "its port still takes connections" if listens else "it exists")
        world.clock.sleep_ms(policy.observe_every_ms)
    return applied


def is_alive(world: MigrationPort, place: Place) -> bool:
    """Return True if a node runs: by its is_running hook, without one by its port."""
    running = is_running(world, place)
    return running if running is not None else bool(world.listens(place.node))


def start(world: MigrationPort, place: Place) -> Applied:
    """Start a node."""
    if not world.has_hook(Verb.START, place.node) and world.has_hook(Verb.RESTART, place.node):
        return _one(world, place, Verb.RESTART, f"start {place.name}")
    return _one(world, place, Verb.START, f"start {place.name}")


def is_running(world: MigrationPort, place: Place) -> bool | None:
    """Return True if the process exists, by its hook; None without a hook, or if the hook gives no answer."""
    if not world.has_hook(Verb.IS_RUNNING, place.node):
        return None
    run = world.ask(_request(place, Verb.IS_RUNNING, ""))
    if not run.is_done:
        return None
    words = run.stdout.decode("utf-8", "replace").split()
    return bool(words) and words[0].lower() not in _GONE


def format_disk(world: MigrationPort, place: Place, *, cluster_id: str, release: str, flags: Iterable[str]) -> Applied:
    """Format a controller's disk, and nothing if it is formatted so already: the hook looks after that."""
    instruction = f"format {place.name} with its own file, for cluster {cluster_id} and release {release}"
    request = _request(
        place, Verb.FORMAT, instruction, cluster_id=cluster_id, release=release, format_flags=tuple(flags)
    )  # fmt: skip
    return _asked_or_done(place, Verb.FORMAT, world.ask(request))


def wipe_disk(world: MigrationPort, place: Place, *, metadata_dir: str, cluster_id: str = "") -> Applied:
    """Move the metadata log of a stopped node out of the way; `cluster_id` is the cluster it must belong to."""
    if (running := is_running(world, place)) or (running is None and world.listens(place.node)):
        return Applied(finding=_still_runs(place))
    instruction = f"move {metadata_dir} of {place.name} out of the way: the next try needs empty disks"
    return _asked_or_done(
        place,
        Verb.WIPE,
        world.ask(_request(place, Verb.WIPE, instruction, metadata_dir=metadata_dir, cluster_id=cluster_id)),
    )


def stop_controllers(
    world: MigrationPort, places: Iterable[Place], *, policy: MigrationWaitPolicy, waits: Waits = in_silence
) -> Applied:
    """Stop every controller, and keep it from coming back if a hook can."""
    every, asked = tuple(places), False
    for place in every:
        if world.has_hook(Verb.DISABLE, place.node):
            run = world.ask(_request(place, Verb.DISABLE, f"keep {place.name} from starting again"))
            if not run.is_done:
                return Applied(finding=_failed(place, Verb.DISABLE, run))
        applied = stop(world, place, policy=policy, waits=waits)
        if applied.finding is not None or applied.unknown:
            return applied
        asked = asked or applied.asked
    return Applied(asked=asked)


def controllers_alive(world: MigrationPort, places: Iterable[Place]) -> tuple[Finding, ...]:
    """Return the reasons why nothing may be deleted yet: a controller that runs, or that is not known to be stopped."""
    found = []
    for place in places:
        listens, running = world.listens(place.node), is_running(world, place)
        if listens or running:
            sign = "its port takes connections" if listens else "its process exists"
            found.append(
                blocker(
                    "controller-still-runs",
                    place.name,
                    f"{place.name} still runs: {sign}",
                    listens=listens,
                    running=running,
                )
            )
        elif listens is None and running is None:
            found.append(
                blocker(
                    "controller-state-unknown",
                    place.name,
                    f"whether {place.name} runs is unknown: its port does not answer and no hook reports it",
                )
            )
    return tuple(found)


def verified_gone(
    world: MigrationPort, places: Iterable[Place], *, policy: MigrationWaitPolicy, waits: Waits = in_silence
) -> Finding | None:
    """Observe twice that no controller process runs; return the first reason against it."""
    every = tuple(places)
    until = Deadline.after(policy.gone_ms, world.clock)
    while alive := controllers_alive(world, every):
        if until.passed:
            return alive[0]
        waits("every controller to be gone", alive[0].message)
        world.clock.sleep_ms(policy.observe_every_ms)
    world.clock.sleep_ms(min(policy.apart_ms, 3_000))
    return next(iter(controllers_alive(world, every)), None)


def raise_epoch(world: MigrationPort, controllers: Iterable[Place], *, policy: MigrationWaitPolicy) -> Applied:
    """Lift `/controller_epoch` above what partitions' states and KRaft's `/controller` carry (KAFKA-20488)."""
    if finding := verified_gone(world, controllers, policy=policy):
        return Applied(finding=finding)
    tree, znode = parse_tree(world.tree()), world.znode(EPOCH)
    if znode is None or tree.controller_epoch is None:
        return Applied(finding=_unreadable(EPOCH))
    highest, now = highest_controller_epoch(tree), tree.controller_epoch
    evidence = {"epoch_before": now, "highest": highest}
    if now >= highest:
        return Applied(evidence=evidence)
    world.set_znode(EPOCH, str(highest + 1).encode(), znode.version)
    return Applied(evidence={**evidence, "epoch_after": highest + 1})


def delete_controller(
    world: MigrationPort, controllers: Iterable[Place], keep: Callable[[Znode], str], *, policy: MigrationWaitPolicy
) -> Applied:
    """Delete KRaft's `/controller`, and no other, at the version that was read, with no controller process left.

    `keep` stores what is deleted and gives its sha256.
    """
    if finding := verified_gone(world, controllers, policy=policy):
        return Applied(finding=finding)
    znode = world.znode(CONTROLLER)
    if znode is None or znode.ephemeral_owner:
        return Applied(evidence={"already": True})  # a ZooKeeper broker holds it, or will in a moment
    if not _is_kraft(znode):
        return Applied(finding=_unreadable(CONTROLLER))
    kept = keep(znode)
    world.delete_znode(CONTROLLER, znode.version)
    return Applied(evidence={"kept": kept, "version": znode.version})


def delete_migration(
    world: MigrationPort, controllers: Iterable[Place], keep: Callable[[Znode], str], *, policy: MigrationWaitPolicy
) -> Applied:
    """Delete `/migration` at the version that was read, with no controller process left: one would create it again."""
    if finding := verified_gone(world, controllers, policy=policy):
        return Applied(finding=finding)
    znode = world.znode(MIGRATION)
    if znode is None:
        return Applied(evidence={"already": True})
    kept = keep(znode)
    world.delete_znode(MIGRATION, znode.version)
    return Applied(evidence={"kept": kept, "version": znode.version})


def zookeeper_controller(world: MigrationPort) -> int | None:
    """Return the broker that holds `/controller` by its session and has its own znode; None if there is none."""
    znode = world.znode(CONTROLLER)
    if znode is None or not znode.ephemeral_owner:
        return None
    try:
        broker = parse_json(znode.data or b"")["brokerid"]
    except (ValueError, KeyError, TypeError):
        return None
    return broker if isinstance(broker, int) and world.znode(f"/brokers/ids/{broker}") is not None else None


def _is_kraft(znode: Znode) -> bool:
    try:
        epoch = parse_json(znode.data or b"")["kraftControllerEpoch"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(epoch, int) and epoch >= 0


def _vanishes(world: MigrationPort, path: str, policy: MigrationWaitPolicy, waits: Waits) -> bool:
    until = Deadline.after(policy.znode_ms, world.clock)
    while world.znode(path) is not None:
        if until.passed:
            return False
        waits(f"the ZooKeeper session of the stopped broker to end ({path} to go)", f"{path} is there")
        world.clock.sleep_ms(min(policy.observe_every_ms, 1_000))
    return True


def _request(place: Place, verb: Verb, instruction: str, *, text: bytes = b"", **extra: Value) -> Request:
    return Request(
        verb=verb, node=place.node, phase=place.phase, seq=place.seq, instruction=instruction, text=text, extra=extra
    )  # fmt: skip


def _one(world: MigrationPort, place: Place, verb: Verb, instruction: str) -> Applied:
    return _asked_or_done(place, verb, world.ask(_request(place, verb, instruction)))


def _asked_or_done(place: Place, verb: Verb, run: HookRun) -> Applied:
    evidence = {"hook": run.to_dict()}
    if run.is_done or run.end is HookEnd.ASKED:
        return Applied(asked=run.end is HookEnd.ASKED, evidence=evidence)
    return Applied(
        finding=_failed(place, verb, run), unknown=run.end is HookEnd.TIMED_OUT, evidence=evidence
    )  # fmt: skip


_IDS: Final[Mapping[HookEnd, str]] = {
    HookEnd.TIMED_OUT: "hook-timed-out",
    HookEnd.NOT_READY: "hook-not-ready",
    HookEnd.NOT_STARTED: "hook-not-started",
}


def _failed(place: Place, verb: Verb, run: HookRun) -> Finding:
    return blocker(
        _IDS.get(run.end, "hook-failed"),
        place.name,
        f"the hook {verb} of {place.name} did not do it: {run.message}",
        "Correct it, then run the same command again: it observes first and continues from the observed state.",
        verb=verb.value,
        exit_code=run.exit_code,
        attempts=run.attempts,
    )


def _edited(place: Place) -> Finding:
    return blocker(
        "config-changed-concurrently",
        place.name,
        f"the configuration file of {place.name} is not the one that the plan was made from; it was left alone",
    )


def _not_written(place: Place) -> Finding:
    return blocker(
        "config-not-written",
        place.name,
        f"the hook says that the file of {place.name} was put in place, and the old one is still there",
    )


def _still_runs(place: Place) -> Finding:
    return blocker("node-still-runs", place.name, f"{place.name} was stopped by its hook, and its process still exists")


def _did_nothing(place: Place) -> Finding:
    return blocker(
        "hook-did-nothing",
        place.name,
        f"the stop hook of {place.name} reported success, and {place.name} still runs and takes connections on its"
        " port: the hook did nothing, or stopped another process, or the process does not end in time",
    )


def _session_lives(place: Place) -> Finding:
    return blocker(
        "broker-session-active",
        place.name,
        f"{place.name} is stopped and /brokers/ids/{place.node} is still there: started now, it would die of it",
    )


def _unreadable(path: str) -> Finding:
    return blocker("znode-unreadable", path, f"{path} cannot be read as what Kafka writes there, so it was left alone")
