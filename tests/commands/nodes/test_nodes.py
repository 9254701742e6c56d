from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkactl.cluster import followers
from kafkactl.commands.demo.broker import SILENCE, FakeBroker, Raw, Reply
from kafkactl.core.values import Role
from tests.conftest import Run
from tests.kafka.feature_cluster import FakeCluster
from tests.kafka.unregistering_cluster import DEAD_BROKER, DEAD_CONTROLLER, UnregisteringCluster

HOSTILE_LINES = {
    "nodes list": ("{brokers}",),
    "nodes unregister": ("--id 1 {brokers} --dry-run",),
    "nodes verify": ("--config {config} {brokers}",),
}

HOSTILE_PATHS = {
    "nodes verify": [
        ("--config", "{connect} --config {}", (2, 4)),
    ],
}

Kafkactl = Callable[..., Run]


@pytest.fixture(autouse=True)
def a_short_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followers, "WATCH_MS", 400)


@contextmanager
def running(cluster: FakeCluster, listener: Role = Role.BROKER) -> Iterator[list[str]]:
    """Yield the connection options of a cluster whose nodes listen while the block lasts."""
    with cluster.client(listener) as client:
        yield [listener.option, ",".join(str(address) for address in client.bootstrap)]


def unregister(kafkactl: Kafkactl, cluster: FakeCluster, *words: object) -> Run:
    with running(cluster) as where:
        return kafkactl("nodes", "unregister", *where, *words, "-o", "json")


@pytest.mark.parametrize("listener", list(Role))
def test_live_and_dead_nodes_are_listed(kafkactl: Kafkactl, listener: Role) -> None:
    with running(UnregisteringCluster(), listener) as where:
        run = kafkactl("nodes", *where, "list", "-o", "json")
    assert run.code == 0
    assert (run.json["cluster_id"], run.json["active_controller"]) == ("fake", 1)
    silent = [(finding["id"], finding["subject"]) for finding in run.json["findings"]]
    assert silent == [("node-silent", "controller 9"), ("node-silent", "broker 14")]
    rows = {node["id"]: node for node in run.json["nodes"]}
    assert list(rows) == [1, 2, 9, 11, 12, 14]
    assert {id: (node["answers"], node["registered"], node["stale"]) for id, node in rows.items()} == {
        1: (True, True, False), 2: (True, True, False), 9: (False, True, True),
        11: (True, True, False), 12: (True, True, False), 14: (False, True, True),
    }  # fmt: skip
    assert rows[14]["fenced"] is True
    assert rows[9]["features"]["metadata.version"] == {"min": 7, "max": 33}


def test_each_node_has_one_line(kafkactl: Kafkactl) -> None:
    with running(UnregisteringCluster()) as where:
        run = kafkactl("nodes", "list", *where, "-o", "jsonl")
    assert [line.count('"kind": "nodes.list"') for line in run.stdout.splitlines()] == [1] * 6


def test_nodes_are_shown_as_a_table(kafkactl: Kafkactl) -> None:
    with running(UnregisteringCluster()) as where:
        shown = kafkactl("nodes", "list", *where).stdout
    assert "voter" in shown and "stale, fenced" in shown and "PLAINTEXT://127.0.0.1:1" in shown


def test_log_that_may_not_be_read_leaves_registrations_unknown(kafkactl: Kafkactl) -> None:
    cluster = UnregisteringCluster()
    cluster.denied = {"Fetch"}
    with running(cluster) as where:
        listed = kafkactl("nodes", "list", *where, "-o", "json")
        run = kafkactl("nodes", "unregister", "--id", 14, "--yes", *where, "-o", "json")
    assert listed.code == 0
    assert {node["registered"] for node in listed.json["nodes"]} == {None}
    (finding,) = [finding for finding in listed.json["findings"] if finding["id"] == "metadata-log-not-read"]
    assert "--operation ClusterAction" in finding["next_step"]
    assert (run.code, run.json["outcome"]) == (4, "refused"), "only a right is missing"
    assert "registrations-not-read" in [finding["id"] for finding in run.json["findings"]]
    assert cluster.sent == []


