"""Tables of the pipeline against the answers of the commands in process, on captured, odd and damaged logs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.findings import Finding
from kafkactl.metadata.api import dump_records, image_to_dict, lint, load_image, verify_logs
from kafkactl.metadata.api.image import LoadedImage
from kafkactl.metadata.dump.findings import EMPTY_LOG
from tests.spark.conftest import MOUNT
from tests.spark.logs import FIRST_SEGMENT, GOLDEN, write_all_logs, write_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def logs(root: Path) -> list[Path]:
    return write_all_logs(root)


def rows_of(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def time_of(milliseconds: int | None) -> datetime | None:
    """Return a time as `collect` gives it: in the zone of this process, without a zone."""
    if milliseconds is None or milliseconds < 0:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).astimezone().replace(
        tzinfo=None, microsecond=milliseconds % 1000 * 1000
    )  # fmt: skip


def by_folder(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["cluster"], []).append(row)
    return found


def folder_of(log: Path) -> str:
    """Return what `cluster_of` makes of the path."""
    return log.parent.name


CLUSTER_OF = "([^/]+)/__cluster_metadata-0"
TOKYO = timezone(timedelta(hours=9))


def loaded_logs(logs: Iterable[Path]) -> Iterator[tuple[str, LoadedImage | KafkactlError]]:
    for log in logs:
        try:
            loaded = load_image(log)
        except KafkactlError as error:
            yield folder_of(log), error
            continue
        empty = [InputError(f.message.removesuffix("."), id=f.id) for f in loaded.findings if f.id == EMPTY_LOG]
        yield folder_of(log), empty[0] if empty else loaded


def test_records_equal_the_lines_of_log_dump(session: SparkSession, root: Path, logs: list[Path]) -> None:
    frame = spark.records(session, str(root), cluster_of=CLUSTER_OF)
    found = by_folder(rows_of(frame.orderBy("file")))
    compared = 0
    for log in logs:
        expected = list(dump_records(log).records())
        rows = [row for row in found.get(folder_of(log), []) if row["error"] is None]
        assert len(rows) == len(expected), log
        for row, line in zip(rows, expected, strict=True):
            for name in ("file", "offset", "epoch", "kind", "type", "version"):
                assert row[name] == line[name], (log, name)
            assert row["time"] == time_of(line["timestamp_ms"]), log
            assert (None if row["data"] is None else json.loads(row["data"])) == line["data"], log
            assert row["batch_offset"] <= row["offset"]
            compared += 1
    assert compared > 10_000


def test_record_has_the_first_name_that_a_key_finds_it_by(session: SparkSession, root: Path, logs: list[Path]) -> None:
    log = next(log for log in logs if folder_of(log) == "4.4.0")
    rows = rows_of(spark.records(session, str(log)).where("key is not null"))
    sampled = {row["type"]: row for row in rows}.values()
    assert len(sampled) > 8
    for row in sampled:
        if row["key"] == "<redacted>" or "TokenRecord" in row["type"]:
            continue
        found = {line["offset"] for line in dump_records(log, key=row["key"]).records()}
        assert row["offset"] in found, row


def test_records_of_types_and_offsets_are_those_of_the_dump(session: SparkSession, logs: list[Path]) -> None:
    log = next(log for log in logs if folder_of(log) == "4.4.0")
    wanted = {"types": ["TopicRecord", "PartitionRecord"], "from_offset": 20, "to_offset": 60}
    rows = rows_of(spark.records(session, log, **wanted))
    assert [row["offset"] for row in rows] == [line["offset"] for line in dump_records(log, **wanted).records()]
    assert rows and {row["type"] for row in rows} == {"TopicRecord", "PartitionRecord"}
    topics = rows_of(spark.records(session, log, types="TopicRecord"))
    assert topics == rows_of(spark.records(session, log, types=["TopicRecord"])) != []
    shown = {}
    for secrets in (False, True):
        rows = rows_of(spark.records(session, log, types=["UserScramCredentialRecord"], secrets=secrets))
        lines = dump_records(log, types=["UserScramCredentialRecord"], show_secrets=secrets).records()
        shown[secrets] = [json.loads(row["data"]) for row in rows]
        assert shown[secrets] == [line["data"] for line in lines]
    assert {data["salt"] for data in shown[False]} == {"<redacted>"} != {data["salt"] for data in shown[True]}


def test_checkpoint_that_is_named_is_read(session: SparkSession, root: Path, logs: list[Path]) -> None:
    log = next(log for log in logs if folder_of(log) == "4.4.0")
    checkpoint = max(log.glob("*.checkpoint"))
    files = [checkpoint, log / FIRST_SEGMENT]
    for paths in ([checkpoint], files):
        expected = sorted((line["file"], line["offset"]) for line in dump_records(paths).records())
        for place in (str(root), MOUNT):
            rows = rows_of(spark.records(session, [str(path).replace(str(root), place) for path in paths]))
            assert sorted((row["file"].replace(place, str(root)), row["offset"]) for row in rows) == expected
    globbed = spark.records(session, f"{log}/*.*").count()
    assert globbed == len(list(dump_records(sorted(log.glob("*.*"))).records())) > len(expected)


def test_partitions_equal_the_image(session: SparkSession, root: Path, logs: list[Path]) -> None:
    found = by_folder(rows_of(spark.state(session, root, "partitions", cluster_of=CLUSTER_OF)))
    compared = 0
    for name, loaded in loaded_logs(logs):
        rows = found.pop(name, [])
        if isinstance(loaded, KafkactlError):
            assert [row["error"] for row in rows] == [f"{loaded.id}: {loaded.message}"], name
            continue
        place = loaded.provenance
        expected = [
            {
                "topic": topic["name"], "topic_id": topic["topicId"], "partition": held["partitionId"],
                "replicas": held["replicas"], "isr": held["isr"], "leader": held["leader"],
                "leader_epoch": held["leaderEpoch"], "partition_epoch": held["partitionEpoch"],
                "elr": held["eligibleLeaderReplicas"], "last_known_elr": held["lastKnownElr"],
                "adding_replicas": held["addingReplicas"], "removing_replicas": held["removingReplicas"],
                "directories": held["directories"],
                "leader_recovery_state": {0: "RECOVERED", 1: "RECOVERING"}.get(
                    held["leaderRecoveryState"], str(held["leaderRecoveryState"])
                ),
                "as_of_offset": place.offset, "as_of_epoch": place.epoch, "as_of_time": time_of(place.timestamp_ms),
                "cluster": name, "error": None,
            }
            for topic in image_to_dict(loaded.image)["topics"]
            for held in topic["partitions"]
        ]  # fmt: skip
        assert [{key: value for key, value in row.items() if key != "cluster_id"} for row in rows] == expected, name
        compared += len(rows)
    assert not found and compared > 3_000


def test_every_table_of_the_state_has_the_parts_of_the_image(session: SparkSession, logs: list[Path]) -> None:
    # One log of the newest release has them all but voters.
    log = next(log for log in logs if folder_of(log) == "4.4.0")
    image = image_to_dict(load_image(log).image)
    parts = {
        "topics": image["topics"], "brokers": image["brokers"], "controllers": image["controllers"],
        "features": image["features"], "acls": image["acls"], "scram_users": image["scram"],
        "delegation_tokens": image["delegation_tokens"], "voters": image["voters"] or [],
        "configs": [name for config in image["configs"] for name in config["configs"]],
        "quotas": [key for quota in image["client_quotas"] for key in quota["quotas"]],
    }  # fmt: skip
    rows = {table: rows_of(spark.state(session, log, table)) for table in parts}
    assert {table: len(held) for table, held in rows.items()} == {table: len(part) for table, part in parts.items()}
    assert {row["name"]: row["level"] for row in rows["features"]} == image["features"]
    broker, held = rows["brokers"][0], image["brokers"][0]
    assert (broker["broker_id"], broker["rack"], broker["directories"]) == (
        held["brokerId"], held["rack"], held["logDirs"],
    )  # fmt: skip
    assert {endpoint["security_protocol"] for endpoint in broker["endpoints"]} == {"PLAINTEXT", "SASL_PLAINTEXT"}
    assert {row["operation"] for row in rows["acls"]} <= {"READ", "WRITE", "DESCRIBE", "ALL", "ALTER"}
    assert {row["mechanism"] for row in rows["scram_users"]} == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert all(row["expiration_time"] > row["issue_time"] for row in rows["delegation_tokens"])
    assert "resourceName" not in rows["configs"][0] and rows["configs"][0]["resource_type"] in ("TOPIC", "BROKER")


def ids_of(errors: Iterable[str]) -> list[str]:
    return [error.partition(":")[0] for error in errors]


def findings_of(log: Path) -> Iterator[Finding | KafkactlError]:
    try:
        yield from verify_logs([log]).findings
    except KafkactlError as error:
        yield error
    try:
        yield from lint(load_image(log, whole=True), log).findings
    except KafkactlError as error:
        yield error


def test_findings_are_those_of_verify_and_lint(session: SparkSession, root: Path, logs: list[Path]) -> None:
    found = by_folder(rows_of(spark.findings(session, root, cluster_of=CLUSTER_OF)))
    errors = by_folder(rows_of(spark.errors(session, root, cluster_of=CLUSTER_OF)))
    compared = 0
    for log in logs:
        expected, failures = {}, {}
        for found_in in findings_of(log):
            if isinstance(found_in, KafkactlError):
                failures[f"{found_in.id}: {found_in.message}"] = None
                continue
            evidence = json.dumps(dict(found_in.evidence))
            expected[found_in.id, found_in.severity.value, found_in.subject, found_in.message, evidence] = None
        rows = found.get(folder_of(log), [])
        assert [
            (row["finding"], row["severity"], row["subject"], row["message"], json.dumps(json.loads(row["evidence"])))
            for row in rows
            if row["error"] is None
        ] == list(expected), log
        assert [row["error"] for row in rows if row["error"] is not None] == list(failures), log
        empty = [] if EMPTY_LOG not in (finding for finding, *_ in expected) else [EMPTY_LOG]
        found_errors = [row["error"] for row in errors.get(folder_of(log), [])]
        assert [*failures, *empty] == [*found_errors[: len(failures)], *ids_of(found_errors[len(failures) :])], log
        assert all(row["source"] == str(log) for row in rows)
        compared += len(rows)
    assert compared > 40


def test_log_without_a_record_is_an_error_of_its_cluster(session: SparkSession, root: Path) -> None:
    # A table without rows would mean a cluster without topics. A directory that was formatted has its voters.
    contents = {
        "zeros": bytes(4096),
        "text": b"[2026-11-28 03:00:00,000] INFO plain text of another log\n" * 99,
        "nothing": b"",
    }
    for name, data in contents.items():
        write_log(root / "unused", name, data)
    formatted = root / "formatted" / "__cluster_metadata-0"
    formatted.mkdir(parents=True)
    shutil.copyfile(
        GOLDEN.parent / "first-4.4.0-standalone.checkpoint.bin", formatted / f"{0:020d}-{0:010d}.checkpoint"
    )
    assert [row["error"] for row in rows_of(spark.state(session, formatted, "voters"))] == [None]
    for place in (str(root / "unused"), f"{MOUNT}/unused"):
        for read in (
            lambda at: spark.state(session, at, "topics"),
            lambda at: spark.changes(session, at),
            lambda at: spark.errors(session, at),
            lambda at: spark.predictions(session, at, [{"name": "replay"}]),
        ):
            rows = rows_of(read(place))
            assert {row["cluster"] for row in rows} == {f"id-{name}" for name in contents}
            assert ids_of(row["error"] for row in rows) == [EMPTY_LOG] * len(contents)
            assert {row.get("node_id", 7) for row in rows} == {7}
        found = by_folder(rows_of(spark.findings(session, place)))
        assert all(EMPTY_LOG in {row["finding"] for row in rows} for rows in found.values()) and len(found) == 3
    shutil.rmtree(root / "unused")
    shutil.rmtree(root / "formatted")


def test_files_that_workers_cannot_open_give_the_same_rows(session: SparkSession, root: Path, logs: list[Path]) -> None:
    mounted = str(MOUNT)
    for read in (
        lambda place: spark.state(session, [f"{place}/[34].*", f"{place}/torn"], "partitions", cluster_of=CLUSTER_OF),
        lambda place: spark.findings(session, [f"{place}/4.*", f"{place}/flipped-*", f"{place}/empty"]),
        lambda place: spark.records(session, f"{place}/4.4*/__cluster_metadata-0"),
    ):
        here = sorted(map(str, rows_of(read(str(root)))))
        there = sorted(map(str, rows_of(read(mounted))))
        assert [row.replace(mounted, str(root)) for row in there] == here and here


def test_session_is_as_before_also_after_an_error(session: SparkSession, root: Path, logs: list[Path]) -> None:
    from pyspark.errors import PythonException

    before = dict(session.sparkContext.getConf().getAll()), session.conf.getAll
    with pytest.raises(PythonException, match="no-metadata-log"):
        spark.findings(session, str(root / "nothing"), on_error="raise").collect()
    assert spark.state(session, logs[0], "features").count() > 0
    assert (dict(session.sparkContext.getConf().getAll()), session.conf.getAll) == before
    assert session.sparkContext.appName == "a caller's own" and session.range(3).count() == 3


def test_paths_without_a_log_are_rows_of_error(session: SparkSession, root: Path, logs: list[Path]) -> None:
    rows = rows_of(spark.state(session, [str(root / "nothing"), str(logs[0])], "features"))
    assert [row["error"] is None for row in rows].count(False) == 1
    assert rows_of(spark.errors(session, str(root / "nothing")))[0]["error"].startswith("no-metadata-log: ")


def test_replicas_of_a_cluster_speak_once(session: SparkSession, tmp_path: Path) -> None:
    # The state is that of the log that ends last, under whatever path; findings are of each.
    from tests.dryrun.odd_logs import CASES, encoded

    batches = CASES["ended"]
    write_log(tmp_path, "a 1", encoded(batches[:1]), node_id=1, cluster_id="one")
    longest = write_log(tmp_path, "b 2", encoded(batches), node_id=2, cluster_id="one")
    rows = rows_of(spark.state(session, tmp_path, "partitions"))
    place = load_image(longest).provenance
    assert {(row["cluster"], row["as_of_offset"]) for row in rows} == {("one", place.offset)}
    assert len(rows) == load_image(longest).image.partition_count()
    nodes = {row["node_id"] for row in rows_of(spark.records(session, tmp_path))}
    assert nodes == {1, 2}


def test_state_is_read_at_an_earlier_point(session: SparkSession, logs: list[Path]) -> None:
    log = next(log for log in logs if folder_of(log) == "4.4.0")
    image = load_image(log, at=40)
    rows = rows_of(spark.state(session, log, "topics", at_offset=40))
    assert {row["as_of_offset"] for row in rows} == {40} and len(rows) == len(image.image.topics)
    assert image.position is not None
    moment = datetime.fromtimestamp(image.position.timestamp_ms / 1000, UTC)
    timed = load_image(log, at_time_ms=image.position.timestamp_ms)
    plain = moment.replace(tzinfo=None)  # UTC, whatever the zones of session and process are
    later = moment + timedelta(microseconds=999)  # before the next millisecond
    for time in (moment, moment.isoformat(), plain, plain.isoformat(), later, moment.astimezone(TOKYO)):
        found = rows_of(spark.state(session, log, "topics", at_time=time))
        assert {row["as_of_offset"] for row in found} == {timed.provenance.offset}
    for at, error in (({"at_offset": -1}, ValueError), ({"at_time": moment.date()}, InputError)):
        with pytest.raises(error):
            spark.state(session, log, "topics", **at)
    # The type of a time is the same in a session whose times have no zone by default.
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    zoned = spark.state(session, log, "topics").schema["as_of_time"].dataType.simpleString()
    session.conf.unset("spark.sql.timestampType")
    assert zoned == "timestamp"
