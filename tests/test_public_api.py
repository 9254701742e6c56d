"""The public API as a user calls it: each result is plain JSON, and equals what the command prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kafkactl as library
from tests.commands.captured_logs import unpacked
from tests.commands.migrate.test_check import saved
from tests.migration.observations import world

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
CONFIG = """process.roles=controller
node.id=1
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT
listeners=CONTROLLER://127.0.0.1:9093
controller.quorum.bootstrap.servers=127.0.0.1:9093
log.dirs={disk}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "server.properties"
    file.write_text(CONFIG.format(disk=tmp_path / "disk"))
    return file


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return unpacked("4.4.0", tmp_path)


def same(answer: dict[str, Any], printed: dict[str, Any], *but: str) -> bool:
    """Return True if the two are the same JSON value, except for these fields (times, generated ids) and the
    envelope."""
    left, right = json.loads(json.dumps(answer)), dict(printed)
    for name in ("kind", "schema_version", *but):
        left.pop(name, None)
        right.pop(name, None)
    return left == right


def test_node_is_formatted_read_verified_and_unformatted(kafkactl, config):
    storage = library.storage
    request = storage.FormatRequest(cluster_id=CLUSTER_ID, voter_mode=storage.VoterMode.STANDALONE)
    planned = storage.plan_format(config, request, kafka_version="4.3.1")
    shown = kafkactl("storage", "format", "-t", CLUSTER_ID, "-c", config, "-s", "--kafka-version", "4.3.1", "--dry-run",
                     "-o", "json").json  # fmt: skip
    assert (planned.outcome, shown["outcome"]) == (library.Outcome.PLANNED, "planned")
    assert same(planned.to_dict(), shown, "directories", "voters")
    assert storage.apply_format(planned).outcome is library.Outcome.DONE
    again = storage.plan_ensure(str(config), request, kafka_version="4.3.1")
    assert storage.apply_format(again).outcome is library.Outcome.NOTHING_TO_DO
    for verb, found in (
        ("info", storage.node_info(config, kafka_version="4.3.1")),
        ("verify", storage.verify_node(config, kafka_version="4.3.1")),
    ):
        printed = kafkactl("storage", verb, "-c", config, "--kafka-version", "4.3.1", "-o", "json").json
        assert same(found.to_dict(), printed)
    meta = config.parent / "disk" / "meta.properties"
    assert same(storage.dump_files([meta]).to_dict(), kafkactl("storage", "dump", meta, "-o", "json").json)
    removable = storage.plan_unformat(config)
    printed = kafkactl("storage", "unformat", "-c", config, "--dry-run", "-o", "json").json
    assert same(removable.to_dict(), printed)
    assert storage.apply_unformat(removable).outcome is library.Outcome.DONE
    assert not meta.exists()


def test_refused_plan_is_not_written(config):
    disk = config.parent / "disk"
    disk.mkdir()
    (disk / "something").write_text("of somebody's")
    request = library.storage.FormatRequest(cluster_id=CLUSTER_ID, voter_mode=library.storage.VoterMode.STANDALONE)
    planned = library.storage.plan_format(config, request, kafka_version="4.3.1")
    assert planned.outcome is library.Outcome.REFUSED
    assert [finding.severity for finding in planned.findings][:1] == [library.Severity.BLOCKER]
    assert library.storage.apply_format(planned).outcome is library.Outcome.REFUSED
    assert [path.name for path in disk.iterdir()] == ["something"]


def test_input_that_is_not_there_is_a_typed_error(tmp_path):
    with pytest.raises(library.KafkactlError) as raised:
        library.storage.verify_node(tmp_path / "no.properties")
    assert (raised.value.id, raised.value.exit_code) == ("input-file-unreadable", 2)
    assert raised.value.advice
    with pytest.raises(library.KafkactlError):
        library.log.load_image(tmp_path)


