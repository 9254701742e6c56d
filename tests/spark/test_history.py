"""Changes and predictions of the pipeline, and the data source, against the answers in process."""

from __future__ import annotations

import json
import re
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.core.answers import plain_values
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.dryrun.api import predict, read_context
from kafkactl.metadata.api import dump_records, load_image
from kafkactl.tiered.api.verbs import Request, audit, each_segment, load
from tests.dryrun.odd_logs import CASES, encoded
from tests.spark.logs import write_all_logs, write_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

CLUSTER_OF = "([^/]+)/__cluster_metadata-0"
SCENARIOS = (
    {"name": "broker-loss", "brokers": [1]},
    {"name": "rolling-restart"},
    {"name": "restart"},
    {"name": "replay"},
)


@pytest.fixture(scope="module")
def logs(root: Path) -> list[Path]:
    return write_all_logs(root)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_last_change_of_a_value_is_the_value_of_the_state(session: SparkSession, root: Path, logs: list[Path]) -> None:
    rows = rows_of(spark.changes(session, root, cluster_of=CLUSTER_OF))
    assert {row["what"] for row in rows} == {"leader", "isr", "replicas", "config", "level", "registration"}
    images = {log.parent.name: load_image(log).image for log in logs if log.parent.name[:2] in ("3.", "4.")}
    last = {(row["cluster"], row["what"], row["subject"], row["key"]): row for row in rows}
    compared = 0
    for (cluster, what, _, key), row in last.items():
        if cluster not in images or what == "registration":
            continue
        image, after = images[cluster], None if row["after"] is None else json.loads(row["after"])
        if what == "config":
            held = image.configs.get((2, row["topic"] or ""), {}) if row["topic"] else {}
            assert row["topic"] is None or after == held.get(key), row
        elif what == "level":
            assert after == image.features.get(key)
        elif (topic := image.topic(row["topic"])) is not None:
            partition = topic.partitions[row["partition"]]
            assert after == json.loads(json.dumps(getattr(partition, what))), row
            compared += 1
    assert compared > 100
    assert all(row["before"] != row["after"] or row["before"] == '"<redacted>"' for row in rows)


def test_aborted_transaction_changes_nothing(session: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path, "aborted", encoded(CASES["aborted across batches"]))
    rows = rows_of(spark.changes(session, tmp_path))
    assert [(row["what"], row["subject"], row["before"], row["after"]) for row in rows] == [
        ("level", "metadata.version", None, "30"),
        ("isr", "t1-0", "[1,2,3]", "[3]"),
    ]
    later = spark.changes(session, tmp_path, topic="t1", since="1970-01-01T00:00:01.004Z")
    assert [row["what"] for row in rows_of(later)] == ["isr"]
    assert rows_of(spark.changes(session, tmp_path, since="1970-01-01T00:00:02Z")) == []


def test_ended_transaction_changes_at_the_offsets_of_its_records(session: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path, "ended", encoded(CASES["ended"]))
    found = [(row["offset"], row["what"], row["after"]) for row in rows_of(spark.changes(session, tmp_path))]
    assert found == [(0, "level", "30"), (7, "leader", "3"), (9, "isr", "[3]")]


def test_predictions_equal_the_answers_in_process(session: SparkSession, root: Path, logs: list[Path]) -> None:
    rows = rows_of(spark.predictions(session, root, SCENARIOS, cluster_of=CLUSTER_OF))
    found = {(row["cluster"], row["scenario"]): row for row in rows}
    answered = failed = 0
    for log in logs:
        for scenario in SCENARIOS:
            asked = {name: value for name, value in scenario.items() if name != "name"}
            row = found.get((log.parent.name, scenario["name"])) or found[log.parent.name, None]
            try:
                expected = predict(read_context(str(log), restarts=True), str(scenario["name"]), **asked)
            except KafkactlError as error:
                assert row["error"].startswith("empty-metadata-log: ") or row["error"] == f"{error.id}: {error.message}"
                failed += 1
                continue
            if row["error"] is not None:
                assert row["error"].startswith("empty-metadata-log: "), row
                failed += 1
                continue
            answer = json.loads(row["answer"])
            reported = json.loads(json.dumps(plain_values(dict(expected.reported))))
            assert {name: answer[name] for name in reported} == reported, (log, scenario)
            assert row["verdict"] == expected.verdict and row["findings"] == [each.id for each in expected.findings]
            counts = reported["effects"]["partitions"]
            assert row["offline"] == (None if counts is None else counts["offline"])
            assert answer["source"]["paths"] == [str(log)] and answer["kind"] == "dryrun.prediction"
            answered += 1
    assert answered > 60 and failed > 2


