"""Scenario `controllers`: voters that are lost, added or removed, and whether the quorum lives on.

Kafka asks nothing about majorities before it takes a change of voters: one that leaves too few alive is appended, is
in force at once and never commits (the wedge, measured on 3.9.2 to 4.4.0). Sources: KIP-853, `AddVoterHandler.java`,
`RemoveVoterHandler.java`; texts measured on 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Final, TypeAlias

from kafkactl.cluster.quorum.majority import arithmetic, majority, tolerates
from kafkactl.cluster.quorum.voters import parse_static_voters
from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.simulated import check_runs, with_simulation
from kafkactl.dryrun.fields import Form, Kind, NodeIds, is_number
from kafkactl.dryrun.prediction import Prediction, ServerError, Verdict
from kafkactl.dryrun.scenario import Observed, Option, OptionsError, ReportPart, Scenario, ScenarioContext, few_numbered
from kafkactl.dryrun.voter_change import ENDPOINT, ChangeField, VoterChange, change_dict, parse_voter_change
from kafkactl.metadata.image.model import Image
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.java_text import hash_map_order, uuid_hash

NAME: Final = "controllers"

TIMED_OUT, UNSUPPORTED_VERSION, INVALID_REQUEST = 7, 35, 42
OTHER_CLUSTER, DUPLICATE_VOTER, VOTER_NOT_FOUND = 104, 126, 127
STATIC_VOTERS: Final = "controller.quorum.voters"
LISTENERS: Final = "controller.listener.names"
# From then on the voters stand in an immutable set of Java, which every JVM walks in an order of its own.
Side: TypeAlias = tuple[frozenset[int], frozenset[int]]  # voters, and those of them that are alive


@frozen
class ControllerEvent:
    """Event of the controllers: `lose`, `add` or `remove`, at most one of them; `down` do not answer before.

    `cluster_id` is the one that the request would carry, `own_cluster_id` that of the log, if it is known.
    `observed` is the live quorum, if it was asked; `down` then holds those who were not seen alive, too.
    """

    down: frozenset[int] = frozenset()
    lose: frozenset[int] = frozenset()
    add: VoterChange | None = None
    remove: VoterChange | None = None
    cluster_id: str | None = None
    own_cluster_id: str | None = None
    observed: Observed | None = None


def controllers(image: Image, facts: Facts, event: ControllerEvent, logged_voters: Collection[int] = ()) -> Prediction:
    """Predict the state of the quorum. `logged_voters` are the voters in the last LeaderChange record of the log."""
    known = known_voters(image, facts, logged_voters)
    if known is None:
        return _unknown(facts, event)
    voters, where = known
    alive = voters - event.down
    error = _refusal(image, facts, event, voters, alive)
    after, alive_after = _after(event, voters, alive)
    verdict = Verdict.REFUSED if error else _verdict(event, (voters, alive), (after, alive_after))
    if error is not None:
        after, alive_after = voters, alive
    return Prediction(
        scenario=NAME,
        input=_input(event),
        verdict=verdict,
        facts=facts,
        findings=tuple(_findings(event, error, verdict, (voters, alive), (after, alive_after))),
        effects={
            "majority": {"before": majority(len(voters)), "after": majority(len(after))},
            "tolerates": {"before": tolerates(voters, alive), "after": tolerates(after, alive_after)},
            "voters": {"before": sorted(voters), "after": sorted(after)},
            "alive": {"before": sorted(alive), "after": sorted(alive_after)},
            "server_error": error,
        },
        assumptions=(f"the voters are those of {where}", *_assumptions(event)),
    )


def known_voters(image: Image, facts: Facts, logged_voters: Collection[int]) -> tuple[frozenset[int], str] | None:
    """Return the voter ids, and where they were found."""
    if image.voters is not None:
        return frozenset(voter.node_id for voter in image.voters), "the last VotersRecord in the log"
    if STATIC_VOTERS in facts.static:
        entries = [entry.strip() for entry in facts.static[STATIC_VOTERS].split(",") if entry.strip()]
        ids = frozenset(voter.node_id for voter in parse_static_voters(entries))
        if ids:
            return ids, f"{STATIC_VOTERS} in the file given"
    return (frozenset(logged_voters), "the last LeaderChange record in the log") if logged_voters else None


def _unknown(facts: Facts, event: ControllerEvent) -> Prediction:
    text = "neither a VotersRecord nor a LeaderChange record is in what was read, so the voters are not known"
    return Prediction(
        scenario=NAME,
        input=_input(event),
        verdict=Verdict.UNKNOWN,
        facts=facts,
        findings=(blocker("voters-not-in-log", "quorum", text),),
    )


def _refusal(
    image: Image, facts: Facts, event: ControllerEvent, voters: frozenset[int], alive: frozenset[int]
) -> ServerError | None:
    """Return the leader's refusal of a change, checked in the leader's order; None if it appends."""
    change = event.add or event.remove
    if change is None:
        return None
    if len(alive) < majority(len(voters)):
        return ServerError(code=TIMED_OUT, message="no controller leads: no majority of the voters is alive")
    if event.cluster_id is not None and event.own_cluster_id not in (None, event.cluster_id):
        text = f'The given id "{event.cluster_id}" doesn\'t match the cluster id "{event.own_cluster_id}"'
        return ServerError(code=OTHER_CLUSTER, message=text)
    if event.add is not None and event.add.endpoint is not None:
        error = _of_listener(image, facts, event.add.endpoint)
        if error is not None:
            return error
    verb = "adding" if event.add else "removing"
    if not image.kraft_version:
        text = f"Cluster doesn't support {verb} voter because the kraft.version feature is 0"
        return ServerError(code=UNSUPPORTED_VERSION, message=text)
    return _of_set(image, facts, event, voters)


def _of_listener(image: Image, facts: Facts, endpoint: str) -> ServerError | None:
    """Return the error for a new voter without an endpoint for the leader's default listener, its first one."""
    known = [listener.strip() for listener in facts.static.get(LISTENERS, "").split(",") if listener.strip()][:1]
    known = known or _listeners(image, facts.leader_id)
    found = ENDPOINT.fullmatch(endpoint)
    if found is None or not known or found[1].upper() in {listener.upper() for listener in known}:
        return None
    named = f"Endpoints(endpoints={{ListenerName({found[1].upper()})={found[2]}/<unresolved>:{found[3]}}})"
    default = f"ListenerName({known[0].upper()})"
    text = f"Add voter request didn't include the endpoint ({named}) for the default listener {default}"
    return ServerError(code=INVALID_REQUEST, message=text)


