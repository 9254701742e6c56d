"""`kafkactl status` against nodes over real sockets: the screen, the JSON, metrics and exit codes."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.cluster.node import NotAsked
from kafkactl.commands.demo.broker import Action, Asked, Reply
from kafkactl.commands.demo.cluster import FakeCluster
from kafkactl.commands.framework.connection import ConnectionArguments
from kafkactl.commands.rendering import plain_text
from kafkactl.commands.rendering.change_log import ChangeLog
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.status import next_words, show_status
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.files import processes
from kafkactl.net.transport import Address
from kafkactl.status.answer import ClusterStatus
from kafkactl.status.observation import ComparedSettings
from kafkactl.storage.api.discovery import find_cluster
from kafkactl.storage.io import host_nodes
from tests.conftest import Run
from tests.kafka.feature_cluster import DENIED, FakeNode
from tests.kafka.feature_cluster import FakeCluster as LevelledCluster
from tests.kafka.unregistering_cluster import UnregisteringCluster
from tests.report.exposition import samples
from tests.status.worlds import HOST_NODE, WORST, broker, nodes, partitions, quorum, status, voter

HOSTILE_LINES = {"status": ("{brokers}", "-c {config} {brokers}")}

HOSTILE_PATHS = {
    "status": [
        ("--config", "-c {}"),
    ],
}

Kafkactl = Callable[..., Run]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        yield cluster


def test_cluster_of_controllers_is_shown_on_one_screen(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    run = kafkactl("status", "--bootstrap-controller", cluster.address)
    lines = run.stdout.splitlines()
    assert run.code == 6, run
    assert lines[0] == lines[-1] and lines[0].startswith("unknown  min.insync.replicas is not known")
    assert lines[1].startswith("ZmFrZS1xdW9ydW0tMTIzNA · Kafka 4.3 · 4.3-IV0 · by options")
    assert len(lines) <= 24
    assert max(len(line) for line in lines if "kafkactl " not in line) <= 80
    assert any(line.startswith("ok       quorum        1 leads · 1,2,3 vote · survives 1") for line in lines)


def test_json_has_an_area_of_each_kind_and_a_command_with_the_address(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    run = kafkactl("status", "--bootstrap-controller", cluster.address, "--deep", "-o", "json")
    areas = {area["area"]: area for area in run.json["areas"]}
    assert list(areas) == ["quorum", "brokers", "partitions", "levels", "settings", "next-failure"]
    assert run.json["verdict"] == "unknown"
    assert areas["partitions"]["counts"]["partitions"] == 11
    assert areas["partitions"]["counts"]["under_min_isr"] is None
    words = f"--bootstrap-controller {cluster.address}"
    assert {area["command"].endswith(words) for area in run.json["areas"]} == {True}


def test_dead_voter_is_watched_for_and_the_rest_is_still_known(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    cluster.stop_controller(3)
    run = kafkactl("status", "--bootstrap-controller", cluster.address, "-o", "json")
    quorum = next(area for area in run.json["areas"] if area["area"] == "quorum")
    assert (quorum["verdict"], quorum["counts"]["survives"], quorum["counts"]["alive"]) == ("watch", 0, 2)
    assert quorum["headline"] == "1 of 3 controllers is down: the quorum survives no other failure"


def test_metrics_have_the_states_of_nagios(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    run = kafkactl("status", "--bootstrap-controller", cluster.address, "-o", "prometheus")
    found = dict(samples(run.stdout)["kafkactl_status_verdict"])
    assert found[""] == 3
    assert found['area="quorum"'] == 0 and found['area="partitions"'] == 3
    assert run.stdout.count("# TYPE kafkactl_status_verdict") == 1
    assert samples(run.stdout)["kafkactl_exit_code"] == [('command="status"', 6)]
    assert ('command="status",id="min-insync-not-known",severity="warning"', 1) in samples(run.stdout)[
        "kafkactl_findings"
    ]


def test_address_without_a_node_is_unreachable(kafkactl: Kafkactl) -> None:
    run = kafkactl("status", "--bootstrap-controller", "127.0.0.1:1", "--timeout", "5s", "-o", "json")
    assert run.code == 4
    assert run.stdout == ""


def test_jsonl_prints_the_status_on_one_line(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    run = kafkactl("status", "--bootstrap-controller", cluster.address, "-o", "jsonl")
    assert [line.count('"kind": "status"') for line in run.stdout.splitlines()] == [1]


def test_watch_writes_one_object_a_line_and_ends_with_the_timeout(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    for limit in ("3s", "12s", "48s"):  # on a busy machine one status may take three seconds
        run = kafkactl("status", "--bootstrap-controller", cluster.address, "--watch", "0.1", "--timeout", limit)
        if len(run.stdout.splitlines()) > 1:
            break
    assert run.code == 6
    assert len(run.stdout.splitlines()) > 1
    assert all(line.startswith('{"kind": "status"') for line in run.stdout.splitlines())


def test_watch_takes_its_period_or_none(kafkactl: Kafkactl) -> None:
    refused = kafkactl("status", "--bootstrap-controller", "127.0.0.1:1", "--watch", "0")
    assert refused.code == 2 and "--watch" in refused.stderr
    metrics = kafkactl("status", "--bootstrap-controller", "127.0.0.1:1", "--watch", "-o", "prometheus")
    assert metrics.code == 2 and "--watch excludes" in metrics.stderr


def test_page_of_a_watch_has_the_period_and_the_changes() -> None:
    page = Page()
    changes: ChangeLog[ClusterStatus] = ChangeLog(lambda before, after: ["quorum: leader id 1 → 2"])
    observe = changes.observing(lambda: (status(), 0))
    assert observe() == observe()
    show_status(page, status(), changes=changes, period_ms=2_000)
    text = plain_text.render(page, color=False)
    assert "every 2 s since " in text and "Ctrl-C ends it" in text
    assert re.search(r"\n\d\d:\d\d:\d\d  quorum: leader id 1 → 2\n", text)


def test_command_that_adds_a_right_is_on_one_line_and_can_be_pasted() -> None:
    acls = f"kafka-acls.sh --bootstrap-server {'broker-1.example:9092,' * 4} --add --operation Describe --cluster"
    denied = NotAsked(reason="the cluster denied DescribeQuorum", step=f"Have an administrator add the right: {acls}")
    page = Page()
    show_status(page, status(quorum=denied))
    assert acls in [line.strip() for line in plain_text.render(page, color=False).splitlines()]


def test_page_of_a_large_healthy_cluster_fits_a_screen() -> None:
    # Every area is there, with the longest lists of ids that a healthy cluster shows.
    many = nodes(*(broker(id) for id in range(100, 160)))
    page = Page()
    voters = quorum(*(voter(id) for id in range(1, 10)))
    whole = status(
        quorum=voters,
        nodes=many,
        partitions=partitions(partitions=200_000, replicas_on=frozenset()),
        settings=ComparedSettings(differences=0, is_complete=True),
        host=(HOST_NODE,) * 3,
        next_failure=changed(WORST, is_harmless=True),
    )
    show_status(page, whole, changes=ChangeLog(lambda before, after: ()), period_ms=2_000)
    lines = plain_text.render(page, color=False).splitlines()
    assert lines[0] == lines[-1] == "ok  nothing is wrong in what was asked"
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_page_keeps_to_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", Screen())
    command = (
        "kafkactl log lint --from-cluster --bootstrap c1.example:9093,c2.example:9093 --command-config 'a b.properties'"
    )
    whole = status(quorum=quorum(leader_id=-1), next_failure=WORST)
    whole = changed(whole, areas=tuple(changed(area, command=command) for area in whole.areas))
    page = Page()
    show_status(page, whole)
    lines = plain_text.render(page, color=False).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0] == lines[-1] == "problem  no controller leads the quorum"
    typed = re.sub(r"\\\n *", "", "\n".join(lines))
    assert typed.count(command) == 2


def test_page_of_a_watch_that_is_too_long_for_the_terminal_has_the_last_changes_and_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setattr(sys, "stdout", Screen())
    changes: ChangeLog[int] = ChangeLog(lambda before, after: [f"quorum: leader id {before} → {after}"])
    numbers = iter(range(9))
    observe = changes.observing(lambda: (next(numbers), 0))
    for _ in range(9):
        observe()
    whole = status(quorum=quorum(leader_id=-1), next_failure=WORST, host=(changed(HOST_NODE, runs=False),))
    page = Page()
    show_status(page, whole, changes=changes, period_ms=2_000)
    lines = plain_text.render(page, color=False).splitlines()
    assert len(lines) <= 23
    assert lines[0] == lines[-1] == "problem  no controller leads the quorum"
    assert re.search(r"leader id 7 (→|->) 8$", lines[-3])
    assert not any("kafkactl quorum describe" in line for line in lines)


NODE = """\
process.roles=broker
node.id=9
listeners=PLAINTEXT://127.0.0.1:9092
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:{protocol},PLAINTEXT:PLAINTEXT
controller.quorum.bootstrap.servers={address}
log.dirs={disk}
"""


def test_named_file_leads_to_the_cluster_and_its_disks_are_judged(
    kafkactl: Kafkactl, cluster: FakeCluster, tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(NODE.format(protocol="PLAINTEXT", address=cluster.address, disk=tmp_path / "disk"))
    run = kafkactl("status", "-c", file, "-o", "json")
    areas = {area["area"]: area for area in run.json["areas"]}
    assert run.code == 7, run
    assert run.json["found"] == {"by": "config", "files": [str(file)]}
    assert areas["quorum"]["command"] == f"kafkactl quorum describe -c {file}"
    assert areas["this-host"]["verdict"] == "problem"
    assert areas["this-host"]["command"] == f"kafkactl storage verify -c {file}"
    named = kafkactl("status", "-c", file, "--bootstrap-controller", cluster.address, "-o", "json")
    assert named.json["found"] == {"by": "options", "files": [str(file)]}


def test_next_command_names_the_file_and_finds_the_cluster(
    kafkactl: Kafkactl, cluster: FakeCluster, tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(NODE.format(protocol="PLAINTEXT", address=cluster.address, disk=tmp_path / "disk"))
    run = kafkactl("status", "-c", file, "-o", "json")
    commands = [area["command"] for area in run.json["areas"] if area["area"] != "this-host"]
    assert len(commands) >= 4
    for command in commands:
        assert command.endswith(f" -c {file}")
        typed = kafkactl(*command.split()[1:], "-o", "json")
        assert (typed.code in (0, 7), typed.json.get("cluster_id", run.json["cluster_id"])) == (
            True, run.json["cluster_id"],
        ), typed  # fmt: skip


def test_next_command_has_the_login_of_the_secured_node_without_its_secret(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(NODE.format(protocol="SSL", address="c1:9093", disk=tmp_path / "disk"))
    connection = ConnectionArguments(node_configs=(str(file),), controller_command_config="c.properties")
    words = next_words(connection, find_cluster([str(file)]))
    assert words == ["-c", str(file), "--controller-command-config", "c.properties"]


def test_brokers_are_asked_as_well_as_controllers(kafkactl: Kafkactl) -> None:
    with UnregisteringCluster().client(Role.BROKER) as client:
        addresses = ",".join(str(address) for address in (Address("127.0.0.1", 1), *client.bootstrap))
        run = kafkactl("status", "--bootstrap-server", addresses, "-o", "json")
    areas = {area["area"]: area for area in run.json["areas"]}
    assert areas["quorum"]["counts"]["leader_id"] == 1
    counts = areas["brokers"]["counts"]
    assert [counts[name] for name in ("registered", "in_service", "fenced", "silent")] == [3, 2, 1, 0]
    assert areas["levels"]["counts"]["stale_registrations"] == 2


def test_address_of_the_start_that_no_broker_advertises_and_that_is_dead_is_reported(kafkactl: Kafkactl) -> None:
    with UnregisteringCluster().client(Role.BROKER) as client:
        addresses = ",".join(str(address) for address in (*client.bootstrap, Address("127.0.0.1", 2)))
        run = kafkactl("status", "--bootstrap-server", addresses, "-o", "json")
        whole = kafkactl("status", "--bootstrap-server", ",".join(map(str, client.bootstrap)), "-o", "json")
    brokers = next(area for area in run.json["areas"] if area["area"] == "brokers")
    assert "no answer at 127.0.0.1:2" in brokers["text"]
    assert [finding["subject"] for finding in brokers["findings"] if finding["id"] == "bootstrap-node-silent"] == [
        "127.0.0.1:2"
    ]
    others = next(area for area in whole.json["areas"] if area["area"] == "brokers")
    assert "bootstrap-node-silent" not in {finding["id"] for finding in others["findings"]}


def test_context_is_the_name_of_the_cluster_and_the_way_of_the_next_commands(
    kafkactl: Kafkactl, cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKACTL_CONFIG", str(tmp_path / "contexts.toml"))
    assert kafkactl("config", "set", "lab", "--bootstrap-controller", cluster.address).code == 0
    run = kafkactl("status", "--context", "lab", "-o", "json")
    assert (run.json["cluster"], run.json["found"]) == ("lab", {"by": "context", "files": []})
    assert {area["command"].endswith(" --context lab") for area in run.json["areas"]} == {True}
    assert kafkactl("status", "--context", "lab").stdout.splitlines()[1].startswith("lab · Kafka 4.3 · ")
    named = kafkactl("status", "--bootstrap-controller", cluster.address, "-o", "json")
    assert (named.json["cluster"], named.json["found"]["by"]) == (None, "options")


def test_kind_of_the_nodes_is_found_out(kafkactl: Kafkactl, cluster: FakeCluster) -> None:
    run = kafkactl("status", "--bootstrap", cluster.address, "-o", "json")
    assert next(area for area in run.json["areas"] if area["area"] == "quorum")["counts"]["leader_id"] == 1


def test_host_without_nodes_is_a_usage_error(kafkactl: Kafkactl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "kafka_nodes", lambda: iter(()))
    monkeypatch.setattr(host_nodes, "usual_folders", lambda: ())
    run = kafkactl("status", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (2, "", "bootstrap-missing")


class Forbidding(LevelledCluster):
    """A cluster whose nodes allow this login nothing; brokers show the topics that it may describe, which are none."""

    def answer(self, asked: Asked, node: FakeNode) -> Action | None:
        if asked.name == "ApiVersions":
            return None
        if asked.name == "Metadata":
            return Reply(body={"Topics": []})
        if asked.name == "DescribeConfigs":
            return Reply(body={"Results": [{"ErrorCode": DENIED}]})
        return Reply(body={"ErrorCode": DENIED})


@pytest.mark.parametrize(
    ("role", "option"), [(Role.BROKER, "--bootstrap-server"), (Role.CONTROLLER, "--bootstrap-controller")]
)
def test_login_that_may_ask_nothing_has_no_answer(kafkactl: Kafkactl, role: Role, option: str) -> None:
    with Forbidding().client(role) as client:
        run = kafkactl("status", option, ",".join(map(str, client.bootstrap)), "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (4, "", "not-authorised")
