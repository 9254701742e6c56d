"""Brokers that come back, restarts one after the other, and registrations that go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import InputError
from kafkactl.dryrun.chain import after
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.appended_records import records_of
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.controller.rules import rules_of
from kafkactl.dryrun.prediction import Change, Prediction, Verdict
from kafkactl.dryrun.scenarios.broker_loss import LossMode, broker_loss
from kafkactl.dryrun.scenarios.broker_return import broker_return, catch_up
from kafkactl.dryrun.scenarios.rolling_restart import rolling_restart, safest_order
from kafkactl.dryrun.scenarios.unregister_broker import unregister_broker
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.replay.reference import Replaying
from kafkactl.protocol.catalog.releases import find_release
from tests.dryrun.clusters import cluster, clusters, uuid

HOSTILE_LINES = {
    "dryrun broker-return": ("{log} --brokers 1",),
    "dryrun rolling-restart": ("{log} --order auto",),
    "dryrun unregister-broker": ("{log} --broker 1",),
}

INPUTS = {
    "broker-return": [{"brokers": [1]}],
    "rolling-restart": [{}],
    "unregister-broker": [{"broker": 1}, {"broker": 77}],
}

ELR = "levels eligible.leader.replicas.version=1\n"


def ids(found: Prediction) -> set[str]:
    return {finding.id for finding in found.findings}


def types(found: Prediction) -> list[str]:
    return [record.type for record in records_of(found.operations or (), found.facts.rules)]


def test_kill_and_return_with_elr_leaves_one_replica_recovering() -> None:
    # Measured on 4.3.1: out of the ELR in the batch of the registration, then elected as the last known leader.
    image, facts = cluster(ELR + "brokers 1 2\ntopic one\n  1 | 1 | 1")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = broker_return(image, facts, [1])
    assert types(found) == [
        "PartitionChangeRecord",
        "RegisterBrokerRecord",
        "BrokerRegistrationChangeRecord",
        "BrokerRegistrationChangeRecord",
        "PartitionChangeRecord",
    ]
    change = found.changes[0]
    assert (change.leader_after, change.isr_after, change.elr_after, change.last_known_elr_after) == (1, (1,), (), ())
    assert change.recovering_after
    assert {"recovery-never-completes", "unclean-leader"} <= ids(found)


def test_registration_with_3_6_touches_no_partition() -> None:
    # Measured on 3.6.2 at 3.5-IV2, if the same change would raise the epoch once more.
    image, facts = cluster("levels metadata.version=11\nbrokers 1 2\nbroker 1 fenced\ntopic one\n  - | 1 | 1")
    facts = replace(facts, rules=rules_of(find_release("3.6.2"), image.features))
    found = broker_return(image, facts, [1])
    assert types(found) == ["RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "PartitionChangeRecord"]


def test_on_4_0_it_is_elected_in_the_batch_that_takes_it_out_of_the_elr() -> None:
    # Measured on 4.0.2: the last known leader need not be unfenced there.
    image, facts = cluster("kafka 4.0\n" + ELR + "brokers 1 2\ntopic one\n  1 | 1 | 1")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = broker_return(image, facts, [1])
    assert (found.changes[0].leader_after, found.changes[0].recovering_after) == (1, True)
    assert "unclean-leader" in ids(found)


def test_clean_shutdown_keeps_its_place_in_the_elr() -> None:
    image, facts = cluster(ELR + "brokers 1 2\nbroker 1 fenced stopping\ntopic one\n  - | 1 | | 1 | 1")
    found = broker_return(image, facts, [1])
    change = found.changes[0]
    assert (change.leader_after, change.isr_after, change.recovering_after) == (1, (1,), False)
    assert found.verdict is Verdict.OK


def test_without_elr_the_last_member_leads_again_without_recovery() -> None:
    image, facts = cluster("brokers 1 2\nbroker 1 fenced\ntopic one\n  - | 1 | 1\ntopic two\n  2 | 1 2 | 2")
    found = broker_return(image, facts, [1])
    change, two = found.changes
    assert (change.topic, change.leader_after, change.recovering_after) == ("one", 1, False)
    assert (two.topic, two.isr_after) == ("two", (1, 2))


def test_order_of_an_isr_is_that_of_the_release() -> None:
    # Measured: 3.9.2 appends who joins, 4.3.1 reports the order of a hash table.
    text = "brokers 1 2 17\nbroker 1 fenced\ntopic two\n  2 | 2 1 17 | 2 17"
    assert broker_return(*cluster(f"kafka 3.9\n{text}"), [1]).changes[0].isr_after == (2, 17, 1)
    assert broker_return(*cluster(f"kafka 4.3\n{text}"), [1]).changes[0].isr_after == (17, 1, 2)


def test_unclean_leader_is_reported_though_it_has_recovered_since() -> None:
    # 2 was the last in sync; 1 comes back first and leads without its records, and 2 then follows it.
    image, facts = cluster("brokers 1 2\ntopic dirty unclean.leader.election.enable=true\n  2 | 1 2 | 2")
    image, facts = after(image, broker_loss(image, facts, [1]))
    image, facts = after(image, broker_loss(image, facts, [2]))
    lossy, safe = (broker_return(image, facts, order, in_order=True) for order in ([1, 2], [2, 1]))
    (change,) = lossy.changes
    assert (change.leader_after, change.isr_after, change.recovering_after) == (1, (1, 2), False)
    assert (lossy.verdict, ids(lossy)) == (Verdict.DEGRADED, {"unclean-leader"})
    assert (safe.verdict, ids(safe)) == (Verdict.OK, {"leaders-move-back"}), "2 leads, and 1 is preferred"


@pytest.mark.parametrize("levels", ["", ELR])
def test_empty_replica_leads_what_it_was_in_sync_with(levels: str) -> None:
    # Measured: a broker that reports its new directories in time is elected without data, else at the next unfence.
    image, facts = cluster(levels + "brokers 1 2\ntopic one\n  1 | 1 | 1\n  2 | 1 2 | 1 2\n  1 | 1 2 | 1")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = broker_return(image, facts, [1], empty_disks=True)
    assert [(change.partition, change.leader_after, set(change.isr_after)) for change in sorted_by_number(found)] == [
        (0, 1, {1}),
        (1, 2, {1, 2}),
        (2, 1, {1, 2}),
    ]
    alone, both, lagging = sorted_by_number(found)
    assert both.certain
    for change in (alone, lagging):
        assert {outcome.leader for outcome in change.alternatives} == {1, -1}
    (empty,) = (finding for finding in found.findings if finding.id == "empty-replica-leads")
    assert empty.evidence["partitions"] == ["one-0", "one-2"]
    assert found.verdict is Verdict.DEGRADED
    assert types(found).count("PartitionChangeRecord") >= 3


def sorted_by_number(found: Prediction) -> list[Change]:
    return sorted(found.changes, key=lambda change: change.partition)


def test_return_of_an_active_broker_is_reported() -> None:
    found = broker_return(*cluster("brokers 1 2\ntopic a\n  1 | 1 2 | 1 2"), [1])
    assert ids(found) == {"broker-not-gone"}
    assert found.verdict is Verdict.OK


@given(clusters(), st.data())
def test_loss_and_return_are_replayed(known: tuple[Image, Facts], data: st.DataObject) -> None:
    image, facts = known
    lost = data.draw(st.lists(st.sampled_from(sorted(image.brokers)), min_size=1, max_size=2, unique=True))
    for scenario in (broker_loss, broker_return):
        found = scenario(image, facts, lost)
        replaying = Replaying(image)
        for offset, record in enumerate(records_of(found.operations or (), facts.rules), start=facts.next_offset):
            replaying.take(offset, 1, 1, record)
        assert not replaying.result().findings
        image, facts = after(image, found)
    assert not any(image.brokers[broker].fenced for broker in lost)


def test_rolling_restart_without_brokers_is_refused() -> None:
    with pytest.raises(InputError, match="no broker is registered in this log") as caught:
        rolling_restart(*cluster(""))
    assert caught.value.id == "too-few-brokers"


def test_rolling_restart_goes_from_the_least_harm_to_the_most() -> None:
    text = """\
