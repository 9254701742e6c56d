"""An observation that is saved: read again it is the same, without secrets it holds none, half of one is never left."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkactl.core.errors import FailedError, InputError, RefusedError
from kafkactl.core.findings import warning
from kafkactl.core.values import Role
from kafkactl.metadata.io.source import open_source
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.saved_observation import CapturedMigration, load_captured, load_observation, observation_from
from kafkactl.migration.observed.observation import Mode, ServerSeen
from kafkactl.migration.observed.raw_observation import (
    RawAnswer,
    RawNode,
    RawObservation,
    parse_observation,
    render_observation,
)
from kafkactl.migration.zktree.znode import Znode, ZnodeAcl
from kafkactl.storage.partition_folders import PartitionIds
from tests.hypothesis_profiles import examples
from tests.migration.migration_logs import LogWriter, bootstrap, record
from tests.migration.zk_trees import CREDENTIAL, config, small, znodes
from tests.secrets_scan import leaks

SECRET = "hunter2"


def captured(folder: Path) -> CapturedMigration:
    log = LogWriter()
    bootstrap(log)
    log.batch(record("ConfigRecord", ResourceType=4, ResourceName="1", Name="ssl.key.password", Value=SECRET))
    log.write(folder)
    tree = small() | {"/config/brokers/1": config(**{"ssl.key.password": SECRET})}
    acl = ZnodeAcl(perms=31, scheme="digest", id=f"kafka:{SECRET}")
    more = Znode(path="/kafka/config/users/eve", data=config(**{"SCRAM-SHA-256": CREDENTIAL}), acl=(acl,))
    node = RawNode(
        id=1,
        role=Role.BROKER,
        alive=True,
        mode=Mode.ZK,
        config=f"broker.id=1\nssl.key.password={SECRET}\n",
        meta_properties={"version": "0", "broker.id": "1"},
        api_versions=RawAnswer(version=0, body=b"\0" * 6),
        quorum_error="closed",
        metrics={"ZkMigrationState": 4},
        strays=("/data/a-0.1-stray",),
        partition_ids=PartitionIds(
            topic_ids={"a": "3DQ5fs2iR1mUsgN7o0xA9g"},
            without_id=("/data/b-0",),
            other_ids={"/data/a-1": "x"},
            stray_ids={"/data/a-0.1-stray": "y"},
            is_complete=False,
        ),
    )
    raw = RawObservation(
        time_ms=5,
        connect="zk1:2181/kafka",
        chroot="/kafka",
        zxid_before=7,
        zxid_after=7,
        servers=(ServerSeen(address="zk1:2181", mode="standalone", version=None),),
        nodes=(node, RawNode(id=2, role=Role.BROKER)),
        findings=(warning("node-not-observed", "broker 2", "it is not there", "Start it.", reason="refused"),),
    )
    return CapturedMigration(raw=raw, znodes=(*znodes(tree, "/kafka"), more), logs={3001: open_source(str(folder))})


def test_saved_with_secrets_it_is_the_same(tmp_path: Path):
    before = captured(tmp_path / "log")
    save_observation(str(tmp_path / "new" / "out"), before, include_secrets=True)
    folder = tmp_path / "new" / "out"
    assert load_captured(str(folder)).raw == before.raw
    assert load_captured(str(folder)).znodes == before.znodes
    assert load_observation(str(folder)) == observation_from(before)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_saved_without_secrets_it_has_none(tmp_path: Path):
    import gzip

    before = captured(tmp_path / "log")
    save_observation(str(tmp_path / "out"), before)
    salt = CREDENTIAL.split(",")[0].encode()
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            text = gzip.decompress(data) if path.suffix == ".gz" else data
            assert not leaks(text), path
            assert salt not in text
    found = load_observation(str(tmp_path / "out"))
    whole = observation_from(before)
    node = found.node(1)
    assert node is not None
    assert (node.config or {})["ssl.key.password"] == "<redacted>"
    assert [finding.id for finding in found.findings] == [finding.id for finding in whole.findings]
    assert found.tree is not None
    assert whole.tree is not None
    assert set(found.tree.znodes) == set(whole.tree.znodes)
    assert found.logs[3001].migration_states == whole.logs[3001].migration_states
    assert found.logs[3001].image.configs != whole.logs[3001].image.configs


def test_folder_that_is_in_use(tmp_path: Path):
    before = captured(tmp_path / "log")
    (tmp_path / "empty").mkdir()
    save_observation(str(tmp_path / "empty"), before)
    for name in ("empty", "log"):
        with pytest.raises(RefusedError) as caught:
            save_observation(str(tmp_path / name), before)
        assert caught.value.id == "observation-folder-in-use"


@pytest.mark.parametrize("name", ["file/below", "a\0b"])
def test_observation_into_an_impossible_folder_fails(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("x")
    before = captured(tmp_path / "log")
    with pytest.raises(FailedError) as caught:
        save_observation(str(tmp_path / name), before)
    assert caught.value.id == "observation-not-written"


@pytest.mark.parametrize("secrets", [True, False])
def test_nothing_is_left_where_it_fails(tmp_path: Path, secrets: bool):
    before = captured(tmp_path / "log")
    next((tmp_path / "log" / "__cluster_metadata-0").iterdir()).unlink()
    with pytest.raises(InputError):
        save_observation(str(tmp_path / "out"), before, include_secrets=secrets)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


_TEXTS = st.text(max_size=8)
_ANSWERS = st.none() | st.builds(RawAnswer, version=st.integers(0, 5), body=st.binary(max_size=8))
_NODES = st.builds(
    RawNode,
    id=st.integers(0, 2**31 - 1),
    role=st.sampled_from(Role),
    alive=st.none() | st.booleans(),
    kafka_version=st.none() | _TEXTS,
    mode=st.none() | st.sampled_from(Mode),
    config=st.none() | _TEXTS,
    meta_properties=st.none() | st.dictionaries(_TEXTS, _TEXTS, max_size=2),
    api_versions=_ANSWERS,
    describe_quorum=_ANSWERS,
    metrics=st.none() | st.dictionaries(_TEXTS, st.integers(-5, 5) | st.floats(-1, 1), max_size=2),
)


@given(st.lists(_NODES, max_size=3, unique_by=lambda node: (node.id, node.role)), st.integers(0, 2**62))
def test_any_answers_come_back(nodes: list[RawNode], time_ms: int):
    raw = RawObservation(time_ms=time_ms, connect="zk", nodes=tuple(nodes))
    assert parse_observation(render_observation(raw), file="x") == (raw, ())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=True) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    ["id", "role", "alive", "config", "meta_properties", "api_versions", "describe_quorum", "metrics", "mode",
     "version", "body", "error", "severity", "nodes", "zookeeper", "connect", "chroot", "time_ms", "findings"]
)  # fmt: skip
_TABLES = st.recursive(
    _JSON | st.sampled_from(["broker", "controller", "closed", "AAAA"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=6),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(_NAMES, _TABLES, max_size=6))
@settings(max_examples=examples(300))
def test_observation_with_any_content_is_read(table):
    import json

    from kafkactl.migration.observed.reading import observation_of

    raw, findings = parse_observation(json.dumps(table).encode(), file="x")
    found = observation_of(raw, findings=findings)
    assert all(finding.advice or finding in raw.findings for finding in found.findings)
    render_observation(raw)


@given(data=st.data())
@settings(max_examples=examples(60))
def test_damaged_observation_is_read_or_refused(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("out")
    save_observation(str(folder), captured(tmp_path_factory.mktemp("log")), include_secrets=False)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        found = load_observation(str(folder))
    except InputError as error:
        assert error.advice
    else:
        assert found.nodes or found.findings
