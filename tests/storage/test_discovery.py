"""Clusters of this host's files, and the operator's choice among them."""

from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.releases import newest_release
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.discovery import (
    NodeFile,
    PassedOver,
    check_one_cluster,
    check_one_node,
    controller_addresses,
    group_by_cluster,
)

CONTROLLER = "process.roles=controller\ncontroller.listener.names=C\nlistener.security.protocol.map=C:PLAINTEXT\n"
BROKER = "process.roles=broker\ncontroller.listener.names=C\nlistener.security.protocol.map=C:PLAINTEXT,P:PLAINTEXT\n"
BROKER += "listeners=P://:9092\ninter.broker.listener.name=P\nlog.dirs=/data\n"


def config(text: str):
    return read_node_config(text.encode(), file="server.properties", release=newest_release())


def controller(node_id: int, listeners: str, *more: str):
    return config("\n".join((CONTROLLER, f"node.id={node_id}", f"listeners={listeners}", "log.dirs=/data", *more)))


def file(path: str, servers: str = "c1:9093", cluster_id: str | None = None, node_id: int = 1) -> NodeFile:
    text = f"{BROKER}node.id={node_id}\ncontroller.quorum.bootstrap.servers={servers}\n"
    return NodeFile(path=path, config=config(text), cluster_id=cluster_id)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (controller(1, "C://c1:9093", "controller.quorum.bootstrap.servers=c1:9093,c2:9093"), ("c1:9093", "c2:9093")),
        (controller(2, "C://c2:9093", "controller.quorum.voters=1@c1:9093,2@c2:9093"), ("c2:9093", "c1:9093")),
        (controller(1, "C://0.0.0.0:9093", "controller.quorum.bootstrap.servers=c2:9093"), ("c2:9093",)),
        (controller(1, "C://[::1]:9093", "controller.quorum.bootstrap.servers=c2:9093"), ("[::1]:9093", "c2:9093")),
    ],
    ids=["dynamic", "static", "any host", "IPv6"],
)
def test_controllers_of_a_file_begin_with_its_own_address(node, expected):
    assert controller_addresses(node) == expected


def test_files_with_one_cluster_id_are_one_cluster_whatever_they_name():
    files = [file("/a", "c1:9093", "X"), file("/b", "c2:9093", "X")]
    assert group_by_cluster(files) == (tuple(files),)


def test_files_with_different_cluster_ids_are_two_clusters_although_they_name_one_controller():
    assert len(group_by_cluster([file("/a", cluster_id="X"), file("/b", cluster_id="Y")])) == 2


def test_files_that_name_a_controller_in_common_are_one_cluster():
    first, second, third = file("/a", "c1:9093"), file("/b", "c3:9093"), file("/c", "c1:9093,c3:9093")
    assert group_by_cluster([first, second, third]) == ((first, second, third),)


def test_file_that_nothing_connects_with_the_other_is_another_cluster():
    first, second = file("/a", "c1:9093", "X"), file("/b", "c9:9093", node_id=2)
    with pytest.raises(InputError) as raised:
        check_one_cluster([first, second])
    assert raised.value.id == "several-clusters-found"
    assert "cluster X (node 1, /a)" in raised.value.message
    assert "a cluster whose id is not known (node 2, /b)" in raised.value.message
    assert raised.value.advice == "Choose one: -c /a, or -c /b"


def test_two_nodes_of_one_cluster_are_a_choice_for_a_command_on_disks():
    with pytest.raises(InputError) as raised:
        check_one_node([file("/a"), file("/b", node_id=2)])
    assert (raised.value.id, raised.value.advice) == ("several-nodes-found", "Choose one: -c /a, or -c /b")


def test_one_node_is_chosen_already():
    check_one_node([file("/a")])
    check_one_cluster([file("/a")])


@pytest.mark.parametrize("words", ["storage verify", "quorum describe"])
def test_passed_over_file_comes_with_the_command_that_uses_it(words):
    passed = PassedOver(path="/a", process_id=7, reason="it belongs to kafka", owner="kafka")
    found = passed.finding(words)
    assert found.message == "/a of process 7 was passed over: it belongs to kafka"
    ways = f"kafkactl {words} -c /a, or as its owner: sudo -u kafka kafkactl {words}"
    assert found.next_step == f"To use it all the same: {ways}"
