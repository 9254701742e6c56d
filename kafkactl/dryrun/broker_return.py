"""Scenario `broker-return`: brokers that are down come back, with their disks or with empty ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.dryrun.broker_loss import checked
from kafkactl.dryrun.compare import changes_of, counts_of, findings_of, verdict_of
from kafkactl.dryrun.controller import ActiveController, Key
from kafkactl.dryrun.facts import Facts
from kafkactl.dryrun.prediction import Prediction, Verdict, heaviest, some
from kafkactl.dryrun.rules import grown_isr
from kafkactl.metadata.image import RECOVERING, Image, Partition
from kafkactl.plan import Finding, blocker, note, warning
from kafkactl.values import Uuid


def broker_return(
    image: Image, facts: Facts, brokers: Sequence[int], *, empty_disks: bool = False, clean: bool | None = None
) -> Prediction:
    """What the cluster is after these brokers came back, one after the other, and caught up.

    `clean`: they went down in order (default: those that the log saw begin a controlled shutdown). Raises InputError
    `unknown-broker`, `no-brokers-named`.
    """
    brokers = checked(image, brokers)
    controller = ActiveController(image, facts)
    back = [one for one in brokers if image.brokers[one].fenced or image.brokers[one].in_controlled_shutdown]
    empty: list[Key] = []
    waiting: dict[Key, Partition] = {}
    for broker_id in back:
        down_in_order = image.brokers[broker_id].in_controlled_shutdown if clean is None else clean
        waiting = come_back(controller, broker_id, clean=down_in_order and not empty_disks, empty_disks=empty_disks)
        empty += waiting if empty_disks else ()
    outcomes = {}
    if empty_disks and facts.rules.elections.directories:
        outcomes = {key: (controller.partition(key), before) for key, before in waiting.items()}
    changes = changes_of(controller, outcomes)
    findings = [
        *_led_by_empty(controller, empty),
        *findings_of(changes, 0),
        *_still_leaderless(controller, back),
        *_recovering(controller, back),
        *(_present(one) for one in brokers if one not in back),
    ]
    return Prediction(
        scenario="broker-return",
        input={"brokers": list(brokers), "empty_disks": empty_disks, "clean": clean},
        verdict=heaviest([verdict_of(changes), Verdict.DEGRADED if empty else Verdict.OK]),
        facts=facts,
        findings=tuple(findings),
        counts=counts_of(controller, changes),
        changes=changes,
        operations=tuple(controller.operations),
        assumptions=tuple(_assumptions(image, facts, back, clean=clean, empty_disks=empty_disks)),
    )


def come_back(
    controller: ActiveController, broker_id: int, *, clean: bool, empty_disks: bool = False
) -> dict[Key, Partition]:
    """One broker starts again: registers, is unfenced, and its replicas catch up. The partitions that it leads as soon
    as it is unfenced, with nothing but what is on its own disks, and what they were just before.

    On empty disks it makes its replicas anew and tells in which directories they are. If that comes before it is
    unfenced, it is elected where it was in sync, for nothing in the log says that they are empty; if it comes after,
    nobody is elected until the next broker is unfenced. Both were measured (the first on 4.0.2 and 4.3.1, the second
    on 3.9.2 and 4.4.0, on a busy machine); the first is played.
    """
    before = controller.brokers[broker_id]
    moved = {one: _derived(one) for one in before.directories} if empty_disks else {}
    new = tuple(moved.values()) if empty_disks else None
    controller.register(broker_id, _derived(before.incarnation_id), clean=clean, directories=new)
    controller.report_directories(broker_id, moved)
    controller.report_cordoned(broker_id)
    waiting = {key: controller.partition(key) for key in controller.without_leader()}
    controller.unfence(broker_id)
    led = {key: one for key, one in waiting.items() if controller.partition(key).leader == broker_id}
    catch_up(controller, {broker_id})
    return led


def catch_up(controller: ActiveController, brokers: set[int], only: Sequence[Key] | None = None) -> None:
    """The leaders of partitions that these brokers hold (`only` these) take every live replica into the ISR again.

    A leader that was elected while recovering reports that it has recovered with the first change of its ISR.
    """
    by_leader: dict[int, list[tuple[Key, tuple[int, ...]]]] = {}
    held = dict.fromkeys(key for broker_id in sorted(brokers) for key in controller.held_by(broker_id))
    for key in held if only is None else only:
        partition = controller.partition(key)
        if not controller.is_active(partition.leader):
            continue
        may = controller.acceptor(partition, controller.is_active)
        joined = [one for one in partition.replicas if one not in partition.isr and may(one)]
        if joined:
            isr = grown_isr(partition.isr, joined, controller.facts.rules)
            by_leader.setdefault(partition.leader, []).append((key, isr))
    for leader, grown in sorted(by_leader.items()):
        controller.alter_isr(grown, f"broker {leader} takes replicas into the ISR")


def _derived(before: Uuid) -> Uuid:
    """An id in place of one that only the broker can make; never one that Kafka keeps for itself."""
    return Uuid(bytes(255 - byte for byte in before.raw))


def _led_by_empty(controller: ActiveController, keys: Sequence[Key]) -> Iterator[Finding]:
    if keys:
        names = controller.names(keys)
        yield blocker(
            "empty-replica-leads",
            f"{len(keys)} partitions",
            "an empty replica leads these, at once or when the next broker comes back, for the log has it as in sync: "
            f"all their records are gone, and replicas that still hold some cut them off: {some(names)}",
            "Keep the broker down until another replica leads (`kafka-leader-election.sh --election-type UNCLEAN` if "
            "none is in sync); where there is none, only a copy of the lost disk helps.",
            count=len(keys),
            partitions=names[:20],
        )


def _still_leaderless(controller: ActiveController, back: Sequence[int]) -> Iterator[Finding]:
    brokers = set(back)
    keys = controller.keys(lambda fields: fields[4] < 0 and not brokers.isdisjoint(fields[0]))
    if not keys:
        return
    names = controller.names(keys)
    yield blocker(
        "partition-stays-leaderless",
        f"{len(keys)} partitions",
        "these stay without a leader after the return: nobody who returned is in their ISR or ELR, or known as their "
        f"last leader: {some(names)}",
        "`kafka-leader-election.sh --election-type UNCLEAN` elects any live replica, and may lose records.",
        count=len(keys),
        partitions=names[:20],
    )


def _recovering(controller: ActiveController, back: Sequence[int]) -> Iterator[Finding]:
    """RF 1: nothing ever takes the mark away, and it means nothing there."""
    brokers = set(back)
    keys = controller.keys(
        lambda fields: len(fields[0]) == 1 and fields[5] == RECOVERING and not brokers.isdisjoint(fields[0])
    )
    if keys:
        names = controller.names(keys)
        yield note(
            "recovering-for-ever",
            f"{len(keys)} partitions",
            f"these have one replica and stay marked RECOVERING, for only a change of the ISR takes that away: "
            f"{some(names)}",
            "Nothing to do: they work.",
            count=len(keys),
        )


def _present(broker_id: int) -> Finding:
    return warning(
        "broker-not-gone",
        f"broker {broker_id}",
        f"broker {broker_id} is registered and not fenced: by this log it never went away",
        "For a restart see `kafkactl dryrun rolling-restart`.",
    )


def _assumptions(
    image: Image, facts: Facts, back: Sequence[int], *, clean: bool | None, empty_disks: bool
) -> Iterator[str]:
    for broker_id in back:
        if clean is None and not empty_disks:
            how = "in order" if image.brokers[broker_id].in_controlled_shutdown else "without a clean shutdown"
            yield f"broker {broker_id} went down {how}, as the log shows"
    if empty_disks and facts.rules.elections.directories:
        yield "a broker tells in which directories its new replicas are before it is unfenced; it may do so after"
    yield "every live replica catches up and joins the ISR again"
    yield "incarnation ids, and directory ids of empty disks, stand for those that the brokers will make"
