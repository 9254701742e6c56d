"""Remedies of `storage verify` for settings, carried out on real Kafka in the state in which they are shown."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from kafkactl.metadata.io.metadata_log import scan_metadata_log
from tests.conftest import Run
from tests.lab.harness import config as configs
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.pool import Pool
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import PATIENCE_S, answer_once
from tests.lab.storage.setting_cases import SETTING_CASES
from tests.lab.storage.verify_disks import CLUSTER_ID, Disks

RELEASE = "4.3.1"
IDS = {0: "JEXY6aqzQY-32P5TStzaFg", 1: "MvDxzVmcRsaTz33bUuRU6A", 2: "07R5amHmR32VDA6jHkGbTA"}


def test_topic_setting_is_removed_at_a_controller_where_no_broker_starts(
    tmp_path: Path, storage_tool: StorageToolServer, free_port: Callable[[], int], lab_pool: Pool
) -> None:
    disks = Disks(tmp_path, storage_tool, free_port)
    case = next(case for case in SETTING_CASES if case.name == "topic with a small segment")
    folder = disks.prepare(case, RELEASE)
    file = folder / "server.properties"
    combined = disks.config(case.node, folder)
    listeners = combined["listeners"].split(",")
    alone = dict(combined) | {"process.roles": "controller", "listeners": listeners[1]}
    write_config(file, alone)
    with KafkaNode(RELEASE, file, folder) as controller:
        assert controller.outcome(PATIENCE_S).kind == "started"
        change = ["--alter", "--entity-type", "topics", "--entity-name", "small", "--delete-config", "segment.bytes"]
        where = ["--bootstrap-controller", listeners[1].partition("://")[2]]
        run = storage_tool.run_tool(RELEASE, "kafka.admin.ConfigCommand", [*where, *change])
        assert run.exit_code == 0, run.stderr
    write_config(file, combined)
    with KafkaNode(RELEASE, file, folder) as node:
        assert node.outcome(PATIENCE_S).kind == "started"


def test_moved_quorum_takes_over_its_new_addresses_once_the_old_ones_lead_to_it(
    tmp_path: Path, storage_tool: StorageToolServer, free_port: Callable[[], int], lab_pool: Pool,
    kafkactl: Callable[..., Run],
) -> None:  # fmt: skip
    old, new = ({node_id: free_port() for node_id in IDS} for _ in range(2))
    voters = ",".join(f"{node_id}@127.0.0.1:{port}:{IDS[node_id]}" for node_id, port in old.items())
    for node_id in IDS:
        file = _write(tmp_path, node_id, old)
        run = storage_tool.run(RELEASE, ["format", "-t", CLUSTER_ID, "-c", file, "--initial-controllers", voters])
        assert run.exit_code == 0, run.stderr
    with ExitStack() as stack:
        _start(stack, tmp_path)
        assert answer_once(bool, lambda: _voter_ports(tmp_path) == set(old.values()) and _has_leader(tmp_path))
    for node_id in IDS:
        file = _write(tmp_path, node_id, new)
        answer = kafkactl("storage", "verify", "-c", file, "--kafka-version", RELEASE, "-o", "json").json
        assert answer["will_start"] is None
        assert "voters-at-old-addresses" in [finding["id"] for finding in answer["findings"]]
    with ExitStack() as stack:
        _start(stack, tmp_path)
        time.sleep(12)
        assert _voter_ports(tmp_path) == set(old.values())  # no leader wrote anything
        for node_id in IDS:
            stack.callback(_end, _forward(old[node_id], new[node_id]))
        assert answer_once(set(new.values()).__eq__, lambda: _voter_ports(tmp_path)) == set(new.values())


def _write(folder: Path, node_id: int, ports: Mapping[int, int]) -> Path:
    quorum = configs.dynamic_quorum(list(ports.values()))
    file = folder / f"{node_id}.properties"
    log_dirs = [folder / f"d{node_id}"]
    write_config(file, configs.controller(node_id=node_id, log_dirs=log_dirs, port=ports[node_id], quorum=quorum))
    return file


def _start(stack: ExitStack, folder: Path) -> None:
    for node_id in IDS:
        (folder / f"w{node_id}").mkdir(exist_ok=True)
        stack.enter_context(KafkaNode(RELEASE, folder / f"{node_id}.properties", folder / f"w{node_id}")).start()


def _voter_ports(folder: Path) -> set[int]:
    """Return the ports of the voter set in the log of controller 0, or in the checkpoint that it was formatted with."""
    log = scan_metadata_log(str(folder / "d0"))
    first = log.first_checkpoint
    formatted = first.contents.voters if first is not None and first.contents is not None else None
    voters = log.contents.voters or formatted or ()
    return {int(endpoint.rpartition(":")[2]) for voter in voters for endpoint in voter.endpoints}


def _has_leader(folder: Path) -> bool:
    return scan_metadata_log(str(folder / "d0")).contents.records > 0


def _forward(port: int, target: int) -> socket.socket:
    """Return a listening socket whose connections are passed on to another port."""
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=_accept, args=(listener, target), daemon=True).start()
    return listener


def _end(listener: socket.socket) -> None:
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)  # which ends a call of accept
    listener.close()


def _accept(listener: socket.socket, target: int) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            try:
                server = socket.create_connection(("127.0.0.1", target))
            except OSError:
                client.close()
            else:
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    source.close()  # the other direction closes the sink
