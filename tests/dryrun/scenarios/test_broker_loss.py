"""Losing brokers: compared with the measured rules, with replay, and the search for the worst with simulating all."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.core.errors import InputError
from kafkactl.dryrun.brokers.worst_loss import Harm, worst_losses
from kafkactl.dryrun.chain import after
from kafkactl.dryrun.controller.active_controller import ActiveController
from kafkactl.dryrun.controller.appended_records import batches, records_of
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.prediction import Change, Verdict
from kafkactl.dryrun.scenarios.broker_loss import LossMode, broker_loss
from kafkactl.metadata.image.model import Image
from kafkactl.protocol.record_batch import decode_batches
from tests.dryrun.clusters import cluster, clusters

HOSTILE_LINES = {"dryrun broker-loss": ("{log} --brokers 1 --html {report}",)}

INPUTS = {"broker-loss": [{"brokers": [1]}, {"worst": 1}]}

ELR = "levels eligible.leader.replicas.version=1\n"
THREE = """\
brokers 1 2 3 4
topic a
  1 | 1 2 3 | 1 2 3
  2 | 2 3 1 | 2 3 1
topic one
  1 | 1 | 1
  4 | 4 | 4
"""


def by_name(changes: tuple[Change, ...]) -> dict[str, Change]:
    return {f"{change.topic}-{change.partition}": change for change in changes}


def test_loss_of_one_broker_changes_its_partitions() -> None:
    found = broker_loss(*cluster(THREE), [1])
    changes = by_name(found.changes)
    assert set(changes) == {"a-0", "a-1", "one-0"}
    assert (changes["a-0"].leader_after, changes["a-0"].isr_after, changes["a-0"].leader_epoch_after) == (2, (2, 3), 4)
    assert (changes["a-1"].leader_after, changes["a-1"].isr_after, changes["a-1"].leader_epoch_after) == (2, (2, 3), 3)
    assert (changes["one-0"].leader_after, changes["one-0"].isr_after) == (-1, (1,))
    assert found.changes[0].topic == "one"  # the worst first
    assert found.verdict is Verdict.UNAVAILABLE
    assert found.appended is not None
    assert found.appended.by_type == {"BrokerRegistrationChangeRecord": 1, "PartitionChangeRecord": 3}
    assert found.counts is not None
    assert found.counts.to_dict() == {
        "total": 4, "leader_changes": 2, "offline": 1, "under_min_isr": 1, "at_min_isr": 1,
    }  # fmt: skip


def test_elr_keeps_who_may_lead() -> None:
    found = broker_loss(*cluster(ELR + THREE), [1])
    assert by_name(found.changes)["one-0"].to_dict() | {"alternatives": None} == {
        "topic": "one", "partition": 0, "leader_before": 1, "leader_after": -1, "isr_before": [1], "isr_after": [],
        "elr_after": [1], "last_known_elr_after": [1], "leader_epoch_after": 4, "recovering_after": False,
        "replicas_after": [1], "certain": True, "alternatives": None,
    }  # fmt: skip


def test_less_safety_is_degraded_and_none_is_ok() -> None:
    text = "brokers 1 2 3 4\ntopic a\n  1 | 1 2 3 | 1 2 3"
    assert broker_loss(*cluster(text), [2]).verdict is Verdict.DEGRADED
    assert broker_loss(*cluster(text), [4]).verdict is Verdict.OK


def test_writes_stop_below_min_isr() -> None:
    text = "brokers 1 2 3\ntopic a min.insync.replicas=3\n  1 | 1 2 3 | 1 2 3"
    found = broker_loss(*cluster(text), [2])
    assert [finding.id for finding in found.findings] == ["partition-under-min-isr"]


def test_static_settings_of_the_controller_decide_unclean_elections() -> None:
    text = "brokers 1 2\ntopic a\n  1 | 1 2 | 1"
    assert broker_loss(*cluster(text), [1]).verdict is Verdict.UNAVAILABLE
    found = broker_loss(*cluster(text, **{"unclean.leader.election.enable": "true"}), [1])
    assert (found.verdict, found.changes[0].leader_after) == (Verdict.DEGRADED, 2)
    assert [finding.id for finding in found.findings] == ["unclean-leader"]


def test_partition_leaderless_before_the_loss_is_a_finding_without_a_verdict() -> None:
    text = "brokers 1 2 3\nbroker 1 fenced\ntopic a\n  - | 1 | 1\n  2 | 2 3 | 2 3"
    found = broker_loss(*cluster(text), [3])
    assert found.verdict is Verdict.DEGRADED
    assert [finding.id for finding in found.findings] == ["partitions-without-leader-before"]


@pytest.mark.parametrize("lost", [[1, 2], [2, 1]])
def test_leader_that_is_unclean_in_one_order_is_reported_for_all(lost: list[int]) -> None:
    # If 1 is noticed first, 2 leads without its records until it is fenced too, and is alone in the ISR then.
    image, facts = cluster("brokers 1 2 3\ntopic dirty unclean.leader.election.enable=true\n  1 | 1 2 | 1")
    found = broker_loss(image, facts, lost)
    (change,) = found.changes
    assert {outcome.isr for outcome in change.alternatives} == {(1,), (2,)}
    assert "unclean-leader" in {finding.id for finding in found.findings}


def test_loss_of_a_fenced_broker_changes_nothing() -> None:
    found = broker_loss(*cluster("brokers 1 2\nbroker 1 fenced\ntopic a\n  2 | 1 2 | 2"), [1])
    assert (found.verdict, found.operations) == (Verdict.OK, ())
    assert [finding.id for finding in found.findings] == ["broker-fenced-already"]


def test_controlled_shutdown_is_fenced_twice_from_4_0_on() -> None:
    for kafka, times in (("3.9", 1), ("4.3", 2)):
        image, facts = cluster(f"kafka {kafka}\n" + THREE)
        found = broker_loss(image, facts, [1], mode=LossMode.CONTROLLED)
        kinds = [
            (
                record.type.removesuffix("Record"),
                record.version,
                record.data.get("Fenced"),
                record.data.get("InControlledShutdown"),
            )
            for record in records_of(found.operations or (), facts.rules)
            if record.type.startswith("Broker")
        ]
        change = "BrokerRegistrationChange"
        assert kinds == [(change, 1, 0, 1), *[(change, 0, 1, 0)] * times]


def test_order_decides_and_every_outcome_is_reported() -> None:
    # The last alive of an ISR of two leads alone; who that was decides who is known as the last leader.
    found = broker_loss(*cluster(ELR + "brokers 1 2 3\ntopic a\n  1 | 1 2 | 1 2"), [1, 2])
    change = found.changes[0]
    assert not change.certain
    assert {(outcome.leader, outcome.isr, outcome.last_known_elr) for outcome in change.alternatives} == {
        (-1, (), (1,)),
        (-1, (), (2,)),
    }
    assert {finding.id for finding in found.findings} == {"partition-loses-leader", "outcome-depends-on-order"}
    prediction = broker_loss(*cluster(ELR + "brokers 1 2 3\ntopic a\n  1 | 1 2 | 1 2"), [2, 1], in_order=True)
    assert prediction.changes[0].certain
    assert prediction.changes[0].last_known_elr_after == (1,)


@pytest.mark.parametrize(
    "brokers, error",
    [([], "no-brokers-named"), ([9], "unknown-broker"), ([1, 2, 3, 4, 5, 6, 7], "too-many-brokers-lost")],
)
def test_invalid_sets_of_brokers_are_refused(brokers: list[int], error: str) -> None:
    with pytest.raises(InputError) as caught:
        broker_loss(*cluster("brokers 1 2 3 4 5 6 7"), brokers)
    assert caught.value.id == error


@given(clusters(), st.data())
def test_outcomes_are_those_of_simulating_every_order(known: tuple[Image, Facts], data: st.DataObject) -> None:
    image, facts = known
    live = [broker for broker in image.brokers if not image.brokers[broker].fenced]
    lost = data.draw(st.lists(st.sampled_from(live), min_size=1, max_size=3, unique=True))
    found = by_name(broker_loss(image, facts, lost).changes)
    ends: dict[str, set[object]] = {}
    for order in permutations(lost):
        for name, change in by_name(broker_loss(image, facts, order, in_order=True).changes).items():
            ends.setdefault(name, set()).add(change.outcomes)
    several = {name: set(change.alternatives) for name, change in found.items() if not change.certain}
    for name, outcomes in ends.items():
        outcomes_found = {outcome for (outcome,) in outcomes}  # type: ignore[misc]
        assert outcomes_found <= set(found[name].outcomes)
        assert (name in several) == (len(set(found[name].outcomes)) > 1)
    assert set(ends) <= set(found)


@given(clusters(), st.data())
def test_predicted_records_replay_to_the_predicted_state(known: tuple[Image, Facts], data: st.DataObject) -> None:
    image, facts = known
    live = [broker for broker in image.brokers if not image.brokers[broker].fenced]
    lost = data.draw(st.lists(st.sampled_from(live), min_size=1, max_size=3, unique=True))
    found = broker_loss(image, facts, lost, mode=data.draw(st.sampled_from(list(LossMode))))
    changed, _ = after(image, found)
    controller = ActiveController(changed, facts)
    for change in found.changes:
        topic = changed.topic(change.topic)
        assert topic is not None
        partition = controller.partition((topic.id, change.partition))
        assert (partition.leader, partition.isr) == (change.leader_after, change.isr_after)
        assert partition.leader_epoch == change.leader_epoch_after
        assert partition.eligible_leader_replicas == change.elr_after
    assert all(changed.brokers[broker].fenced for broker in lost)
    _same_as_batches(found.operations or (), facts)


def _same_as_batches(operations: tuple[object, ...], facts: Facts) -> None:
    from kafkactl.dryrun.controller.appended_records import measured

    data = batches(operations, facts.rules, offset=5_000, epoch=3, timestamp_ms=1)  # type: ignore[arg-type]
    size = measured(operations, facts.rules)  # type: ignore[arg-type]
    assert size.bytes == len(data)
    assert size.count == sum(len(batch.records) for batch in decode_batches(data))


@pytest.mark.slow
@given(clusters(), st.integers(1, 3))
def test_worst_is_the_worst_of_all_that_can_be_simulated(known: tuple[Image, Facts], size: int) -> None:
    image, facts = known
    live = sorted(broker for broker in image.brokers if not image.brokers[broker].fenced)
    size = min(size, len(live))
    losses, count = worst_losses(image, facts, size, most=1_000)
    assert count == len(losses) == len(list(combinations(live, size)))
    for loss in losses:
        assert loss.harm == _harm_of(image, facts, loss.brokers)
    keys = [loss.sort_key for loss in losses]
    assert keys == sorted(keys, reverse=True)


def _harm_of(image: Image, facts: Facts, brokers: tuple[int, ...]) -> Harm:
    changes = broker_loss(image, facts, brokers).changes
    return Harm(
        offline=sum(change.loses_leader for change in changes),
        under_min_isr=sum(
            any(end.leader >= 0 and len(end.isr) < change.min_isr for end in change.outcomes)
            and not (change.leader_before < 0 or len(change.isr_before) < change.min_isr)
            for change in changes
        ),
        leader_changes=sum(any(end.leader != change.leader_before for end in change.outcomes) for change in changes),
    )


def test_too_large_set_of_brokers_is_refused() -> None:
    image, facts = cluster("brokers " + " ".join(map(str, range(1, 200))))
    with pytest.raises(InputError) as caught:
        worst_losses(image, facts, 4)
    assert caught.value.id == "too-many-sets"
    with pytest.raises(InputError) as caught:
        worst_losses(image, facts, 200)
    assert caught.value.id == "too-few-brokers"