def test_log_is_loaded_linted_compared_and_searched(kafkactl, log):
    api = library.log
    loaded = api.load_image(log)
    printed = kafkactl("log", "image", log, "-o", "json").json
    answer = {**api.image_summary(loaded).to_dict(), "image": api.image_to_dict(loaded.image)}
    assert answer.pop("features") == loaded.image.features
    assert same(answer, printed)
    assert json.loads("".join(api.image_pieces(loaded.image))) == printed["image"]
    earlier = api.load_image(log, at=20)
    compared = api.compare_images(earlier, loaded)
    assert compared.differences
    assert same(compared.to_dict(), kafkactl("log", "diff", f"{log}@20", log, "-o", "json").json)
    assert same(api.lint(api.load_image(log, whole=True)).to_dict(), kafkactl("log", "lint", log, "-o", "json").json)
    assert same(api.verify_logs([log]).to_dict(), kafkactl("log", "verify", log, "-o", "json").json)
    folder = api.find(api.browse(loaded), "/image")
    assert isinstance(folder, api.Folder) and "topics" in folder.names


def test_records_are_read_one_by_one(kafkactl, log):
    dump = library.log.dump_records(log, types=["FEATURE_LEVEL_RECORD"])
    records = list(dump.records())
    printed = kafkactl("log", "dump", log, "--type", "FeatureLevelRecord").stdout
    assert records == [json.loads(line) for line in printed.splitlines()] != []
    assert dump.findings == []
    history = library.log.record_history(log, "feature", "metadata.version")
    events = [event.to_dict(hide=True) for event in history.events()]
    printed = kafkactl("log", "history", log, "--feature", "metadata.version").stdout
    assert events == [json.loads(line) for line in printed.splitlines()] != []
    assert not history.is_empty
    assert library.log.record_history(log, "topic", "no-such-topic").is_empty


@pytest.mark.parametrize(
    ("subject", "partition", "words"),
    [("disk", None, "expected one of topic, broker"), ("broker", 0, "no partition 0")],
)
def test_history_of_what_is_not_a_subject_is_refused(log, subject, partition, words):
    with pytest.raises(ValueError, match=words):
        library.log.record_history(log, subject, "1", partition=partition)


def test_two_points_of_a_log_are_refused(log):
    with pytest.raises(ValueError, match="exclude each other"):
        library.log.load_image(log, at=3, at_time_ms=4)


@pytest.mark.parametrize("state", ["M0", "M4L", "M6", "M8"])
def test_migration_is_judged_by_a_saved_observation(kafkactl, tmp_path, state):
    folder = saved(tmp_path / "seen", world(state))
    seen = library.migrate.load_observation(folder)
    found = {
        "check": library.migrate.check(seen),
        "plan": library.migrate.plan(seen),
        "status": library.migrate.status(seen),
        "compare": library.migrate.compare(seen),
    }
    for verb, result in found.items():
        printed = kafkactl("migrate", verb, "--observation", folder, "-o", "json")
        assert same(result.to_dict(), printed.json), verb
    back = library.migrate.plan_rollback(seen)
    printed = kafkactl("migrate", "rollback", "--dry-run", "--observation", folder, "-o", "json")
    assert same(back.to_dict(), printed.json)
    files = library.migrate.saved_node_files(folder)
    rendered = library.migrate.render(files, dry_run=True)
    printed = kafkactl("migrate", "render", "--dry-run", "--observation", folder, "-o", "json")
    assert same(rendered.to_dict(), printed.json)
    with pytest.raises(ValueError, match="a folder"):
        library.migrate.render(files)


def test_releases_are_asked_without_a_cluster(kafkactl):
    mapping = library.features.version_mapping("4.2", kafka_version="4.3")
    words = ("version-mapping", "--release-version", "4.2", "--kafka-version", "4.3", "-o", "json")
    assert same(mapping.to_dict(), kafkactl("features", *words).json)
    needs = library.storage.feature_dependencies(["eligible.leader.replicas.version=1"])
    printed = kafkactl("storage", "feature-dependencies", "-f", "eligible.leader.replicas.version=1", "-o", "json").json
    assert same(needs.to_dict(), printed)
    assert needs.features[0].needs


def test_quorum_is_described_from_disks_alone(kafkactl, log):
    found = library.quorum.describe(log_dirs=[log.parent])
    printed = kafkactl("quorum", "describe", "--log-dir", log.parent, "-o", "json").json
    assert same(found.to_dict(), printed, "time_ms")
    assert "only-disks-read" in {finding.id for finding in found.findings}


def test_no_address_is_a_typed_error(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("KAFKACTL_CONTEXT", "KAFKACTL_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(library.KafkactlError) as raised:
        library.connect()
    assert raised.value.id == "bootstrap-missing"
