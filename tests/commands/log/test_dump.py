"""`kafkactl log dump`: lines, other formats, filters, damage, and sources that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kafkactl.protocol.record_batch import encode_batch
from tests.metadata.goldens import GOLDEN, golden

HOSTILE_LINES = {"log dump": ("{log}", "{log} --key {text}", "--bundle {bundle}")}

SEGMENT = GOLDEN / "segment-4.4.0-standalone.log.bin"
BOOTSTRAP = GOLDEN / "bootstrap-4.3.1-scram.checkpoint.bin"


def lines(run) -> list[dict]:
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    (log / "00000000000000000000.log").write_bytes(golden("segment-4.4.0-standalone.log.bin"))
    (log / "00000000000000000025-0000000001.checkpoint").write_bytes(golden("snapshot-4.4.0-standalone.checkpoint.bin"))
    (log / "00000000000000000025.snapshot").write_bytes(b"of producers")
    return log


def test_dump_prints_the_documented_lines(kafkactl):
    run = kafkactl("log", "dump", SEGMENT)
    assert run.code == 0
    assert run.stderr == ""
    first, *rest = lines(run)
    assert list(first) == ["offset", "epoch", "timestamp_ms", "kind", "type", "version", "data", "file"]
    assert (first["kind"], first["type"], first["data"]["leaderId"]) == ("control", "LeaderChange", 1)
    assert [line["offset"] for line in rest] == list(range(1, len(rest) + 1))
    level = next(line for line in rest if line["type"] == "FeatureLevelRecord")
    assert level["kind"] == "record"
    assert level["data"] == {"name": "metadata.version", "featureLevel": 33}
    assert level["file"] == str(SEGMENT)


def test_folder_is_dumped_with_its_checkpoints(kafkactl, folder: Path):
    plain = lines(kafkactl("log", "dump", folder))
    assert {line["file"] for line in plain} == {str(folder / "00000000000000000000.log")}
    both = lines(kafkactl("log", "dump", folder.parent, "--checkpoints"))
    assert both[0]["type"] == "SnapshotHeader"
    assert both[-len(plain) :] == plain


def test_each_folder_is_a_log_of_its_own(kafkactl, folder: Path, tmp_path: Path):
    # Nothing is missing between the end of one and the beginning of the next; a torn end stays one.
    data = (folder / "00000000000000000000.log").read_bytes()
    other = tmp_path / "other" / "00000000000000000000.log"
    other.parent.mkdir()
    other.write_bytes(data[:-3])
    run = kafkactl("log", "dump", other, folder, "-o", "json")
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (0, ["torn-tail"])
    assert "bytes follow)" in run.json["findings"][0]["message"]  # the byte is that of the length, not the file's end
    assert len(run.json["records"]) == 2 * len(lines(kafkactl("log", "dump", folder))) - 1


def test_in_a_table_offsets_of_a_checkpoint_are_distinguished_from_those_of_the_log(kafkactl, folder: Path):
    table = kafkactl("log", "dump", folder, "--checkpoints", "-o", "table").stdout
    offsets = [line.split()[0] for line in table.splitlines()[1:]]
    assert offsets[0] == "(0)" and offsets.index("0") > 10
    assert "(" not in "".join(offsets[offsets.index("0") :])


def test_other_formats_have_the_same_content(kafkactl):
    expected = lines(kafkactl("log", "dump", SEGMENT, "--to", "6"))
    assert kafkactl("log", "dump", SEGMENT, "--to", "6", "-o", "json").json == {
        "kind": "log.dump", "schema_version": 1, "records": expected, "findings": [],
    }  # fmt: skip
    assert yaml.safe_load(kafkactl("log", "dump", SEGMENT, "--to", "6", "-o", "yaml").stdout)["records"] == expected
    table = kafkactl("log", "dump", SEGMENT, "--to", "6", "-o", "table").stdout.splitlines()
    assert len(table) == 8
    assert table[0].split() == ["OFFSET", "EPOCH", "TIME", "TYPE", "CONTENT"]
    assert "name=metadata.version featureLevel=33" in table[5]


def test_options_without_a_match_print_no_record(kafkactl):
    for words in (["--key", "nobody"], ["--from", "99999999"], ["--key", "nobody", "-o", "json"]):
        run = kafkactl("log", "dump", SEGMENT, *words)
        assert (run.code, run.stderr) == (0, "No record matches these options.\n"), words
    assert kafkactl("log", "dump", SEGMENT, "--key", "nobody").stdout == ""
    assert kafkactl("log", "dump", SEGMENT, "--key", "nobody", "-o", "json").json["records"] == []
    assert yaml.safe_load(kafkactl("log", "dump", SEGMENT, "--key", "x", "-o", "yaml").stdout)["records"] == []
    assert kafkactl("log", "dump", SEGMENT, "--key", "nobody", "-o", "table").stdout == ""


def test_records_are_filtered(kafkactl):
    by_type = lines(kafkactl("log", "dump", SEGMENT, "--type", "FeatureLevel", "--type", "leaderchange"))
    assert {line["type"] for line in by_type} == {"FeatureLevelRecord", "LeaderChange"}
    by_key = lines(kafkactl("log", "dump", SEGMENT, "--key", "metadata.version"))
    assert [line["data"]["name"] for line in by_key] == ["metadata.version"]
    ranged = lines(kafkactl("log", "dump", SEGMENT, "--from", "3", "--to", "4"))
    assert [line["offset"] for line in ranged] == [3, 4]


def test_segments_before_the_offset_are_not_read(kafkactl, folder: Path):
    (folder / "00000000000000000030.log").write_bytes(b"")
    (folder / "00000000000000000000.log").write_bytes(b"damage that nobody asked for")
    assert kafkactl("log", "dump", folder, "--from", "30").code == 0
    assert kafkactl("log", "dump", folder, "--from", "29").code == 7


def test_secrets_are_shown_only_on_request(kafkactl):
    hidden = kafkactl("log", "dump", BOOTSTRAP, "--type", "UserScramCredential").stdout
    assert '"SaltedPassword"' not in hidden
    data = json.loads(hidden)["data"]
    assert data["storedKey"] == data["serverKey"] == data["salt"] == "<redacted>"
    shown = lines(kafkactl("log", "dump", BOOTSTRAP, "--type", "UserScramCredential", "--show-secrets"))
    assert shown[0]["data"]["storedKey"] not in hidden


@pytest.mark.parametrize("end", ["cut", "zeros"])
def test_end_of_a_log_that_is_being_written_is_not_damage(kafkactl, folder: Path, end: str):
    # The last batch of a running node, or room that was never written to; the same with something behind it is.
    file = folder / "00000000000000000000.log"
    data = file.read_bytes()
    file.write_bytes(data[:-5] if end == "cut" else data + bytes(4096))
    for verb in (["dump"], ["history", "--feature", "metadata.version"], ["image"], ["lint"]):
        run = kafkactl("log", *verb, folder, "-o", "json")
        assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (0, ["torn-tail"]), verb
    behind = encode_batch([(None, b"\1\x14\0\0")], base_offset=500, timestamp_ms=1)
    (folder / "00000000000000000500.log").write_bytes(behind)
    for verb in (["dump"], ["history", "--feature", "metadata.version"], ["image"]):
        assert kafkactl("log", *verb, folder, "-o", "json").code == 7, verb


def test_damage_is_reported_and_read_past(kafkactl, folder: Path):
    whole = lines(kafkactl("log", "dump", folder))
    file = folder / "00000000000000000000.log"
    data = bytearray(file.read_bytes())
    data[80] ^= 1
    file.write_bytes(bytes(data[:-5]))
    run = kafkactl("log", "dump", folder)
    assert run.code == 7
    notes = [json.loads(line) for line in run.stderr.splitlines()]
    assert [line["id"] for line in notes] == ["crc-mismatch", "torn-tail"]
    assert all(line["kind"] == "finding" and str(file) in line["subject"] for line in notes)
    assert [line for line in whole if line in lines(run)] == lines(run)
    assert kafkactl("log", "dump", folder, "-o", "json").json["findings"][0]["id"] == "crc-mismatch"
    assert "✖ blocker  crc-mismatch" in kafkactl("log", "dump", folder, "-o", "table").stdout
    assert "crc-mismatch" in kafkactl("log", "dump", folder, "-o", "yaml").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "error_id"),
    [
        (("log", "dump"), 2, "wrong-usage"),
        (("log", "dump", SEGMENT, "--from-cluster"), 2, "wrong-usage"),
        (("log", "dump", "/nowhere"), 2, "input-file-unreadable"),
        (("log", "dump", __file__), 2, "not-a-log-file"),
        (("log", "dump", SEGMENT, "--type", "TopicRecrod"), 2, "no-such-record-type"),
        (("log", "dump", "--from-cluster"), 2, "bootstrap-missing"),
    ],
)
def test_wrong_input_is_refused(kafkactl, tmp_path: Path, monkeypatch, arguments: tuple, code: int, error_id: str):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    run = kafkactl(*arguments, "-o", "json")
    assert run.code == code
    assert run.stdout == ""
    assert run.error["id"] == error_id


def test_empty_folder_and_log_of_a_broker_are_refused(kafkactl, tmp_path: Path):
    assert kafkactl("log", "dump", tmp_path, "-o", "json").error["id"] == "empty-folder"
    (tmp_path / "orders-0").mkdir()
    assert kafkactl("log", "dump", tmp_path, "-o", "json").error["id"] == "no-metadata-log"
