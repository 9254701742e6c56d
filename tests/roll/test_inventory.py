"""Inventories of a roll: what they mean, and that a problem is never without effect."""

from __future__ import annotations

import pytest

from kafkactl.change.hooks.words import Verb
from kafkactl.core.values import Role
from kafkactl.protocol.text.toml_tables import InventoryError
from kafkactl.roll.inventory import parse_roll_inventory

WHOLE = """
cluster_id = "Some-cluster-id_22char"
install = "between"
[hooks]
template = "systemd-ssh"
[[nodes]]
id = 1
roles = ["controller"]
controller_address = "c1:9093"
config = "/etc/kafka/controller.properties"
install = "before"
[[nodes]]
id = 2
roles = ["controller", "broker"]
address = "k2:9092"
controller_address = "k2:9093"
config = "/etc/kafka/server.properties"
rack = "a"
hooks = { running = ["./release.sh", "{host}"] }
"""


def test_whole_inventory_is_read() -> None:
    inventory = parse_roll_inventory(WHOLE, file="/ops/roll.toml")
    first, second = inventory.nodes
    assert (first.name, first.role_word, first.host, first.installs_between) == (
        "controller 1",
        "controller",
        "c1",
        False,
    )
    assert (second.name, second.role_word, second.host, second.installs_between) == (
        "node 2",
        "broker,controller",
        "k2",
        True,
    )
    assert second.roles == (Role.BROKER, Role.CONTROLLER)
    assert second.hooks.commands[Verb.RUNNING] == ("./release.sh", "{host}")
    assert Verb.INSTALL in second.hooks.commands
    assert inventory.journal_file("abc") == "/ops/journal/roll-abc.jsonl"


def test_files_of_local_nodes_are_relative_to_the_inventory() -> None:
    text = WHOLE.replace('"systemd-ssh"', '"local"').replace('"/etc/kafka/server.properties"', '"server.properties"')
    assert parse_roll_inventory(text, file="/ops/roll.toml").nodes[1].config == "/ops/server.properties"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("roles = ", "rolles = ", "did you mean 'roles'?"),
        ('address = "k2:9092"\n', "", "address is missing"),
        ('controller_address = "c1:9093"\n', "", "controller_address is missing"),
        ('controller_address = "c1:9093"\n', 'controller_address = "c1:9093"\naddress = "c1:9092"\n', "address is for"),
        ("id = 2", "id = 1", "node 1 occurs 2 times"),
        ('"k2:9093"', '"c1:9093"', "c1:9093 is the address of 2 listeners"),
        ('"between"', '"after"', "one of: before, between"),
        ("{host}", "{hots}", "nothing gives {hots}"),
        ('roles = ["controller"]', 'roles = ["zookeeper"]', "expected"),
        ("[[nodes]]", "[[node]]", "did you mean 'nodes'?"),
    ],
)
def test_problem_of_an_inventory_is_reported(old: str, new: str, problem: str) -> None:
    with pytest.raises(InventoryError) as caught:
        parse_roll_inventory(WHOLE.replace(old, new), file="roll.toml")
    assert problem in str(caught.value.problems)