def _listeners(image: Image, leader_id: int | None) -> list[str]:
    """Return the controller listeners of the leader, as the voter set or its registration names them."""
    for voter in image.voters or ():
        if voter.node_id == leader_id and voter.endpoints:
            return [endpoint.listener for endpoint in voter.endpoints]
    registered = image.controllers.get(-1 if leader_id is None else leader_id)
    return [] if registered is None else [listener.name for listener in registered.listeners]


def _of_set(image: Image, facts: Facts, event: ControllerEvent, voters: frozenset[int]) -> ServerError | None:
    release = facts.release
    directories = {voter.node_id: voter.directory_id for voter in image.voters or ()}
    members = [(voter, directories.get(voter)) for voter in sorted(voters)]
    if release.orders_voters_by_hash:
        members = [members[at] for at in hash_map_order(_key_hash(*member) for member in members)]
    shown = ", ".join(_key(release, *member) for member in members)
    if event.add is not None and event.add.node_id in voters:
        key = _key(release, event.add.node_id, event.add.directory_id)
        text = f"The voter id for {key} is already part of the set of voters [{shown}]."
        return ServerError(code=DUPLICATE_VOTER, message=text)
    if event.add is not None and event.add.node_id in event.down:
        # The leader asks it for its versions first; the text has a gap where the voter belongs.
        text = "Aborted add voter operation for since API_VERSIONS returned an error BROKER_NOT_AVAILABLE"
        return ServerError(code=TIMED_OUT, message=text)
    change = event.remove
    if change is None:
        return None
    other = change.directory_id is not None and change.directory_id != directories.get(change.node_id)
    if change.node_id not in voters or other or len(voters) == 1:
        key = _key(release, change.node_id, change.directory_id or directories.get(change.node_id))
        return ServerError(code=VOTER_NOT_FOUND, message=f"Cannot remove voter {key} from the set of voters [{shown}]")
    return None


