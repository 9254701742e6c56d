"""`kafkactl log image, diff, history, browse, lint` on the captured logs of real clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import decode_batches, decode_header, encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.commands.captured_logs import RELEASES, unpacked, with_hole

HOSTILE_LINES = {
    "log image": ("{log}", "{log} --full", "--bundle {bundle}"),
    "log diff": ("{log}@2 {log}",),
    "log history": ("{log}", "{log} --topic {text}", "{log} --config broker:1"),
    "log browse": ("{log} /image/configs", "{log} /{text}", "{log} /image/configs/BROKER:1"),
}

HOSTILE_PATHS = {
    "log diff": [
        ("before", "{} {log}", (2,), ("device", "fifo")),
        ("after", "{log} {}", (2,), ("device", "fifo")),
        ("--bundle", "{log} --bundle {}"),
    ],
    "log browse": [
        ("words", "{} /image", (2,), ("device", "fifo")),
        ("--bundle", "--bundle {}"),
    ],
    "log history": [
        ("--bundle", "--topic t --bundle {}"),
    ],
}

SEGMENT = "00000000000000000000.log"
SECRETS = ("salt", "storedKey", "serverKey")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return unpacked("4.4.0", tmp_path)


@pytest.fixture
def last(log: Path) -> int:
    """Return the last offset of the log."""
    batches = list(decode_batches((log / SEGMENT).read_bytes()))
    return batches[-1].header.last_offset


def image(kafkactl, *arguments: object) -> dict[str, Any]:
    run = kafkactl("log", "image", *arguments, "-o", "json")
    assert run.code == 0, run.stdout + run.stderr
    return run.json


@pytest.mark.parametrize("release", RELEASES)
def test_snapshot_and_log_come_to_the_same(kafkactl, tmp_path: Path, release: str):
    # The state at a snapshot's offset, out of the log alone, is that of the snapshot.
    folder = unpacked(release, tmp_path)
    for checkpoint in sorted(folder.glob("*.checkpoint")):
        offset = int(checkpoint.name[:20])
        of_snapshot = image(kafkactl, checkpoint)
        of_log = image(kafkactl, folder / SEGMENT, "--at", offset - 1)
        assert of_snapshot["offset"] == of_log["offset"] == offset - 1
        assert of_log["snapshot"] is None
        before = {**of_log["image"], "voters": None, "kraft_version": None, "features": None}
        assert before == {**of_snapshot["image"], "voters": None, "kraft_version": None, "features": None}
    whole, alone = image(kafkactl, folder), image(kafkactl, folder / SEGMENT)
    assert whole["snapshot"] is not None
    assert whole["image"]["topics"] == alone["image"]["topics"]


def test_image_hides_secrets_unless_they_are_requested(kafkactl, log: Path):
    hidden, shown = image(kafkactl, log), image(kafkactl, log, "--show-secrets")
    assert hidden["sha256"] == shown["sha256"]
    assert {credential[name] for credential in hidden["image"]["scram"] for name in SECRETS} == {"<redacted>"}
    assert "<redacted>" not in json.dumps(shown)
    assert {token["tokenId"] for token in hidden["image"]["delegation_tokens"]} == {"<redacted>"}
    as_yaml = yaml.safe_load(kafkactl("log", "image", log, "-o", "yaml").stdout)
    assert as_yaml == {**hidden, "findings": []}


def test_image_is_shown_as_text(kafkactl, log: Path, last: int):
    text = kafkactl("log", "image", log.parent).stdout
    assert f"The state after offset {last}" in text
    assert "metadata.version" in text


def test_image_is_shown_at_a_point_in_time(kafkactl, log: Path):
    whole = image(kafkactl, log)
    first, second = (int(path.name[:20]) for path in sorted(log.glob("*.checkpoint"))[:2])
    middle = image(kafkactl, log, "--at", second - 2)
    assert middle["offset"] == second - 2
    assert Path(middle["snapshot"]).name.startswith(f"{first:020}")
    at_time = image(kafkactl, log, "--at-time", middle["timestamp_ms"])
    assert at_time["timestamp_ms"] == middle["timestamp_ms"]
    assert image(kafkactl, log, "--at-time", whole["timestamp_ms"])["image"] == whole["image"]
    early = kafkactl("log", "image", log, "--at-time", "2001-01-01", "-o", "json")
    assert (early.code, early.error["id"]) == (2, "offset-not-in-log")


@pytest.mark.parametrize(
    ("arguments", "error_id"),
    [
        (("--at", "100000"), "offset-not-in-log"),
        (("--at", "1", "--at-time", "5"), "wrong-usage"),
        (("--at-time", "soon"), "invalid-option-value"),
    ],
)
def test_invalid_points_of_a_log_are_refused(kafkactl, log: Path, arguments: tuple[str, ...], error_id: str):
    run = kafkactl("log", "image", log, *arguments, "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (2, "", error_id)


def test_log_that_begins_late_needs_its_snapshot(kafkactl, log: Path, last: int):
    noop = encode_batch(
        [(None, encode_record(message("NoOpRecord"), 0, {}))],
        base_offset=last + 1,
        timestamp_ms=1,
        partition_leader_epoch=1,
    )
    (log / SEGMENT).rename(log.parent / SEGMENT)
    later = log / f"{last + 1:020}.log"
    later.write_bytes(noop)
    run = kafkactl("log", "image", log, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "offset-not-in-log")
    assert kafkactl("log", "image", log.parent / SEGMENT, later, "-o", "json").code == 0


def test_missing_or_damaged_parts_of_a_log_are_reported(kafkactl, log: Path):
    segment = log / SEGMENT
    data = segment.read_bytes()
    segment.write_bytes(data[:-3])
    torn = kafkactl("log", "image", log, "-o", "json")
    assert (torn.code, [finding["id"] for finding in torn.json["findings"]]) == (0, ["torn-tail"])
    hurt = bytearray(data)
    hurt[-200] ^= 1
    segment.write_bytes(bytes(hurt))
    damaged = kafkactl("log", "image", log, "-o", "json")
    assert damaged.code == 7
    assert "undecodable-record" in [finding["id"] for finding in damaged.json["findings"]]
    alone = log.parent / "00000000000000000500.log"
    alone.write_bytes(encode_batch([(None, b"\1\x14\0\0")], base_offset=500, timestamp_ms=1))
    gap = kafkactl("log", "image", alone, "-o", "json")
    assert (gap.code, gap.json["findings"][0]["id"]) == (7, "metadata-log-gap")


def test_snapshot_without_its_end_is_not_the_whole_state(kafkactl, log: Path):
    newest = max(log.glob("*.checkpoint"))
    data = newest.read_bytes()
    starts = [record.header.position for record in decode_batches(data)]
    for end in (starts[-1], starts[1], 0):
        newest.write_bytes(data[:end])
        for verb in ("image", "lint", "browse"):
            run = kafkactl("log", verb, newest, "-o", "json")
            assert (run.code, run.json["findings"][0]["id"]) == (7, "checkpoint-truncated"), verb
    newest.write_bytes(data)
    assert kafkactl("log", "lint", newest, "-o", "json").code == 0


def hurt_at(log: Path, wanted: int) -> int:
    """Flip a bit in the first batch from this offset on; its base offset."""
    data = bytearray((log / SEGMENT).read_bytes())
    starts = [(batch.header.base_offset, batch.header.position) for batch in decode_batches(bytes(data))]
    offset, at = next(start for start in starts if start[0] >= wanted)
    data[at + 70] ^= 1
    (log / SEGMENT).write_bytes(bytes(data))
    return offset


def test_damage_ends_the_state_as_it_ends_the_log_for_a_node(kafkactl, log: Path, last: int):
    whole = image(kafkactl, log)
    bad = hurt_at(log, 250)
    for verb, more in (("image", ()), ("lint", ())):
        run = kafkactl("log", verb, log, *more, "-o", "json")
        assert (run.code, run.json["offset"]) == (7, bad - 1), verb
        reported = next(finding for finding in run.json["findings"] if finding["id"] == "undecodable-record")
        assert (reported["severity"], reported["evidence"]["offset"], reported["evidence"]["readable_up_to"]) == (
            "blocker", bad, last,
        )  # fmt: skip
        assert f"Offset {bad} was due there" in reported["message"] and "--past-damage" in reported["message"]
        past = kafkactl("log", verb, log, "--past-damage", "-o", "json")
        assert (past.code, past.json["offset"]) == (7, last), verb
        assert any(f"record {bad}:" in finding["message"] for finding in past.json["findings"])
    state = kafkactl("log", "image", log, "-o", "json").json
    (log / SEGMENT).write_bytes((log / SEGMENT).read_bytes()[: position_of(log, bad)])
    assert image(kafkactl, log)["sha256"] == state["sha256"] != whole["sha256"]


def position_of(log: Path, offset: int) -> int:
    data = (log / SEGMENT).read_bytes()
    found = walk_runs([data])
    heads = [decode_header(run.data, at) for run in found if isinstance(run, BatchRun) for at in run.positions]
    return next(head.position + head.size_bytes for head in reversed(heads) if head.base_offset < offset)


def test_damage_below_a_snapshot_leaves_the_snapshot_alone(kafkactl, log: Path):
    # Kafka cuts the log, finds the snapshot beyond its end and throws away what is left of the log.
    newest = max(log.glob("*.checkpoint"))
    alone = image(kafkactl, newest)
    bad = hurt_at(log, 100)
    for verb in ("image", "lint"):
        run = kafkactl("log", verb, log, "-o", "json")
        assert (run.code, run.json["offset"]) == (7, int(newest.name[:20]) - 1)
        reported = next(finding for finding in run.json["findings"] if finding["id"] == "undecodable-record")
        assert (reported["severity"], reported["evidence"]["snapshot_end"]) == ("blocker", int(newest.name[:20]))
    assert kafkactl("log", "image", log, "-o", "json").json["sha256"] == alone["sha256"]
    earlier = kafkactl("log", "image", log, "--at", "120", "-o", "json")
    assert (earlier.code, earlier.json["offset"]) == (7, bad - 1)
    assert "The state at offset 120" in earlier.json["findings"][0]["message"]
    within = kafkactl("log", "image", log, "--at", "95", "-o", "json")
    assert (within.code, within.json["findings"]) == (0, [])


def test_damage_in_a_covered_segment_is_reported(kafkactl, log: Path):
    data = (log / SEGMENT).read_bytes()
    at = next(record.header.position for record in decode_batches(data) if record.header.base_offset >= 200)
    start = next(record.header.base_offset for record in decode_batches(data) if record.header.base_offset >= 200)
    (log / SEGMENT).write_bytes(data[:at])
    (log / f"{start:020}.log").write_bytes(data[at:])
    bad = hurt_at(log, 100)
    run = kafkactl("log", "image", log, "-o", "json")
    assert (run.code, run.json["offset"]) == (7, 234)
    assert run.json["findings"][0]["evidence"]["offset"] == bad


def test_damage_before_a_snapshot_at_the_end_is_ignored(kafkactl, log: Path):
    newest = max(log.glob("*.checkpoint"))
    end = int(newest.name[:20])
    data = (log / SEGMENT).read_bytes()
    at = next(record.header.position for record in decode_batches(data) if record.header.base_offset >= end)
    (log / SEGMENT).write_bytes(data[:at])
    hurt_at(log, 100)
    run = kafkactl("log", "image", log, "-o", "json")
    assert (run.code, run.json["sha256"]) == (0, image(kafkactl, newest)["sha256"])
    assert [(finding["id"], finding["severity"]) for finding in run.json["findings"]] == [
        ("undecodable-record", "warning")
    ]


def test_damage_is_reported_by_verbs_that_continue_after_it(kafkactl, log: Path, last: int):
    hurt_at(log, 250)
    shown = kafkactl("log", "browse", log, "/", "-o", "json")
    assert shown.code == 7 and "ends the log here" in shown.stdout
    history = kafkactl("log", "history", log, "--feature", "metadata.version")
    assert history.code == 7 and "ends the log here" in history.stdout + history.stderr
    dumped = kafkactl("log", "dump", log)
    assert dumped.code == 7 and "ends the log here" in dumped.stdout + dumped.stderr
    assert lines(dumped.stdout)[-1]["offset"] == last


def test_diff_ends_at_the_damage(kafkactl, log: Path, tmp_path: Path):
    sound = unpacked("4.4.0", tmp_path, "sound")
    bad = hurt_at(log, 250)
    run = kafkactl("log", "diff", log, f"{sound}@{bad - 1}", "-o", "json")
    assert (run.code, run.json["differences"]) == (7, [])
    assert kafkactl("log", "diff", log, sound, "-o", "json").json["differences"]


def test_dryrun_ends_at_the_damage(kafkactl, log: Path, last: int):
    bad = hurt_at(log, 250)
    state = kafkactl("log", "image", log, "-o", "json").json["sha256"]
    run = kafkactl("dryrun", "replay", log, "-o", "json")
    assert (run.code, run.json["source"]["last_offset"]) == (6, bad - 1)
    assert run.json["effects"]["image_sha256"] == state
    past = kafkactl("dryrun", "replay", log, "--past-damage", "-o", "json")
    assert (past.code, past.json["source"]["last_offset"]) == (6, last)


@pytest.fixture
def holed(log: Path) -> Path:
    with_hole(log, 40, 60)
    return log


def test_records_that_are_missing_below_a_snapshot(kafkactl, holed: Path):
    # The state is known nevertheless; every answer that would include them reports that they are missing.
    whole = image(kafkactl, holed)
    lint = kafkactl("log", "lint", holed, "-o", "json")
    assert (lint.code, lint.json["snapshot"]) == (0, whole["snapshot"])
    gap = next(finding for finding in lint.json["findings"] if finding["id"] == "metadata-log-gap")
    assert gap["severity"] == "warning"
    history = kafkactl("log", "history", holed, "--feature", "metadata.version")
    assert history.code == 7 and "metadata-log-gap" in history.stderr + history.stdout
    dry = kafkactl("dryrun", "restart", holed, "-o", "json")
    assert (dry.code, dry.json["verdict"]) == (0, "ok")
    assert "offset-gap" in {finding["id"] for finding in dry.json["findings"]}


def test_missing_records_without_a_snapshot_are_a_blocker(kafkactl, holed: Path):
    for path in holed.glob("*.checkpoint"):
        path.unlink()
    lint = kafkactl("log", "lint", holed, "-o", "json")
    assert lint.code == 7
    assert "blocker" in {
        finding["severity"] for finding in lint.json["findings"] if finding["id"] == "metadata-log-gap"
    }
    dry = kafkactl("dryrun", "replay", holed, "-o", "json")
    assert (dry.code, dry.json["verdict"]) == (6, "unknown")


def test_two_folders_are_two_logs(kafkactl, log: Path):
    run = kafkactl("log", "image", log, log.parent, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "several-logs")


def test_unreadable_log_is_not_reported_as_empty(kafkactl, tmp_path: Path):
    (tmp_path / SEGMENT).write_bytes(b"\xfe" * 4_000)
    run = kafkactl("log", "image", tmp_path)
    assert run.code == 7 and "empty" not in run.stdout
    assert "Nothing of the log could be read" in run.stdout and "record -1" not in run.stdout
    run = kafkactl("dryrun", "broker-loss", tmp_path, "--brokers", "1", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "unknown-broker")
    assert "not read whole" in run.error["cause"]


def test_empty_log_has_no_state(kafkactl, tmp_path: Path):
    (tmp_path / SEGMENT).write_bytes(b"")
    run = kafkactl("log", "image", tmp_path, "-o", "json")
    assert (run.code, run.json["offset"], run.json["counts"]["topics"]) == (6, None, 0)
    assert "empty" in kafkactl("log", "image", tmp_path).stdout


def test_differences_between_two_points_are_shown(kafkactl, log: Path, last: int):
    run = kafkactl("log", "diff", f"{log}@66", log, "-o", "json")
    assert run.code == 0
    answer = run.json
    assert (answer["before"]["offset"], answer["after"]["offset"]) == (66, last)
    assert sum(answer["counts"].values()) == len(answer["differences"]) > 5
    back = kafkactl("log", "diff", log, f"{log}@66", "-o", "json").json["differences"]
    swapped = {"added": "removed", "removed": "added", "changed": "changed"}
    assert [(difference["key"], swapped[difference["change"]]) for difference in back] == [
        (difference["key"], difference["change"]) for difference in answer["differences"]
    ]
    text = kafkactl("log", "diff", f"{log}@66", log).stdout
    assert f"differences between offset 66 and offset {last}" in text


def test_diff_hides_secrets(kafkactl, log: Path):
    run = kafkactl("log", "diff", f"{log}@4", log, "-o", "jsonl")
    scram = [line for line in lines(run.stdout) if line["part"] == "scram"]
    assert scram
    assert {difference["after"][name] for difference in scram for name in SECRETS} == {"<redacted>"}
    tokens = [line for line in lines(run.stdout) if line["part"] == "delegation_tokens"]
    assert {token["key"] for token in tokens} == {"<redacted>"}


def test_equal_states_have_no_difference(kafkactl, log: Path):
    answer = kafkactl("log", "diff", log, log.parent, "-o", "json").json
    assert answer["differences"] == []
    assert "Equal" in kafkactl("log", "diff", log, log.parent).stdout
    assert kafkactl("log", "diff", log).code == 2


def test_history_is_shown_of_a_topic_and_of_a_partition(kafkactl, log: Path):
    whole = lines(kafkactl("log", "history", log, "--topic", "late").stdout)
    assert whole[0]["type"] == "TopicRecord"
    assert {event["applied"] for event in whole} == {True}
    ids = {event["data"]["topicId"] for event in whole if "topicId" in event["data"]}
    assert len(ids) == 1
    by_id = lines(kafkactl("log", "history", log, "--topic", ids.pop()).stdout)
    assert [event["offset"] for event in by_id] == [
        event["offset"] for event in whole if event["type"] not in ("ConfigRecord",)
    ]
    partition = lines(kafkactl("log", "history", log, "--topic", "late", "--partition", "0").stdout)
    assert {record["data"].get("partitionId", 0) for record in partition} == {0}
    assert len(partition) < len(whole)


def test_history_ends_with_the_state_of_the_image(kafkactl, log: Path):
    # The last word of a partition's history is its state.
    for topic in image(kafkactl, log)["image"]["topics"]:
        for partition in topic["partitions"]:
            events = lines(
                kafkactl(
                    "log", "history", log, "--topic", topic["name"], "--partition", partition["partitionId"]
                ).stdout
            )
            leaders = [event["data"]["leader"] for event in events if "leader" in event["data"]]
            changes = sum(event["type"] == "PartitionChangeRecord" for event in events)
            assert leaders[-1] == partition["leader"]
            assert partition["partitionEpoch"] >= changes  # and one more for each ClearElrRecord that took something


@pytest.mark.parametrize(
    ("arguments", "types"),
    [
        (("--broker", "1"), {"RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "ConfigRecord"}),
        (("--feature", "metadata.version"), {"FeatureLevelRecord"}),
        (("--controller", "1"), {"RegisterControllerRecord"}),
        (("--config", "topic:late"), {"ConfigRecord"}),
    ],
)
def test_history_is_shown_of_other_keys(kafkactl, log: Path, arguments: tuple[str, str], types: set[str]):
    found = {event["type"] for event in lines(kafkactl("log", "history", log, *arguments).stdout)}
    assert found
    assert found <= types


def test_history_of_nothing_is_reported(kafkactl, log: Path):
    run = kafkactl("log", "history", log, "--broker", "77")
    assert (run.code, run.stdout) == (0, "")
    assert "No record" in run.stderr


def test_name_like_those_in_the_log_is_suggested(kafkactl, log: Path):
    assert "Did you mean 'late'?" in kafkactl("log", "history", log, "--topic", "lat").stderr
    assert "Did you mean" not in kafkactl("log", "history", log, "--topic", "nothing-of-the-kind").stderr


def test_history_without_a_key_or_with_two_is_refused(kafkactl, log: Path):
    assert kafkactl("log", "history", log).code == 2
    assert kafkactl("log", "history", log, "--topic", "a", "--broker", "1").code == 2
    assert kafkactl("log", "history", log, "--broker", "1", "--partition", "0").code == 2


@pytest.mark.parametrize(
    "option", [("--broker", "one"), ("--controller", "-1"), ("--config", "late"), ("--config", "x:late")]
)
def test_keys_of_no_entity_are_refused(kafkactl, log: Path, option: tuple[str, str]):
    run = kafkactl("log", "history", log, *option, "-o", "json")
    assert (run.code, run.stdout, run.error["id"]) == (2, "", "invalid-option-value")
    assert option[0] in run.error["message"]


def test_transaction_that_was_aborted_or_is_open(kafkactl, tmp_path: Path):
    def made(name: str, **data: object) -> tuple[None, bytes]:
        return None, encode_record(message(name), 0, data)

    config = {"ResourceType": 2, "ResourceName": "t", "Name": "retention.ms"}
    records = [
        made("ConfigRecord", **config, Value="1"),
        made("BeginTransactionRecord"),
        made("ConfigRecord", **config, Value="2"),
        made("AbortTransactionRecord"),
        made("BeginTransactionRecord"),
        made("ConfigRecord", **config, Value="3"),
        made("EndTransactionRecord"),
        made("BeginTransactionRecord"),
        made("ConfigRecord", **config, Value="4"),
    ]
    (tmp_path / SEGMENT).write_bytes(encode_batch(records, base_offset=0, timestamp_ms=1))
    run = kafkactl("log", "history", tmp_path, "--config", "topic:t:retention.ms", "-o", "json")
    assert [(record["data"]["value"], record["applied"]) for record in run.json["records"]] == [
        ("1", True), ("2", False), ("3", True), ("4", None),
    ]  # fmt: skip
    linted = kafkactl("log", "lint", tmp_path, "-o", "json").json
    assert "aborted-transaction" in [finding["id"] for finding in linted["findings"]]


def test_configuration_goes_with_its_topic(kafkactl, log: Path):
    removed = next(line for line in lines(kafkactl("log", "dump", log).stdout) if line["type"] == "RemoveTopicRecord")
    made = next(
        line
        for line in lines(kafkactl("log", "dump", log, "--type", "TopicRecord").stdout)
        if line["data"]["topicId"] == removed["data"]["topicId"]
    )
    reported = lines(kafkactl("log", "history", log, "--config", f"topic:{made['data']['name']}").stdout)
    assert reported[-1]["offset"] == removed["offset"]


def test_path_is_shown_without_a_terminal(kafkactl, log: Path):
    root = kafkactl("log", "browse", log, "-o", "json").json
    assert (root["path"], root["type"], root["names"]) == ("/", "directory", ["image"])
    names = kafkactl("log", "browse", log, "/image/topics/byName").stdout.split()
    assert "late" in names
    partition = kafkactl("log", "browse", log, "image/topics/byName/late/0", "-o", "json").json
    assert partition["type"] == "file"
    assert partition["value"]["partitionId"] == 0
    wrong = kafkactl("log", "browse", log, "/image/topics/byNam", "-o", "json")
    assert (wrong.code, wrong.error["id"]) == (2, "no-such-path")
    assert "Did you mean byName?" in wrong.error["message"]
    assert kafkactl("log", "browse").code == 2


def test_browsing_hides_secrets(kafkactl, log: Path):
    names = kafkactl("log", "browse", log, "/image/scram/SCRAM-SHA-256").stdout.split()
    path = f"/image/scram/SCRAM-SHA-256/{names[0]}"
    assert kafkactl("log", "browse", log, path, "-o", "json").json["value"]["storedKey"] == "<redacted>"
    shown = kafkactl("log", "browse", log, path, "--show-secrets", "-o", "json").json["value"]
    assert shown["storedKey"] != "<redacted>"


def test_suspicious_state_is_reported_by_lint(kafkactl, log: Path):
    run = kafkactl("log", "lint", log, "-o", "json")
    assert run.code == 0
    assert "leaderless-partition" in {finding["id"] for finding in run.json["findings"]}
    assert run.json["records"]["NoOpRecord"] > 50  # of the whole log, not only of what follows the snapshot
    assert "findings in" in kafkactl("log", "lint", log).stdout


def test_person_walks_through_the_tree(log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    from kafkactl.commands.log.browse import _Session
    from kafkactl.metadata.image.tree import tree_of
    from kafkactl.metadata.io.image import Point, load_image
    from kafkactl.metadata.io.source import open_source

    loaded = load_image(open_source(str(log)), Point())
    typed = iter(
        [
            "ls", "cd image/topics/byName", "pwd", "ls", "cd late", "cat name", "cat ..", "cd 0", "cat nothing", "",
            "what", 'cat "unclosed', "tree /image/features", "find / metadata.version", "cd", "pwd", "exit",
        ]
    )  # fmt: skip
    monkeypatch.setattr("builtins.input", lambda _prompt: next(typed))
    _Session(tree_of(loaded.image, provenance={}, hide=True)).run()
    out, talk = capsys.readouterr()
    reported = out.splitlines()
    assert reported[:2] == ["image", "/image/topics/byName"]
    assert "late" in reported[2].split()
    assert reported[3] == '"late"'
    assert "/image/features/metadata.version" in reported
    assert reported[-2:] == ["/image/features/metadata.version", "/"]
    assert "is a folder" in talk
    assert "is a file" in talk
    assert "has no 'nothing'" in talk
    assert talk.count("ls [PATH]") == 2
    assert "No closing quotation" in talk


_VERBS = (
    ("log", "image"), ("log", "lint"), ("log", "browse"), ("log", "dump"), ("log", "history", "--broker", "1"),
    ("dryrun", "replay"), ("dryrun", "restart"), ("dryrun", "growth"), ("dryrun", "report"),
    ("dryrun", "broker-loss", "--worst", "1"), ("dryrun", "elect-leaders"), ("dryrun", "rolling-restart"),
)  # fmt: skip


@pytest.mark.parametrize("content", ["empty", "zeros", "torn", "control"])
@pytest.mark.parametrize("words", _VERBS, ids=lambda words: words[1])
def test_answer_about_nothing_is_not_a_success(kafkactl, log: Path, words: tuple[str, ...], content: str):
    data = (log / SEGMENT).read_bytes()
    first = next(iter(decode_batches(data))).header
    assert first.is_control
    (log / SEGMENT).write_bytes(
        {"empty": b"", "zeros": bytes(4096), "torn": data[:30], "control": data[: first.size_bytes]}[content]
    )
    for path in log.glob("*.checkpoint"):
        path.unlink()
    run = kafkactl(*words[:2], log, *words[2:], "-o", "json")
    if (words[1], content) == ("dump", "control"):
        assert run.code == 0
        return
    assert run.code == 6, run.stdout + run.stderr
    assert "empty-metadata-log" in run.stdout + run.stderr


def test_diff_with_an_empty_side_is_unknown(kafkactl, log: Path, tmp_path: Path):
    empty = tmp_path / "empty" / "__cluster_metadata-0"
    empty.mkdir(parents=True)
    (empty / SEGMENT).write_bytes(b"")
    run = kafkactl("log", "diff", log, empty, "-o", "json")
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (6, ["empty-metadata-log"])


def test_state_at_an_early_offset_may_be_empty(kafkactl, log: Path):
    assert image(kafkactl, log, "--at", "0")["findings"] == []
