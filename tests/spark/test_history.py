"""Changes and predictions of the pipeline, and the data source, against the answers in process."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl._version import SCHEMA_VERSION
from kafkactl.core.answers import plain_values
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.dryrun.api.answering import Question, answer_question, read_state
from kafkactl.dryrun.api.clusters import open_clusters
from kafkactl.dryrun.by_name import find_scenario, scenario_names
from kafkactl.metadata.api import load_image
from kafkactl.tiered.api.verbs import Request, audit, each_segment, load
from tests.constants import merged_constant
from tests.dryrun.odd_logs import CASES, encoded
from tests.spark.logs import write_all_logs, write_log
from tests.tiered.logs import LogOf, Topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

CLUSTER_OF = "([^/]+)/__cluster_metadata-0"
# The first input of every scenario.
SCENARIOS: tuple[dict[str, Any], ...] = tuple(
    {"name": name, **inputs[0]} for name, inputs in merged_constant("INPUTS", "dryrun/scenarios/test_*.py").items()
)


@pytest.fixture(scope="module")
def logs(root: Path) -> list[Path]:
    return write_all_logs(root)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_last_change_of_a_value_is_the_value_of_the_state(session: SparkSession, root: Path, logs: list[Path]) -> None:
    found = rows_of(spark.changes(session, root, cluster_of=CLUSTER_OF))
    rows = [row for row in found if row["error"] is None]
    assert {row["error"].partition(":")[0] for row in found if row not in rows} == {"empty-metadata-log"}
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
    for since, found in (("01.004", ["isr"]), ("01.0031", ["isr"]), ("01.0041", [])):
        later = spark.changes(session, tmp_path, topic="t1", since=f"1970-01-01T00:00:{since}Z")
        assert [row["what"] for row in rows_of(later)] == found, since
    assert rows_of(spark.changes(session, tmp_path, since="1970-01-01T00:00:02Z")) == []


def test_ended_transaction_changes_at_the_offsets_of_its_records(session: SparkSession, tmp_path: Path) -> None:
    write_log(tmp_path, "ended", encoded(CASES["ended"]))
    found = [(row["offset"], row["what"], row["after"]) for row in rows_of(spark.changes(session, tmp_path))]
    assert found == [(0, "level", "30"), (7, "leader", "3"), (9, "isr", "[3]")]


def answer_of(log: Path, scenario: dict[str, Any]) -> Any:
    """Return what `kafkactl dryrun … -o json` prints, or its error as the tables have it."""
    asked = find_scenario(scenario["name"]).input_of({name: scenario[name] for name in scenario if name != "name"})
    (cluster,) = open_clusters({str(log): str(log)}, cluster_of=CLUSTER_OF)
    question = Question(scenario=scenario["name"], asked=asked)
    try:
        answer = answer_question(read_state(cluster, question), question).payload
    except KafkactlError as error:
        return f"{error.id}: {error.message}"
    head = {"kind": "dryrun.prediction", "schema_version": SCHEMA_VERSION}
    return json.loads(json.dumps(plain_values({**head, **answer, "engine": "spark"})))


def test_predictions_equal_the_answers_in_process(session: SparkSession, root: Path, logs: list[Path]) -> None:
    rows = rows_of(spark.predictions(session, root, SCENARIOS, cluster_of=CLUSTER_OF))
    found = {(row["cluster"], row["scenario"]): row for row in rows}
    answered, failed = dict.fromkeys(scenario_names(), 0), 0
    for log in logs:
        for scenario in SCENARIOS:
            row = found.get((log.parent.name, scenario["name"])) or found[log.parent.name, None]
            expected = answer_of(log, scenario)
            if isinstance(expected, str):
                assert row["error"] == expected and row["answer"] is None
                failed += 1
                continue
            answer = json.loads(row["answer"])
            assert answer == expected and list(answer) == list(expected), (log, scenario)
            assert (row["verdict"], json.loads(row["input"])) == (expected["verdict"], expected["input"])
            assert row["findings"] == [finding["id"] for finding in expected["findings"]]
            effects = expected["effects"]
            for name in ("leader_changes", "offline", "under_min_isr", "at_min_isr"):
                assert row[name] == (effects["partitions"] or {}).get(name)
            assert row["records_appended"] == (effects["records_appended"] or {}).get("count")
            answered[scenario["name"]] += 1
    assert min(answered.values()) > 3 and failed > 20, answered


def test_scenario_without_an_answer_ends_the_query_if_asked(session: SparkSession, logs: list[Path]) -> None:
    from pyspark.errors import PythonException

    log = next(log for log in logs if log.parent.name == "4.4.0")
    frame = spark.predictions(session, log, [{"name": "broker-loss", "brokers": [77]}], on_error="raise")
    with pytest.raises(PythonException, match="InputError: unknown-broker: broker 77 "):
        frame.collect()


def test_unknown_scenario_is_refused_before_a_log_is_read(session: SparkSession, root: Path) -> None:
    for scenario, id in (({"name": "earthquake"}, "unknown-scenario"), ({"brokers": [1]}, "invalid-scenario-input")):
        with pytest.raises(InputError) as refused:
            spark.predictions(session, root, [scenario])
        assert refused.value.id == id


def test_data_source_gives_the_rows_of_the_functions(session: SparkSession, root: Path, logs: list[Path]) -> None:
    session.dataSource.register(spark.KafkaMetadata)
    log = str(next(log for log in logs if log.parent.name == "4.4.0"))

    def read(table: str, **options: Any) -> DataFrameReader:
        return session.read.format("kafka-metadata").options(cluster_of=CLUSTER_OF, table=table, **options)

    frame = read("records").load(log)
    whole = rows_of(frame)
    assert whole == rows_of(spark.records(session, log, cluster_of=CLUSTER_OF))
    time = whole[len(whole) // 2]["time"].astimezone(UTC).isoformat()
    for limits in (
        {"types": ["TopicRecord", "PartitionRecord"], "from_offset": 20},
        {"to_offset": 200, "from_time": time},
        {"to_time": time, "from_offset": 3},
    ):
        expected = rows_of(spark.records(session, log, cluster_of=CLUSTER_OF, **limits))
        options = {name: ",".join(value) if name == "types" else value for name, value in limits.items()}
        assert rows_of(read("records", **options).load(log)) == expected and 0 < len(expected) < len(whole)
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    for condition in ("type = 'TopicRecord'", "offset > 20", f"time = '{time}'", "true"):  # a filter does not stay
        assert 0 < frame.where(condition).count() <= frame.count() == len(whole), condition
    session.conf.unset("spark.sql.python.filterPushdown.enabled")
    states = read("partitions").load(str(root / "4.*"))
    expected = rows_of(spark.state(session, str(root / "4.*"), "partitions", cluster_of=CLUSTER_OF))
    assert sorted(map(str, rows_of(states))) == sorted(map(str, expected)) and expected


def test_options_of_the_data_source_are_checked_before_a_query(session: SparkSession, root: Path) -> None:
    from pyspark.errors import PySparkException

    session.dataSource.register(spark.KafkaMetadata)
    nothing = session.read.format("kafka-metadata").option("table", "topics")
    (row,) = rows_of(nothing.load(str(root / "nothing")))
    assert row["error"].startswith("no-metadata-log: ")
    failing = nothing.option("on_error", "raise").load(str(root / "nothing"))
    with pytest.raises(PySparkException, match="no-metadata-log: "):
        failing.collect()
    for name, value, table, text in (
        ("on_error", "ignore", "topics", "expected 'rows' or 'raise'"),
        ("at_offset", "3", "records", "the table records has no option at_offset"),
        ("types", "TopicRecord", "topics", "the table topics has no option types"),
        ("at_ofset", "3", "topics", "has no option at_ofset. Did you mean 'at_offset'"),
        ("at_offset", "last", "topics", "at_offset is 'last'; expected a whole number"),
        ("types", "Topic,Nothing", "records", "no record type 'Nothing'"),
        ("at_offset", "-1", "topics", "an offset is 0 or greater"),
        ("at_time", "yesterday", "topics", "is not a time"),
        ("cluster_of", "x", "topic", "the state has no table 'topic'"),
    ):
        with pytest.raises(PySparkException, match=text):
            session.read.format("kafka-metadata").option("table", table).option(name, value).load(str(root))


def test_schema_of_the_caller_is_honoured_by_the_data_source(session: SparkSession, logs: list[Path]) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    session.dataSource.register(spark.KafkaMetadata)
    log = str(next(log for log in logs if log.parent.name == "4.4.0"))

    def read(table: str, schema: StructType | str) -> DataFrame:
        return session.read.format("kafka-metadata").option("table", table).schema(schema).load(log)

    brokers = spark.state(session, log, "brokers")
    assert rows_of(read("brokers", brokers.schema)) == rows_of(brokers) != []
    for schema, columns in (
        ("endpoints array<struct<name string, host string, port int, security_protocol string>>, broker_id int", None),
        ("as_of_time timestamp, cluster string", ["as_of_time", "cluster"]),
        ("ERROR string, Broker_Id int", ["error as ERROR", "broker_id as Broker_Id"]),
    ):
        expected = brokers.selectExpr(*(columns or ["endpoints", "broker_id"]))
        found = read("brokers", schema)
        assert found.columns == expected.columns and rows_of(found) == rows_of(expected)
    assert rows_of(read("records", "data string, offset bigint")) == rows_of(
        spark.records(session, log).select("data", "offset")
    )
    for schema, text in (
        ("name string", "the table brokers has no column name; it has cluster_id, cluster"),
        ("broker_id string", "the column broker_id of brokers is int, not string"),
        ("cluster string NOT NULL", "the column cluster of brokers can be null: omit NOT NULL"),
        (StructType(), "the schema names no column of the table brokers"),
    ):
        with pytest.raises(PySparkException, match=text):
            read("brokers", schema).collect()


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


def test_remote_tables_of_two_replicas_are_those_of_the_one_that_ends_last(
    session: SparkSession, tmp_path: Path
) -> None:
    # Two brokers' copies, of which each goes further in one metadata partition; the audit compares them.
    topic = Topic("orders", 1)
    places = [tmp_path / f"broker-{number}" for number in (1, 2)]
    for number in (0, 1):
        records = topic.copied(number, f"a{number}", 0, 9), topic.copied(number, f"b{number}", 10, 19)
        LogOf(number).add(*records).save(places[number])
        LogOf(number).add(records[0]).save(places[1 - number])
    paths = tuple(map(str, places))
    loaded = load(Request(sources=paths, engine="local"))
    answers = [json.loads(json.dumps(plain_values(segment))) for segment in each_segment(loaded)]
    segments = rows_of(spark.remote_segments(session, paths))
    assert [{name: row[name] for name in answer} for row, answer in zip(segments, answers, strict=True)] == answers
    assert len(answers) == 4
    rows = rows_of(spark.remote_findings(session, paths))
    findings = [(row["finding"], row["subject"], row["message"]) for row in rows]
    assert findings == [(found.id, found.subject, found.message) for found in audit(loaded).findings]
    assert [finding for finding, *_ in findings] == ["stale-metadata-replica"] * 2
