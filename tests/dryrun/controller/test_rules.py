"""Rules of a release and its levels, and places of a setting."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkactl.dryrun.controller.facts import facts_of, min_isr_of, unclean_allowed
from kafkactl.dryrun.controller.rules import grown_isr, rules_of
from kafkactl.metadata.image.model import Controller, FeatureRange
from kafkactl.protocol.catalog.releases import find_release, release_names
from tests.dryrun.clusters import cluster, uuid

LEVELS = {"metadata.version": 25, "eligible.leader.replicas.version": 1}


def test_every_release_has_rules() -> None:
    for name in release_names():
        rules_of(find_release(name), LEVELS)


def test_rules_of_elections_follow_the_patch_of_a_release() -> None:
    # KAFKA-19522 in 4.1.0; what is kept of the last leader changed in 4.1.1.
    for name, must_live, any_loss in (("4.0.2", False, False), ("4.1.0", True, False), ("4.1.1", True, True)):
        rules = rules_of(find_release(name), LEVELS).elections
        assert (rules.last_known_must_live, rules.last_known_of_any_loss) == (must_live, any_loss)


@pytest.mark.parametrize(
    "level, record, version",
    [
        (7, "RegisterBrokerRecord", 1), (8, "RegisterBrokerRecord", 2), (17, "RegisterBrokerRecord", 3),
        (30, "RegisterBrokerRecord", 4), (16, "PartitionChangeRecord", 0), (17, "PartitionChangeRecord", 1),
        (23, "PartitionChangeRecord", 2), (23, "NoOpRecord", 0),
    ],
)  # fmt: skip
def test_version_of_a_record_follows_the_level(level: int, record: str, version: int) -> None:
    assert rules_of(find_release("4.3"), {"metadata.version": level}).version_of(record) == version


def test_rules_of_elections_follow_the_levels() -> None:
    old = rules_of(find_release("3.9"), {"metadata.version": 11}).elections
    assert (old.epoch_on_shrink, old.directories, old.elr) == (True, False, False)
    migrating = rules_of(find_release("3.9"), {"metadata.version": 20}, migration_enabled=True).elections
    assert migrating.epoch_on_shrink
    assert not rules_of(find_release("4.0"), {"metadata.version": 20}, migration_enabled=True).elections.epoch_on_shrink


def test_order_of_a_grown_isr_follows_the_release() -> None:
    # Measured on 3.9.2 and 4.3.1.
    assert grown_isr((13, 12), [1, 11], rules_of(find_release("3.9.2"), LEVELS)) == (13, 12, 1, 11)
    assert grown_isr((13, 12), [1, 11], rules_of(find_release("4.3.1"), LEVELS)) == (1, 11, 12, 13)


def test_setting_is_searched_in_topic_broker_and_file() -> None:
    name, where = "min.insync.replicas", {"min.insync.replicas": "5"}
    image, facts = cluster("brokers 1\ntopic t\n  1 | 1 | 1", **where)
    facts = replace(facts, leader_id=1)
    assert min_isr_of(image, facts, "t") == 5
    for key, value in (((4, ""), "4"), ((4, "1"), "3"), ((2, "t"), "2")):
        image = replace(image, configs={**image.configs, key: {name: value}})
        assert min_isr_of(image, facts, "t") == int(value)
    image = replace(image, configs={(2, "t"): {name: "many", "unclean.leader.election.enable": " TRUE "}})
    assert (min_isr_of(image, facts, "t"), unclean_allowed(image, facts, "t")) == (1, True)


@pytest.mark.parametrize(("release", "allowed"), [("3.3.2", False), ("3.8.1", False), ("3.9.2", True), ("4.4.0", True)])
def test_unclean_elections_by_configuration_begin_with_3_9(release: str, allowed: bool) -> None:
    # Measured on 3.3.2, 4.4.0; up to 3.8.1 the released class answers no for every topic.
    image, facts = cluster("brokers 1 2\ntopic dirty unclean.leader.election.enable=true\n  1 | 1 2 | 1")
    facts = replace(facts, rules=rules_of(find_release(release), image.features))
    assert unclean_allowed(image, facts, "dirty") is allowed


def test_release_is_that_of_the_leader_or_else_the_lowest() -> None:
    image, _ = cluster("kafka 4.0\nbrokers 1")

    def node(number: int, release: str) -> Controller:
        highest = find_release(release).production_level
        features = {"metadata.version": FeatureRange(7, highest)}
        return Controller(
            id=number, incarnation_id=uuid(number), zk_migration_ready=False, listeners=(), features=features
        )

    image = replace(image, controllers={8: node(8, "4.3"), 9: node(9, "4.0")})
    known = facts_of(image, leader_id=8, static={})
    assert (known.release.name, known.assumptions) == ("4.3", ())
    guessed = facts_of(image, static={})
    assert guessed.release.name == "4.0"
    assert len(guessed.assumptions) == 1
    assert facts_of(replace(image, controllers={}, brokers={}), static={}).assumptions
