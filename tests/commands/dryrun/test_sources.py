"""Grouping of `kafkactl dryrun` sources: replicas are folded once and compared, clusters are answered separately."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.log_generator import LogGenerator, Shape
from bench.make_metadata_log import write_log
from kafkactl.dryrun.api import logs as dryrun_sources
from tests.conftest import Run

Kafkactl = Callable[..., Run]
SEGMENT = f"{0:020d}.log"
IDS = "MkU3OEVBNTcwNTJENDM2Qg", "5L6g3nShT-eMCtK--X86sw"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return logs of two clusters, `a` and `b`, without meta.properties."""
    folder = tmp_path_factory.mktemp("logs")
    for seed, name in enumerate("ab"):
        write_log(folder / name, Shape(records=1_500, partitions=100, brokers=4, seed=seed))
    return folder


def node(logs: Path, name: str, to: Path, cluster_id: str | None = None, node_id: int = 1) -> Path:
    """Return a copy of a log, with the cluster id and the node id next to it."""
    shutil.copytree(logs / name, to)
    if cluster_id is not None:
        (to / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n")
    return to / "__cluster_metadata-0"


def ends(log: Path) -> list[int]:
    """Return where batches end."""
    data, found = (log / SEGMENT).read_bytes(), [0]
    while found[-1] < len(data):
        found.append(found[-1] + 12 + int.from_bytes(data[found[-1] + 8 : found[-1] + 12], "big"))
    return found[1:]


def asked(kafkactl: Kafkactl, *arguments: object) -> tuple[int, dict[str, Any]]:
    run = kafkactl("dryrun", "replay", *arguments, "-o", "json")
    assert run.stdout, run.stderr
    return run.code, run.json


def found_ids(answer: dict[str, Any]) -> set[str]:
    return {finding["id"] for finding in answer["findings"]}


@pytest.mark.parametrize("words", [("dryrun", "replay"), ("log", "verify"), ("dryrun", "replay", "--from-cluster")])
def test_source_or_a_live_cluster_has_to_be_named(kafkactl: Kafkactl, words: tuple[str, ...]) -> None:
    run = kafkactl(*words, "-o", "json")
    assert run.code == 2
    assert run.error["id"] == ("bootstrap-missing" if "--from-cluster" in words else "wrong-usage")


def test_logs_with_one_cluster_id_are_one_cluster(
    kafkactl: Kafkactl, logs: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    path, two = (node(logs, "a", tmp_path / name, IDS[0]) for name in ("1", "2"))
    cut = ends(two)[len(ends(two)) // 2]
    (two / SEGMENT).write_bytes((two / SEGMENT).read_bytes()[:cut])
    loads = []
    real = dryrun_sources.load
    monkeypatch.setattr(dryrun_sources, "load", lambda *a, **k: loads.append(a) or real(*a, **k))
    code, answer = asked(kafkactl, two, path.parent)
    assert (code, len(loads)) == (0, 1)
    assert answer["kind"] == "dryrun.prediction"
    assert answer["source"]["cluster_id"] == IDS[0]
    assert [replica["is_replayed"] for replica in answer["source"]["replicas"]] == [False, True]
    assert answer["source"]["replicas"][1]["end_offset"] == answer["source"]["last_offset"] + 1
    _, alone = asked(kafkactl, path)
    assert answer["effects"] == alone["effects"]
    assert alone["source"]["replicas"] == []


def test_records_on_two_voters_are_committed(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    path, two = (node(logs, "a", tmp_path / str(id), IDS[0], id) for id in (1000, 1001))
    _, both = asked(kafkactl, path, two)
    assert both["source"]["committed_offset"] == both["source"]["last_offset"]
    # A second directory of the same voter, and the logs of brokers, do not count.
    again = node(logs, "a", tmp_path / "again", IDS[0], 1000)
    assert asked(kafkactl, path, again)[1]["source"]["committed_offset"] is None
    brokers = [node(logs, "a", tmp_path / str(id), IDS[0], id) for id in (11, 12)]
    assert asked(kafkactl, *brokers)[1]["source"]["committed_offset"] is None
    assert asked(kafkactl, path, *brokers)[1]["source"]["committed_offset"] is None
    # The same disk by another path does not count as a second voter.
    _, once = asked(kafkactl, path, path.parent)
    assert once["source"]["committed_offset"] is None
    # The log has half of the records, and none of the newest epoch.
    (two / SEGMENT).write_bytes((two / SEGMENT).read_bytes()[: ends(two)[len(ends(two)) // 2]])
    assert asked(kafkactl, path, two)[1]["source"]["committed_offset"] is None


def test_diverged_replicas_are_reported(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    path = node(logs, "a", tmp_path / "1", IDS[0])
    other = node(logs, "b", tmp_path / "2", IDS[0])
    code, answer = asked(kafkactl, path, other)
    assert "committed-log-diverged" in found_ids(answer)
    assert (code, answer["verdict"]) == (6, "unknown")
    loss = kafkactl("dryrun", "controllers", path, other, "-o", "json").json
    assert "committed-log-diverged" in found_ids(loss)


def test_uncommitted_tail_is_a_warning(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    path, two = (node(logs, "a", tmp_path / name, IDS[0]) for name in ("1", "2"))
    data = bytearray((two / SEGMENT).read_bytes()[: ends(two)[-40]])
    last = ends(two)[-41]
    epoch = int.from_bytes(data[last + 12 : last + 16], "big")
    data[last + 12 : last + 16] = (epoch - 1).to_bytes(4, "big")  # the epoch is not under the CRC
    (two / SEGMENT).write_bytes(data)
    code, answer = asked(kafkactl, path, two)
    (reported,) = [finding for finding in answer["findings"] if finding["id"] == "uncommitted-tail"]
    assert (code, reported["severity"], reported["evidence"]["other"]) == (0, "warning", str(path))


def test_whole_one_of_two_is_replayed(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    path, two = (node(logs, "a", tmp_path / name, IDS[0]) for name in ("1", "2"))
    data = bytearray((path / SEGMENT).read_bytes())
    data[len(data) // 2] ^= 1
    (path / SEGMENT).write_bytes(data)
    code, answer = asked(kafkactl, path, two)
    assert (code, found_ids(answer)) == (0, {"replica-not-whole"} | found_ids(asked(kafkactl, two)[1]))


def test_log_without_its_start_is_only_compared(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    generator = LogGenerator(Shape(records=1_500, partitions=100, brokers=4, seed=0))
    batches = list(generator.batches())
    two = tmp_path / "2" / "__cluster_metadata-0"
    two.mkdir(parents=True)
    base = int.from_bytes(batches[5][:8], "big")
    (two / f"{base:020d}.log").write_bytes(b"".join(batches[5:]))
    path = node(logs, "a", tmp_path / "1", IDS[0])
    _, answer = asked(kafkactl, two, path, "--same-cluster")
    assert "replica-start-missing" in found_ids(answer)
    assert [replica["is_replayed"] for replica in answer["source"]["replicas"]] == [False, True]


def test_different_ids_are_different_clusters(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    places = [node(logs, name, tmp_path / name, id) for name, id in zip("ab", IDS, strict=True)]
    code, answer = asked(kafkactl, *places)
    assert (code, answer["kind"], answer["verdict"], answer["failed"]) == (0, "dryrun.predictions", "ok", [])
    for prediction, place in zip(answer["predictions"], places, strict=True):
        assert prediction == asked(kafkactl, place)[1]
    lines = kafkactl("dryrun", "replay", *places, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == answer["predictions"]
    page = kafkactl("dryrun", "replay", *places).stdout
    assert page.startswith("2 clusters: ok") and all(id in page for id in IDS)


def test_cluster_without_an_answer_does_not_stop_the_others(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    path = node(logs, "a", tmp_path / "1", IDS[0])
    late = node(logs, "b", tmp_path / "2", IDS[1])
    (late / SEGMENT).rename(late / f"{7:020d}.log")
    code, answer = asked(kafkactl, late, path)
    (failed,) = answer["failed"]
    assert (code, len(answer["predictions"])) == (5, 1)
    assert (failed["cluster_id"], failed["error"]["id"]) == (IDS[1], "log-start-missing")
    run = kafkactl("dryrun", "replay", late, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "log-start-missing")


def test_error_is_reported_if_no_cluster_has_an_answer(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    # One object on stderr, and nothing else.
    places = [node(logs, name, tmp_path / name, id) for name, id in zip("ab", IDS, strict=True)]
    run = kafkactl("dryrun", "broker-loss", *places, "--brokers", "99", "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (2, "", "unknown-broker")
    assert all(f"{id}: broker 99 is not registered" in run.error["message"] for id in IDS)


def test_clusters_are_named_by_a_pattern(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    places = [node(logs, "a", tmp_path / "prod" / str(number)) for number in (1, 2)]
    places.append(node(logs, "b", tmp_path / "test" / "1"))
    _, answer = asked(kafkactl, *places, "--cluster-of", r"/(prod|test)/\d")
    assert [prediction["source"]["cluster"] for prediction in answer["predictions"]] == ["prod", "test"]
    assert [len(prediction["source"]["paths"]) for prediction in answer["predictions"]] == [2, 1]
    assert not any("cluster-id-not-known" in found_ids(prediction) for prediction in answer["predictions"])


@pytest.mark.parametrize(
    "ids, pattern, error",
    [
        ((None, None), "(", "invalid-cluster-pattern"),
        ((None, None), "nowhere", "cluster-not-named"),
        ((IDS[0], IDS[1]), "node", "several-clusters"),
        ((IDS[0], IDS[0]), r"node-\w", "cluster-named-twice"),
    ],
)
def test_pattern_without_a_match_is_refused(
    kafkactl: Kafkactl, logs: Path, tmp_path: Path, ids: tuple[str | None, str | None], pattern: str, error: str
) -> None:
    places = [
        node(logs, name, tmp_path / f"node-{at}", id) for at, (name, id) in enumerate(zip("ab", ids, strict=True))
    ]
    run = kafkactl("dryrun", "replay", *places, "--cluster-of", pattern, "-o", "json")
    assert (run.code, run.error["id"]) == (2, error)


def test_without_ids_each_source_is_a_cluster_and_that_is_reported(
    kafkactl: Kafkactl, logs: Path, tmp_path: Path
) -> None:
    places = [node(logs, name, tmp_path / name) for name in "ab"]
    _, answer = asked(kafkactl, *places)
    assert all("cluster-id-not-known" in found_ids(prediction) for prediction in answer["predictions"])
    assert "cluster-id-not-known" not in found_ids(asked(kafkactl, places[0])[1])


def test_one_cluster_by_option_with_two_ids_is_a_warning(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    places = [node(logs, "a", tmp_path / str(at), id) for at, id in enumerate(IDS)]
    code, answer = asked(kafkactl, *places, "--same-cluster")
    (reported,) = [finding for finding in answer["findings"] if finding["id"] == "several-clusters"]
    assert (code, reported["severity"], answer["source"]["cluster_id"]) == (0, "warning", None)


def test_files_of_a_folder_are_one_log(kafkactl: Kafkactl, tmp_path: Path) -> None:
    write_log(tmp_path / "log", Shape(records=1_500, partitions=100, brokers=4, segment_bytes=20_000))
    folder = tmp_path / "log" / "__cluster_metadata-0"
    files = sorted(folder.glob("*.log"), reverse=True)
    assert len(files) > 2
    _, answer = asked(kafkactl, *files)
    assert answer["effects"] == asked(kafkactl, folder)[1]["effects"]
    assert answer["source"]["paths"] == [str(file) for file in files]


@pytest.mark.slow
def test_each_cluster_has_a_report_and_a_page(kafkactl: Kafkactl, logs: Path, tmp_path: Path) -> None:
    places = [node(logs, name, tmp_path / name, id) for name, id in zip("ab", IDS, strict=True)]
    run = kafkactl("dryrun", "report", *places, "--html", tmp_path / "page.html", "-o", "json")
    assert run.json["kind"] == "dryrun.reports"
    assert [report["html"] for report in run.json["reports"]] == [str(tmp_path / f"page-{id}.html") for id in IDS]
    assert all(Path(report["html"]).read_bytes() for report in run.json["reports"])


def test_context_may_name_the_spark_master(
    kafkactl: Kafkactl, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = tmp_path / "config.toml"
    contexts.write_text('current = "big"\n[contexts.big]\nspark_master = "spark://nowhere"\n[contexts.small]\n')
    contexts.chmod(0o600)
    monkeypatch.setenv("KAFKACTL_CONFIG", str(contexts))
    run = kafkactl("dryrun", "replay", logs / "a", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "invalid-spark-master")
    for more in (["--engine", "local"], ["--context", "small"]):
        assert kafkactl("dryrun", "replay", logs / "a", *more, "-o", "json").json["engine"] == "local"
    assert kafkactl("dryrun", "replay", logs / "a", "--context", "none", "-o", "json").error["id"] == "unknown-context"
