"""The driver's way to a real cluster: hooks by the inventory, files of this machine, ports, a broker's own word."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest

from kafkactl.change.hooks.manual_commands import by_hand
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd
from kafkactl.change.hooks.words import Verb
from kafkactl.commands.demo.broker import FakeBroker, Reply
from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed
from kafkactl.files.hook_calls import values_of
from kafkactl.kafka.client_config import load_client_config
from kafkactl.migration.api.driver import cluster_id_of, journal_file
from kafkactl.migration.driver.files import RenderedFiles
from kafkactl.migration.inventory import Inventory, parse_inventory
from kafkactl.migration.io.journal import open_migration_journal
from kafkactl.migration.io.live import LiveWorld
from kafkactl.migration.io.operator_files import FilesOfOperator
from kafkactl.migration.io.zookeeper.settings import ZooKeeperSettings
from kafkactl.migration.observed.observation import Observation
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeWorld
from tests.fakes.run_context import inventory_of
from tests.migration.zk_trees import CLUSTER_ID

TEXT = '''
[zookeeper]
connect = "127.0.0.1:1/kafka"
[hooks]
template = "local"
restart = ["sh", "-c", """
echo "$1 $KAFKACTL_VERB $KAFKACTL_NODE_ID $KAFKACTL_PHASE $KAFKACTL_JOURNAL_SEQ"
""", "x", "{{host}}"]
[[nodes]]
id = 1
role = "broker"
address = "{broker}"
config = "{folder}/broker.properties"
log_dirs = ["{folder}/data"]
[[nodes]]
id = 3001
role = "controller"
address = "127.0.0.1:9"
config = "{folder}/controller.properties"
kafka_version = "3.9.2"
'''


def world_of(folder: Path, *, broker: str = "127.0.0.1:8", notes: list[str] | None = None) -> LiveWorld:
    text = TEXT.replace("{{host}}", "{host}").replace("{broker}", broker).replace("{folder}", str(folder))
    return LiveWorld(
        parse_inventory(text),
        settings=ZooKeeperSettings(),
        client=load_client_config(None),
        observe=lambda: Observation(time_ms=0),
        tell=(notes if notes is not None else []).append,
    )


def request(verb: Verb, node: int = 1, *, text: bytes = b"", **extra) -> Request:
    return Request(verb=verb, node=node, phase="kraft", seq=12, instruction="do it", text=text, extra=extra)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_hook_gets_the_facts_as_words_and_in_its_environment(tmp_path: Path) -> None:
    run = world_of(tmp_path).ask(request(Verb.RESTART))
    assert (run.end, run.stdout) == (HookEnd.DONE, b"127.0.0.1 restart 1 kraft 12\n")


def test_request_without_a_hook_is_reported_to_the_operator(tmp_path: Path) -> None:
    notes: list[str] = []
    world = world_of(tmp_path, notes=notes)
    assert not world.has_hook(Verb.STOP, 1)
    assert world.ask(request(Verb.STOP)).end is HookEnd.ASKED
    assert notes[0].startswith("do it (on 127.0.0.1)\n    kafka-server-stop.sh")


def test_commands_for_the_operator_can_be_pasted(tmp_path: Path) -> None:
    text = TEXT.replace("{{host}}", "{host}").replace("{broker}", "127.0.0.1:8").replace("{folder}", str(tmp_path))
    text = text.replace("local", "manual")
    inventory = parse_inventory(text)
    node = changed(inventory.nodes[1], config="/etc/my kafka/c.properties", host="c1.example")
    more = {"cluster_id": "abc", "release": "3.8", "format_flags": ("--initial-controllers", "1@a:1:x")}
    assert [*by_hand(node, request(Verb.FORMAT, 3001, **more))] == [
        "kafka-storage.sh format --config '/etc/my kafka/c.properties' --cluster-id abc --release-version 3.8"
        " --initial-controllers 1@a:1:x"
    ]
    assert [*by_hand(node, request(Verb.PUT_CONFIG, 3001, copy="/j/1"))] == [
        "scp /j/1 'c1.example:/etc/my kafka/c.properties'"
    ]
    by_ipv6 = changed(node, host="2001:db8::1")
    assert [*by_hand(by_ipv6, request(Verb.PUT_CONFIG, 3001, copy="/j/1"))] == [
        "scp /j/1 '[2001:db8::1]:/etc/my kafka/c.properties'"
    ]
    assert [*by_hand(node, request(Verb.WIPE, 3001, metadata_dir="/m"))] == ["mv /m /m.before-12"]
    for verb in (Verb.START, Verb.RESTART):
        assert "'/etc/my kafka/c.properties'" in "".join(by_hand(node, request(verb, 3001)))


def test_node_that_the_inventory_does_not_name_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no node 7"):
        world_of(tmp_path).ask(request(Verb.RESTART, 7))


def test_moments_come_in_three_forms(tmp_path: Path) -> None:
    node = parse_inventory(
        TEXT.replace("{{host}}", "{host}").replace("{broker}", "a:1").replace("{folder}", "/f")
    ).nodes[0]
    values = values_of(node, request(Verb.LOGS, since_ms="1790000000500"))
    assert (values["since_s"], values["since_time"]) == ("1790000000", "2026-09-21T14:13:20Z")


def test_port_is_open_refused_or_unknown(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        world = world_of(tmp_path, broker=f"127.0.0.1:{port}")
        assert world.listens(1) is True
    assert world.listens(1) is False
    assert world_of(tmp_path, broker="nowhere.invalid:9092").listens(1) is None


def test_controller_of_a_broker_is_read_from_its_own_answer(tmp_path: Path) -> None:
    body = {"Brokers": [], "ClusterId": "x", "ControllerId": 2, "Topics": []}
    with FakeBroker(lambda asked: Reply(body=body) if asked.name == "Metadata" else None) as broker:
        world = world_of(tmp_path, broker=str(broker.address))
        assert world.controller_of(1) == 2
        body["ControllerId"] = -1
        assert world.controller_of(1) is None
    assert world.controller_of(1) is None


def test_local_files_are_swapped_by_hash(tmp_path: Path) -> None:
    world, file = world_of(tmp_path), tmp_path / "broker.properties"
    file.write_bytes(b"old")
    file.chmod(0o600)
    put = {"sha_before": sha(b"old"), "sha_after": sha(b"new")}
    assert world.ask(request(Verb.PUT_CONFIG, text=b"new", **put)).is_done
    assert world.ask(request(Verb.PUT_CONFIG, text=b"new", **put)).is_done  # again
    assert world.ask(request(Verb.GET_CONFIG)).stdout == b"new"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"edited")
    assert world.ask(request(Verb.PUT_CONFIG, text=b"new", **put)).end is HookEnd.CHANGED_MEANWHILE
    file.unlink()
    assert world.ask(request(Verb.GET_CONFIG)).end is HookEnd.FAILED
    assert world.ask(request(Verb.PUT_CONFIG, text=b"new", sha_before="absent", sha_after=sha(b"new"))).is_done


def test_local_disks_are_put_aside_not_deleted(tmp_path: Path) -> None:
    world, disk = world_of(tmp_path), tmp_path / "meta"
    (disk / "__cluster_metadata-0").mkdir(parents=True)
    assert world.ask(request(Verb.WIPE, 3001, metadata_dir=str(disk))).is_done
    assert [path.name for path in tmp_path.iterdir()] == ["meta.before-12"]
    assert world.ask(request(Verb.WIPE, 3001, metadata_dir=str(disk))).is_done  # again: nothing is there
    (tmp_path / "etc" / "ssl").mkdir(parents=True)
    refused = world.ask(request(Verb.WIPE, 3001, metadata_dir=str(tmp_path / "etc")))
    assert refused.end is HookEnd.FAILED and "not a log directory" in refused.message
    (tmp_path / "data" / "orders-0-stray").mkdir(parents=True)
    assert world.ask(request(Verb.FS_PROBE, log_dirs=(str(tmp_path / "data"),))).stdout.endswith(b"orders-0-stray\n")


def test_local_controller_is_formatted_once_and_never_over(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    (tmp_path / "controller.properties").write_text(
        f"process.roles=controller\nnode.id=3001\nlisteners=C://127.0.0.1:9\ncontroller.listener.names=C\n"
        f"listener.security.protocol.map=C:PLAINTEXT\ncontroller.quorum.voters=3001@127.0.0.1:9\nlog.dirs={tmp_path}/m\n"
    )
    asked = {"cluster_id": "MkU3OEVBNTcwNTJENDM2Qg", "release": "3.8", "format_flags": ()}
    assert world.ask(request(Verb.FORMAT, 3001, **asked)).is_done
    before = (tmp_path / "m/meta.properties").read_bytes()
    assert b"MkU3OEVBNTcwNTJENDM2Qg" in before
    assert world.ask(request(Verb.FORMAT, 3001, **asked)).is_done
    run = world.ask(request(Verb.FORMAT, 3001, **(asked | {"cluster_id": "qcW5mzVjTpOjVnxJ0WmYIg"})))
    assert run.end is HookEnd.FAILED and "MkU3OEVBNTcwNTJENDM2Qg" in run.message
    assert (tmp_path / "m/meta.properties").read_bytes() == before


def rendered(folder: Path, world: FakeWorld) -> tuple[Inventory, RenderedFiles]:
    """Return the files, with every node's own one kept."""
    inventory = inventory_of(world.cluster)
    journal = open_migration_journal(str(folder / "j"), cluster_id=CLUSTER_ID, identity={})
    files = RenderedFiles(inventory, world, journal, FilesOfOperator())
    files.keep_originals(journal)
    return inventory, files


