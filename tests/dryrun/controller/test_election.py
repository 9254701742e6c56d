"""Leader, ISR and ELR of one partition, against what Kafka's own builder and merge gave for the same cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.election import (
    Completion,
    Election,
    ElectionRules,
    PartitionChange,
    Target,
    change_data,
    change_partition,
    merge,
    without,
)
from kafkactl.metadata.image.model import MIGRATING, Partition
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.schema.definitions import message

RULES = ElectionRules(
    elr=True,
    directories=True,
    epoch_on_shrink=False,
    last_known_must_live=True,
    last_known_of_any_loss=True,
    completes_when=Completion.ADDED_UNLESS_FEWER,
    unclean_by_config=True,
    shrinks_by_target=False,
)
OLD = replace(RULES, last_known_must_live=False, last_known_of_any_loss=False, completes_when=Completion.ALL)
NO_ELR = replace(RULES, elr=False)
TOPIC = Uuid(bytes(15) + b"\x09")

# Kafka's own builder and merge gave these (3.9.0 and trunk alike but for the last): replicas 1, 2, 3, leader epoch 3,
# partition epoch 7, min ISR 2. Before: leader, isr, elr, last known; after: the same and whether it is recovering.
VECTORS = [
    ("fenced", "1 of three is fenced", 1, "1 123 - -", "off", "2 23 - -", 4, 8),
    ("fenced", "the last one stays in the ISR", 1, "1 1 - -", "off", "-1 1 - -", 4, 8),
    ("fenced", "unclean: any that lives", 1, "1 1 - -", "off unclean", "2 2 - - recovering", 4, 8),
    ("fenced", "nobody left", 1, "1 1 2 -", "on 2dead", "-1 - 12 1", 4, 8),
    ("fenced", "an eligible one lives", 1, "1 1 2 -", "on", "2 2 1 -", 4, 8),
    ("fenced", "below min ISR", 1, "1 12 - -", "on", "2 2 1 -", 4, 8),
    ("unregistered", "stays eligible", 3, "1 1 3 -", "on", None, 3, 7),
    ("unregistered", "moves from ISR to ELR", 3, "1 13 - -", "on", "1 1 3 -", 3, 8),
    ("unclean-shutdown", "leaves the ELR", 3, "1 1 3 -", "on", "1 1 - -", 3, 8),
    ("unfenced", "the last known leader", 1, "-1 - - 1", "on", "1 1 - - recovering", 4, 8),
    ("unfenced", "the last known leader is dead", 2, "-1 - - 1", "on 1dead", None, 3, 7),
]


def ids(text: str) -> tuple[int, ...]:
    return () if text == "-" else tuple(int(digit) for digit in text)


def before(text: str, **changes: object) -> Partition:
    leader, isr, elr, known, *rest = text.split()
    made = Partition(
        replicas=(1, 2, 3),
        isr=ids(isr),
        removing_replicas=(),
        adding_replicas=(),
        leader=int(leader),
        leader_recovery_state=int("recovering" in rest),
        leader_epoch=3,
        partition_epoch=7,
        directories=(MIGRATING,) * 3,
        eligible_leader_replicas=ids(elr),
        last_known_elr=ids(known),
    )
    return made._replace(**changes)


def elected_change(
    kind: str, broker: int, partition: Partition, words: str, rules: ElectionRules
) -> PartitionChange | None:
    rules = rules if "on" in words.split() else replace(rules, elr=False)
    dead = {int(word[0]) for word in words.split() if word.endswith("dead")}
    if kind in ("fenced", "unregistered", "unclean-shutdown"):
        dead |= {broker}
    target = Target(
        min_isr=2,
        isr=partition.isr if kind == "unfenced" else without(partition.isr, broker),
        election=Election.UNCLEAN if "unclean" in words.split() else Election.ONLINE,
        unclean_shutdown=frozenset({broker}) if kind == "unclean-shutdown" else frozenset(),
    )
    return change_partition(partition, target, lambda broker: broker not in dead, rules)


@pytest.mark.parametrize(
    "kind, about, broker, state, words, after, leader_epoch, partition_epoch", VECTORS, ids=[v[1] for v in VECTORS]
)
@pytest.mark.parametrize("rules", [RULES, OLD], ids=["newest", "3.9"])
def test_elections_agree_with_golden_vectors(
    rules: ElectionRules,
    kind: str,
    about: str,
    broker: int,
    state: str,
    words: str,
    after: str | None,
    leader_epoch: int,
    partition_epoch: int,
) -> None:
    if rules is OLD and about == "the last known leader is dead":
        after, leader_epoch, partition_epoch = "1 1 - - recovering", 4, 8  # KAFKA-19522: a dead broker is elected
    partition = before(state)
    change = elected_change(kind, broker, partition, words, rules)
    if after is None:
        assert change is None
        return
    assert change is not None
    found = merge(partition, change)
    assert found == before(after, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    assert _round_trip(change)["Leader"] == change.leader


def _round_trip(change: PartitionChange) -> dict[str, object]:
    data = change_data(TOPIC, 5, change)
    encoded = encode_record(message("PartitionChangeRecord"), 2, data)
    decoded = decode_record(encoded).data
    assert {name: decoded[name] for name in data} == data
    return data


def test_isr_tag_is_absent_where_the_last_member_stays() -> None:
    change = elected_change("fenced", 1, before("1 1 - -"), "off", RULES)
    assert change == PartitionChange(leader=-1)


def test_smaller_isr_raises_the_leader_epoch_on_old_levels_only() -> None:
    partition = before("1 123 - -")
    target = Target(min_isr=1, isr=(1, 2))
    change = change_partition(partition, target, lambda _: True, NO_ELR)
    assert change == PartitionChange(isr=(1, 2))
    change = change_partition(partition, target, lambda _: True, replace(NO_ELR, epoch_on_shrink=True))
    assert change == PartitionChange(isr=(1, 2), leader=1)


def test_leaderless_partition_is_fenced_again() -> None:
    # Measured on 3.3.2: the epoch goes up once more, though nothing else changes; not on 3.9.2.
    partition = before("-1 1 - -")
    old = replace(NO_ELR, epoch_on_shrink=True)
    target = Target(min_isr=1, isr=())
    assert change_partition(partition, target, lambda _: False, old) is None
    old = replace(old, shrinks_by_target=True)
    assert change_partition(partition, target, lambda _: False, old) == PartitionChange(leader=-1)


def test_at_min_isr_the_eligible_are_forgotten() -> None:
    partition = before("1 1 23 -")
    change = change_partition(partition, Target(min_isr=2, isr=(1, 2)), lambda _: True, RULES)
    assert change == PartitionChange(isr=(1, 2), eligible_leader_replicas=())


def test_eligible_ids_stand_as_a_hash_set_walks_them() -> None:
    partition = before("1 1 - -")._replace(replicas=(1, 17, 16), isr=(17, 16, 1), leader=1)
    change = change_partition(partition, Target(min_isr=3, isr=(1,)), lambda _: True, RULES)
    assert change is not None
    assert change.eligible_leader_replicas == (16, 17)


def test_preferred_leader_is_elected_if_it_is_eligible() -> None:
    partition = before("2 123 - -")
    target = Target(min_isr=1, election=Election.PREFERRED)
    assert change_partition(partition, target, lambda _: True, RULES) == PartitionChange(leader=1)
    assert change_partition(partition, target, lambda broker: broker != 1, RULES) is None


def test_reordering_needs_no_data() -> None:
    partition = before("1 123 - -")
    change = change_partition(partition, Target(min_isr=1, replicas=(3, 2, 1)), lambda _: True, RULES)
    assert change == PartitionChange(replicas=(3, 2, 1))


def moved(isr: tuple[int, ...], rules: ElectionRules) -> Partition:
    """Return the move of 1, 2, 3 to 4, 2, 3 with this ISR reported by the leader."""
    partition = before("2 123 - -")._replace(replicas=(4, 2, 3, 1), removing_replicas=(1,), adding_replicas=(4,))
    partition = partition._replace(directories=(MIGRATING,) * 4)
    change = change_partition(partition, Target(min_isr=1, isr=isr), lambda _: True, rules)
    assert change is not None
    return merge(partition, change)


def test_reassignment_ends_when_the_added_are_in_sync() -> None:
    after = moved((1, 2, 3, 4), RULES)
    assert (after.replicas, after.isr, after.removing_replicas, after.adding_replicas) == (
        (4, 2, 3),
        (2, 3, 4),
        (),
        (),
    )
    assert (after.leader, after.leader_epoch) == (2, 4)  # a replica left: the epoch rises with the same leader
    assert len(after.directories) == 3


def test_releases_differ_in_what_a_reassignment_waits_for() -> None:
    assert moved((1, 2, 4), RULES).replicas == (4, 2, 3)
    assert moved((1, 2, 4), OLD).replicas == (4, 2, 3, 1)


def test_last_known_leader_is_kept_by_newer_releases_only() -> None:
    # The ISR stays and none of it may lead: newer releases keep the last known leader, older ones do not.
    partition = before("1 12 - -")
    target = Target(min_isr=1, isr=(2,))
    assert change_partition(partition, target, lambda _: False, RULES) == PartitionChange(
        isr=(2,), leader=-1, last_known_elr=(1,)
    )
    assert change_partition(partition, target, lambda _: False, OLD) == PartitionChange(isr=(2,), leader=-1)
