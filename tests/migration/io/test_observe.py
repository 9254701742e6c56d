"""A live cluster observed: scripted nodes, a tree in place of ZooKeeper, hooks and files; and all of that missing."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.commands.demo.broker import CLOSE, SILENCE, Asked, FakeBroker, Reply
from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Severity
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.checks.registry import check
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.observe_nodes import ask_nodes
from kafkactl.migration.io.saved_observation import load_observation, observation_from
from kafkactl.migration.io.zookeeper.client import Member
from kafkactl.migration.observed.driver_lock import PATH, Holder, LockSeen
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.zktree.tree import Tree, tree_of
from kafkactl.migration.zktree.znode import Znode
from kafkactl.net.transport import Address
from tests.conftest import Run
from tests.migration.migration_logs import LogWriter, bootstrap
from tests.migration.zk_trees import CLUSTER_ID, small, znodes
from tests.secrets_scan import leaks

SHORT_MS = 6_000


class FakeZooKeeper:
    """Result of `open_zookeeper`, with a tree of its own."""

    def __init__(self, tree: Tree, lock: bytes | None = None) -> None:
        self.tree = tree
        self.lock = lock

    def __enter__(self) -> FakeZooKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read_tree(self) -> Tree:
        return self.tree

    def read(self, path: str) -> Znode | None:
        assert path == PATH
        return None if self.lock is None else Znode(path=path, data=self.lock, ephemeral_owner=5)

    def members(self) -> tuple[Member, ...]:
        return tuple(
            Member(address=Address("zk", port), mode=mode, version="3.8.4")
            for port, mode in ((1, "leader"), (2, "follower"), (3, None))
        )


@pytest.fixture
def zookeeper(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tree_of(znodes(small()), "")
    tree = changed(plain, chroot="/kafka", zxid_before=9, zxid_after=9)
    monkeypatch.setattr("kafkactl.migration.io.zookeeper.client.open_zookeeper", lambda *_, **__: FakeZooKeeper(tree))


def zookeeper_broker(*, ready: bool = False, cluster_id: str = CLUSTER_ID) -> FakeBroker:
    """Return one on ZooKeeper: it does not offer DescribeQuorum, and hangs up on it."""

    class Broker(FakeBroker):
        def self_description(self, version: int) -> dict[str, Any]:
            return super().self_description(version) | {"ZkMigrationReady": ready}

    def script(asked: Asked) -> Any:
        if asked.name == "DescribeCluster":
            return Reply(body={"ClusterId": cluster_id, "ControllerId": 1, "Brokers": []})
        return CLOSE if asked.name == "DescribeQuorum" else None

    broker = Broker(script)
    del broker.ranges[55]
    return broker


@contextlib.contextmanager
def cluster(folder: Path, *brokers: FakeBroker, more: str = "", each: str = "") -> Iterator[Inventory]:
    """Yield brokers 11, 12 … and the controllers 1, 2 of a quorum, and their inventory."""
    with contextlib.ExitStack() as stack:
        quorum = stack.enter_context(FakeQuorum(controllers=2, voters=(1, 2)))
        quorum.cluster_id = CLUSTER_ID
        lines = ['[zookeeper]\nconnect = "127.0.0.1:1/kafka"\n', more]
        places = [(11 + at, "broker", stack.enter_context(broker).address) for at, broker in enumerate(brokers)]
        places += [(id, "controller", quorum.address(id)) for id in (1, 2)]
        for id, role, address in places:
            lines.append(f'[[nodes]]\nid = {id}\nrole = "{role}"\naddress = "{address}"\nconfig = "{id}.properties"\n')
            lines.append(each)
        yield parse_inventory("\n".join(lines), file=str(folder / "migration.toml"))


def seen(inventory: Inventory, **options: Any) -> Observation:
    return observation_from(observe(inventory, timeout_ms=SHORT_MS, **options))


def ids(found: Observation) -> list[str]:
    return [finding.id for finding in found.findings]


def test_cluster_is_observed(tmp_path: Path, zookeeper: None):
    with cluster(tmp_path, zookeeper_broker(), zookeeper_broker(ready=True)) as inventory:
        found = seen(inventory)
    assert ids(found) == []
    assert [broker.mode for broker in found.brokers] == [Mode.ZK, Mode.MIGRATING]
    assert [controller.mode for controller in found.controllers] == [Mode.KRAFT, Mode.KRAFT]
    assert all(node.alive for node in found.nodes)
    assert all(broker.quorum is not None and broker.quorum.closed for broker in found.brokers)
    leader, follower = (controller.quorum for controller in found.controllers)
    assert leader is not None
    assert follower is not None
    assert (leader.leader_id, leader.leader_epoch) == (1, 3)
    assert (follower.leader_id, follower.partition_error) == (None, 6)
    assert (found.connect, found.chroot) == ("127.0.0.1:1/kafka", "/kafka")
    assert found.tree is not None
    assert (found.tree.zxid_before, found.tree.zxid_after) == (9, 9)
    assert found.tree.get("/kafka/controller") is None
    assert found.tree.get("/controller") is not None
    assert [server.mode for server in found.servers or ()] == ["leader", "follower", None]
    before = changed(found, logs={}, nodes=found.brokers)  # the fake quorum's log is none of a migration
    silent = [finding.subject for finding in check(before) if finding.id == "zookeeper-server-silent"]
    assert silent == ["ZooKeeper zk:3"]
    assert list(found.logs) == [1]
    committed = found.logs[1].high_watermark
    assert committed is not None
    assert 0 < committed <= found.logs[1].end_offset


def test_brokers_on_zookeeper_need_not_be_asked(tmp_path: Path, zookeeper: None):
    broker = zookeeper_broker()
    with cluster(tmp_path, broker) as inventory:
        found = seen(inventory, asks_zookeeper_brokers=False, with_logs=False)
    assert "DescribeQuorum" not in broker.names()
    assert found.brokers[0].mode is Mode.ZK
    assert found.brokers[0].quorum is None
    assert found.logs == {}


@pytest.mark.slow
def test_silent_nodes_and_zookeeper_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise UnreachableError("it is not there", id="zookeeper-unreachable", next_step="Look.")

    monkeypatch.setattr("kafkactl.migration.io.zookeeper.client.open_zookeeper", refuse)
    silent = FakeBroker(lambda asked: SILENCE)
    with cluster(tmp_path, silent) as inventory:
        gone = changed(inventory.nodes[-1], address="127.0.0.1:1")
        found = seen(changed(inventory, nodes=(*inventory.nodes[:-1], gone)))
    assert ids(found) == ["zookeeper-not-observed", "node-not-observed", "node-not-observed"]
    assert found.tree is None
    assert [node.alive for node in found.nodes] == [False, True, False]
    assert all(finding.next_step for finding in found.findings)


def test_silent_zookeeper_leaves_time_for_the_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # As one that is stopped, or has lost its quorum: a look says so after seconds, however long a tree may take.
    monkeypatch.setattr("kafkactl.migration.io.observe._SILENT_MS", 500.0)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        zookeeper_broker() as broker,
        cluster(tmp_path, broker) as found,
    ):
        place = changed(found.zookeeper, connect=f"127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        observation = observation_from(observe(changed(found, zookeeper=place), timeout_ms=60_000))
        took = time.monotonic() - began
    (reported,) = (finding for finding in observation.findings if finding.id == "zookeeper-not-observed")
    assert "accepts connections but no session" in reported.message
    assert took < 50


def test_controllers_are_asked_right_behind_the_tree(tmp_path: Path, zookeeper: None, monkeypatch: pytest.MonkeyPatch):
    # A broker that hangs takes ten seconds, in which the log grows: compared with that, dual write seemed stuck.
    asked: list[tuple[Address, ...]] = []

    def ask(addresses: dict[Address, int], *words: Any, **options: Any) -> Any:
        asked.append(tuple(addresses))
        return ask_nodes(addresses, *words, **options)

    monkeypatch.setattr("kafkactl.migration.io.observe.ask_nodes", ask)
    with zookeeper_broker() as broker, cluster(tmp_path, broker) as found:
        seen(found)
        assert [len(addresses) for addresses in asked] == [2, 1]
        assert str(asked[1][0]) == found.brokers[0].address


@pytest.mark.slow
def test_hanging_controller_is_not_reported_as_gone(tmp_path: Path, zookeeper: None):
    # The operator may be about to delete /controller.
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        zookeeper_broker() as broker,
        cluster(tmp_path, broker) as found,
    ):
        places = {1: f"127.0.0.1:{silent.getsockname()[1]}", 2: "127.0.0.1:1"}
        nodes = tuple(changed(node, address=places.get(node.id, node.address)) for node in found.nodes)
        reported = seen(changed(found, nodes=nodes)).findings
    words = {finding.subject: finding.message for finding in reported if finding.id == "node-not-observed"}
    assert "which is not gone" in words["controller 1"]
    assert "which is not gone" not in words["controller 2"]


def test_address_of_another_kind_of_node_is_reported(tmp_path: Path, zookeeper: None):
    with cluster(tmp_path, zookeeper_broker()) as inventory:
        broker, first, second = inventory.nodes
        wrong = changed(broker, address=first.address), changed(first, address=broker.address), second
        found = seen(changed(inventory, nodes=wrong), with_logs=False)
    assert ids(found) == ["node-of-another-role", "node-of-another-role"]
    assert found.nodes[0].alive is None
    assert found.nodes[0].api_versions is None


def test_node_of_another_cluster_is_reported(tmp_path: Path, zookeeper: None):
    with cluster(tmp_path, zookeeper_broker(cluster_id="other"), more='[hooks]\ntemplate = "manual"') as inventory:
        found = seen(changed(inventory, cluster_id="third"), with_logs=False)
    assert ids(found) == ["zookeeper-of-another-cluster"]
    reported = evidence_of(found).identities.strangers
    assert [(finding.id, finding.subject) for finding in reported] == [("node-of-another-cluster", "broker 11")]


def _one(folder: Path, more: str = "", each: str = "") -> Observation:
    with cluster(folder, zookeeper_broker(), more=more, each=each) as inventory:
        return seen(inventory, with_logs=False)


def test_holder_of_the_lock_is_observed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tree = changed(tree_of(znodes(small()), ""), chroot="/kafka")
    holder = Holder(user="ann", host="h1", pid=7, since_ms=5, journal="/j", file="1:2")
    for content, expected in ((holder.to_bytes(), holder), (None, None)):
        fake = FakeZooKeeper(tree, content)
        monkeypatch.setattr("kafkactl.migration.io.zookeeper.client.open_zookeeper", lambda *_, fake=fake, **__: fake)
        found = _one(tmp_path)
        assert found.lock == LockSeen(holder=expected)


def test_lock_that_may_not_be_read_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Closed(FakeZooKeeper):
        def read(self, path: str) -> Znode | None:
            raise UnreachableError("no permission", id="zookeeper-no-permission")

    fake = Closed(changed(tree_of(znodes(small()), ""), chroot="/kafka"))
    monkeypatch.setattr("kafkactl.migration.io.zookeeper.client.open_zookeeper", lambda *_, **__: fake)
    found = _one(tmp_path)
    assert found.tree is not None and found.lock is None


def test_files_of_this_machine_are_read(tmp_path: Path, zookeeper: None):
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "meta.properties").write_text("#\nversion=0\nbroker.id=11\n")
    for id in (11, 1, 2):
        (tmp_path / f"{id}.properties").write_bytes(f"log.dirs={disk}\nname=\xe9\n".encode("latin-1"))
    found = _one(tmp_path, more='[hooks]\ntemplate = "local"')
    assert ids(found) == []
    node = found.node(11)
    assert node is not None
    assert node.meta_properties == {"version": "0", "broker.id": "11"}
    assert node.config_text == f"log.dirs={disk}\nname=é\n"


def test_strays_of_this_machine_are_reported(tmp_path: Path, zookeeper: None):
    for name in ("orders-0", "logs-1.4f0c-stray"):
        (tmp_path / "disk" / name).mkdir(parents=True)
    for id in (11, 1, 2):
        (tmp_path / f"{id}.properties").write_text("log.dirs=disk,gone\n" if id == 11 else "log.dirs=gone\n")
    found = _one(tmp_path, more='[hooks]\ntemplate = "local"')
    assert found.brokers[0].strays == (str(tmp_path / "disk" / "logs-1.4f0c-stray"),)
    assert found.controllers[0].strays is None
    blocking = [finding for finding in check(found) if finding.severity is Severity.BLOCKER]
    assert ("partitions-became-strays", "broker 11") in [(finding.id, finding.subject) for finding in blocking]


def test_strays_are_read_by_hook(tmp_path: Path, zookeeper: None):
    code = "import sys; print(*[one + '/a-0.1-stray' for one in sys.argv[1:]], sep=chr(10))"
    more = f"[hooks]\nfs_probe = ['{sys.executable}', '-c', \"{code}\", '{{log_dirs*}}']"
    found = _one(tmp_path, more=more, each='log_dirs = ["/d1", "/d2"]')
    assert found.brokers[0].strays == ("/d1/a-0.1-stray", "/d2/a-0.1-stray")


def controllers_down(folder: Path, disk: Path, more: str = "") -> Observation:
    """Return a broker and two controllers that were never started, whose metadata log is to be on a disk of this
    machine."""
    each = f'log_dirs = ["{disk}"]\nlog = "{disk}"\n'
    for id in (11, 1, 2):
        (folder / f"{id}.properties").write_text(f"log.dirs={disk}\n")
    with cluster(folder, zookeeper_broker(), more=more or '[hooks]\ntemplate = "local"', each=each) as inventory:
        nodes = [changed(node, address=f"127.0.0.1:{node.id}") if node.id < 11 else node for node in inventory.nodes]
        return seen(changed(inventory, nodes=tuple(nodes)))


def unreadable(found: Observation) -> list[str]:
    return [finding.subject for finding in found.findings if finding.id == "node-place-unreadable"]


@pytest.mark.parametrize("names", [None, (), ("lost+found",), ("meta.properties",)])
def test_disk_that_is_seen_empty_is_not_an_open_question(
    tmp_path: Path, zookeeper: None, names: tuple[str, ...] | None
):
    # Not there yet, empty, freshly mounted, formatted and never started: known, each of them.
    disk = tmp_path / "disk"
    for name in names or ():
        disk.mkdir(exist_ok=True)
        (disk / name).write_text("node.id=1\ndirectory.id=J8qXRwI-Qyi2G0guFTiuYw\n")
    if names == ():
        disk.mkdir()
    found = controllers_down(tmp_path, disk)
    assert unreadable(found) == []
    node = found.controllers[0]
    assert node.has_empty_disk is (names != ("meta.properties",))
    assert node.directories is not None
    assert node.directories[0].directory_id == (None if node.has_empty_disk else "J8qXRwI-Qyi2G0guFTiuYw")


def test_disk_that_was_not_looked_at_is_not_empty(tmp_path: Path, zookeeper: None):
    found = controllers_down(tmp_path, tmp_path / "disk", more='[hooks]\ntemplate = "manual"')
    assert found.controllers[0].directories is None
    assert found.controllers[0].has_empty_disk is None
    assert unreadable(found) == ["broker 11", "controller 1", "controller 2"][1:]


@pytest.mark.parametrize(
    ("said", "is_empty"), [("print(d)", True), ("print(d, d + '/a-0', sep=chr(10))", False), ("0", None)]
)
def test_empty_disk_is_read_by_hook(tmp_path: Path, zookeeper: None, said: str, is_empty: bool | None):
    code = f"import sys; d = sys.argv[1]; {said}"
    more = f"[hooks]\nfs_probe = ['{sys.executable}', '-c', \"{code}\", '{{log_dirs*}}']"
    found = _one(tmp_path, more=more, each='log_dirs = ["/d1"]')
    assert found.brokers[0].has_empty_disk is is_empty
    assert found.brokers[0].strays == ()


def test_controller_that_answers_has_no_empty_disk(tmp_path: Path, zookeeper: None):
    (tmp_path / "disk").mkdir()
    for id in (11, 1, 2):
        (tmp_path / f"{id}.properties").write_text("log.dirs=disk\n")
    found = _one(tmp_path, more='[hooks]\ntemplate = "local"')
    assert unreadable(found) == ["controller 1", "controller 2"]
    assert "are empty" in found.findings[0].message


def test_copied_configuration_and_log_are_read(tmp_path: Path, zookeeper: None):
    (tmp_path / "copy").write_text("a=b\n")
    log = LogWriter()
    bootstrap(log)
    log.write(tmp_path / "disk")
    (tmp_path / "disk" / "meta.properties").write_text("version=1\nnode.id=1\n")
    with cluster(tmp_path, zookeeper_broker(), each='copy = "copy"\nlog = "disk"') as inventory:
        found = seen(inventory)
    assert ids(found) == []
    assert found.nodes[0].config == {"a": "b"}
    assert sorted(found.logs) == [1, 2]
    assert found.logs[1].migration_state == 2
    assert (found.controllers[0].meta_properties or {})["node.id"] == "1"


def test_missing_places_are_reported(tmp_path: Path, zookeeper: None):
    found = _one(tmp_path, each='copy = "nowhere"\nlog = "nowhere"')
    assert set(ids(found)) == {"node-place-unreadable"}
    assert found.nodes[0].config is None


def _hook(code: str) -> str:
    return f"[hooks]\nget_config = ['{sys.executable}', '-c', \"{code}\", '{{node_id}}']"


def test_hook_gives_the_configuration(tmp_path: Path, zookeeper: None):
    found = _one(tmp_path, more=_hook("import sys; print('broker.id=' + sys.argv[1])"))
    assert found.brokers[0].config == {"broker.id": "11"}
    assert ids(found) == []


def test_failed_hook_is_reported(tmp_path: Path, zookeeper: None):
    found = _one(tmp_path, more=_hook("import sys; sys.exit('no such host')"))
    assert set(ids(found)) == {"node-place-unreadable"}
    assert "no such host" in found.findings[0].message
    assert found.brokers[0].config is None


def test_metrics_are_read_by_hook(tmp_path: Path, zookeeper: None):
    code = "import sys; print(sys.argv[1].split('=')[-1], 'Value:', len(sys.argv[1]))"
    found = _one(tmp_path, more=f"[hooks]\njmx = ['{sys.executable}', '-c', \"{code}\", '{{mbean}}']")
    metrics = found.brokers[0].metrics
    assert metrics is not None
    assert metrics["ZkMigrationState"] == len("kafka.controller:type=KafkaController,name=ZkMigrationState")


Kafkactl = Callable[..., Run]


@contextlib.contextmanager
def written(folder: Path) -> Iterator[Path]:
    """Yield the inventory of a cluster as a file, with a configuration that holds a password."""
    for id in (11, 1, 2):
        (folder / f"{id}.properties").write_text("ssl.key.password=hunter2\n")
    with cluster(folder, zookeeper_broker()) as inventory:
        lines = ['[zookeeper]\nconnect = "127.0.0.1:1/kafka"\n[hooks]\ntemplate = "local"']
        for node in inventory.nodes:
            lines.append(f'[[nodes]]\nid = {node.id}\nrole = "{node.role}"\naddress = "{node.address}"')
            lines.append(f'config = "{node.config}"')
        (folder / "migration.toml").write_text("\n".join(lines))
        yield folder / "migration.toml"


def test_command_saves(kafkactl: Kafkactl, tmp_path: Path, zookeeper: None):
    with written(tmp_path) as file:
        run = kafkactl("migrate", "observe", "--inventory", file, "--out", tmp_path / "out", "-o", "json")
        again = kafkactl("migrate", "observe", "--inventory", file, "--out", tmp_path / "out", "-o", "json")
        shown = kafkactl("migrate", "observe", "--inventory", file, "--out", tmp_path / "two", "--include-secrets")
    assert run.code == 0
    assert run.json["kind"] == "migrate.observe"
    assert [(node["id"], node["alive"], node["mode"]) for node in run.json["nodes"]] == [
        (11, True, "zk"),
        (1, True, "kraft"),
        (2, True, "kraft"),
    ]
    assert [log["id"] for log in run.json["logs"]] == [1]
    assert load_observation(str(tmp_path / "out")).node(11, Role.BROKER) is not None
    assert not leaks((tmp_path / "out" / "observation.json").read_bytes())
    assert leaks((tmp_path / "two" / "observation.json").read_bytes())
    assert again.code == 3
    assert shown.code == 0
    assert "kraft" in shown.stdout


def test_observation_of_unreachable_nodes_fails(kafkactl: Kafkactl, tmp_path: Path):
    node = '[[nodes]]\nid = {0}\nrole = "{1}"\naddress = "127.0.0.1:{0}"\nconfig = "/x{0}"\n'
    text = '[zookeeper]\nconnect = "127.0.0.1:1"\n' + node.format(1, "broker") + node.format(2, "controller")
    (tmp_path / "migration.toml").write_text(text)
    run = kafkactl(
        "migrate", "observe", "--inventory", tmp_path / "migration.toml", "--out", tmp_path / "out",
        "-o", "json", "--timeout", "4s",
    )  # fmt: skip
    assert run.code == 4
    assert run.json["folder"] is None
    assert not (tmp_path / "out").exists()
    assert "zookeeper-not-observed" in [finding["id"] for finding in run.json["findings"]]


@pytest.mark.parametrize(
    ("words", "id"),
    [
        (["--inventory", "nowhere"], "input-file-unreadable"),
        ([], "wrong-usage"),
    ],
)
def test_command_without_an_inventory_is_refused(kafkactl: Kafkactl, tmp_path: Path, words: list[str], id: str):
    run = kafkactl("migrate", "observe", *words, "--out", tmp_path / "out", "-o", "json")
    assert run.code == 2
    assert run.error["id"] == id


def test_commands_observe_without_an_error_in_the_brokers_logs(kafkactl: Kafkactl, tmp_path: Path, zookeeper: None):
    with written(tmp_path) as file:
        run = kafkactl("migrate", "status", "--inventory", file, "-o", "json")
    assert run.json["kind"] == "migrate.status"
    assert run.json["state"] is not None
    assert not leaks(run.stdout)