def test_files_are_made_of_the_originals_and_that_of_a_rollback_is_the_original(tmp_path: Path) -> None:
    world = FakeWorld(FakeCluster())
    inventory, files = rendered(tmp_path, world)
    own = (world.cluster.nodes[1].file or "").encode()
    first, controller = inventory.brokers[0], inventory.controllers[0]
    nothing = Observation(time_ms=0)
    migration = files.content(first, "migration", own, nothing)
    assert isinstance(migration, bytes)
    assert b"zookeeper.metadata.migration.enable=true" in migration and b"zookeeper.connect=zk:2181" in migration
    assert b"controller.quorum.voters=3001@127.0.0.1:6091" in migration
    kraft = files.content(first, "kraft", migration, nothing)
    assert isinstance(kraft, bytes) and b"process.roles=broker" in kraft and b"zookeeper.connect" not in kraft
    assert files.content(first, "original", kraft, nothing) == own
    final = files.content(controller, "final", (world.cluster.nodes[3001].file or "").encode(), nothing)
    assert isinstance(final, bytes) and b"migration.enable" not in final


def test_without_its_original_a_node_gets_no_file(tmp_path: Path) -> None:
    world = FakeWorld(FakeCluster())
    world.cluster.nodes[1].file = "process.roles=broker\nnode.id=1\n"
    inventory, files = rendered(tmp_path, world)
    found = files.content(inventory.brokers[0], "original", b"process.roles=broker\n", Observation(time_ms=0))
    assert isinstance(found, Finding) and found.id == "original-file-unknown"


