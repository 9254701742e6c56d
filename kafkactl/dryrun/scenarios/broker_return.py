"""Scenario `broker-return`: brokers that are down come back, with their disks or with empty ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Uuid
from kafkactl.core.wording import first_few
from kafkactl.dryrun.brokers.returns import MOST_TOGETHER, Arrival, Comer, End, Online, deciding, ends_of_return
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, verdict_of
from kafkactl.dryrun.controller.active_controller import ActiveController, Key, is_online_in
from kafkactl.dryrun.controller.broker_places import named, placed
from kafkactl.dryrun.controller.election import Ids
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.members import checked, last_registration
from kafkactl.dryrun.controller.periodic import leaders_move_back
from kafkactl.dryrun.controller.rules import grown_isr
from kafkactl.dryrun.fields import NodeIds
from kafkactl.dryrun.prediction import Prediction, Verdict, findings_for, heaviest
from kafkactl.dryrun.scenario import Option, Scenario, ScenarioContext, few_numbered
from kafkactl.metadata.image.model import (
    ISR_AT,
    LEADER_AT,
    MIGRATING,
    RECOVERING,
    RECOVERY_AT,
    REPLICAS_AT,
    UNASSIGNED,
    Image,
    Partition,
)

NAME: Final = "broker-return"


def broker_return(
    image: Image,
    facts: Facts,
    brokers: Sequence[int],
    *,
    empty_disks: bool = False,
    clean: bool | None = None,
    in_order: bool = False,
) -> Prediction:
    """Predict the cluster after these brokers returned and caught up.

    Without `in_order` several return at once: every order is simulated, a result that depends on the order has all its
    outcomes, and the records are those of the given order. With `in_order` each broker is back and in sync before the
    next one starts. `clean`: the brokers had a controlled shutdown (default: those that the log contains one of).
    Raises InputError `unknown-broker`, `no-brokers-named`, `too-many-brokers-returned`.
    """
    brokers = checked(image, facts, brokers)
    controller = ActiveController(image, facts)
    back = [broker for broker in brokers if _is_away(image, broker)]
    returns = {broker: _is_clean(image, broker, clean) and not empty_disks for broker in back}
    starting = facts.starting.intersection(back) if clean is None and not empty_disks else frozenset()
    outcomes: dict[Key, Sequence[Partition]] = {}
    if not in_order or empty_disks:  # a broker reports its new directories at any time, whatever the order
        ends = _Ends(ActiveController(image, facts), returns, starting, empty_disks=empty_disks)
        outcomes, controller.unclean = ends.of_all()
    empty: list[Key] = []
    for broker_id, is_clean in returns.items():
        if broker_id in starting:
            controller.unfence(broker_id)
            catch_up(controller, {broker_id})
            continue
        led = come_back(controller, broker_id, clean=is_clean, empty_disks=empty_disks)
        empty += led if empty_disks else ()
    changes = changes_of(controller, outcomes)
    findings = [
        *_led_by_empty(controller, empty),
        *findings_of(changes, 0),
        *leaders_move_back(controller),
        *_still_leaderless(controller, back, outcomes),
        *_recovering(controller, back),
        *(_present(broker) for broker in brokers if broker not in back),
        *_strangers(controller, [broker for broker in back if broker not in image.brokers]),
    ]
    verdict = heaviest([verdict_of(changes), Verdict.DEGRADED if empty else Verdict.OK])
    return Prediction(
        scenario=NAME,
        input={"brokers": list(brokers), "empty_disks": empty_disks, "clean": clean, "in_order": in_order},
        verdict=verdict,
        facts=facts,
        findings=tuple(findings_for(verdict, findings)),
        counts=counts_of(controller, changes),
        changes=changes,
        operations=tuple(controller.operations),
        assumptions=tuple(_assumptions(image, facts, back, clean=clean, empty_disks=empty_disks, in_order=in_order)),
    )


def _is_away(image: Image, broker_id: int) -> bool:
    held = image.brokers.get(broker_id)
    return held is None or not held.is_active


def _is_clean(image: Image, broker_id: int, clean: bool | None) -> bool:
    """Return True if the controller takes its shutdown for a clean one: never of a broker that is not registered."""
    held = image.brokers.get(broker_id)
    return held is not None and (held.in_controlled_shutdown if clean is None else clean)


class _Ends:
    """The ends of partitions while several brokers return at once; those that are alike share one answer."""

    def __init__(
        self, start: ActiveController, returns: Mapping[int, bool], starting: frozenset[int], *, empty_disks: bool
    ) -> None:
        self._start = start
        self._returns = returns
        self._starting = starting
        self._is_reported = empty_disks and start.facts.rules.elections.directories
        self._held = {id: last_registration(start.image, start.facts, id) for id in returns}
        self._known: dict[tuple[object, ...], tuple[End, ...]] = {}

    def of_all(self) -> tuple[dict[Key, Sequence[Partition]], set[Key]]:
        """Return every partition whose end depends on the order, with its ends, and those that may have an unclean
        leader meanwhile.

        Partitions with a live leader keep it.
        """
        found: dict[Key, Sequence[Partition]] = {}
        unclean: set[Key] = set()
        start, brokers = self._start, set(self._returns)
        if len(brokers) < 2 and not (brokers and (self._is_reported or self._starting)):
            return found, unclean
        for key in start.keys(
            lambda fields: not start.is_active(fields[LEADER_AT]) or not brokers.isdisjoint(fields[ISR_AT])
        ):
            ends = self._of(key)
            if len(ends) > 1:
                found[key] = [end.partition for end in ends]
            if any(end.unclean for end in ends):
                unclean.add(key)
        return found, unclean

    def _of(self, key: Key) -> tuple[End, ...]:
        start, partition = self._start, self._start.partition(key)
        shape, ids = placed(partition)
        may_lead = start.acceptor(partition, start.is_active)
        where = dict(zip(partition.replicas, partition.directories, strict=False))
        comers = {
            at: Comer(self._returns[id], self._online(id, where.get(id, MIGRATING)), id in self._starting)
            for at, id in enumerate(ids)
            if id in self._returns
        }
        alive = frozenset(at for at, id in enumerate(ids) if at not in comers and may_lead(id))
        settings = start.settings(start.image.topics[key[0]])
        known = (shape, tuple(comers.items()), alive, settings)
        if known not in self._known:
            arrival = Arrival(
                comers=comers, count=len(self._returns), alive=alive, rules=start.facts.rules, settings=settings
            )
            if len(deciding(shape, arrival)) > MOST_TOGETHER:
                raise _too_many(start.names([key])[0], len(deciding(shape, arrival)))
            self._known[known] = ends_of_return(shape, arrival)
        return tuple(End(self._named(end.partition, ids), end.unclean) for end in self._known[known])

    def _online(self, broker_id: int, directory: Uuid) -> Online:
        if self._is_reported and directory not in (UNASSIGNED, MIGRATING):
            return Online.REPORTED
        if self._is_reported:
            return Online.ALWAYS
        return Online.ALWAYS if is_online_in(self._held[broker_id], directory) else Online.NEVER

    def _named(self, shape: Partition, ids: Ids) -> Partition:
        """Return the partition with node ids again, and the ISR in the order in which a leader would report it."""
        end = named(shape, ids)
        if end.leader == NO_LEADER:
            return end
        others = [replica for replica in end.isr if replica != end.leader]
        return end._replace(isr=grown_isr((end.leader,), others, self._start.facts.rules))


def _too_many(partition: str, brokers: int) -> InputError:
    return InputError(
        f"{brokers} of the returning brokers can decide who leads {partition}, in too many orders to be simulated; "
        f"{MOST_TOGETHER} are the most",
        id="too-many-brokers-returned",
    )


def come_back(
    controller: ActiveController, broker_id: int, *, clean: bool, empty_disks: bool = False
) -> dict[Key, Partition]:
    """Simulate the start of one broker: it registers, is unfenced, and its replicas catch up.

    Returns the partitions that it leads as soon as it is unfenced, with no data but that on its own disks, each as it
    was just before. With empty disks it creates its replicas again and reports their directories. If it does so before
    it is unfenced, it is elected if it was in sync, because nothing in the log shows that the disks are empty. If it
    does so afterwards, no leader is elected until the next broker is unfenced. Both orders were measured (the first on
    4.0.2 and 4.3.1, the second on 3.9.2 and 4.4.0, on a busy machine); the first is simulated.
    """
    before = controller.brokers.get(broker_id) or last_registration(controller.image, controller.facts, broker_id)
    moved = {uuid: _derived(uuid) for uuid in before.directories} if empty_disks else {}
    new = tuple(moved.values()) if empty_disks else None
    controller.register(broker_id, _derived(before.incarnation_id), clean=clean, directories=new)
    controller.report_directories(broker_id, moved)
    controller.report_cordoned(broker_id)
    waiting = {key: controller.partition(key) for key in controller.without_leader()}
    controller.unfence(broker_id)
    led = {key: partition for key, partition in waiting.items() if controller.partition(key).leader == broker_id}
    catch_up(controller, {broker_id})
    return led


def catch_up(controller: ActiveController, brokers: set[int], only: Sequence[Key] | None = None) -> None:
    """Add every live replica to the ISR by the leaders of partitions that these brokers have (`only` these).

    A leader that was elected while recovering reports the end of the recovery with its first change of the ISR.
    """
    by_leader: dict[int, list[tuple[Key, tuple[int, ...]]]] = {}
    held = dict.fromkeys(key for broker_id in sorted(brokers) for key in controller.held_by(broker_id))
    for key in held if only is None else only:
        partition = controller.partition(key)
        if not controller.is_active(partition.leader):
            continue
        may = controller.acceptor(partition, controller.is_active)
        joined = [replica for replica in partition.replicas if replica not in partition.isr and may(replica)]
        if joined:
            isr = grown_isr(partition.isr, joined, controller.facts.rules)
            by_leader.setdefault(partition.leader, []).append((key, isr))
    for leader, grown in sorted(by_leader.items()):
        controller.alter_isr(grown, f"broker {leader} takes replicas into the ISR")


def _derived(before: Uuid) -> Uuid:
    """Return an id in place of one that only the broker can generate; never one that Kafka reserves."""
    return Uuid(bytes(255 - byte for byte in before.raw))


def _led_by_empty(controller: ActiveController, keys: Sequence[Key]) -> Iterator[Finding]:
    if keys:
        names = controller.names(keys)
        yield blocker(
            "empty-replica-leads",
            f"{len(keys)} partitions",
            f"an empty replica becomes leader of {len(keys)} partitions, at once or when the next broker returns, "
            "because the log has it in sync: all their records are lost, and replicas that still have some truncate "
            f"them: {first_few(names)}",
            count=len(keys),
            partitions=names[:20],
        )


def _still_leaderless(
    controller: ActiveController, back: Sequence[int], outcomes: Mapping[Key, Sequence[Partition]]
) -> Iterator[Finding]:
    brokers = set(back)
    keys = controller.keys(lambda fields: fields[LEADER_AT] < 0 and not brokers.isdisjoint(fields[REPLICAS_AT]))
    may = [key for key, ends in outcomes.items() if any(end.leader < 0 for end in ends)]
    keys = list(dict.fromkeys((*keys, *may)))
    if not keys:
        return
    names = controller.names(keys)
    yield blocker(
        "partition-stays-leaderless",
        f"{len(keys)} partitions",
        f"{len(keys)} partitions stay without a leader after the return, or may, where the order of events decides: no "
        f"broker that returned is in their ISR or ELR, or their last known leader: {first_few(names)}",
        count=len(keys),
        partitions=names[:20],
    )


def _recovering(controller: ActiveController, back: Sequence[int]) -> Iterator[Finding]:
    """Report partitions with RF 1 in recovery: Kafka never removes that mark, and it has no effect there."""
    brokers = set(back)
    keys = controller.keys(
        lambda fields: (
            len(fields[REPLICAS_AT]) == 1
            and fields[RECOVERY_AT] == RECOVERING
            and not brokers.isdisjoint(fields[REPLICAS_AT])
        )
    )
    if keys:
        names = controller.names(keys)
        yield note(
            "recovery-never-completes",
            f"{len(keys)} partitions",
            f"partitions with one replica stay marked RECOVERING until their ISR changes: {first_few(names)}",
            "Nothing to do: they work.",
            count=len(keys),
        )


def _strangers(controller: ActiveController, brokers: Sequence[int]) -> Iterator[Finding]:
    """Report brokers that were unregistered, and what they get back."""
    for broker_id in brokers:
        here = controller.held_by(broker_id)
        held = controller.names(key for key in here if broker_id in controller.partition(key).replicas)
        before = controller.facts.departed.get(broker_id)
        lives = before is not None and not before.fenced
        has = (
            f"{len(held)} partitions name it as a replica and get it back: {first_few(held)}"
            if held
            else ("no partition names it as a replica")
        )
        yield note(
            "unregistered-broker-returns",
            f"broker {broker_id}",
            f"broker {broker_id} is not registered; when its process starts, it registers as a new broker, never as "
            f"one that was shut down cleanly; {has}",
            "It was alive when it was unregistered: its process does not register again until it is killed (SIGKILL) "
            "and started."
            if lives
            else "Nothing to do; to keep it out, do not start it, and reassign its replicas.",
            count=len(held),
            partitions=held[:20],
        )


def _present(broker_id: int) -> Finding:
    return warning(
        "broker-not-gone",
        f"broker {broker_id}",
        f"broker {broker_id} is registered and not fenced: by this log it never went away",
    )


def _assumptions(
    image: Image, facts: Facts, back: Sequence[int], *, clean: bool | None, empty_disks: bool, in_order: bool
) -> Iterator[str]:
    if len(back) > 1:
        yield (
            "each broker is back and in sync before the next one starts"
            if in_order
            else "counts, records and leader epochs are those of the order in which the brokers were named"
        )
    for broker_id in back:
        if broker_id in facts.starting and clean is None and not empty_disks:
            yield (
                f"broker {broker_id} has registered already and is about to be unfenced; if its process ends before "
                "that, it registers again as one that was not shut down cleanly"
            )
        elif broker_id not in image.brokers:
            yield f"broker {broker_id} registers as it was last registered, as far as the log shows it"
        elif clean is None and not empty_disks:
            how = "in order" if image.brokers[broker_id].in_controlled_shutdown else "without a clean shutdown"
            yield f"broker {broker_id} went down {how}, as the log shows"
    if empty_disks and facts.rules.elections.directories:
        yield "a broker reports the directories of its new replicas before it is unfenced; it may do so afterwards"
    yield "every live replica catches up and joins the ISR again"
    yield "incarnation ids, and directory ids of empty disks, stand for those that the brokers will make"


@frozen
class Input:
    """The brokers that come back. `clean` None: whether they went down in order is taken from the log."""

    brokers: NodeIds
    empty_disks: bool = False
    clean: bool | None = None
    in_order: bool = False


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the return of the brokers named."""
    return broker_return(
        context.image,
        context.facts,
        asked.brokers,
        empty_disks=asked.empty_disks,
        clean=asked.clean,
        in_order=asked.in_order,
    )


def _title(asked: Mapping[str, Any]) -> str:
    disks = " with empty disks" if asked.get("empty_disks") else ""
    return f"Return of {few_numbered('broker', asked.get('brokers') or ())}{disks}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="""What happens when brokers that are down come back.

    Brokers that return together register in any order: every order is simulated, and where it
    decides, all outcomes are listed. Brokers that were unregistered register again.

    Whether a broker went down in order is taken from the log; with eligible leader replicas it
    decides whether the broker may lead at once.
    """,
    about="Predict the return of brokers that are down.",
    input=Input,
    simulate=simulate,
    examples=("kafkactl dryrun broker-return /disk1/__cluster_metadata-0 --brokers 3",),
    options=(
        Option("brokers", "The brokers that come back."),
        Option("empty_disks", "With new disks: what was on theirs is gone."),
        Option("in_order", "One after the other, each in sync before the next starts."),
    ),
)
