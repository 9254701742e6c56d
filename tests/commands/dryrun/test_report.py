"""`--html FILE` of every scenario, and `kafkactl dryrun report`."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from pickle import loads

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.dryrun.api import parallel_report
from kafkactl.dryrun.page.fleet import FleetCluster, fleet_report
from kafkactl.files import whole_file
from kafkactl.report.html import render_html
from tests.commands.captured_logs import unpacked
from tests.conftest import Run
from tests.dryrun.odd_logs import CASES, encoded
from tests.metadata.goldens import golden
from tests.sampling import one_in
from tests.spark.logs import write_log as spark_log

HOSTILE_LINES = {"dryrun report": ("{log} --html {report}",)}

Kafkactl = Callable[..., Run]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated") / "log"
    write_log(folder, Shape(records=2_000, partitions=100, brokers=4))
    return folder / "__cluster_metadata-0"


@pytest.mark.parametrize(
    "scenario",
    one_in(
        3,
        [
            ["replay"],
            ["restart"],
            ["growth"],
            ["controllers", "--lose", "1000"],
            ["broker-loss", "--brokers", "1,2"],
            ["broker-loss", "--worst", "2"],
            ["rolling-restart"],
            ["unregister-broker", "--broker", "77"],
            ["elect-leaders", "--topic", "nobody"],
            ["alter-config", "--entity", "cluster", "--set", "min.insync.replicas=2"],
            ["features", "--upgrade", "metadata.version=30"],
        ],
    ),
    ids=" ".join,
)
def test_every_scenario_can_be_a_page(kafkactl: Kafkactl, log: Path, tmp_path: Path, scenario: list[str]) -> None:
    page = tmp_path / "page.html"
    name, *options = scenario
    run = kafkactl("dryrun", name, log, *options, "--html", page, "-o", "json")
    assert run.code in (0, 3, 7) and str(page) in run.stderr
    text = page.read_text(encoding="utf-8")
    assert f"<strong>{run.json['verdict']}</strong>" in text
    assert all(f"<code>{finding['id']}</code>" in text for finding in run.json["findings"])
    assert list(tmp_path.iterdir()) == [page]


@pytest.mark.slow
def test_scenarios_that_are_simulated_by_several_processes_give_the_same_report(
    kafkactl: Kafkactl, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = kafkactl("dryrun", "report", log, "--html", tmp_path / "page.html", "-o", "json")
    page = (tmp_path / "page.html").read_text()
    children: list[object] = []
    monkeypatch.setattr(parallel_report, "LARGE", 0)
    monkeypatch.setattr(parallel_report, "useful_processes", lambda: 3)
    monkeypatch.setattr(parallel_report.pickle, "loads", lambda data: children.append(data) or loads(data))
    together = kafkactl("dryrun", "report", log, "--html", tmp_path / "page.html", "-o", "json")
    assert (together.code, together.json) == (alone.code, alone.json)
    assert (tmp_path / "page.html").read_text() == page
    assert len(children) == len(together.json["predictions"]) > 5


@pytest.mark.slow
def test_report_simulates_all_that_needs_no_argument(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run = kafkactl("dryrun", "report", log, "--html", page, "-o", "json")
    predicted = [prediction["scenario"] for prediction in run.json["predictions"]]
    assert predicted == [
        "replay", "restart", "growth", "controllers", "rolling-restart", "elect-leaders", "broker-loss", "broker-loss",
    ]  # fmt: skip
    alone = kafkactl("dryrun", "broker-loss", log, "--worst", 2, "-o", "json").json
    assert run.json["predictions"][-1] == {name: alone[name] for name in run.json["predictions"][-1]}
    assert (run.code, run.json["verdict"]) == (7, "unavailable")
    assert page.read_text(encoding="utf-8").count("<section id=") == 8 + 2
    shown = kafkactl("dryrun", "report", log).stdout
    assert shown.startswith("today: ") and "\nworst case: unavailable\n" in shown
    assert "Loss of the 2 worst brokers" in shown and "--html" in shown
    verdicts = [section.partition("</span>")[0] for section in page.read_text(encoding="utf-8").split("<h2>")[1:]]
    assert [verdict.rpartition(">")[2] for verdict in verdicts[:2]] == ["unavailable", "unavailable"]


def test_log_without_brokers_has_a_report(kafkactl: Kafkactl, tmp_path: Path) -> None:
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(golden("segment-4.4.0-standalone.log.bin"))
    run = kafkactl("dryrun", "report", segment, "--html", tmp_path / "page.html", "-o", "json")
    assert "broker-loss" not in [prediction["scenario"] for prediction in run.json["predictions"]]


def test_report_without_live_brokers_has_every_scenario(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # A rolling restart starts them first; no broker is left to be lost.
    log = unpacked("4.4.0", tmp_path)
    run = kafkactl("dryrun", "report", log, "-o", "json")
    predicted = {prediction["scenario"]: prediction["verdict"] for prediction in run.json["predictions"]}
    assert list(predicted)[-2:] == ["rolling-restart", "elect-leaders"]
    alone = kafkactl("dryrun", "rolling-restart", log, "-o", "json")
    assert predicted["rolling-restart"] == alone.json["verdict"] == run.json["verdict"] == "unavailable"
    assert (run.code, alone.code) == (7, 7)


def test_earlier_report_is_replaced_and_nothing_else(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "server.properties"
    assert kafkactl("dryrun", "growth", log, "--html", page).code == 0
    before = page.read_bytes()
    assert kafkactl("dryrun", "growth", log, "--days", 9, "--html", page).code == 0
    assert page.read_bytes() != before
    other.write_text("node.id=1\n")
    for wrong in (other, tmp_path):
        run = kafkactl("dryrun", "growth", log, "--html", wrong, "-o", "json")
        assert (run.code, run.error["id"], run.stdout) == (3, "not-a-report-file", "")
    assert other.read_text() == "node.id=1\n"


def test_report_into_a_missing_folder_fails(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    run = kafkactl("dryrun", "growth", log, "--html", tmp_path / "none" / "page.html", "-o", "json")
    assert (run.code, run.error["id"]) == (1, "report-not-written")


def test_full_disk_leaves_the_earlier_report_whole(
    kafkactl: Kafkactl, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    kafkactl("dryrun", "growth", log, "--html", page)
    before = page.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(whole_file.os, "fsync", full)
    run = kafkactl("dryrun", "replay", log, "--html", page, "-o", "json")
    assert (run.code, run.error["id"]) == (1, "report-not-written")
    assert "No space left" in run.error["message"]
    assert page.read_bytes() == before and list(tmp_path.iterdir()) == [page]


def test_reports_of_several_clusters_begin_with_the_fleet_the_worst_first(
    kafkactl: Kafkactl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in (("safe", encoded(CASES["ended"])), ("empty", b"")):
        spark_log(tmp_path, name, data)
    unpacked("4.4.0", tmp_path, "real")
    shown = kafkactl("dryrun", "report", "safe", "empty", "real", "--html", "fleet.html")
    rows = shown.stdout.splitlines()
    first = next(at for at, row in enumerate(rows) if row.startswith("CLUSTER"))
    assert [row.split()[:2] for row in rows[first + 1 : first + 4]] == [
        ["id-empty", "no"], ["real", "unavailable"], ["id-safe", "unknown"],
    ]  # fmt: skip
    assert [row for row in rows if row in ("real", "id-safe", "id-empty")] == ["real", "id-safe"]
    assert shown.code == 5
    page = (tmp_path / "fleet.html").read_text()
    assert page.index("id-empty") < page.index("real") < page.index("id-safe")
    assert "fleet-real.html" in page and (tmp_path / "fleet-real.html").exists()


def test_cluster_without_a_finding_has_a_row_of_the_fleet_and_no_section() -> None:
    answer = {"verdict": "ok", "predictions": [{"scenario": "replay", "input": {}, "verdict": "ok", "findings": []}]}
    found = {"id": "disk-full", "severity": "warning", "subject": "disk", "message": "full", "next_step": "Add one."}
    bad = {"scenario": "growth", "input": {}, "verdict": "degraded", "findings": [found]}
    fleet = [
        FleetCluster(title="a", answer=answer),
        FleetCluster(title="b", answer={**answer, "verdict": "degraded", "predictions": [bad]}, page="b.html"),
    ]
    report = fleet_report(fleet, engine="local", written_by="kafkactl")
    assert report.overview is not None
    assert [row[0].text for row in report.overview.rows] == ["b", "a"]
    assert [(section.title, section.findings[0]["subject"]) for section in report.sections] == [
        ("b", "Growth of the log in 0 days: disk")
    ]
    assert report.verdict == "degraded"
    page = render_html(report).decode()
    assert '<a href="#cluster-1">b</a>' in page and ">a</td>" in page