def _key(release: Release, node_id: int, directory: Uuid | None) -> str:
    """Return `ReplicaKey.toString`, which shows Java's Optional in older releases."""
    shown = str(directory) if directory else "<undefined>"
    if release.shows_optional:
        shown = f"Optional[{directory}]" if directory else "Optional.empty"
    return f"ReplicaKey(id={node_id}, directoryId={shown})"


def _key_hash(node_id: int, directory: Uuid | None) -> int:
    """Return `ReplicaKey.hashCode`: that of the pair of an id and an Optional, as `Objects.hash` makes it."""
    return 31 * (31 + node_id) + (0 if directory is None else uuid_hash(directory))


def _after(
    event: ControllerEvent, voters: frozenset[int], alive: frozenset[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the voters and those of them that live, after the event."""
    if event.add is not None:
        added = frozenset({event.add.node_id})
        return voters | added, alive | (added - event.down)
    if event.remove is not None:
        gone = frozenset({event.remove.node_id})
        return voters - gone, alive - gone
    return voters, alive - event.lose


def _verdict(event: ControllerEvent, before: Side, after: Side) -> Verdict:
    now, then = tolerates(*before), tolerates(*after)
    if event.add is not None or event.remove is not None:
        if then < 0:
            return Verdict.WEDGED
    elif then < 0 <= now:
        return Verdict.UNAVAILABLE
    return Verdict.DEGRADED if then < now else Verdict.OK


def _findings(
    event: ControllerEvent,
    error: ServerError | None,
    verdict: Verdict,
    before: Side,
    after: Side,
) -> Iterator[Finding]:
    if error is not None:
        yield blocker("voter-change-refused", "quorum", f"Kafka answers {error.code}: {error.message}")
        return
    sums = f"before: {_sum(before)}; after: {_sum(after)}"
    if verdict is Verdict.WEDGED:
        yield blocker(
            "voter-change-never-commits",
            "quorum",
            "the change would be appended, take effect at once and never commit; the leader resigns within 3 s."
            f" {sums}",
        )
    elif verdict is Verdict.UNAVAILABLE:
        yield blocker(
            "quorum-loses-majority",
            "quorum",
            "no majority is left: no leader, no change of metadata; produce and fetch continue at the present"
            " leaders. "
            f"{sums}",
        )
    elif len(before[1]) < majority(len(before[0])):
        yield warning("quorum-without-majority-before", "quorum", f"the quorum has no majority now already. {sums}")
    elif verdict is Verdict.DEGRADED:
        yield warning("fault-tolerance-reduced", "quorum", f"the quorum survives fewer failures than before. {sums}")
    yield from _not_alive(event)
    yield from _strangers(event, before[0])


def _not_alive(event: ControllerEvent) -> Iterator[Finding]:
    if event.observed is None:
        return
    for node_id, reason in sorted(event.observed.not_alive.items()):
        yield warning(
            "controller-not-fetching", f"controller {node_id}", f"controller {node_id} is considered down: it {reason}"
        )


def _strangers(event: ControllerEvent, voters: Collection[int]) -> Iterator[Finding]:
    for node_id in sorted((event.lose | event.down) - set(voters)):
        yield note("controller-does-not-vote", f"controller {node_id}", f"controller {node_id} does not vote")


def _sum(side: Side) -> str:
    voters, alive = side
    return arithmetic(sorted(voters), alive)


def _assumptions(event: ControllerEvent) -> Iterator[str]:
    if event.observed is None:
        yield "voters that are not named as down or lost are alive and caught up"
    else:
        yield (
            "voters that are not named as down or lost were seen to follow controller "
            f"{event.observed.leader_id} in epoch {event.observed.leader_epoch} when this was asked"
        )
    if event.add is not None and event.add.node_id not in event.down:
        yield f"controller {event.add.node_id} runs, has caught up, and its endpoint answers"


def _input(event: ControllerEvent) -> dict[str, Any]:
    return {
        "down": sorted(event.down),
        "lose": sorted(event.lose),
        "add": None if event.add is None else change_dict(event.add),
        "remove": None if event.remove is None else change_dict(event.remove),
        "cluster_id": event.cluster_id,
    }


Number = Annotated[int, Kind(words="a number", holds=is_number, form=Form.NUMBER)]


@frozen
class Input:
    """Event: `lose`, `add` or `remove`; `down` do not answer before; `cluster_id` is that of the request.

    `simulate` is the number of runs in the simulator of quorums, from `seed` on; 0: none.
    """

    down: NodeIds = ()
    lose: NodeIds | None = None
    add: ChangeField | None = None
    remove: ChangeField | None = None
    cluster_id: str | None = None
    simulate: Number = 0
    seed: Number = 0


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the event, on a quorum as it was observed if it was asked."""
    seen, own = context.observed, context.cluster_id
    if seen is not None and None not in (seen.cluster_id, own) and seen.cluster_id != own:
        seen = None  # the log is of another cluster than the one that was asked
    event = ControllerEvent(
        down=frozenset(asked.down) | frozenset(() if seen is None else seen.not_alive),
        lose=frozenset(asked.lose or ()),
        add=asked.add,
        remove=asked.remove,
        cluster_id=asked.cluster_id,
        own_cluster_id=own,
        observed=seen,
    )
    check_runs(asked.simulate, asked.seed)
    found = controllers(context.image, context.facts, event, context.loaded.voters)
    if not asked.simulate:
        return found
    happens = found.verdict is not Verdict.REFUSED
    return with_simulation(
        found,
        added=asked.add.node_id if asked.add is not None and happens else None,
        removed=asked.remove.node_id if asked.remove is not None and happens else None,
        lost=event.lose,
        is_static=not context.image.kraft_version,
        runs=asked.simulate,
        seed=asked.seed,
    )


def _title(asked: Mapping[str, Any]) -> str:
    down = asked.get("down")
    while_down = f" without an answer of {few_numbered('controller', down)}" if down else ""
    if asked.get("lose"):
        return f"Loss of {few_numbered('controller', asked['lose'])}{while_down}"
    for verb, name in (("added to", "add"), ("removed from", "remove")):
        if asked.get(name):
            return f"Controller {_node(asked[name])} {verb} the voters{while_down}"
    return f"The quorum as it is{while_down}"


def _node(change: Any) -> str:
    text = str(change.get("node_id", change.get("id", ""))) if isinstance(change, Mapping) else str(change)
    return text.partition(":")[0]


def _from_options(
    *,
    down: tuple[int, ...],
    lose: tuple[int, ...] | None,
    add: str | None,
    remove: str | None,
    cluster_id: str | None,
    simulate: int,
    seed: int,
) -> Input:
    """Return the input of these options. Raise OptionsError, InputError `invalid-voter-change`."""
    if sum(given is not None for given in (lose, add, remove)) > 1:
        raise OptionsError("Give one of --lose, --add and --remove.")
    return Input(
        down=down,
        lose=lose,
        add=None if add is None else parse_voter_change(add),
        remove=None if remove is None else parse_voter_change(remove),
        cluster_id=cluster_id,
        simulate=simulate,
        seed=seed,
    )


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="""Whether the quorum lives on when voters are lost, added or removed.

    Kafka takes a change of voters that can never commit; here the verdict is wedged. With
    --from-cluster, voters that are not seen to follow the live leader count as down. --simulate
    says how long elections take, and what a second failure does in the middle of the event.
    """,
    about="Voters are lost, added or removed: does the quorum live on?",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun controllers /disk1/__cluster_metadata-0 --lose 2,3",
        "kafkactl dryrun controllers /disk1/__cluster_metadata-0 --down 3 --remove 2",
        "kafkactl dryrun controllers /disk1/__cluster_metadata-0 --lose 3 --simulate 20",
    ),
    options=(
        Option("down", "Controllers that do not answer now."),
        Option("lose", "Controllers that are lost."),
        Option("add", "A voter that is added.", metavar="ID:DIR[@LISTENER://HOST:PORT]"),
        Option("remove", "A voter that is removed.", metavar="ID[:DIR]"),
        Option("cluster_id", "The cluster id that the request would carry.", metavar="ID"),
        Option("simulate", "Also simulate the quorum, that many times.", metavar="N"),
        Option("seed", "The seed of the first of these runs.", metavar="N"),
    ),
    effects=("majority", "tolerates", "voters", "alive", "server_error", "simulation"),
    from_options=_from_options,
    report=ReportPart(place=4, inputs=lambda _: [Input()]),
    watches=lambda asked: frozenset() if asked.add is None else frozenset({asked.add.node_id}),
)
