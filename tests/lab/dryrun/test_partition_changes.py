"""The change of one partition, against the released class that makes it (`PartitionChangeBuilder`).

Random partitions in any state, and every kind of target that the controller gives; what is compared are the records,
byte by byte of their content.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.appended_records import encoded, record
from kafkactl.dryrun.controller.election import Election, ElectionRules, Target, change_data, change_partition
from kafkactl.dryrun.controller.rules import Rules, rules_of
from kafkactl.metadata.image.model import MIGRATING, Partition
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.protocol.log.frame import decode_record
from tests.lab.harness import releases
from tests.lab.oracles.messages import Oracle

TOPIC = Uuid(bytes(15) + b"\x09")
IDS = (1, 2, 3, 4, 5, 17)
QUESTIONS, MANY = 3_000, 60_000


class ElectionOracle(Oracle):
    """Builds partition changes by the classes of a release."""

    source = Path(__file__).parents[1] / "java" / "ElectionOracle.java"


class Case(NamedTuple):
    """A partition, what it is to become, and who may lead it."""

    partition: Partition
    target: Target
    acceptable: frozenset[int]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(version, marks=() if version in ("3.7.2", "4.0.2", "4.3.1") else pytest.mark.campaign)
        for version in releases.VERSIONS
    ],
)
def oracle(request: pytest.FixtureRequest) -> Iterator[ElectionOracle]:
    with ElectionOracle(request.param) as running:
        yield running


def some(rng: random.Random, ids: tuple[int, ...], chance: float = 0.5) -> tuple[int, ...]:
    return tuple(node_id for node_id in ids if rng.random() < chance)


def drawn(rng: random.Random, rules: ElectionRules) -> Case:
    """Return a state that a log can hold, and some that only a damaged one can."""
    replicas = tuple(rng.sample(IDS, rng.randint(1, 5)))
    isr = some(rng, replicas)
    if not isr and not rules.elr:
        isr = replicas[:1]
    adding, removing = some(rng, replicas, 0.2), some(rng, replicas, 0.2)
    others = tuple(replica for replica in replicas if replica not in isr)
    led = rng.choice(isr) if isr and rng.random() < 0.7 else NO_LEADER
    known = tuple(rng.sample(replicas, 1)) if rules.elr and led == NO_LEADER and rng.random() < 0.7 else ()
    partition = Partition(
        replicas=replicas,
        isr=isr,
        removing_replicas=removing,
        adding_replicas=adding,
        leader=led,
        leader_recovery_state=int(rng.random() < 0.2),
        leader_epoch=3,
        partition_epoch=7,
        directories=(MIGRATING,) * len(replicas),
        eligible_leader_replicas=some(rng, others) if rules.elr else (),
        last_known_elr=known,
    )
    return Case(partition, target_of(rng, partition), frozenset(some(rng, IDS, 0.6)))


def target_of(rng: random.Random, partition: Partition) -> Target:
    least = rng.randint(1, 3)
    election = rng.choice((Election.ONLINE, Election.UNCLEAN))
    gone = rng.choice(IDS)
    left = tuple(replica for replica in partition.isr if replica != gone)
    kind = rng.choice(("fence", "unclean-shutdown", "elect", "grow", "cancel", "reassign"))
    if kind == "fence":
        return Target(min_isr=least, isr=left, election=election)
    if kind == "unclean-shutdown":
        return Target(min_isr=least, isr=left, election=election, unclean_shutdown=frozenset({gone}))
    if kind == "elect":
        return Target(min_isr=least, election=rng.choice((Election.PREFERRED, Election.UNCLEAN)))
    if kind == "grow":
        return Target(min_isr=least, isr=partition.replicas, election=election, recovery_state=0)
    if kind == "cancel":
        replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding_replicas)
        isr = tuple(replica for replica in partition.isr if replica not in partition.adding_replicas) or replicas[:1]
        replicas = replicas or partition.replicas
        return Target(min_isr=least, isr=isr, replicas=replicas, removing=(), adding=(), election=election)
    wanted = tuple(rng.sample(IDS, rng.randint(1, 4)))
    removing = tuple(sorted(set(partition.replicas) - set(wanted)))
    adding = tuple(sorted(set(wanted) - set(partition.replicas)))
    return Target(min_isr=least, replicas=(*wanted, *removing), removing=removing or None, adding=adding or None)


def words(ids: tuple[int, ...] | frozenset[int] | None) -> str:
    return "-" if ids is None else ",".join(map(str, sorted(ids) if isinstance(ids, frozenset) else ids)) or "."


def partition_record(partition: Partition, rules: Rules) -> bytes:
    version = rules.version_of("PartitionRecord")
    data = {
        "PartitionId": 0,
        "TopicId": TOPIC,
        "Replicas": list(partition.replicas),
        "Isr": list(partition.isr),
        "RemovingReplicas": list(partition.removing_replicas),
        "AddingReplicas": list(partition.adding_replicas),
        "Leader": partition.leader,
        "LeaderRecoveryState": partition.leader_recovery_state,
        "LeaderEpoch": partition.leader_epoch,
        "PartitionEpoch": partition.partition_epoch,
    }
    if version >= 1:
        data["Directories"] = list(partition.directories)
    if version >= 2:
        data["EligibleLeaderReplicas"] = list(partition.eligible_leader_replicas) or None
        data["LastKnownElr"] = list(partition.last_known_elr) or None
    return encoded(record("PartitionRecord", data, version))


def built(oracle: ElectionOracle, case: Case, rules: Rules) -> dict[str, object] | None:
    target = case.target
    answer = oracle.ask(
        str(rules.metadata_version),
        str(rules.elections.elr).lower(),
        str(target.min_isr),
        partition_record(case.partition, rules),
        words(case.acceptable),
        *map(words, (target.isr, target.replicas, target.removing, target.adding)),
        target.election.value,
        words(target.unclean_shutdown or None),
        str(target.recovery_state),
    )
    return None if answer == "none" else dict(decode_record(bytes.fromhex(answer)).data)


def levels_of(release: str) -> list[dict[str, int]]:
    newest = find_release(release).production_level
    found = [{"metadata.version": newest}]
    if newest > 12:
        found.append({"metadata.version": 11})
    if release >= "4":
        found.append({"metadata.version": max(newest, 23), "eligible.leader.replicas.version": 1})
    return found


def differences(oracle: ElectionOracle, count: int) -> Iterator[str]:
    for levels in levels_of(oracle.release):
        rules = rules_of(find_release(oracle.release), levels)
        rng = random.Random(f"{oracle.release} {levels}")
        for _ in range(count):
            case = drawn(rng, rules.elections)
            change = change_partition(case.partition, case.target, case.acceptable.__contains__, rules.elections)
            ours = None if change is None else dict(change_data(TOPIC, 0, change))
            theirs = built(oracle, case, rules)
            if ours != theirs:
                yield f"{levels} {case}\n  ours   {ours}\n  Kafka  {theirs}"


def test_changes_are_those_of_the_release(oracle: ElectionOracle) -> None:
    assert list(differences(oracle, QUESTIONS)) == []


@pytest.mark.campaign
def test_many_changes_are_those_of_the_release(oracle: ElectionOracle) -> None:
    assert list(differences(oracle, MANY)) == []
