"""The inventory: what it says, and every way in which it can be wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import InputError
from kafkactl.core.values import Role
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.protocol.text.toml_tables import InventoryError

HEAD = '[zookeeper]\nconnect = "zk1:2181,zk2/kafka"\n'
BROKER = '[[nodes]]\nid = 1\nrole = "broker"\naddress = "b1:9092"\nconfig = "/etc/b.properties"\n'
CONTROLLER = '[[nodes]]\nid = 3001\nrole = "controller"\naddress = "c1:9093"\nconfig = "/etc/c.properties"\n'
DOCS = Path(__file__).parents[2] / "docs" / "migration-inventory.md"


def parse(*parts: str) -> Inventory:
    return parse_inventory("".join(parts), file="migration.toml")


def problems(*parts: str) -> tuple[str, ...]:
    with pytest.raises(InventoryError) as caught:
        parse(*parts)
    assert caught.value.id == "invalid-inventory"
    assert caught.value.exit_code == 2
    return caught.value.problems


def test_smallest_inventory_is_parsed():
    found = parse(HEAD, BROKER, CONTROLLER)
    assert found.zookeeper.connect == "zk1:2181,zk2/kafka"
    assert [broker.id for broker in found.brokers] == [1]
    assert [controller.id for controller in found.controllers] == [3001]
    node = found.node(1)
    assert node is not None
    assert (node.host, node.role, node.name) == ("b1", Role.BROKER, "broker 1")
    assert node.hooks.template == "manual"
    assert node.hooks.commands == {}
    assert found.journal == "journal"
    assert found.soak_hours == 0


def test_inventory_in_the_documentation_is_parsed():
    text = re.search(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    found = parse(text[1])
    assert found.soak_hours == 168
    broker, controller = found.nodes
    assert broker.hooks.variables["unit"] == "kafka"
    assert controller.hooks.variables == {**broker.hooks.variables, "unit": "kafka-controller"}
    assert controller.host == "controller-1.example"
    assert broker.hooks.commands[Verb.LOGS][0] == "./hooks/logs.sh"
    assert broker.hooks.commands[Verb.RESTART][0] == "ssh"


def test_all_problems_are_reported_at_once():
    found = problems(
        "journl = 'x'\n[zookeeper]\nconnect = 'zk1 2181'\n",
        BROKER.replace('"broker"', '"brokr"'),
        CONTROLLER.replace("config", "config_file"),
    )
    assert len(found) == 5
    assert "did you mean 'journal'?" in found[0]
    assert "zookeeper: connect" in found[1]
    assert "did you mean 'config'?" in found[3]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD, "at least one"),
        (BROKER + CONTROLLER, "zookeeper is missing"),
        ("zookeeper = 1\n" + BROKER + CONTROLLER, "expected a table"),
        ("[zookeeper]\n" + BROKER + CONTROLLER, "connect is missing"),
        (HEAD + BROKER, "no controller"),
        (HEAD + CONTROLLER, "no broker"),
        (HEAD + BROKER + BROKER + CONTROLLER, "broker 1 occurs 2 times"),
        (HEAD + BROKER + CONTROLLER.replace("3001", "1"), "id 1 is that of a broker and of a controller"),
        (HEAD + BROKER + CONTROLLER.replace("c1:9093", "b1:9092"), "b1:9092 is the address of 2 nodes"),
        (HEAD + BROKER.replace("id = 1", "id = -1") + CONTROLLER, "from 0 to 2147483647"),
        (HEAD + BROKER.replace("id = 1", "id = true") + CONTROLLER, "whole number"),
        (HEAD + BROKER.replace("id = 1\n", "") + CONTROLLER, "nodes[0]: id is missing"),
        (HEAD + BROKER.replace("b1:9092", "b1") + CONTROLLER, "expected HOST:PORT"),
        (HEAD + BROKER.replace("b1:9092", "b1:99999") + CONTROLLER, "expected HOST:PORT"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\ntemplate = 'systemd'\n", "one of: manual"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\nrestrat = ['x']\n", "did you mean 'restart'?"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\nrestart = []\n", "has no command"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\nrestart = 'x \"y'\n", "cannot be split"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\nrestart = ['x', '{nobody}']\n", "nothing gives {nobody}"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\ntemplate = 'kubectl'\n", "variables: pod is missing"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\nvariables = { a = 1.5 }\n", "text or a whole number"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\nvariables = { 'a-b' = 'x' }\n", "letters, digits"),
        (HEAD + BROKER + CONTROLLER + "[hooks]\ntimeout_s = 0\n", "from 1 to 86400"),
        (HEAD + BROKER + CONTROLLER + "nodes = 1\n", "unknown key 'nodes'"),
    ],
)
def test_invalid_inventory_is_reported_with_its_problem(text: str, words: str):
    assert any(words in problem for problem in problems(text)), problems(text)


@pytest.mark.parametrize("value", ["-1", "true", '"168"', "8761", "nan"])
def test_hours_are_hours(value: str):
    (problem,) = problems(f"soak_hours = {value}\n", HEAD, BROKER, CONTROLLER)
    assert "expected hours, from 0 to 8760" in problem


@pytest.mark.parametrize("text", [b"[zookeeper", b"\xff", b"a = " + b"[" * 100_000])
def test_inventory_that_is_not_toml_is_refused(text: bytes):
    with pytest.raises(InventoryError) as caught:
        parse_inventory(text, file="migration.toml")
    assert caught.value.id == "inventory-not-toml"


def test_two_nodes_with_one_file_are_refused():
    other = BROKER.replace("id = 1", "id = 2").replace("b1:9092", "b1:9093")
    assert "the configuration of 2 nodes" in problems(HEAD, BROKER, other, CONTROLLER)[0]


def test_shared_hook_may_use_what_each_node_gives():
    shared = "[hooks]\nrestart = ['./restart.sh', '{pod_name}']\n"
    variable = "hooks = { variables = { pod_name = 'kafka-0' } }\n"
    found = parse(HEAD, shared, BROKER, variable, CONTROLLER, "hooks = { template = 'manual' }\n")
    broker, controller = found.nodes
    assert broker.hooks.template == "command"
    assert broker.hooks.variables == {"pod_name": "kafka-0"}
    assert controller.hooks.commands == {}
    assert "nothing gives {pod_name}" in problems(HEAD, shared, BROKER, variable, CONTROLLER)[0]


def test_files_of_this_machine_are_relative_to_the_inventory():
    text = (
        HEAD
        + "[hooks]\ntemplate = 'local'\n"
        + BROKER.replace("/etc/", "etc/")
        + "log_dirs = ['d', '/d']\n"
        + CONTROLLER
    )
    broker, controller = parse_inventory(text, file="conf/migration.toml").nodes
    assert (broker.config, broker.log_dirs) == ("conf/etc/b.properties", ("conf/d", "/d"))
    assert controller.config == "/etc/c.properties"
    remote = parse_inventory(HEAD + BROKER.replace("/etc/", "etc/") + CONTROLLER, file="conf/migration.toml")
    assert remote.nodes[0].config == "etc/b.properties"


def test_wrong_shared_hook_is_reported_once():
    second = BROKER.replace("id = 1", "id = 2").replace("b1", "b2")
    assert len(problems(HEAD, "[hooks]\nstop = 'x \"y'\n", BROKER, second, CONTROLLER)) == 1


_WORDS = st.sampled_from(
    ["zookeeper", "connect", "nodes", "id", "role", "broker", "hooks", "template", "restart", "{x}", "b1:9092"]
)
_VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=5), _WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_WORDS, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(_WORDS, _VALUES, max_size=6))
def test_any_table_is_an_inventory_or_an_error(table: dict[str, object]):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafkactl.migration.inventory.parse_toml", lambda *_: table)
        try:
            found = parse_inventory("")
        except InputError as error:
            assert error.next_step
        else:
            assert found.nodes


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_an_inventory_error(data: bytes):
    with pytest.raises(InventoryError):
        parse_inventory(data)


@pytest.mark.parametrize(("given", "stands"), [("ops", "ops@"), ("ops@", "ops@"), ("", "")])
def test_user_of_ssh_is_parsed_with_or_without_its_sign(given: str, stands: str):
    hooks = f"[hooks]\ntemplate = 'systemd-ssh'\nvariables = {{ ssh_user = '{given}' }}\n"
    assert parse(HEAD, hooks, BROKER, CONTROLLER).nodes[0].hooks.variables["ssh_user"] == stands
