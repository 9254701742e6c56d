"""A live quorum observed for a roll: nodes at their own addresses, hooks, files and the log; and none of them."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.errors import UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.kafka.client_config import ClientConfig
from kafkactl.kafka.connection import Access, Connection
from kafkactl.net.transport import Address
from kafkactl.roll.api.observing import observe, save_observation
from kafkactl.roll.inventory import RollInventory, RollInventoryNode, parse_roll_inventory
from kafkactl.roll.io.observe import RollObserver
from kafkactl.roll.io.saved_observation import load_observation

MS = 12_000.0


def inventory_of(quorum: FakeQuorum, folder: Path, *, hooks: str = "", **addresses: str) -> RollInventory:
    """Return the controllers, with files of this machine; `addresses` by `c1` in place of their own."""
    lines = [f"[hooks]\ntemplate = 'local'\n{hooks}"]
    for node_id in quorum.nodes:
        file = folder / f"{node_id}.properties"
        file.write_text(f"node.id={node_id}\nbroker.rack=r{node_id}\nssl.key.password=hunter2\n")
        address = addresses.get(f"c{node_id}", str(quorum.address(node_id)))
        lines.append(f"[[nodes]]\nid = {node_id}\nroles = ['controller']\ncontroller_address = '{address}'\n"
                     f"config = '{file.name}'")  # fmt: skip
    return parse_roll_inventory("\n".join(lines), file=str(folder / "roll.toml"))


def printing(text: str) -> str:
    return json.dumps([sys.executable, "-c", f"print({text!r})"])


@pytest.fixture
def dead() -> Any:
    """Yield an address where nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_every_node_is_observed_and_saved_without_secrets(tmp_path: Path) -> None:
    hooks = f"running = {printing('apache/kafka:4.3.1')}\ninstalled = {printing('4.4.0')}\njava = {printing('17')}\n"
    with FakeQuorum() as quorum:
        inventory = inventory_of(quorum, tmp_path, hooks=hooks)
        saved = save_observation(inventory, tmp_path / "out", timeout_ms=MS)
    assert [(node.id, node.alive, node.release, node.installed) for node in saved.nodes] == [
        (1, True, "4.3.1", "4.4.0"), (2, True, "4.3.1", "4.4.0"), (3, True, "4.3.1", "4.4.0"),
    ]  # fmt: skip
    seen = load_observation(tmp_path / "out")
    assert (seen.cluster_id, seen.node(2).rack, seen.node(2).java) == (quorum.cluster_id, "r2", "17")  # type: ignore[union-attr]
    assert seen.quorum_view is not None
    assert seen.quorum_view.leader_id == 1
    assert seen.log is not None
    assert seen.log.controller_id == 1
    assert sorted(seen.log.image.controllers) == [1, 2, 3]
    assert "hunter2" not in (tmp_path / "out" / "observation.json").read_text()


def test_silent_node_is_down_and_a_node_with_another_id_is_unknown(tmp_path: Path, dead: str) -> None:
    with FakeQuorum() as quorum:
        inventory = inventory_of(quorum, tmp_path, c2=dead, c3=str(quorum.address(1)).replace("127.0.0.1", "localhost"))
        seen = observe(inventory, timeout_ms=MS)
    assert [node.alive for node in seen.nodes] == [True, False, None]
    assert {finding.id for finding in seen.findings} >= {"node-not-observed", "node-with-another-id"}


def test_paused_controller_takes_no_time_from_other_nodes(tmp_path: Path) -> None:
    # The listener of a paused process takes connections and does not answer; a broker is asked all the same.
    with FakeQuorum() as quorum, socket.create_server(("127.0.0.1", 0)) as paused:
        controller = f"id = 9\nroles = ['controller']\ncontroller_address = '127.0.0.1:{paused.getsockname()[1]}'"
        broker = f"id = 1\nroles = ['broker']\naddress = '{quorum.address(1)}'"
        tables = "".join(f"[[nodes]]\n{node}\nconfig = '{name}'\n" for name, node in (("c", controller), ("b", broker)))
        inventory = parse_roll_inventory(tables, file=str(tmp_path / "roll.toml"))
        seen = observe(inventory, timeout_ms=MS)
    assert {node.id: node.alive for node in seen.nodes} == {9: False, 1: True}


def test_node_of_another_cluster_is_unknown_and_named(tmp_path: Path) -> None:
    with FakeQuorum() as quorum:
        inventory = changed(inventory_of(quorum, tmp_path), cluster_id="AAAAAAAAAAAAAAAAAAAAAA")
        seen = observe(inventory, timeout_ms=MS)
    assert [node.alive for node in seen.nodes] == [None, None, None]
    found = [finding for finding in seen.findings if finding.id == "node-of-another-cluster"]
    assert [finding.evidence["found"] for finding in found] == [quorum.cluster_id] * 3


def test_hook_that_fails_leaves_its_fact_unknown(tmp_path: Path) -> None:
    with FakeQuorum() as quorum:
        seen = observe(inventory_of(quorum, tmp_path, hooks="running = ['false']\n"), timeout_ms=MS)
    assert [node.release for node in seen.nodes] == [None, None, None]
    assert "node-place-unreadable" in {finding.id for finding in seen.findings}


def test_refused_question_of_a_controller_names_the_brokers_of_the_inventory(tmp_path: Path) -> None:
    with FakeQuorum() as quorum:
        inventory = inventory_of(quorum, tmp_path)
        brokers = tuple(
            RollInventoryNode(id=id, roles=(Role.BROKER,), host="k", config=f"{id}", address=f"k{id}:9092")
            for id in (11, 12)
        )
        observer = RollObserver(changed(inventory, nodes=(*inventory.nodes, *brokers)), timeout_ms=MS)
        clients = observer.clients()
        for client in clients:
            client.close()
    assert {client.role: client.login.brokers for client in clients} == dict.fromkeys(Role, "k11:9092,k12:9092")


def test_cluster_without_any_answer_is_an_error_and_nothing_is_saved(tmp_path: Path) -> None:
    with FakeQuorum() as quorum:
        inventory = inventory_of(quorum, tmp_path)
    with pytest.raises(UnreachableError) as caught:
        save_observation(inventory, tmp_path / "out", timeout_ms=MS)
    assert caught.value.id == "cluster-not-reached"
    assert not (tmp_path / "out").exists()


class RefusedAt:
    """A login that one listener refuses."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def authenticate(self, connection: Connection, _deadline: Deadline) -> float | None:
        if connection.address == self.address:
            raise UnreachableError(f"{connection.address} refuses", id="authentication-failed")
        return None


def test_leader_that_refuses_the_login_is_not_a_missing_leader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        refused = Access(authenticator=RefusedAt(quorum.address(1)))
        monkeypatch.setattr(ClientConfig, "access", lambda *_, **__: refused)
        seen = observe(inventory_of(quorum, tmp_path), timeout_ms=MS)
    assert seen.quorum_view is None
    (unknown,) = [found for found in seen.findings if (found.id, found.subject) == ("cluster-not-observed", "quorum")]
    assert "refuses" in unknown.message
    assert "Other controllers accept these client properties" in unknown.next_step