def test_unknown_scenario_is_refused_before_a_log_is_read(session: SparkSession, root: Path) -> None:
    for scenario, id in (({"name": "earthquake"}, "unknown-scenario"), ({"brokers": [1]}, "invalid-scenario-input")):
        with pytest.raises(InputError) as refused:
            spark.predictions(session, root, [scenario])
        assert refused.value.id == id


def test_data_source_gives_the_same_rows_and_takes_over_filters(
    session: SparkSession, root: Path, logs: list[Path]
) -> None:
    session.dataSource.register(spark.KafkaMetadata)
    log = next(log for log in logs if log.parent.name == "4.4.0")

    def read(table: str, pushdown: str = "false") -> DataFrameReader:
        reader = session.read.format("kafka-metadata").option("cluster_of", CLUSTER_OF)
        return reader.option("table", table).option("pushdown", pushdown)

    whole = rows_of(read("records").load(str(log)))
    assert whole == rows_of(spark.records(session, log, cluster_of=CLUSTER_OF))
    wanted = [line["offset"] for line in dump_records(log, types=["TopicRecord"], from_offset=20).records()]
    for pushdown in ("false", "true"):
        session.conf.set("spark.sql.python.filterPushdown.enabled", pushdown)
        limited = read("records", pushdown).load(str(log)).where("type = 'TopicRecord' and offset >= 20")
        assert [row["offset"] for row in rows_of(limited)] == wanted and wanted
        plan = limited._jdf.queryExecution().executedPlan().toString()
        assert ("TopicRecord" in plan) is (pushdown == "false")
        times = [row["time"] for row in whole]
        for condition, has in (
            ("time >= '{}'", lambda time, limit: time >= limit),
            ("time > '{}' and type = 'BrokerRegistrationChangeRecord'", lambda time, limit: time > limit),
            ("time <= '{}'", lambda time, limit: time <= limit),
            ("time < '{}' and offset > 3", lambda time, limit: time < limit),
            ("time = '{}'", lambda time, limit: time == limit),
        ):
            for limit in (times[len(times) // 2], times[len(times) // 3] + timedelta(microseconds=7)):
                shown = condition.format(limit.astimezone(UTC).isoformat())
                expected = [
                    row
                    for row in whole
                    if has(row["time"], limit)
                    and ("type" not in shown or row["type"] == "BrokerRegistrationChangeRecord")
                    and ("offset" not in shown or row["offset"] > 3)
                ]
                timed = read("records", pushdown).load(str(log)).where(shown)
                assert rows_of(timed) == expected, shown
                plan = timed._jdf.queryExecution().executedPlan().toString()
                assert (re.search(r"time#\d+ [<>=]", plan) is None) is (pushdown == "true"), plan
    session.conf.unset("spark.sql.python.filterPushdown.enabled")
    states = read("partitions").load(str(root / "4.*"))
    expected = rows_of(spark.state(session, str(root / "4.*"), "partitions", cluster_of=CLUSTER_OF))
    assert sorted(map(str, rows_of(states))) == sorted(map(str, expected)) and expected


def test_remote_tables_equal_the_answers_of_tiered(session: SparkSession) -> None:
    folder = Path(__file__).parent.parent / "golden" / "tiered" / "4.3.1" / "remote-log-metadata" / "replica-1"
    loaded = load(Request(sources=(str(folder),), engine="local"))
    segments = rows_of(spark.remote_segments(session, folder, cluster="prod"))
    answers = [json.loads(json.dumps(plain_values(segment))) for segment in each_segment(loaded)]
    assert [{name: row[name] for name in answer} for row, answer in zip(segments, answers, strict=True)] == answers
    assert answers and {row["cluster"] for row in segments} == {"prod"}
    findings = rows_of(spark.remote_findings(session, str(folder)))
    assert [(row["finding"], row["message"]) for row in findings] == [
        (found.id, found.message) for found in audit(loaded).findings
    ]
    missing = rows_of(spark.remote_findings(session, str(folder / "none")))
    assert len(missing) == 1 and missing[0]["error"] is not None
    with pytest.raises(InputError) as refused:
        spark.remote_segments(session, "s3a://logs/broker-1")
    assert refused.value.id == "path-needs-copy"
