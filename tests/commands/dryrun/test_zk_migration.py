"""`kafkactl dryrun zk-migration` on trees of real clusters: what it predicts is what their controllers then wrote."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.frozen import changed
from kafkactl.migration.zktree.redact import redact_znodes
from kafkactl.migration.zktree.znode import Hidden, Znode, decode_znodes, encode_znodes, render_znode
from kafkactl.protocol.codec import encode_message
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import HEADER_BYTES
from kafkactl.protocol.record_size import record_size
from kafkactl.protocol.schema.definitions import message
from tests.conftest import Run
from tests.lab.migration.configs import ENCODER_SECRET
from tests.migration.copy.proof import read_copy

HOSTILE_LINES = {
    "dryrun zk-migration": ("{tree} --config {config} --records --kafka-version 3.9.2", "{observation} --records")
}

HOSTILE_PATHS = {
    "dryrun zk-migration": [
        ("--config", "{tree} --config {}"),
        ("sources", "{}"),
    ],
}

Kafkactl = Callable[..., Run]
GOLDENS = Path(__file__).parents[2] / "golden" / "migrations"
MARKERS = ("BeginTransactionRecord", "EndTransactionRecord")


def framed(record: MetadataRecord) -> bytes:
    return encode_record(message(record.type), record.version, record.data)


def predicted(kafkactl: Kafkactl, *arguments: object) -> tuple[int, dict]:
    run = kafkactl("dryrun", "zk-migration", *arguments, "-o", "json")
    return run.code, run.json


@pytest.fixture
def spoiled(tmp_path: Path) -> Callable[..., Path]:
    """Return a real tree with other data in some znodes; None takes one out."""

    def make(data: dict[str, bytes | None], znodes: list[Znode] | None = None) -> Path:
        saved = decode_znodes((GOLDENS / "3.9.2" / "zk.jsonl.gz").read_bytes(), file="").znodes
        kept = {znode.path: znode for znode in znodes or saved}
        for path, content in data.items():
            kept[path] = changed(kept.get(path, Znode(path=path, data=None)), data=content)
            if content is None:
                del kept[path]
        file = tmp_path / "zk.jsonl.gz"
        file.write_bytes(encode_znodes(kept.values()))
        return file

    return make


@pytest.mark.parametrize("release", ["3.7.2", "3.8.1", "3.9.2"])
def test_records_are_counted_as_the_controller_wrote_them(kafkactl: Kafkactl, tmp_path: Path, release: str) -> None:
    real = read_copy(GOLDENS / release, tmp_path)
    types = Counter(record.type for batch in real for record in batch if record.type not in MARKERS)
    code, answer = predicted(kafkactl, GOLDENS / release / "zk.jsonl.gz", "--kafka-version", release)
    assert (code, answer["verdict"]) == (0, "ok")
    effects = answer["effects"]
    assert effects["records_appended"]["by_type"] == types
    assert effects["records_appended"]["count"] == types.total()
    assert effects["counts"] == types  # folded by the engine
    assert effects["batches"] == len(real) - 2  # less the begin, and the state with the end
    assert effects["seconds"] > 0
    assert effects["state"]["partitions"] == types["PartitionRecord"]


@pytest.mark.slow
def test_with_the_secret_the_bytes_are_those_of_the_log(kafkactl: Kafkactl, tmp_path: Path) -> None:
    config = tmp_path / "controller.properties"
    config.write_text(f"password.encoder.secret={ENCODER_SECRET}\n", encoding="utf-8")
    code, answer = predicted(kafkactl, GOLDENS / "3.9.2" / "zk.jsonl.gz", "--config", config, "--records")
    assert code == 0 and answer["verdict"] == "ok"
    listed = answer["effects"]["records_appended"]["records"]
    real = read_copy(GOLDENS / "3.9.2", tmp_path)
    written = sum(
        HEADER_BYTES + sum(record_size(at, None, framed(record)) for at, record in enumerate(batch))
        for batch in ([record for record in batch if record.type not in MARKERS] for batch in real)
        if batch
    )
    # Where a batch ends decides how many bytes the offsets in it take.
    assert abs(answer["effects"]["records_appended"]["bytes"] - written) < 20
    assert [record["offset"] for record in listed] == list(range(1, len(listed) + 1))
    assert not any("figure" in text for text in answer["assumptions"])
    assert "k3ystore" not in json.dumps(answer)


def test_missing_secret_is_silent_and_a_wrong_one_kills(kafkactl: Kafkactl, tmp_path: Path) -> None:
    config = tmp_path / "controller.properties"
    config.write_text("node.id=3001\n", encoding="utf-8")
    code, answer = predicted(kafkactl, GOLDENS / "3.9.2" / "zk.jsonl.gz", "--config", config)
    assert (code, answer["verdict"]) == (0, "degraded")
    assert "encoder-secret-missing" in [finding["id"] for finding in answer["findings"]]
    config.write_text("password.encoder.secret=another\n", encoding="utf-8")
    code, answer = predicted(kafkactl, GOLDENS / "3.9.2" / "zk.jsonl.gz", "--config", config)
    assert (code, answer["verdict"]) == (7, "wedged")
    assert "encoder-secret-wrong" in [finding["id"] for finding in answer["findings"]]


POISON = {
    "quota-not-a-number": ("/config/clients/app", b'{"version":1,"config":{"producer_byte_rate":"abc"}}', "wedged"),
    "broken-scram-credential": ("/config/users/alice", b'{"version":1,"config":{"SCRAM-SHA-256":"salt=xx"}}', "wedged"),
    "broken-producer-id-block-znode": (
        "/latest_producer_id_block", b'{"version":1,"broker":1,"block_start":"x","block_end":"y"}', "wedged",
    ),
    "config-znode-ignored": ("/config/topics/spread", b'{"version":1,"conf', "degraded"),
    "empty-migration-znode": ("/migration", b"", "refused"),
}  # fmt: skip


@pytest.mark.parametrize("id_", POISON)
def test_poison_decides_the_verdict(kafkactl: Kafkactl, spoiled: Callable[..., Path], id_: str) -> None:
    path, data, verdict = POISON[id_]
    code, answer = predicted(kafkactl, spoiled({path: data}))
    assert answer["verdict"] == verdict
    assert code == {"wedged": 7, "degraded": 0, "refused": 3}[verdict]
    assert id_ in [finding["id"] for finding in answer["findings"]]


@pytest.mark.slow
def test_tree_without_secrets_is_counted_all_the_same(kafkactl: Kafkactl, spoiled: Callable[..., Path]) -> None:
    znodes = decode_znodes((GOLDENS / "3.9.2" / "zk.jsonl.gz").read_bytes(), file="").znodes
    _, whole = predicted(kafkactl, spoiled({}))
    code, bare = predicted(kafkactl, spoiled({}, list(redact_znodes(znodes))))
    assert (code, bare["verdict"]) == (0, "ok")
    assert bare["effects"]["counts"] == whole["effects"]["counts"]
    assert any("rough figure" in text for text in bare["assumptions"])


def test_copy_of_hidden_znodes_is_unknown(kafkactl: Kafkactl, spoiled: Callable[..., Path]) -> None:
    znodes = decode_znodes((GOLDENS / "3.9.2" / "zk.jsonl.gz").read_bytes(), file="").znodes
    hidden = [
        changed(znode, data=None, hidden=Hidden.NO_PERMISSION) if znode.path.startswith("/config/users/") else znode
        for znode in znodes
    ]
    code, answer = predicted(kafkactl, spoiled({}, hidden))
    assert (code, answer["verdict"]) == (6, "unknown")
    assert "znodes-hidden" in [finding["id"] for finding in answer["findings"]]


@pytest.mark.slow
def test_znodes_below_a_chroot_are_read(kafkactl: Kafkactl, tmp_path: Path) -> None:
    znodes = decode_znodes((GOLDENS / "3.9.2" / "zk.jsonl.gz").read_bytes(), file="").znodes
    below = [changed(znode, path="/kafka" + znode.path) for znode in znodes]
    (tmp_path / "zk.jsonl.gz").write_bytes(encode_znodes(below))
    _, found = predicted(kafkactl, tmp_path)
    assert found["input"]["chroot"] == "/kafka"
    _, named = predicted(kafkactl, tmp_path, "--chroot", "/kafka")
    assert named["effects"] == found["effects"]
    nodes = [
        {"id": 1, "role": "broker", "kafka_version": "3.9.2"},
        {"id": 2, "role": "controller", "kafka_version": "3.7.2"},
    ]
    (tmp_path / "observation.json").write_text(json.dumps({"nodes": nodes}), encoding="utf-8")
    _, shown = predicted(kafkactl, tmp_path)
    assert shown["input"]["kafka_version"] == "3.7.2"
    (tmp_path / "observation.json").write_text('{"nodes": [', encoding="utf-8")
    _, unread = predicted(kafkactl, tmp_path)
    assert unread["input"]["kafka_version"] == "3.9.2"
    code, wrong = predicted(kafkactl, tmp_path, "--chroot", "/other")
    assert (code, wrong["verdict"]) == (6, "unknown")
    assert "no-kafka-tree" in [finding["id"] for finding in wrong["findings"]]


def test_invalid_source_of_a_copy_is_refused(kafkactl: Kafkactl, tmp_path: Path) -> None:
    file = GOLDENS / "3.9.2" / "zk.jsonl.gz"
    assert kafkactl("dryrun", "zk-migration", file, file).code == 2
    assert kafkactl("dryrun", "zk-migration", tmp_path / "none.gz").code == 2
    assert kafkactl("dryrun", "zk-migration", file, "--kafka-version", "4.0").code == 2
    run = kafkactl("dryrun", "zk-migration", "127.0.0.1:1/kafka", "--timeout", "20s", "-o", "json")
    assert run.code == 4
    assert json.loads(run.stderr)["id"] == "zookeeper-unreachable"


def test_page_and_tables_are_written(kafkactl: Kafkactl, tmp_path: Path) -> None:
    html, details = tmp_path / "page.html", tmp_path / "tables"
    file = GOLDENS / "3.9.2" / "zk.jsonl.gz"
    run = kafkactl("dryrun", "zk-migration", file, "--html", html, "--details", details)
    assert run.code == 0 and "3 batches" in run.stdout
    assert "The copy from ZooKeeper" in html.read_text(encoding="utf-8")
    assert [path.name for path in details.iterdir()] == ["records.parquet"]


def test_folder_names_its_chroot_and_its_release_and_may_hold_the_tree_unpacked(
    kafkactl: Kafkactl, tmp_path: Path
) -> None:
    tree = decode_znodes((GOLDENS / "3.7.2" / "zk.jsonl.gz").read_bytes(), file="").znodes
    chroot = next(znode.path for znode in tree if znode.path.endswith("/brokers/ids")).removesuffix("/brokers/ids")
    outside = [changed(znode, path="/other" + znode.path.removeprefix(chroot)) for znode in tree if znode.path != "/"]
    lines = "".join(render_znode(znode) + "\n" for znode in (*tree, *outside))
    (tmp_path / "zk.jsonl").write_text(lines, encoding="utf-8")
    # ApiVersions 3 of a broker on ZooKeeper: Produce 9, Fetch 13, LeaderAndIsr 7, AddPartitionsToTxn 3 are of 3.4.
    keys = [(0, 9), (1, 13), (4, 7), (24, 3)]
    listed = [{"ApiKey": key, "MinVersion": 0, "MaxVersion": highest} for key, highest in keys]
    body = encode_message(message("ApiVersionsResponse"), 3, {"ErrorCode": 0, "ApiKeys": listed, "ThrottleTimeMs": 0})
    answer = {"version": 3, "body": base64.b64encode(body).decode()}
    shown = {
        "kind": "migrate.observation",
        "schema_version": 1,
        "time_ms": 1,
        "zookeeper": {"connect": f"zk:2181{chroot}", "chroot": chroot},
        "nodes": [{"id": 1, "role": "broker", "alive": True, "api_versions": answer}],
    }
    (tmp_path / "observation.json").write_text(json.dumps(shown), encoding="utf-8")
    code, answer = predicted(kafkactl, tmp_path)
    assert code == 6
    assert answer["input"]["kafka_version"].startswith("3.4")
    assert "migration-release-unknown" in {finding["id"] for finding in answer["findings"]}


@pytest.mark.parametrize(
    ("line", "code", "verdict", "id_"),
    [
        (f"password.encoder.secret={ENCODER_SECRET}", 0, "ok", None),
        ("password.encoder.secret=another", 7, "wedged", "encoder-secret-wrong"),
        ("", 0, "degraded", "encoder-secret-missing"),
        ("password.encoder.secret=<redacted>", 0, "ok", None),
    ],
)
def test_observation_shows_the_controllers_secret(
    kafkactl: Kafkactl, tmp_path: Path, line: str, code: int, verdict: str, id_: str | None
) -> None:
    (tmp_path / "zk.jsonl.gz").write_bytes((GOLDENS / "3.9.2" / "zk.jsonl.gz").read_bytes())
    node = {"id": 3001, "role": "controller", "config": f"process.roles=controller\n{line}\n"}
    (tmp_path / "observation.json").write_text(json.dumps({"nodes": [node]}), encoding="utf-8")
    found = predicted(kafkactl, tmp_path)
    assert (found[0], found[1]["verdict"]) == (code, verdict)
    assert id_ is None or id_ in {finding["id"] for finding in found[1]["findings"]}
    assumed = any("--config was not given" in assumption for assumption in found[1]["assumptions"])
    assert assumed is ("<redacted>" in line)
