from __future__ import annotations

import pytest

from kafkactl.protocol.text.toml_tables import InventoryError
from kafkactl.storage.fleet.inventory import VoterRole, parse_inventory

NODE = """
[[nodes]]
id = 1
host = "c1"
config = "configs/c1.properties"
"""


def read(text: str):
    return parse_inventory(text.encode(), file="fleet.toml")


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(InventoryError) as caught:
        read(text)
    assert caught.value.exit_code == 2
    assert caught.value.id == "invalid-inventory"
    return caught.value.problems


def test_every_key_is_read():
    inventory = read(
        """
        cluster_id = "XgM8cvG1S-mQ3k4wGhkVpQ"
        kafka_version = "4.3.1"
        metadata_version = "4.3"
        features = { "share.version" = 1, group.version = 0 }
        scram_file = "scram.txt"
        mode = "dynamic"
        existing_cluster = true
        controller_addresses = ["controllers.example:9093"]

        [[nodes]]
        id = 7
        host = "c7"
        config = "/etc/kafka/server.properties"
        root = "hosts/c7"
        kafka_version = "4.2.1"
        voter = "later"
        directory_id = "MvDxzVmcRsaTz33bUuRU6A"
        mounts = ["/disk1"]
        """
    )
    assert inventory.release_version == "4.3"
    assert inventory.features == ("share.version=1", "group.version=0")
    node = inventory.nodes[0]
    assert (node.id, node.voter, node.mounts) == (7, VoterRole.LATER, ("/disk1",))
    assert node.kafka_version == "4.2.1"


def test_features_may_be_written_as_kafka_writes_them():
    assert read('cluster_id = "new"\nfeatures = ["share.version=1"]' + NODE).features == ("share.version=1",)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('scram_fle = "x"', "unknown key 'scram_fle' (line 2) (did you mean 'scram_file'?)"),
        ('scram = "x"', "unknown key 'scram' (line 2) (did you mean 'scram_file'?)"),
        ('version = "4.3"', "unknown key 'version' (line 2) (did you mean 'kafka_version'?)"),
        ("kafka_version = 4.10", "kafka_version (line 2): expected a version in quotes"),
        ('mode = "both"', "mode (line 2): expected one of: static, dynamic, found another text"),
        ('existing_cluster = "yes"', "existing_cluster (line 2): expected true or false, found another text"),
        ("features = { a = true }", "expected a whole number as the level of a"),
        ("existing_cluster = true", 'existing_cluster = true needs the id of that cluster, not cluster_id = "new"'),
        ('release_version = "4.3"\nmetadata_version = "4.3"', "two words for one thing"),
    ],
)
def test_problems_of_the_fleet_are_reported(line, problem):
    found = problems_of(f'cluster_id = "new"\n{line}\n{NODE}')
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("id = -1", "nodes[0] (id -1): id (line 3): expected a whole number"),
        ("id = true", "nodes[0] (id True): id (line 3): expected a whole number"),
        ('id = "1"', "nodes[0]: id (line 3): expected a whole number"),
        ('id = 1\nhostname = "x"', "unknown key 'hostname' (line 4) (did you mean 'host'?)"),
        ('id = 1\nvoter = "observer"', "expected one of: initial, standalone, later"),
        ('id = 1\nroot = "r"', "with root, config is an absolute path"),
    ],
)
def test_problem_of_a_node_has_the_name_of_the_node(line, problem):
    found = problems_of(f'cluster_id = "new"\n[[nodes]]\n{line}\nhost = "h"\nconfig = "c"\n')
    assert any(problem in text for text in found), found


def test_all_problems_are_reported_at_once():
    found = problems_of("colour = 1\n[[nodes]]\nid = 1\n[[nodes]]\nhost = 'h'\n")
    assert len(found) == 6  # colour, cluster_id, then host and config of the one, id and config of the other


@pytest.mark.parametrize("nodes", ["", "nodes = []", "nodes = 3", "[nodes]\nid = 1"])
def test_fleet_has_nodes(nodes):
    assert "nodes: expected at least one [[nodes]] table" in problems_of(f'cluster_id = "new"\n{nodes}\n')


def test_credential_in_place_of_the_file_is_refused_and_not_shown():
    with pytest.raises(InventoryError) as caught:
        read('cluster_id = "new"\nscram_file = "SCRAM-SHA-256=[name=a,password=hunter2]"' + NODE)
    assert "hunter2" not in str(caught.value)
    assert "they do not stand in an inventory" in str(caught.value)


@pytest.mark.parametrize("data", [b"cluster_id = ", b"\xff\xfe", b"a = 1\na = 2", b"[" * 100_000])
def test_inventory_that_is_not_toml_is_refused_with_its_name(data):
    with pytest.raises(InventoryError) as caught:
        parse_inventory(data, file="fleet.toml")
    assert caught.value.id == "inventory-not-toml"
    assert "fleet.toml" in caught.value.message