brokers 1 2 3
topic a
  1 | 1 2 3 | 1 2 3
  1 | 1 2 3 | 1 2 3
topic one
  3 | 3 | 3"""
    image, facts = cluster(text)
    assert safest_order(image, facts) == [2, 1, 3]
    found = rolling_restart(image, facts)
    steps = found.effects["steps"]
    assert [(step["broker"], step["verdict"]) for step in steps] == [
        (2, "degraded"), (1, "degraded"), (3, "unavailable"),
    ]  # fmt: skip
    assert found.verdict is Verdict.UNAVAILABLE
    assert sum(step["records_appended"] for step in steps) == len(types(found))
    image, _ = after(image, found)
    topic = image.topic("a")
    assert topic is not None
    assert {partition.isr for partition in topic.partitions.values()} == {(1, 2, 3)}


@pytest.mark.parametrize(("isr", "last_known", "is_unclean"), [("", "1", True), ("1", "", False)])
def test_rolling_restart_names_unclean_elections_of_brokers_that_return(isr, last_known, is_unclean) -> None:
    found = rolling_restart(*cluster(ELR + f"brokers 1 2\ntopic a\n  - | 1 2 | {isr} | | {last_known}"))
    assert found.changes[0].leader_after == 1
    assert {"partitions-without-leader-before"} | ({"unclean-leader"} if is_unclean else set()) == ids(found)
    texts = [finding.message for finding in found.findings if finding.id == "unclean-leader"]
    assert [text.partition(":")[0] for text in texts] == ["when broker 1 returns"] * is_unclean


def test_order_that_is_asked_for() -> None:
    found = rolling_restart(*cluster("brokers 1 2 3\ntopic a\n  1 | 1 2 3 | 1 2 3"), [3, 1])
    assert found.effects["order"] == [3, 1]


def test_unregistration_of_a_live_broker_makes_a_zombie() -> None:
    found = unregister_broker(*cluster(ELR + "brokers 1 2\ntopic a min.insync.replicas=2\n  1 | 1 2 | 1 2"), 1)
    assert {"broker-would-be-zombie", "replicas-stay-assigned", "unregistered-broker-in-elr"} <= ids(found)
    assert types(found) == ["PartitionChangeRecord", "UnregisterBrokerRecord"]
    assert found.changes[0].elr_after == (1,)


def test_unregistration_of_a_fenced_broker_is_ok() -> None:
    found = unregister_broker(*cluster("brokers 1 2\nbroker 1 fenced\ntopic a\n  2 | 1 2 | 2"), 1)
    assert (found.verdict, types(found)) == (Verdict.OK, ["UnregisterBrokerRecord"])


def test_unregistration_of_an_unknown_broker_is_refused() -> None:
    found = unregister_broker(*cluster("brokers 1 2"), 9)
    assert found.verdict is Verdict.REFUSED
    assert found.to_dict()["effects"]["server_error"] == {
        "code": 102, "name": "BROKER_ID_NOT_REGISTERED", "message": "Broker ID 9 is not currently registered",
    }  # fmt: skip


def outcomes(found: Prediction, number: int = 0) -> set[tuple[int, frozenset[int], frozenset[int]]]:
    (change,) = (change for change in found.changes if change.partition == number)
    return {(outcome.leader, frozenset(outcome.isr), frozenset(outcome.elr)) for outcome in change.outcomes}


@pytest.mark.parametrize("kafka, levels", [("3.9", ""), ("4.0", ""), ("4.0", ELR), ("4.3", ""), ("4.3", ELR)])
def test_first_to_return_leads_where_unclean_elections_are_allowed(kafka: str, levels: str) -> None:
    text = "brokers 1 2 3\nbroker 2 fenced\nbroker 3 fenced\ntopic a unclean.leader.election.enable=true\n  - | 2 3 |"
    found = broker_return(*cluster(f"kafka {kafka}\n{levels}{text} {'| 2 | 2' if levels else '2'}"), [2, 3])
    assert {leader for leader, _, _ in outcomes(found)} == {2, 3}
    assert not found.changes[0].certain
    assert {"outcome-depends-on-order", "unclean-leader"} <= ids(found)
    assert found.verdict is Verdict.DEGRADED


def test_either_of_two_eligible_leaders_is_elected() -> None:
    text = "brokers 1 4\nbroker 1 fenced stopping\nbroker 4 fenced stopping\ntopic a min.insync.replicas=2\n"
    found = broker_return(*cluster(f"{ELR}{text}  - | 1 4 | | 1 4 | 1"), [1, 4])
    assert outcomes(found) == {(1, frozenset({1, 4}), frozenset()), (4, frozenset({1, 4}), frozenset())}


def test_last_known_leader_leads_after_eligible_leaders_were_killed() -> None:
    # Each loses its place as it registers; the one that is unfenced before the other registers does not lead, but the
    # last known leader does if no one is eligible.
    text = "brokers 1 4\nbroker 1 fenced\nbroker 4 fenced\ntopic a min.insync.replicas=2\n"
    found = broker_return(*cluster(f"{ELR}{text}  - | 1 4 | | 1 4 | 1"), [4, 1])
    assert {leader for leader, _, _ in outcomes(found)} == {1}


def test_partitions_with_a_leader_are_certain() -> None:
    text = "brokers 1 2 3\nbroker 2 fenced\nbroker 3 fenced\ntopic a\n  1 | 2 3 1 | 1\n  - | 2 3 | 2"
    found = broker_return(*cluster(text), [2, 3])
    assert all(change.certain for change in found.changes)
    assert [(change.leader_after, set(change.isr_after)) for change in sorted_by_number(found)] == [
        (1, {1, 2, 3}),
        (2, {2, 3}),
    ]


def test_outcome_is_unknown_if_too_many_orders_of_return_exist() -> None:
    # Seven decide about one partition: too many orders. Of seven of which three can decide nothing is too many.
    many = "brokers 1 2 3 4 5 6 7\n" + "".join(f"broker {broker} fenced\n" for broker in range(1, 8))
    unclean = "topic a unclean.leader.election.enable=true\n  - | 1 2 3 4 5 6 7 | 1"
    with pytest.raises(InputError) as caught:
        broker_return(*cluster(many + unclean), range(1, 8))
    assert caught.value.id == "too-many-brokers-returned"
    assert broker_return(*cluster(many + unclean), range(1, 8), in_order=True).changes
    found = broker_return(*cluster(many + "topic a\n  - | 1 2 3 4 5 6 7 | 1"), range(1, 8))
    assert outcomes(found) == {(1, frozenset(range(1, 8)), frozenset())}


@pytest.mark.slow
@given(clusters(), st.data())
def test_every_order_that_a_controller_can_see_is_among_those_reported(
    known: tuple[Image, Facts], data: st.DataObject
) -> None:
    # Any interleaving of registrations and unfencings, with the ISRs growing whenever they may.
    image, facts = known
    lost = data.draw(st.lists(st.sampled_from(sorted(image.brokers)), min_size=2, max_size=3, unique=True))
    image, facts = after(image, broker_loss(image, facts, lost, in_order=True))
    found = broker_return(image, facts, lost)
    change_of = {(change.topic, change.partition): change for change in found.changes}
    controller = ActiveController(image, facts)
    steps = data.draw(st.permutations([*lost, *lost]))
    for at, broker_id in enumerate(steps):
        if broker_id not in steps[:at]:
            controller.register(broker_id, uuid(9_000 + broker_id), clean=False)
        else:
            controller.unfence(broker_id)
            if data.draw(st.booleans()):
                catch_up(controller, set(lost))
    catch_up(controller, set(lost))
    for topic in image.topics.values():
        for number in topic.partitions:
            end, before = controller.partition((topic.id, number)), topic.partitions[number]
            change = change_of.get((topic.name, number))
            real = (end.leader, frozenset(end.isr), frozenset(end.eligible_leader_replicas), end.last_known_elr)
            expected = (
                {
                    (
                        before.leader,
                        frozenset(before.isr),
                        frozenset(before.eligible_leader_replicas),
                        before.last_known_elr,
                    )
                }
                if change is None
                else {
                    (outcome.leader, frozenset(outcome.isr), frozenset(outcome.elr), outcome.last_known_elr)
                    for outcome in change.outcomes
                }
            )
            assert real in expected, f"{topic.name}-{number}: {before}"


GONE = "brokers 1 2 3\ntopic a min.insync.replicas=2\n  1 | 1 2 | 1 2\n  2 | 2 | 2"


@pytest.mark.parametrize("levels", ["", ELR])
def test_unregistered_broker_registers_again(levels: str) -> None:
    # Its partitions have it in their ISR again, and the one that only it held has its leader back.
    image, facts = cluster(levels + GONE)
    image, facts = after(image, unregister_broker(image, facts, 2))
    assert 2 not in image.brokers
    found = broker_return(image, facts, [2])
    shared, alone = sorted_by_number(found)
    assert (set(shared.isr_after), shared.leader_after) == ({1, 2}, 1)
    assert (alone.leader_after, alone.isr_after, alone.recovering_after) == (2, (2,), bool(levels))
    assert "unregistered-broker-returns" in ids(found)
    assert "RegisterBrokerRecord" in types(found)
    image, _ = after(image, found)
    assert not image.brokers[2].fenced


def test_return_of_a_broker_that_only_partitions_name_is_predicted() -> None:
    # Unregistered before the checkpoint that the log begins with.
    image, facts = cluster("brokers 1 3\ntopic a\n  1 | 1 2 | 1\n  - | 2 | 2")
    found = broker_return(image, facts, [2])
    assert [change.leader_after for change in sorted_by_number(found)] == [1, 2]
    assert broker_loss(image, facts, [2]).verdict is Verdict.OK
    stop = broker_loss(image, facts, [2], mode=LossMode.CONTROLLED)
    assert (stop.verdict, ids(stop)) == (
        Verdict.UNKNOWN,
        {"controlled-shutdown-not-granted", "partitions-without-leader-before"},
    )


@pytest.mark.parametrize("scenario", [broker_return, broker_loss, rolling_restart])
def test_unknown_broker_is_a_usage_error(scenario: Callable[[Image, Facts, list[int]], Prediction]) -> None:
    with pytest.raises(InputError) as caught:
        scenario(*cluster(GONE), [9])
    assert caught.value.id == "unknown-broker"


@pytest.mark.parametrize("fenced, verdict", [("", Verdict.WEDGED), ("broker 2 fenced\n", Verdict.OK)])
def test_controlled_shutdown_of_an_unregistered_live_broker_is_not_granted(fenced: str, verdict: Verdict) -> None:
    # Of one that was alive when it was unregistered it does not end; one that was dead has no process to stop.
    image, facts = cluster(GONE.replace("topic", f"{fenced}topic", 1))
    image, facts = after(image, unregister_broker(image, facts, 2))
    found = broker_loss(image, facts, [2], mode=LossMode.CONTROLLED)
    assert found.verdict is verdict
    assert ("controlled-shutdown-not-granted" in ids(found)) is (verdict is Verdict.WEDGED)
    rolled = rolling_restart(image, facts, [1, 2])
    assert (rolled.effects["steps"][1]["verdict"] == "wedged") is (verdict is Verdict.WEDGED)
    image, _ = after(image, rolled)
    assert not image.brokers[2].fenced


def test_broker_that_has_registered_and_is_not_unfenced_yet() -> None:
    # As at the end of Kafka's testUncleanShutdownBrokerElrEnabled: 3 was unclean and left the ELR, 2 registered as one
    # that was shut down cleanly. 2 leads after it is unfenced; if its process ends before that, no broker may lead.
    text = "brokers 1 2 3\nbroker 1 fenced\nbroker 2 fenced\nbroker 3 fenced\ntopic a min.insync.replicas=2\n"
    image, facts = cluster(f"{ELR}{text}  - | 1 2 3 | | 2 | 3")
    assert outcomes(broker_return(image, facts, [2])) == {(-1, frozenset(), frozenset())}
    facts = replace(facts, starting=frozenset({2}))
    found = broker_return(image, facts, [2])
    (change,) = found.changes
    assert (change.leader_after, change.isr_after, change.elr_after, change.last_known_elr_after) == (2, (2,), (), ())
    assert outcomes(found) == {(2, frozenset({2}), frozenset()), (-1, frozenset(), frozenset())}
    assert types(found) == ["BrokerRegistrationChangeRecord", "PartitionChangeRecord"]
    assert broker_return(image, facts, [2], clean=True).changes[0].leader_after == 2


def test_starting_broker_is_known_from_its_records() -> None:
    image, facts = cluster(GONE)
    controller = ActiveController(image, facts)
    controller.register(2, uuid(9_002), clean=True)
    for events, starting in ((0, frozenset({2})), (1, frozenset())):
        for _ in range(events):
            controller.unfence(2)
        replaying = Replaying(image)
        for offset, record in enumerate(records_of(controller.operations, facts.rules), start=facts.next_offset):
            replaying.take(offset, 1, 1, record)
        assert replaying.result().starting == starting
