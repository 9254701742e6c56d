"""Brokers that come back, restarts one after the other, and registrations that go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.dryrun.appended import records_of
from kafkactl.dryrun.broker_loss import broker_loss
from kafkactl.dryrun.broker_return import broker_return
from kafkactl.dryrun.chain import after
from kafkactl.dryrun.facts import Facts
from kafkactl.dryrun.prediction import Change, Prediction, Verdict
from kafkactl.dryrun.rolling_restart import rolling_restart, safest_order
from kafkactl.dryrun.rules import rules_of
from kafkactl.dryrun.unregister_broker import unregister_broker
from kafkactl.errors import InputError
from kafkactl.features.releases import find_release
from kafkactl.metadata.image import Image
from kafkactl.metadata.replay import Replaying
from tests.dryrun.clusters import cluster, clusters

ELR = "levels eligible.leader.replicas.version=1\n"


def ids(found: Prediction) -> set[str]:
    return {one.id for one in found.findings}


def types(found: Prediction) -> list[str]:
    return [one.type for one in records_of(found.operations or (), found.facts.rules)]


def test_kill_and_return_with_elr_leaves_one_replica_recovering() -> None:
    """Measured on 4.3.1: out of the ELR in the batch of the registration, then elected as the last known leader."""
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
    assert {"recovering-for-ever", "unclean-leader"} <= ids(found)


def test_a_registration_with_3_6_touches_no_partition() -> None:
    """Measured on 3.6.2 at 3.5-IV2, where the same change would raise the epoch once more."""
    image, facts = cluster("levels metadata.version=11\nbrokers 1 2\nbroker 1 fenced\ntopic one\n  - | 1 | 1")
    facts = replace(facts, rules=rules_of(find_release("3.6.2"), image.features))
    found = broker_return(image, facts, [1])
    assert types(found) == ["RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "PartitionChangeRecord"]


def test_on_4_0_it_is_elected_in_the_batch_that_takes_it_out_of_the_elr() -> None:
    """Measured on 4.0.2: the last known leader need not be unfenced there."""
    image, facts = cluster("kafka 4.0\n" + ELR + "brokers 1 2\ntopic one\n  1 | 1 | 1")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = broker_return(image, facts, [1])
    assert (found.changes[0].leader_after, found.changes[0].recovering_after) == (1, True)
    assert "unclean-leader" in ids(found)


def test_a_clean_shutdown_keeps_its_place_in_the_elr() -> None:
    image, facts = cluster(ELR + "brokers 1 2\nbroker 1 fenced stopping\ntopic one\n  - | 1 | | 1 | 1")
    found = broker_return(image, facts, [1])
    change = found.changes[0]
    assert (change.leader_after, change.isr_after, change.recovering_after) == (1, (1,), False)
    assert found.verdict is Verdict.OK


def test_without_elr_the_last_member_leads_again_without_recovery() -> None:
    image, facts = cluster("brokers 1 2\nbroker 1 fenced\ntopic one\n  - | 1 | 1\ntopic two\n  2 | 1 2 | 2")
    found = broker_return(image, facts, [1])
    one, two = found.changes
    assert (one.topic, one.leader_after, one.recovering_after) == ("one", 1, False)
    assert (two.topic, two.isr_after) == ("two", (1, 2))


def test_the_order_of_an_isr_is_that_of_the_release() -> None:
    """Measured: 3.9.2 appends who joins, 4.3.1 reports the order of a hash table."""
    text = "brokers 1 2 17\nbroker 1 fenced\ntopic two\n  2 | 2 1 17 | 2 17"
    assert broker_return(*cluster(f"kafka 3.9\n{text}"), [1]).changes[0].isr_after == (2, 17, 1)
    assert broker_return(*cluster(f"kafka 4.3\n{text}"), [1]).changes[0].isr_after == (17, 1, 2)


def test_who_led_uncleanly_is_told_though_it_has_recovered_since() -> None:
    """2 was the last in sync; 1 comes back first and leads without its records, and 2 then follows it."""
    image, facts = cluster("brokers 1 2\ntopic dirty unclean.leader.election.enable=true\n  2 | 1 2 | 2")
    image, facts = after(image, broker_loss(image, facts, [1]))
    image, facts = after(image, broker_loss(image, facts, [2]))
    lossy, safe = broker_return(image, facts, [1, 2]), broker_return(image, facts, [2, 1])
    (change,) = lossy.changes
    assert (change.leader_after, change.isr_after, change.recovering_after) == (1, (1, 2), False)
    assert (lossy.verdict, ids(lossy)) == (Verdict.DEGRADED, {"unclean-leader"})
    assert (safe.verdict, ids(safe)) == (Verdict.OK, set())


@pytest.mark.parametrize("levels", ["", ELR])
def test_an_empty_replica_leads_what_it_was_in_sync_with(levels: str) -> None:
    """Measured: if the broker tells its new directories in time it is elected with nothing, else when another comes."""
    image, facts = cluster(levels + "brokers 1 2\ntopic one\n  1 | 1 | 1\n  2 | 1 2 | 1 2\n  1 | 1 2 | 1")
    image, facts = after(image, broker_loss(image, facts, [1]))
    found = broker_return(image, facts, [1], empty_disks=True)
    assert [(one.partition, one.leader_after, set(one.isr_after)) for one in sorted_by_number(found)] == [
        (0, 1, {1}),
        (1, 2, {1, 2}),
        (2, 1, {1, 2}),
    ]
    alone, both, lagging = sorted_by_number(found)
    assert both.certain
    for change in (alone, lagging):
        assert {one.leader for one in change.alternatives} == {1, -1}
    (empty,) = (one for one in found.findings if one.id == "empty-replica-leads")
    assert empty.evidence["partitions"] == ["one-0", "one-2"]
    assert found.verdict is Verdict.DEGRADED
    assert types(found).count("PartitionChangeRecord") >= 3


def sorted_by_number(found: Prediction) -> list[Change]:
    return sorted(found.changes, key=lambda change: change.partition)


def test_a_broker_that_is_there() -> None:
    found = broker_return(*cluster("brokers 1 2\ntopic a\n  1 | 1 2 | 1 2"), [1])
    assert ids(found) == {"broker-not-gone"}
    assert found.verdict is Verdict.OK


@given(clusters(), st.data())
def test_loss_and_return_replay(known: tuple[Image, Facts], data: st.DataObject) -> None:
    image, facts = known
    lost = data.draw(st.lists(st.sampled_from(sorted(image.brokers)), min_size=1, max_size=2, unique=True))
    for scenario in (broker_loss, broker_return):
        found = scenario(image, facts, lost)
        replaying = Replaying(image)
        for offset, one in enumerate(records_of(found.operations or (), facts.rules), start=facts.next_offset):
            replaying.take(offset, 1, 1, one)
        assert not replaying.result().findings
        image, facts = after(image, found)
    assert not any(image.brokers[one].fenced for one in lost)


def test_a_rolling_restart_of_nobody() -> None:
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
    assert {one.isr for one in topic.partitions.values()} == {(1, 2, 3)}


def test_the_order_that_is_asked_for() -> None:
    found = rolling_restart(*cluster("brokers 1 2 3\ntopic a\n  1 | 1 2 3 | 1 2 3"), [3, 1])
    assert found.effects["order"] == [3, 1]


def test_unregister_one_that_lives_makes_a_zombie() -> None:
    found = unregister_broker(*cluster(ELR + "brokers 1 2\ntopic a min.insync.replicas=2\n  1 | 1 2 | 1 2"), 1)
    assert {"broker-would-be-zombie", "replicas-stay-assigned", "unregistered-broker-in-elr"} <= ids(found)
    assert types(found) == ["PartitionChangeRecord", "UnregisterBrokerRecord"]
    assert found.changes[0].elr_after == (1,)


def test_unregister_one_that_is_down() -> None:
    found = unregister_broker(*cluster("brokers 1 2\nbroker 1 fenced\ntopic a\n  2 | 1 2 | 2"), 1)
    assert (found.verdict, types(found)) == (Verdict.OK, ["UnregisterBrokerRecord"])


def test_unregister_one_that_nobody_knows() -> None:
    found = unregister_broker(*cluster("brokers 1 2"), 9)
    assert found.verdict is Verdict.REFUSED
    assert found.to_dict()["effects"]["server_error"] == {
        "code": 102, "name": "BROKER_ID_NOT_REGISTERED", "message": "Broker ID 9 is not currently registered",
    }  # fmt: skip
