"""`kafkactl migrate run`, `rollback` and `finalize` on the fake cluster: questions, refusals, answers, exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkactl.commands.migrate import rollback as migrate_rollback
from kafkactl.commands.rendering.progress_lines import ProgressLines
from kafkactl.core.findings import warning
from kafkactl.core.frozen import changed
from kafkactl.migration.api import driver as migration_driver_open
from kafkactl.migration.driver.ports import Event
from tests.fakes.migrating_cluster import FakeCluster
from tests.fakes.migration_hooks import FakeClock, FakeWorld
from tests.fakes.run_context import address_of, at_phase
from tests.migration.observations import OPEN_AT_M0
from tests.migration.zk_trees import CLUSTER_ID

HOSTILE_LINES = {
    "migrate observe": ("{hooks} --out {new}",),
    "migrate run": ("{hooks} --dry-run",),
    "migrate finalize": ("{hooks} --dry-run",),
}

HOSTILE_PATHS = {
    "migrate observe": [
        ("--out", "--inventory {migration} --out {}", (1, 2, 3)),
    ],
}

ACCEPTED = [word for id in OPEN_AT_M0 for word in ("--accept", id)]


@pytest.fixture
def migrate(kafkactl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a verb against a fake cluster; `more` are lines of its inventory."""

    def run(cluster: FakeCluster, verb: str, *words: str, output: str = "json", more: str = "", world=None):
        world = world or FakeWorld(cluster)
        monkeypatch.setattr(migration_driver_open, "live_world", lambda inventory, say: world)
        monkeypatch.setattr(migrate_rollback, "open_observation", lambda _: world.observe())
        file = tmp_path / "migration.toml"
        file.write_text(more + inventory_text(cluster))
        return kafkactl("migrate", verb, "--inventory", file, *words, "-o", output)

    return run


def inventory_text(cluster: FakeCluster) -> str:
    lines = ["[zookeeper]", 'connect = "zk:2181"', "[hooks]", 'template = "local"']
    for node in cluster.nodes.values():
        lines += ["[[nodes]]", f'id = {node.id}\nrole = "{node.role}"\naddress = "{address_of(node)}"',
                  f'config = "/etc/kafka/{node.id}.properties"\nlog_dirs = ["/data/{node.id}"]']  # fmt: skip
    return "\n".join(lines) + "\n"


def test_run_is_done_to_the_end(migrate, tmp_path: Path) -> None:
    cluster = FakeCluster()
    run = migrate(cluster, "run", "--yes", "--until", "M4L", *ACCEPTED)
    assert (run.code, run.json["kind"], run.json["outcome"]) == (0, "migrate.run", "done")
    assert (run.json["state_before"], run.json["state"], run.json["cluster_id"]) == ("M0", "M4L", CLUSTER_ID)
    assert Path(run.json["journal"]).parent == tmp_path / "journal"
    assert "restart-node broker 2" in run.stderr
    run = migrate(cluster, "run", "--yes", *ACCEPTED)
    assert (run.code, run.json["state"]) == (0, "M8")
    assert "migrate finalize" in run.json["next_action"]
    assert {step["state"] for step in run.json["steps"]} == {"done"}
    assert migrate(cluster, "run", "--yes", *ACCEPTED).json["outcome"] == "nothing-to-do"
    run = migrate(cluster, "finalize", "--confirm", CLUSTER_ID, *ACCEPTED)
    assert (run.code, run.json["kind"], run.json["state"]) == (0, "migrate.finalize", "M11")
    run = migrate(cluster, "rollback", "--yes")
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert cluster.harm == []


@pytest.mark.slow
def test_rollback_is_done(migrate) -> None:
    cluster = FakeCluster()
    assert migrate(cluster, "run", "--yes", "--until", "M6", *ACCEPTED).json["state"] == "M6"
    run = migrate(cluster, "rollback", "--dry-run")
    assert (run.code, run.json["outcome"], cluster.harm) == (0, "planned", [])
    shown = [(step["action"], step["target"]) for step in run.json["steps"]]
    run = migrate(cluster, "rollback", "--yes")
    assert (run.code, run.json["kind"], run.json["outcome"], run.json["state"]) == (0, "migrate.rollback", "done", "M0")
    assert {(step["action"], step["target"]) for step in run.json["steps"]} <= set(shown)  # a wait may be over at once
    actions = [step["action"] for step in run.json["steps"]]
    assert actions.count("stop-controllers") == actions.count("delete-controller-znode") == 1
    assert actions.index("stop-controllers") < actions.index("delete-controller-znode")
    assert cluster.harm == []


