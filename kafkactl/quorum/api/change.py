"""Change the voters of a live cluster: what is requested, the plan for it, and carrying it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from kafkactl.core.answers import json_of
from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ReplicaKey, Uuid
from kafkactl.files import clock
from kafkactl.files.journal import journal_content, journal_path, open_journal
from kafkactl.quorum.change import goals
from kafkactl.quorum.change.journal import SUBJECT, open_request
from kafkactl.quorum.change.ports import ChangeResult, Event, Goal, QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out, plan_only
from kafkactl.quorum.forecast import Forecast, forecast, forecast_now
from kafkactl.quorum.io import live_quorum

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client
    from kafkactl.simulator.study import Study

CALL_MS = 20_000.0
"""How long one call of the client may take; a change makes many."""

Confirm: TypeAlias = Callable[[ChangeResult], Finding | None]
EventCallback: TypeAlias = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Leave it unsaid."""


@frozen
class Candidate:
    """A controller that may become a voter, as its own server.properties and disks have it."""

    goal: Goal
    cluster_id: str | None
    node_id: int
    directory_id: Uuid
    endpoints: tuple[str, ...]


def addition(config: str | os.PathLike[str], *, overrides: Iterable[str] = (), max_lag: int = 1_000) -> Candidate:
    """Return the goal that the controller of this host votes; `config` is its server.properties.

    `overrides` are flags of `kafkactl quorum add-controller` such as --allow-unstable, `max_lag` is how many records
    it may be behind the leader. Raises InputError for a file or a disk that is not a controller's.
    """
    from kafkactl.quorum.io.candidate import read_candidate

    found = read_candidate(os.fspath(config))
    return Candidate(
        goal=goals.addition(found.key, found.endpoints, overrides=frozenset(overrides), max_lag=max_lag),
        cluster_id=found.cluster_id,
        node_id=found.key.node_id,
        directory_id=found.key.directory_id,
        endpoints=tuple(map(str, found.endpoints)),
    )


def removal(node_id: int, directory_id: str, *, overrides: Iterable[str] = (), max_lag: int = 1_000) -> Goal:
    """Return the goal that this voter does not vote. Raises InputError `invalid-uuid` for the directory id."""
    key = ReplicaKey(node_id=node_id, directory_id=Uuid.parse(directory_id))
    return goals.removal(key, overrides=frozenset(overrides), max_lag=max_lag)


def conversion() -> Goal:
    """Return the goal that a static quorum is dynamic (kraft.version 1), which cannot be undone."""
    return goals.conversion()


def reassignment(target: str, *, overrides: Iterable[str] = (), max_lag: int = 1_000, replan: bool = False) -> Goal:
    """Return the goal that these are the voters: `1,2,3`, if a directory matters `3@DIRECTORY_ID`.

    `replan` continues where another operator or process changed the voters meanwhile. Raises InputError.
    """
    return goals.reassignment(target, overrides=frozenset(overrides), max_lag=max_lag, replan=replan)


def wait_policy(
    *, step_ms: int | None = None, catch_up_ms: int | None = None, max_lag: int | None = None
) -> QuorumWaitPolicy:
    """Return the timeouts of a change: for the outcome of a request, and for a new voter's lag to reach `max_lag`
    records."""
    usual = QuorumWaitPolicy()
    return replace(
        usual,
        step_ms=usual.step_ms if step_ms is None else step_ms,
        catch_up_ms=usual.catch_up_ms if catch_up_ms is None else catch_up_ms,
        gate=usual.gate if max_lag is None else replace(usual.gate, max_lag=max_lag),
    )


