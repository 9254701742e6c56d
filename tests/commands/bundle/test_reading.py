"""`--bundle FILE`: every command says of a bundle what it says of what the bundle was made from."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kafkactl.bundle.io.writing import StagedMembers, write_bundle
from kafkactl.bundle.manifest import Manifest, PartError, PartResult
from kafkactl.core.answer_kinds import answer_schema
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from kafkactl.migration.io.observation_writer import save_observation
from tests.commands import test_secrets_hidden as planted
from tests.conftest import Run
from tests.kafka.quorum_nodes import Quorum, running
from tests.sampling import one_in
from tests.tiered.logs import LogOf, Topic, metadata_log

TOPIC = Topic("orders", 1)
OF_A_LOG = {
    "log dump": ["--type", "TopicRecord"],
    "log history": ["--topic", "t"],
    "log lint": [],
    "log browse": [],
    "dryrun replay": [],
    "dryrun broker-loss": ["--brokers", "1"],
    "dryrun rolling-restart": [],
    "dryrun restart": [],
}
OF_A_MIGRATION = {
    "migrate status": [],
    "migrate check": [],
    "migrate compare": [],
    "migrate plan": [],
    "migrate rollback": ["--dry-run"],
}
READERS = {**OF_A_LOG, **OF_A_MIGRATION, "log verify": [], "log image": [], "quorum describe": [],
           "features describe": [], "nodes list": [], "tiered audit": [],
           "tiered segments": [], "tiered history": ["--topic", "t"], "dryrun zk-migration": []}  # fmt: skip
Kafkactl = Callable[..., Run]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = planted.written_log(tmp_path / "disk")
    (tmp_path / "disk/meta.properties").write_text("version=1\ncluster.id=q1Sh-9_ISia_zwGINzRvyQ\nnode.id=1\n")
    return path


@pytest.fixture
def with_log(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> Path:
    path = tmp_path / "with-log.zip"
    assert kafkactl("bundle", "--out", path, "--log-dir", log, "--include-log").code == 0
    return path


def answer(run: Run, *places: tuple[object, str]) -> Any:
    """Return what a command printed, with the names of places replaced, and without what depends on secrets."""
    text = run.stdout
    for path, name in places:
        text = text.replace(str(path), name)
    return re.sub(r'sha256": ?"[0-9a-f]{64}"', 'sha256": ""', text)


@pytest.mark.parametrize("verb", OF_A_LOG)
def test_log_in_a_bundle_gives_the_same_answers_as_the_log(
    kafkactl: Kafkactl, log: Path, with_log: Path, verb: str
) -> None:
    words = [*verb.split(), *OF_A_LOG[verb], "-o", "json"]
    there, here = kafkactl(*words, "--bundle", with_log), kafkactl(*words, log)
    assert (there.code, there.stderr) == (here.code, here.stderr)
    assert answer(there, (f"{with_log}:logs/1/__cluster_metadata-0", "LOG")) == answer(here, (log, "LOG"))


def test_log_in_a_bundle_is_a_side_of_a_difference(kafkactl: Kafkactl, log: Path, with_log: Path) -> None:
    run = kafkactl("log", "diff", f"{log}@41", "--bundle", with_log, "-o", "json")
    assert run.code == 0 and run.json["counts"]["topics"] == 1
    assert kafkactl("log", "diff", log, log, "--bundle", with_log).code == 2


def test_verify_and_counts_are_those_of_the_nodes_own_bytes(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    segment = log / f"{0:020}.log"
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 0xFF
    segment.write_bytes(data)
    assert kafkactl("bundle", "--out", tmp_path / "a.zip", "--log-dir", log).code == 0
    for verb in ("verify", "lint", "image"):
        for form in ("json", "table", "yaml", "jsonl"):
            there = kafkactl("log", verb, "--bundle", tmp_path / "a.zip", "-o", form)
            here = kafkactl("log", verb, log, "-o", form)
            assert there.code == here.code, there.stderr
            if verb != "image":
                assert (there.stdout, there.stderr) == (here.stdout, here.stderr)
    assert kafkactl("log", "verify", "--bundle", tmp_path / "a.zip").code == 7
    assert kafkactl("log", "image", "--bundle", tmp_path / "a.zip", "-o", "json").json["image"] is None
    run = kafkactl("log", "image", "--bundle", tmp_path / "a.zip", "--at", "3", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "bundle-without-log")


def test_of_several_logs_the_best_is_read(kafkactl: Kafkactl, log: Path, tmp_path: Path) -> None:
    behind = planted.written_log(tmp_path / "behind")
    segment = behind / f"{0:020}.log"
    segment.write_bytes(segment.read_bytes()[:1500])
    (tmp_path / "behind/meta.properties").write_text("version=1\ncluster.id=q1Sh-9_ISia_zwGINzRvyQ\nnode.id=2\n")
    path = tmp_path / "a.zip"
    kafkactl("bundle", "--out", path, "--log-dir", behind, "--log-dir", log, "--include-log")
    offsets = [kafkactl("log", "image", place, "-o", "json").json["offset"] for place in (log, behind)]
    assert kafkactl("log", "image", "--bundle", path, "-o", "json").json["offset"] == offsets[0] > offsets[1]
    compared = kafkactl("dryrun", "replay", "--bundle", path, "-o", "json").json
    assert len(compared["source"]["paths"]) == 2 and compared["source"]["last_offset"] == offsets[0]


@pytest.mark.parametrize("verb", OF_A_MIGRATION)
def test_migration_is_read_from_a_bundle(kafkactl: Kafkactl, tmp_path: Path, verb: str) -> None:
    save_observation(str(tmp_path / "seen"), planted.captured(tmp_path / "captured"))
    assert kafkactl("bundle", "--out", tmp_path / "a.zip", "--observation", tmp_path / "seen").code == 0
    words = [*verb.split(), *OF_A_MIGRATION[verb], "-o", "json"]
    there = kafkactl(*words, "--bundle", tmp_path / "a.zip")
    here = kafkactl(*words, "--observation", tmp_path / "seen")
    unpacked = re.compile(rf"{re.escape(tempfile.gettempdir())}/kafkactl-fetched-\w+/migration")
    assert there.code == here.code
    assert unpacked.sub("SEEN", there.stdout) == here.stdout.replace(str(tmp_path / "seen"), "SEEN")
    assert kafkactl(*words, "--bundle", tmp_path / "a.zip", "--observation", tmp_path / "seen").code == 2


def test_copy_of_a_saved_tree_is_predicted(kafkactl: Kafkactl, tmp_path: Path) -> None:
    save_observation(str(tmp_path / "seen"), planted.captured(tmp_path / "captured"))
    kafkactl("bundle", "--out", tmp_path / "a.zip", "--observation", tmp_path / "seen")
    there = kafkactl("dryrun", "zk-migration", "--bundle", tmp_path / "a.zip", "-o", "json")
    here = kafkactl("dryrun", "zk-migration", tmp_path / "seen", "-o", "json")
    assert there.code == here.code
    for field in ("verdict", "findings", "effects"):
        assert there.json[field] == here.json[field]


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    LogOf(0).add(TOPIC.copied(3, "a", 0, 9), TOPIC.copied(3, "b", 20, 29)).save(tmp_path / "data")
    metadata_log(
        tmp_path / "data/__cluster_metadata-0", [(REMOTE_LOG_METADATA, Uuid(b"\x55" * 16)), (TOPIC.name, TOPIC.id)]
    )
    return tmp_path / "data"


def test_tiered_storage_is_read_from_a_bundle(kafkactl: Kafkactl, broker: Path, tmp_path: Path) -> None:
    words = ["--log-dir", broker / "__cluster_metadata-0", "--tiered", broker]
    kafkactl("bundle", "--out", tmp_path / "with.zip", *words, "--include-log")
    kafkactl("bundle", "--out", tmp_path / "without.zip", *words)
    here = kafkactl("tiered", "audit", broker, "--metadata", broker / "__cluster_metadata-0", "-o", "json")
    stored = kafkactl("tiered", "audit", "--bundle", tmp_path / "without.zip", "-o", "json")
    assert (stored.code, stored.json) == (here.code, here.json)
    again = kafkactl("tiered", "audit", "--bundle", tmp_path / "with.zip", "-o", "json")
    assert again.code == here.code and again.json["totals"] == here.json["totals"]
    assert [finding["id"] for finding in again.json["findings"]] == [
        finding["id"] for finding in here.json["findings"]
    ]  # fmt: skip
    assert again.json["source"]["paths"] == [str(tmp_path / "with.zip")]
    segments = kafkactl("tiered", "segments", "--bundle", tmp_path / "with.zip", "-o", "json")
    assert segments.code == 0 and len(segments.json["segments"]) == 2
    missing = kafkactl("tiered", "segments", "--bundle", tmp_path / "without.zip", "-o", "json")
    assert (missing.code, missing.error["id"]) == (2, "bundle-without-log")


@pytest.mark.slow
def test_quorum_is_read_from_a_bundle(kafkactl: Kafkactl, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with running(Quorum(observers=(11,))) as quorum:
        addresses = ",".join(str(node.address) for node in quorum.controllers.values())
        made = kafkactl("bundle", "--out", path, "--bootstrap-controller", addresses, "--timeout", "1m", "-o", "json")
        states = {part["name"]: part["state"] for part in made.json["parts"]}
        here = kafkactl("quorum", "describe", "--bootstrap-controller", addresses, "-o", "json")
    assert states["quorum.describe"] == "gathered" and made.code == 5, "these nodes give no log"
    there = kafkactl("quorum", "describe", "--bundle", path, "-o", "json")
    same_fields = ("cluster_id", "leader_id", "leader_epoch", "majority", "tolerates", "mode")
    assert (there.code, {name: there.json[name] for name in same_fields}) == (
        here.code, {name: here.json[name] for name in same_fields},
    )  # fmt: skip
    for more in ([], ["--status"], ["--replication", "--human-readable"]):
        assert kafkactl("quorum", "describe", "--bundle", path, *more).code == here.code
    for words in (("features", "describe"), ("nodes", "list")):
        if states[".".join(words)] == "gathered":
            assert kafkactl(*words, "--bundle", path).code == 0
        assert kafkactl(*words, "--bundle", path, "--bootstrap-server", "h:1").code == 2
    assert kafkactl("quorum", "describe", "--bundle", path, "--watch").code == 2
    assert kafkactl("quorum", "describe", "--bundle", path, "--log-dir", "x").code == 2


@pytest.mark.parametrize("verb", READERS)
def test_file_without_a_bundle_is_refused(kafkactl: Kafkactl, tmp_path: Path, verb: str) -> None:
    words = [*verb.split(), *READERS[verb], "-o", "json"]
    for name, data, id in (("text", b"x" * 99, "not-a-bundle"), ("gone", None, "input-file-unreadable")):
        path = tmp_path / name
        if data is not None:
            path.write_bytes(data)
        run = kafkactl(*words, "--bundle", path)
        assert (run.code, run.error["id"]) == (2, id)
        assert run.error["next_step"]


@pytest.mark.parametrize("verb", one_in(4, READERS))
def test_bundle_without_what_is_read(kafkactl: Kafkactl, tmp_path: Path, verb: str) -> None:
    config = tmp_path / "server.properties"
    config.write_text("process.roles=broker\n")
    kafkactl("bundle", "--out", tmp_path / "a.zip", "-c", config)
    run = kafkactl(*verb.split(), *READERS[verb], "--bundle", tmp_path / "a.zip", "-o", "json")
    assert (run.code, run.error["id"] in ("bundle-without-log", "bundle-without-part")) == (2, True)


def kept(path: Path, part: str, member: str, document: Mapping[str, Any]) -> Path:
    """Return a bundle with one answer, whatever it is."""
    with closing(StagedMembers()) as staged:
        staged.add(member, (json.dumps(document).encode(),))
        parts = (PartResult(name=part, about="it", members=(member,), exit_code=0),)
        write_bundle(path, staged, Manifest(kafkactl_version="1", created_ms=5, cluster_id=None, parts=parts))
    return path


STORED = {
    "log verify": ("log.verify", "answers/log.verify.json"),
    "log lint": ("log-1", "answers/log.lint-1.json"),
    "log image": ("log-1", "answers/log.image-1.json"),
    "quorum describe": ("quorum.describe", "answers/quorum.describe.json"),
    "features describe": ("features.describe", "answers/features.describe.json"),
    "nodes list": ("nodes.list", "answers/nodes.list.json"),
    "tiered audit": ("tiered.audit", "answers/tiered.audit.json"),
}


@pytest.mark.parametrize("verb", STORED)
@pytest.mark.parametrize(
    ("document", "id"),
    [
        ({}, "invalid-bundle"),
        ({"kind": "log.verify", "schema_version": 1}, "invalid-bundle"),
        ({"kind": "log.verify", "schema_version": 2}, "bundle-too-new"),
        ({"kind": "quorum.describe", "schema_version": 1, "findings": "x", "sources": 5}, "invalid-bundle"),
    ],
)
def test_answer_of_another_shape_is_refused(
    kafkactl: Kafkactl, tmp_path: Path, verb: str, document: dict[str, Any], id: str
) -> None:
    path = kept(tmp_path / "a.zip", *STORED[verb], document)
    run = kafkactl(*verb.split(), "--bundle", path, "-o", "json")
    assert (run.code, run.error["id"]) == (2, id)


def test_saved_quorum_with_invalid_ids_is_refused(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # It has the published structure, in which a directory id is any text.
    schema = answer_schema("quorum.describe")
    unknown = dict.fromkeys(schema["properties"])
    voter = dict.fromkeys(schema["$defs"]["Replica"]["properties"]) | {
        "id": 1,
        "directory_id": "disk one",
        "endpoints": [],
    }
    lists = {name: [] for name in ("observers", "nodes", "disks", "findings")}
    document = unknown | lists | {"kind": "quorum.describe", "schema_version": 1, "leader_id": 1, "time_ms": 0}
    path = kept(tmp_path / "a.zip", *STORED["quorum describe"], document | {"voters": [voter], "sources": {}})
    run = kafkactl("quorum", "describe", "--bundle", path, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "invalid-bundle")


def test_reason_of_a_missing_part_is_reported(kafkactl: Kafkactl, tmp_path: Path) -> None:
    error = PartError(id="no-node-answered", message="no node answered", next_step="Look at them.")
    manifest = Manifest(
        kafkactl_version="1", created_ms=5, cluster_id=None,
        parts=(PartResult(name="quorum.describe", about="it", error=error),),
    )  # fmt: skip
    with closing(StagedMembers()) as staged:
        write_bundle(tmp_path / "a.zip", staged, manifest)
    run = kafkactl("quorum", "describe", "--bundle", tmp_path / "a.zip", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "bundle-without-part")
    assert "no node answered" in run.error["message"]


def test_damaged_log_in_a_bundle_is_reported(kafkactl: Kafkactl, with_log: Path) -> None:
    with zipfile.ZipFile(with_log) as archive:
        at = archive.getinfo(f"logs/1/__cluster_metadata-0/{0:020}.log").header_offset + 200
    data = bytearray(with_log.read_bytes())
    data[at] ^= 0xFF
    with_log.write_bytes(data)
    for verb in ("log image", "log dump", "dryrun replay"):
        run = kafkactl(*verb.split(), "--bundle", with_log, "-o", "json")
        assert run.code == 2 and '"damaged-bundle"' in run.stderr


def test_nothing_is_left_behind(kafkactl: Kafkactl, with_log: Path, tmp_path: Path, monkeypatch: Any) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    assert kafkactl("dryrun", "replay", "--bundle", with_log).code == 0
    assert not list(scratch.iterdir())


def test_two_sources_are_wrong_usage(kafkactl: Kafkactl, log: Path, with_log: Path) -> None:
    for words in (("log", "dump"), ("log", "verify"), ("log", "lint"), ("log", "image")):
        assert kafkactl(*words, log, "--bundle", with_log).code == 2
        assert kafkactl(*words).code == 2
    assert kafkactl("tiered", "audit", "--bundle", with_log, "--observation", "x").code == 2