def test_cluster_id_is_that_of_the_inventory_or_of_zookeeper(tmp_path: Path) -> None:
    cluster = FakeCluster()
    inventory = changed(inventory_of(cluster), file=str(tmp_path / "inventory.toml"))
    assert cluster_id_of(inventory, cluster.observe()) == CLUSTER_ID
    assert cluster_id_of(changed(inventory, cluster_id="abc"), Observation(time_ms=0)) == "abc"
    with pytest.raises(UnreachableError):
        cluster_id_of(inventory, Observation(time_ms=0))
    assert journal_file(inventory, "a/b") == str(tmp_path / "journal" / "migration-a%2fb.jsonl")


def test_without_a_hook_the_copy_next_to_the_inventory_is_the_original(tmp_path: Path) -> None:
    cluster = FakeCluster()
    world = FakeWorld(cluster, verbs=frozenset())
    for node in cluster.nodes.values():
        (tmp_path / f"{node.id}.properties").write_text(node.file or "")
    inventory = inventory_of(cluster)
    nodes = tuple(changed(node, copy=f"{node.id}.properties") for node in inventory.nodes)
    inventory = changed(inventory, file=str(tmp_path / "inventory.toml"), nodes=nodes)
    journal = open_migration_journal(str(tmp_path / "j"), cluster_id=CLUSTER_ID, identity={})
    rendered = RenderedFiles(inventory, world, journal, FilesOfOperator())
    content = rendered.content(nodes[0], "migration", None, Observation(time_ms=0))
    assert isinstance(content, bytes) and b"zookeeper.metadata.migration.enable=true" in content