def test_user_without_rights_is_reported(kafkactl: Kafkactl) -> None:
    cluster = UnregisteringCluster()
    cluster.denied = {"Fetch", "DescribeQuorum", "DescribeCluster"}
    with running(cluster, Role.CONTROLLER) as where:
        run = kafkactl("nodes", "list", *where, "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "not-authorised")
    assert run.error["next_step"]


def test_request_unknown_to_the_release_is_not_sent(kafkactl: Kafkactl) -> None:
    # The level says 4.4, the controllers that answer are older: nothing is sent, and the request is named.
    cluster = UnregisteringCluster()
    for node in cluster.nodes.values():
        del node.ranges[94]
    run = unregister(kafkactl, cluster, "--id", DEAD_CONTROLLER, "--yes")
    assert (run.code, run.error["id"]) == (4, "request-not-supported")
    assert "UnregisterController" in run.error["message"]


def test_dead_broker_is_unregistered(kafkactl: Kafkactl) -> None:
    cluster = UnregisteringCluster()
    run = unregister(kafkactl, cluster, "--id", DEAD_BROKER, "--yes")
    assert (run.code, run.json["outcome"], run.json["role"]) == (0, "done", "broker")
    assert cluster.sent == [("UnregisterBroker", DEAD_BROKER)]


def test_dry_run_sends_nothing(kafkactl: Kafkactl) -> None:
    cluster = UnregisteringCluster()
    run = unregister(kafkactl, cluster, "--id", DEAD_CONTROLLER, "--dry-run")
    assert (run.code, run.json["outcome"], run.json["role"]) == (0, "planned", "controller")
    assert cluster.sent == []


def test_unregistration_without_a_reachable_node_sends_nothing(kafkactl: Kafkactl) -> None:
    cluster = UnregisteringCluster()
    run = unregister(kafkactl, cluster, "--id", DEAD_BROKER)
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (3, ["confirmation-missing"])
    assert cluster.sent == []


@pytest.mark.parametrize(
    ("words", "code", "outcome", "id"),
    [
        (["--id", 11], 3, "refused", "broker-alive"),
        (["--id", 2], 3, "refused", "controller-is-voter"),
        (["--id", 99], 0, "nothing-to-do", "node-not-registered"),
        (["--id", DEAD_BROKER, "--role", "controller"], 0, "nothing-to-do", "node-not-registered"),
    ],
)
def test_refused_unregistration_sends_nothing(
    kafkactl: Kafkactl, words: list[object], code: int, outcome: str, id: str
) -> None:
    cluster = UnregisteringCluster()
    run = unregister(kafkactl, cluster, *words, "--yes")
    assert (run.code, run.json["outcome"]) == (code, outcome)
    assert id in [finding["id"] for finding in run.json["findings"]]
    assert cluster.sent == []


def test_unregistration_of_a_controller_below_its_level_is_refused(kafkactl: Kafkactl) -> None:
    cluster = UnregisteringCluster(level=30)
    run = unregister(kafkactl, cluster, "--id", DEAD_CONTROLLER, "--yes")
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (
        3,
        ["controllers-cannot-be-unregistered"],
    )


@pytest.mark.parametrize(("how", "code", "outcome"), [("refused", 1, "failed"), ("reply-lost", 0, "done")])
def test_outcome_of_an_unregistration_is_reported(kafkactl: Kafkactl, how: str, code: int, outcome: str) -> None:
    run = unregister(kafkactl, UnregisteringCluster(how), "--id", DEAD_BROKER, "--yes")
    assert (run.code, run.json["outcome"]) == (code, outcome)


def test_another_cluster_than_that_of_the_context_is_refused(
    kafkactl: Kafkactl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster = UnregisteringCluster()
    file = tmp_path / "config.toml"
    monkeypatch.setenv("KAFKACTL_CONFIG", str(file))
    with running(cluster) as (_, addresses):
        file.write_text(f'current = "p"\n[contexts.p]\nbootstrap_server = "{addresses}"\ncluster_id = "another"\n')
        file.chmod(0o600)
        refused = kafkactl("nodes", "unregister", "--id", DEAD_BROKER, "--yes", "-o", "json")
        file.write_text(file.read_text().replace("another", "fake"))
        done = kafkactl("nodes", "unregister", "--id", DEAD_BROKER, "--yes", "-o", "json")
    assert (refused.code, refused.error["id"]) == (3, "cluster-id-mismatch")
    assert (done.code, len(cluster.sent)) == (0, 1)


@pytest.mark.parametrize("verb", [["list"], ["unregister", "--id", "14", "--yes"]])
def test_listener_of_the_other_role_is_refused(kafkactl: Kafkactl, verb: list[str]) -> None:
    with running(UnregisteringCluster(), Role.BROKER) as (_, addresses):
        run = kafkactl("nodes", *verb, "--bootstrap-controller", addresses, "-o", "json")
    assert (run.code, run.error["id"]) == (4, "wrong-endpoint-type")


def test_invalid_node_options_are_refused(kafkactl: Kafkactl) -> None:
    for words in (["--id", "x"], ["--id", "-1"], [], ["--id", "1", "--role", "voter"]):
        assert kafkactl("nodes", "unregister", *words, "-o", "json").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("verb", [["list"], ["unregister", "--id", "14", "--yes"]])
def test_silent_port_is_reported_after_its_timeout(kafkactl: Kafkactl, verb: list[str]) -> None:
    with FakeBroker(lambda asked: SILENCE) as silent:
        began = time.monotonic()
        run = kafkactl("nodes", *verb, "--bootstrap-server", silent.address, "--timeout", "8s", "-o", "json")
    assert time.monotonic() - began < 60
    assert (run.code, run.error["id"]) == (4, "connection-timed-out")


@pytest.mark.parametrize("verb", [["list"], ["unregister", "--id", "14", "--yes"]])
def test_port_of_another_protocol_is_unreachable(kafkactl: Kafkactl, verb: list[str]) -> None:
    with FakeBroker(lambda asked: Raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as web:
        run = kafkactl("nodes", *verb, "--bootstrap-server", web.address, "-o", "json")
    assert run.code == 4
    assert run.error["next_step"]


def differing() -> FakeCluster:
    cluster = FakeCluster()
    cluster.files = {11: {"min.insync.replicas": "2"}, 12: {"min.insync.replicas": "2"}}
    return cluster


@pytest.mark.parametrize("listener", list(Role))
def test_settings_that_differ_are_found_from_both_sides(kafkactl: Kafkactl, listener: Role) -> None:
    with running(differing(), listener) as where:
        run = kafkactl("nodes", "verify", *where, "-o", "json")
    assert (run.code, run.json["complete"]) == (7, True)
    assert [(setting["key"], setting["kinds"]) for setting in run.json["settings"]] == [
        ("min.insync.replicas", ["controller-setting-differs"])
    ]
    assert run.json["settings"][0]["brokers"] == [{"value": "2", "nodes": [11, 12]}]
    assert run.json["settings"][0]["controllers"] == [{"value": "1", "nodes": [1, 2]}]


def test_settings_that_agree_are_healthy(kafkactl: Kafkactl) -> None:
    with running(FakeCluster()) as where:
        run = kafkactl("nodes", "verify", *where)
    assert run.code == 0
    assert "All nodes agree" in run.stdout


def test_settings_of_controllers_are_compared(kafkactl: Kafkactl) -> None:
    cluster = FakeCluster()
    cluster.files = {2: {"unclean.leader.election.enable": "true"}}
    with running(cluster) as where:
        run = kafkactl("nodes", "verify", *where, "-o", "json")
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (7, ["controllers-settings-differ"])


def test_user_without_rights_gets_unknown_settings(kafkactl: Kafkactl, tmp_path: Path) -> None:
    cluster = differing()
    for node in cluster.of(Role.CONTROLLER):
        node.answers["DescribeConfigs"] = Reply(body={"Results": [{"ErrorCode": 31, "Configs": []}]})
    with running(cluster) as where:
        run = kafkactl("nodes", "verify", *where, "-o", "json")
        files = []
        for id in (1, 2):
            files += ["--config", str(tmp_path / f"{id}.properties")]
            Path(files[-1]).write_text(f"process.roles=controller\nnode.id={id}\n", encoding="utf-8")
        with_files = kafkactl("nodes", "verify", *where, *files, "-o", "json")
    assert (run.code, run.json["complete"], run.json["settings"]) == (4, False, [])
    assert {finding["id"] for finding in run.json["findings"]} == {"node-settings-not-read", "no-settings-of-role"}
    assert (with_files.code, with_files.json["complete"]) == (7, True)
    assert {node["id"]: node["file"] is not None for node in with_files.json["nodes"]} == {
        1: True, 2: True, 11: False, 12: False,
    }  # fmt: skip


def test_files_are_compared_without_a_cluster(kafkactl: Kafkactl, tmp_path: Path) -> None:
    controller, broker, without_role = (tmp_path / name for name in ("c.properties", "b.properties", "n.properties"))
    controller.write_text("process.roles=controller\nnode.id=1\n", encoding="utf-8")
    broker.write_text("process.roles=broker\nnode.id=2\nnum.partitions=6\n", encoding="utf-8")
    without_role.write_text("num.partitions=6\n", encoding="utf-8")
    run = kafkactl("nodes", "verify", "--config", controller, "--config", broker, "-o", "json")
    assert (run.code, [setting["key"] for setting in run.json["settings"]]) == (7, ["num.partitions"])
    assert kafkactl("nodes", "verify", "--config", controller, "-o", "json").code == 4
    assert kafkactl("nodes", "verify", "--config", without_role).code == 2
