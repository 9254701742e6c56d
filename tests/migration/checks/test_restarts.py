"""Directories, names and settings that do no harm until a node is restarted, and those that are fine."""

from __future__ import annotations

import pytest

from kafkactl.migration.checks.registry import check
from tests.migration.checks.cases import SAME_HOST
from tests.migration.observations import World, world
from tests.migration.zk_trees import config


def found(seen: World) -> dict[str, str]:
    return {finding.id: finding.message for finding in check(seen.observation())}


@pytest.mark.parametrize("name", ["10.1.2.3", "2001:db8::7", "fe80::1%eth0", "<default>"])
def test_ip_quota_of_an_address_is_not_reported(name: str) -> None:
    seen = world("M0").znode(f"/config/ips/{name}", config(connection_creation_rate="10"))
    assert "ip-quota-of-host-name" not in found(seen)


def test_ip_quota_of_a_name_is_reported_without_a_value_too() -> None:
    # A broker resolves the name of the znode, whatever is in it.
    assert "gw.example" in found(world("M0").znode("/config/ips/gw.example", config()))["ip-quota-of-host-name"]


def test_chroot_without_a_server_is_not_reported() -> None:
    seen = world("M0").file(1, "zookeeper.connect", "zk1:2181,zk2:2181/kafka/prod-1.0")
    assert "zookeeper-servers-in-chroot" not in found(seen)


def test_only_the_servers_before_the_first_slash_are_the_ensemble() -> None:
    seen = world("M0").file(1, "zookeeper.connect", "zk1:2181/kafka,zk2:2181/kafka")
    words = found(seen)["zookeeper-servers-in-chroot"]
    assert "only the first server, zk1:2181," in words
    assert "below /kafka,zk2:2181/kafka" in words


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("zookeeper.ssl.truststore.location", "/etc/zookeeper/ts.jks"),
        ("authorizer.zookeeper.url", "zk:2181"),
        ("log.dirs", "/var/zookeeper"),
        ("vendor.name", "plankzk-no"),
        ("vendor.password", "<redacted>"),
    ],
)
def test_settings_of_kafka_and_other_words_are_not_reported(key: str, value: str) -> None:
    assert "setting-names-zookeeper" not in found(world("M0").file(1, key, value))


def test_directories_of_different_hosts_are_not_compared() -> None:
    seen = world("M2").but(addresses={1: "kafka-1:9092", 3001: "kafka-3:9093"}).file(3001, "log.dirs", "/data")
    assert "directory-shared-by-nodes" not in found(seen)


def test_equal_directories_of_two_live_nodes_are_those_of_containers() -> None:
    # Kafka locks a directory: two nodes that run with one path have two disks, and so may the third.
    addresses = {1: "localhost:9092", 2: "127.0.0.1:9192", 3001: "localhost:9093"}
    assert "directory-shared-by-nodes" not in found(
        world("M2").but(addresses=addresses).file(3001, "log.dirs", "/data")
    )


def test_directory_inside_one_of_a_live_broker_is_named_with_both_nodes() -> None:
    words = found(world("M3").but(addresses=SAME_HOST).file(3001, "log.dirs", "/data/kraft"))[
        "directory-shared-by-nodes"
    ]
    assert "/data/kraft of controller 3001 is inside /data of broker 1" in words


def test_sibling_with_the_same_beginning_is_not_inside() -> None:
    seen = world("M2").but(addresses=SAME_HOST).file(3001, "log.dirs", "/data-kraft")
    assert "directory-shared-by-nodes" not in found(seen)


def test_rule_of_the_controllers_listener_counts() -> None:
    rules = "RULE:^CN=(.*?),.*$/$1/,DEFAULT"
    seen = world("M3")
    for id in (1, 2):
        seen.file(id, "ssl.principal.mapping.rules", rules)
    seen.file(3001, "listener.name.controller.ssl.principal.mapping.rules", rules)
    assert "principal-rules-differ" not in found(seen)