@pytest.mark.parametrize(
    ("verb", "phase", "words", "id"),
    [
        ("run", "M0", ACCEPTED, "confirmation-missing"),
        ("run", "M4L", [*ACCEPTED, "--until", "M6"], "confirmation-missing"),
        ("run", "M4L", ACCEPTED, "original-file-unknown"),
        ("run", "M4L", [*ACCEPTED, "--dry-run"], "original-file-unknown"),
        ("run", "M0", ["--yes"], "check-unknown"),
        ("rollback", "M3", [], "confirmation-missing"),
        ("rollback", "M6", ["--yes"], "original-file-unknown"),
        ("rollback", "M6", ["--dry-run"], "original-file-unknown"),
        ("finalize", "M8", ACCEPTED, "confirmation-missing"),
        ("finalize", "M8", ["--confirm", "qcW5mzVjTpOjVnxJ0WmYIg", *ACCEPTED], "confirmation-mismatch"),
        ("finalize", "M7", ["--confirm", CLUSTER_ID, *ACCEPTED], "too-early-to-finalize"),
        ("finalize", "M0", ["--confirm", CLUSTER_ID, *ACCEPTED], "too-early-to-finalize"),
    ],
)
def test_refused_drive_changes_nothing(migrate, verb: str, phase: str, words: list[str], id: str) -> None:
    cluster = at_phase(phase)
    files = {node.id: (node.file, node.starts) for node in cluster.nodes.values()}
    run = migrate(cluster, verb, *words)
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert id in {finding["id"] for finding in run.json["findings"]}
    assert {node.id: (node.file, node.starts) for node in cluster.nodes.values()} == files


def test_saved_observation_is_not_rolled_back(kafkactl, tmp_path: Path) -> None:
    run = kafkactl("migrate", "rollback", "--observation", tmp_path)
    assert run.code == 2
    assert "--dry-run" in run.stderr


@pytest.mark.parametrize("verb", ["run", "finalize"])
def test_inventory_is_needed(kafkactl, verb: str) -> None:
    assert kafkactl("migrate", verb).code == 2


def test_result_is_shown_as_text(migrate) -> None:
    run = migrate(FakeCluster(), "run", "--yes", "--until", "M3", *ACCEPTED, output="table")
    assert run.code == 0
    assert "done: M3" in run.stdout
    assert "format-disk controller 3001" in run.stdout
    assert "journal" in run.stdout


def test_unreachable_zookeeper_ends_a_run(migrate) -> None:
    cluster = FakeCluster()
    cluster.zookeeper_up = False
    run = migrate(cluster, "run", "--yes")
    assert run.code == 4
    assert run.error["id"] == "zookeeper-unreachable"


class Closed(FakeWorld):
    """Broker 1 does not let kafkactl in."""

    def observe(self):
        seen = super().observe()
        unknown = {"alive": None, "mode": None, "api_versions": None, "quorum": None}
        nodes = tuple(changed(node, **unknown) if node.name == "broker 1" else node for node in seen.nodes)
        refused = warning("node-refuses-client", "broker 1", "did not let kafkactl in", reason="authentication-failed")
        return changed(seen, nodes=nodes, findings=(*seen.findings, refused))


@pytest.mark.parametrize("words", [["--yes"], ["--dry-run"]])
def test_refused_login_ends_a_run_with_the_code_for_not_authorised(migrate, words: list[str]) -> None:
    cluster = at_phase("M6")
    starts = {node.id: node.starts for node in cluster.nodes.values()}
    run = migrate(cluster, "run", *words, *ACCEPTED, world=Closed(cluster))
    assert run.code == 4
    assert run.json["outcome"] == "refused"
    assert "node-refuses-client" in {finding["id"] for finding in run.json["findings"]}
    assert {node.id: node.starts for node in cluster.nodes.values()} == starts


def test_end_waits_for_the_hours_of_the_inventory(migrate) -> None:
    cluster = at_phase("M8")
    for words in (("--confirm", CLUSTER_ID), ("--dry-run",)):
        run = migrate(
            cluster, "finalize", *words, *ACCEPTED, "--accept", "stray-check-unavailable", more="soak_hours = 1\n"
        )
        assert (run.code, run.json["outcome"], run.json["state"]) == (3, "refused", "M8")
        assert "soak-too-short" in {finding["id"] for finding in run.json["findings"]}
    cluster.advance(3_600_000)
    assert (
        migrate(
            cluster, "finalize", "--dry-run", *ACCEPTED, "--accept", "stray-check-unavailable", more="soak_hours = 1\n"
        ).code
        == 0
    )