@frozen
class QuorumChange:
    """A change that was planned, refused or carried out. `journal` is the file that records it, None for none.

    `out` is the plan file that was written, `plan_sha256` the checksum of the one that was written or applied.
    `forecast` is what the quorum survives (`survivable`), `simulation` what `simulated_plan` found.
    """

    result: ChangeResult
    journal: str | None = None
    """Path of the journal of the change; None for a dry run."""
    out: str | None = None
    """The plan file that was written; None: none."""
    plan_sha256: str | None = None
    """Checksum of the plan file that was written or applied."""
    forecast: tuple[Forecast, ...] = ()
    """Forecast of `reassign`: now, and after each pending step."""
    simulation: Study | None = None
    """Result of `reassign --dry-run --simulate`."""

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`; once sent also `done`, `failed`, `partial` or `unknown`."""
        return self.result.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the blockers, and what should be known."""
        return tuple(self.result.findings)

    to_dict = json_of("**result", "journal", "out", "plan_sha256", "forecast", "simulation", kind="quorum.change")


def plan_change(
    client: Client,
    goal: Goal,
    *,
    policy: QuorumWaitPolicy | None = None,
    journal: str | None = None,
    cluster_id: str | None = None,
) -> QuorumChange:
    """Return the steps to a goal, in the safest order, and the blockers. Nothing is sent or written.

    `cluster_id` is the cluster that must answer. Raises UnreachableError if the quorum cannot be observed,
    RefusedError where another cluster answers.
    """
    return _change(client, goal, policy=policy, journal=journal, cluster_id=cluster_id, dry_run=True)


def change_voters(
    client: Client,
    goal: Goal,
    *,
    policy: QuorumWaitPolicy | None = None,
    journal: str | None = None,
    cluster_id: str | None = None,
    confirm: Confirm | None = None,
    on_event: EventCallback = ignore_event,
) -> QuorumChange:
    """Change the voters, one at a time, until the goal is reached; a change that was interrupted is resumed.

    `journal` is the file that requests are recorded in (default: one a cluster in ~/.local/state/kafkactl);
    `cluster_id` the cluster that must answer. `confirm` gets the plan, and its finding refuses the change; `on_event`
    gets what is done and observed. Raises UnreachableError and RefusedError before anything was sent.
    """
    return _change(
        client,
        goal,
        policy=policy,
        journal=journal,
        cluster_id=cluster_id,
        confirm=confirm,
        on_event=on_event,
    )


def _change(
    client: Client,
    goal: Goal,
    *,
    policy: QuorumWaitPolicy | None,
    journal: str | None,
    dry_run: bool = False,
    cluster_id: str | None = None,
    confirm: Confirm | None = None,
    on_event: EventCallback = ignore_event,
) -> QuorumChange:
    policy = policy or QuorumWaitPolicy()
    named = {key.node_id: endpoints for key, endpoints in goal.endpoints.items()}
    with live_quorum.LiveQuorum(client, endpoints=named, with_brokers=goal.asks_brokers) as world:
        if not world.knows_cluster_id:
            # Old controllers do not report the cluster's id; nothing is sent without it, but a refusal needs none.
            planned = plan_only(world, goal, clock=clock.SystemClock(), policy=policy)
            if planned.outcome is not Outcome.PLANNED:
                if planned.before is not None and planned.before.cluster_id is not None:
                    _check_cluster(cluster_id, planned.before.cluster_id)  # why it does not fetch, if it does not
                return QuorumChange(result=planned)
        _check_cluster(cluster_id, world.cluster_id)
        path = journal or journal_path(SUBJECT, world.cluster_id)
        denied = world.change_denied(goal.request)
        if dry_run or denied is not None:
            planned = _denied(plan_only(world, goal, clock=clock.SystemClock(), policy=policy), denied)
            earlier = open_request(journal_content(path), path, world.cluster_id)
            noted = planned if earlier is None else replace(planned, findings=(*planned.findings, earlier))
            return QuorumChange(result=noted)
        if confirm is not None:
            planned = plan_only(world, goal, clock=clock.SystemClock(), policy=policy)
            refusal = confirm(planned) if planned.outcome is Outcome.PLANNED else None
            if refusal is not None:
                refused = replace(planned, outcome=Outcome.REFUSED, findings=(*planned.findings, refusal))
                return QuorumChange(result=refused, journal=path)
        with open_journal(path, subject=SUBJECT, cluster_id=world.cluster_id) as opened:
            result = carry_out(world, goal, opened, clock=clock.SystemClock(), policy=policy, tell=on_event)
            return QuorumChange(result=result, journal=path)


def _denied(planned: ChangeResult, denial: Finding | None) -> ChangeResult:
    """Return the plan as refused if this user may not send its requests."""
    if denial is None or planned.outcome is Outcome.NOTHING_TO_DO:
        return planned
    return replace(planned, outcome=Outcome.REFUSED, findings=(denial, *planned.findings))


def _check_cluster(expected: str | None, found: str) -> None:
    if expected is not None and expected != found:
        raise RefusedError(
            f"the controller's disk belongs to cluster {expected}, the cluster that answers is {found}",
            id="cluster-id-mismatch",
            next_step="Nothing was changed. Check the addresses, and the file given by --command-config.",
        )


def survivable(result: ChangeResult, zones: Mapping[int, str]) -> tuple[Forecast, ...]:
    """Return the failures that the quorum survives now and after each pending step: the answer's field `forecast`.

    `zones` names, by node id, the place in which a controller runs.
    """
    pending = [step for step in result.steps if step.state.value == "pending"]
    after = result.after
    is_observed = after is not None and after.tolerates is not None
    now = [forecast_now(after, zones)] if after is not None and is_observed else []
    return (*now, *forecast(pending, zones))
