"""Around one step of a change: what must be so before it is sent, and what has to be seen after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from kafkactl.change.clock import Deadline
from kafkactl.change.progress import Event
from kafkactl.change.waiting import wait_until
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.errors import KafkactlError, RefusedError, UnreachableError
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.values import host_port
from kafkactl.quorum.catch_up import CatchUp
from kafkactl.quorum.change.watch import QuorumWatcher, is_converted, stays_away, watch_until
from kafkactl.quorum.guard import release_of_node
from kafkactl.quorum.guard_candidate import check_endpoints
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.outcome import Answer
from kafkactl.quorum.plan import SETTLED_EPOCH_MS
from kafkactl.quorum.step import Action, Step

# The one refusal that goes away by waiting: some voter has not reported to this leader yet what it supports.
_NOT_HEARD_OF_ALL = "not all of the voters support it"
_INVALID_UPDATE_VERSION = 95
_REPAIR_MS = 6_000  # a leader of 4.x corrects a wrong endpoint within some 2.4 s (measured)


def planned_sets(steps: Iterable[Step]) -> tuple[VoterKeys, ...]:
    """Return the voter sets that these steps pass, the one before them first."""
    sets: list[VoterKeys] = []
    for step in steps:
        sets += [step.voters_before, step.voters_after]
    return tuple(dict.fromkeys(sets))


def before_conversion(watcher: QuorumWatcher, step: Step) -> Finding | None:
    """Send a rehearsal of a conversion (validateOnly) until the leader accepts it; return the reason if it does not.

    The leader takes it after every voter has reported its directory, some seconds after its election; nothing shows
    when, so it is asked.
    """

    def rehearsed() -> Answer:
        try:
            return watcher.port.rehearse(step)
        except UnreachableError as error:
            return Answer(code=None, message=error.message)

    answer = wait_until(
        rehearsed,
        lambda found: found.code != _INVALID_UPDATE_VERSION or _NOT_HEARD_OF_ALL not in found.message,
        until=Deadline.after(2 * SETTLED_EPOCH_MS, watcher.clock),
        every_ms=watcher.policy.observe_every_ms,
        waiting=lambda _: watcher.tell(
            Event(kind="wait", text="the leader has not heard from every voter yet", step=step)
        ),
    )
    return None if answer.code == 0 else _rehearsal_refused(answer)


def after_step(watcher: QuorumWatcher, step: Step) -> tuple[Finding | None, Sequence[Finding]]:
    """Wait until the quorum is healthy after a step: what prevents that, and further findings."""
    if step.action is Action.UPGRADE:
        return _after_conversion(watcher)

    def is_well(state: QuorumState) -> bool:
        predicted = (state.tolerates or 0) >= min(step.tolerates_after, step.tolerates_before)
        return state.is_healthy and predicted and (step.action is not Action.ADD or step.key in state.alive_keys)

    # Who left is watched, too: one that still runs may join again.
    prove = partial(watcher.prove, also=() if step.id is None else (step.id,))
    state = watch_until(watcher, is_well, within_ms=watcher.policy.settle_ms, see=prove)
    if state is None or not state.is_healthy:
        return _not_well(step, state), ()
    if step.action is Action.REMOVE:
        return _back_again(watcher, step, state), ()
    return _endpoints_after(watcher, step, state), ()


def not_caught_up(step: Step, found: CatchUp) -> Finding:
    """Return the gate stayed closed for as long as was waited."""
    return blocker(
        "candidate-not-caught-up",
        f"controller {step.id}",
        f"controller {step.id} did not catch up with the leader in time: {', '.join(found.reasons)}",
        "Wait until it has, then run this again; --catch-up-timeout waits longer.",
        lag=found.lag,
        rate_per_s=found.rate_per_s,
    )


def not_sent(step: Step, error: KafkactlError) -> Finding:
    """Return the blocker for a request that was not sent: no node was available, or the node is of another cluster."""
    return blocker(
        error.id if isinstance(error, RefusedError) else "voter-change-not-sent",
        f"step {step.number}",
        f"the request was not sent: {error.message}",
        error.advice,
    )


def _back_again(watcher: QuorumWatcher, step: Step, state: QuorumState) -> Finding | None:
    """Report a removed controller that still runs and may add itself again within seconds (auto-join, 4.2+)."""
    release = release_of_node(state.nodes.get(step.id or 0))
    node = state.nodes.get(step.id or 0)
    runs = any(observer.key == step.key and observer.alive is not False for observer in state.observers)
    if node is not None and node.auto_join is False:
        return None
    able = release is None or release.auto_join
    if not runs or not able or stays_away(watcher, step):
        return None
    return blocker(
        "removed-voter-rejoined",
        f"step {step.number}",
        f"the removal of {step.id} was committed, and {step.id} votes again",
    )


def _endpoints_after(watcher: QuorumWatcher, step: Step, state: QuorumState) -> Finding | None:
    """Check that a new voter answers at its endpoint in the log; 4.x repairs a wrong endpoint automatically."""

    def wrong(seen: QuorumState) -> list[Finding]:
        return [finding for finding in check_endpoints(seen) if finding.subject == f"controller {step.id}"]

    if not wrong(state):
        return None
    seen = watch_until(watcher, lambda later: not wrong(later), within_ms=_REPAIR_MS)
    left = wrong(seen or state)
    return (
        blocker(left[0].id, left[0].subject, left[0].message, left[0].next_step, **left[0].evidence) if left else None
    )


def _after_conversion(watcher: QuorumWatcher) -> tuple[Finding | None, Sequence[Finding]]:
    def everywhere(state: QuorumState) -> bool:
        return is_converted(state) and not _without_level(state)

    state = watch_until(watcher, everywhere, within_ms=watcher.policy.settle_ms)
    if state is None or not is_converted(state):
        return _not_well(None, state), ()
    findings = [_edit_configs(state)]
    if behind := _without_level(state):
        findings.append(
            warning(
                "conversion-not-seen-everywhere",
                f"nodes {', '.join(map(str, behind))}",
                f"nodes {', '.join(map(str, behind))} do not report kraft.version 1 yet",
                nodes=behind,
            )
        )
    return None, findings


def _without_level(state: QuorumState) -> list[int]:
    return [
        node.id
        for node in state.nodes.values()
        if node.versions is not None and node.versions.finalized.get(KRAFT_VERSION, 0) < 1
    ]


def _edit_configs(state: QuorumState) -> Finding:
    first = [voter.endpoints[0] for voter in state.voters if voter.endpoints]
    servers = ",".join(host_port(endpoint.host, endpoint.port) for endpoint in first)
    return warning(
        "configuration-names-static-voters",
        "every node",
        "controller.quorum.voters is ignored from now on and misleads readers",
        f"On every node put controller.quorum.bootstrap.servers={servers or 'HOST:PORT,…'} in its place, then restart "
        f"brokers first, controllers one by one, the leader (now {state.leader_id}) last.",
        bootstrap_servers=servers,
        leader_id=state.leader_id,
    )


def _not_well(step: Step | None, state: QuorumState | None) -> Finding:
    what = "the conversion" if step is None else f"step {step.number}"
    seen = (
        "no controller answers"
        if state is None
        else "no controller leads"
        if not state.has_leader
        else "no majority is alive"
    )
    return blocker(
        "quorum-unhealthy-after-step",
        "quorum",
        f"{what} is done, and the quorum is unhealthy after it: {seen}",
        "Look with `kafkactl quorum describe`; run this again once a majority is alive and a controller leads.",
    )


def _rehearsal_refused(answer: Answer) -> Finding:
    return blocker(
        "conversion-refused-by-leader",
        "quorum",
        f"the leader would not convert the quorum: {answer.name} {answer.message}".strip(),
        "See the message; every voter has to run and to have reported its directory to this leader.",
        error_code=answer.code,
        error_message=answer.message,
    )