def test_dry_run_shows_the_steps_and_writes_nothing(migrate, tmp_path: Path) -> None:
    cluster = FakeCluster()
    run = migrate(cluster, "run", "--dry-run", "--until", "M3", *ACCEPTED)
    assert (run.code, run.json["outcome"], run.json["journal"]) == (0, "planned", None)
    assert run.json["steps"][-1]["action"] == "wait-quorum"
    assert migrate(cluster, "run", "--dry-run").code == 3
    assert (migrate(cluster, "finalize", "--dry-run", *ACCEPTED).json["outcome"]) == "refused"
    run = migrate(at_phase("M8"), "finalize", "--dry-run", *ACCEPTED, "--accept", "stray-check-unavailable")
    assert (run.code, [step["action"] for step in run.json["steps"]][-1]) == (0, "wait-finalized")
    assert not (tmp_path / "journal").exists()
    assert not any(controller.formatted for controller in cluster.controllers)


def test_refused_run_fits_on_a_screen_with_its_reason_first(migrate) -> None:
    run = migrate(FakeCluster(), "run", *ACCEPTED, output="table")  # no terminal that could confirm
    lines = run.stdout.splitlines()
    assert run.code == 3 and len(lines) <= 15, run.stdout
    assert "Give --yes." in run.stdout and "steps left, the next: format-disk controller 3001" in run.stdout
    assert len(migrate(FakeCluster(), "run", "-v", *ACCEPTED, output="table").stdout.splitlines()) > len(lines) + 10


def test_acceptable_findings_are_one_table_with_their_options(migrate) -> None:
    text = migrate(FakeCluster(), "run", "--yes", output="table").stdout
    assert "Check these yourself, then accept them: --accept " in text
    assert len(text.splitlines()) <= 24


@pytest.mark.slow
def test_long_run_is_counted(migrate) -> None:
    run = migrate(FakeCluster(), "run", "--yes", *ACCEPTED, output="table")
    assert run.code == 0 and "steps done: " in run.stdout
    assert len(run.stdout.splitlines()) < 20


def test_lines_of_a_run_have_their_time(migrate) -> None:
    lines = migrate(FakeCluster(), "run", "--yes", "--until", "M3", *ACCEPTED).stderr.splitlines()
    not_indented = [line for line in lines if not line.startswith(" ")]
    assert not_indented and all(re.match(r"\d\d:\d\d:\d\d \+\d+:\d\d  \S", line) for line in not_indented), not_indented


@pytest.mark.parametrize(("is_terminal", "every_s"), [(True, 10), (False, 60)])
def test_wait_is_reported_again_from_time_to_time(capsys, is_terminal: bool, every_s: int) -> None:
    clock = FakeClock(FakeCluster())
    talk = ProgressLines(is_terminal=is_terminal, clock=clock)
    for look in range(61):
        talk(Event(kind="wait", text="broker 2 to come back (registered)", seen=f"look {look}"))
        clock.sleep_ms(2_000)
    talk(Event(kind="done", text="restart-node broker 2: done"))
    lines = capsys.readouterr().err.splitlines()
    assert "waiting for broker 2 to come back (registered); look 0" in lines[0]
    assert f"waiting since {every_s} s for broker 2 to come back; last observed: look {every_s // 2}" in lines[1]
    assert len(lines) == 2 + 120 // every_s
    assert "+2:02  restart-node broker 2: done" in lines[-1]


def test_command_for_the_operator_is_alone_on_its_line(migrate, kafkactl, tmp_path: Path, monkeypatch) -> None:
    cluster = FakeCluster()
    world = FakeWorld(cluster)

    def asks(_inventory, say) -> FakeWorld:
        say("restart broker 1 (on 127.0.0.1)\n    kafka-server-stop.sh\n    kafka-server-start.sh k\x1b.properties")
        return world

    migrate(cluster, "run", "--dry-run")  # writes the inventory
    monkeypatch.setattr(migration_driver_open, "live_world", asks)
    run = kafkactl("migrate", "run", "--inventory", tmp_path / "migration.toml", "--yes", "--until", "M3", *ACCEPTED)
    first, *commands = run.stderr.splitlines()[:3]
    assert re.fullmatch(r"[\d:]{8} \+0:00  to do: restart broker 1 \(on 127\.0\.0\.1\)", first)
    assert commands == ["    kafka-server-stop.sh", "    kafka-server-start.sh k\\x1b.properties"]
