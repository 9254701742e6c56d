"""Real migrations of 3.7.2, 3.8.1 and 3.9.2 (tests/golden/migrations): ZooKeeper and KRaft say the same."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kafkactl.core.values import Role
from kafkactl.metadata.dump.records import log_records
from kafkactl.metadata.io.source import open_source
from kafkactl.migration.compare.comparison import Comparison, compare_observation
from kafkactl.migration.compare.copy import copy_compared
from kafkactl.migration.compare.phase import LAG_ALLOWED_MS, Phase
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.io.mirror import mirror_of
from kafkactl.migration.io.saved_observation import CapturedMigration, load_observation, observation_from
from kafkactl.migration.observed.log_facts import Mirror
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.raw_observation import RawObservation
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.tree import tree_of
from kafkactl.migration.zktree.znode import decode_znodes
from kafkactl.protocol.catalog.releases import KafkaVersion
from tests.campaigns.goldens.migrations import INTO as GOLDENS
from tests.campaigns.goldens.migrations import RELEASES
from tests.lab.migration.configs import ENCODER_SECRET as SECRET

STATES = GOLDENS.with_name("states")
CONTROLLER = NodeSeen(id=3001, role=Role.CONTROLLER, config={"password.encoder.secret": SECRET}, alive=True)


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Return the captured observations by release."""
    return {release: _captured(release, tmp_path_factory.mktemp(release)) for release in RELEASES}


def _captured(release, place) -> CapturedMigration:
    log = place / "__cluster_metadata-0"
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(gzip.decompress((GOLDENS / release / "metadata.log.gz").read_bytes()))
    znodes = decode_znodes((GOLDENS / release / "zk.jsonl.gz").read_bytes(), file="zk.jsonl.gz").znodes
    return CapturedMigration(raw=RawObservation(), znodes=znodes, logs={3001: open_source(str(log))})


def _compared(captured, *, nodes=(CONTROLLER,), changed=None) -> Comparison:
    """Return the comparison after the data of some znodes was changed, or the znodes were removed (None)."""
    changed = changed or {}
    kept = [znode for znode in captured.znodes if not (znode.path in changed and changed[znode.path] is None)]
    written = [replace(difference, data=changed.get(difference.path, difference.data)) for difference in kept]
    return compare_observation(replace(observation_from(replace(captured, znodes=tuple(written))), nodes=nodes))


@pytest.mark.parametrize("release", RELEASES)
def test_real_migration_has_no_difference(captured, release):
    answer = _compared(captured[release])
    assert answer.phase is Phase.DUAL_WRITE
    assert answer.differences == ()
    assert answer.unknown == ()  # the passwords that Kafka encrypted are opened
    assert answer.findings == ()


@pytest.mark.parametrize("release", ["3.6.1", "3.7.0"])
def test_releases_that_copy_names_with_their_escapes(release, tmp_path):
    # KAFKA-16222; and an ISR that changed while ZooKeeper was read is lag.
    answer = _compared(_captured(release, tmp_path))
    assert {difference.entity for difference in answer.unexplained} == {"client-quota", "scram-credential"}
    assert [finding.id for finding in answer.findings] == ["names-copied-escaped"]
    lag = [difference for difference in answer.differences if difference.explained is not None]
    assert {(difference.entity, difference.rule) for difference in lag} == {("partition", "younger-than-the-mirror")}


@pytest.mark.parametrize("release", RELEASES)
def test_without_the_secret_its_passwords_are_unknown(captured, release):
    answer = _compared(captured[release], nodes=())
    assert answer.differences == ()
    assert {unknown.entity for unknown in answer.unknown} == {"broker-config"}


@pytest.mark.parametrize("release", RELEASES)
def test_copy_of_a_real_migration_is_as_predicted(captured, release):
    observation = observation_from(captured[release])
    rules = copy_rules(KafkaVersion(*map(int, release.split("."))))
    records = observation.log.copy_records
    tree = parse_tree(observation.tree)
    assert copy_compared(tree, records, rules, secrets=(SECRET,))[0] == ()
    assert len(copy_compared(tree, records[:-3], rules, secrets=(SECRET,))[0]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_change_in_zookeeper_after_the_copy_is_found(captured, release):
    # Each config znode is emptied in turn, and each ACL and token removed.
    found = captured[release]
    names = [znode.path for znode in found.znodes]
    configs = [znode.path for znode in found.znodes if b'"config":{"' in (znode.data or b"")]
    tokens = [name for name in names if name.startswith("/delegation_token/tokens/")]
    acls = [znode.path for znode in found.znodes if b'"acls":[{' in (znode.data or b"")]
    assert min(len(configs), len(tokens), len(acls)) > 0
    for path in configs:
        emptied = {path: json.dumps({"version": 1, "config": {}}).encode()}
        assert {difference.znode for difference in _compared(found, changed=emptied).unexplained} == {path}
    for path in (*tokens, *acls):
        assert [difference.znode for difference in _compared(found, changed={path: None}).unexplained] == [path]


def _mirrored_to(observation, offset: int):
    """Return the same with another offset in /migration."""
    znode = observation.tree.get("/migration")
    fields: Mapping[str, Any] = json.loads(znode.data)
    data = json.dumps({**fields, "kraft_metadata_offset": offset}).encode()
    znodes = {**observation.tree.znodes, "/migration": replace(znode, data=data)}
    return replace(observation, tree=tree_of(znodes.values()))


@pytest.mark.parametrize("release", RELEASES)
def test_no_ops_behind_the_mirror_need_no_second_replay(captured, release, monkeypatch):
    # Two are written per second and change nothing, so the mirror has to equal the state at the log's end.
    found = captured[release]
    observation = observation_from(found)
    log = observation.log
    (segment,) = found.logs[3001].segments
    records = log_records(segment.pieces(), file=segment.name)
    last_change = max(record.offset for record in records if getattr(record.record, "type", None) != "NoOpRecord")
    assert log.last_change_offset == last_change < log.last_offset
    assert mirror_of(_mirrored_to(observation, last_change), {}) is None
    assert mirror_of(_mirrored_to(observation, last_change), found.logs) is None
    mirror = mirror_of(_mirrored_to(observation, last_change - 1), found.logs)
    assert (mirror.offset, mirror.behind_ms > 0) == (last_change - 1, True)


@pytest.mark.parametrize("behind_ms", [LAG_ALLOWED_MS, LAG_ALLOWED_MS + 1])
def test_lag_is_explained_by_the_state_at_the_mirror(captured, behind_ms):
    # KRaft has moved on in one topic; ZooKeeper still holds what the log said before.
    observation = replace(observation_from(captured["3.9.2"]), nodes=(CONTROLLER,))
    image = observation.log.image
    key = next(key for key in image.configs if key[0] == 2)
    later = replace(image, configs={**image.configs, key: {"retention.ms": "77"}})
    moved = replace(observation, logs={3001: replace(observation.log, image=later)})
    answer = compare_observation(replace(moved, mirror=Mirror(offset=9, image=image, behind_ms=behind_ms)))
    (difference,) = answer.differences
    assert (difference.entity, difference.rule) == (
        "topic-config",
        "younger-than-the-mirror" if behind_ms <= LAG_ALLOWED_MS else None,
    )


PHASES = {
    "M0": None,
    "M2": None,
    "M0-rolled-back": Phase.ROLLED_BACK,
    "incomplete-rollback-migration-left": Phase.ROLLED_BACK,
    "incomplete-rollback-one-rolled": Phase.ROLLED_BACK,
    "M3": Phase.BEFORE_COPY,
    "M4L": Phase.BEFORE_COPY,
    "M4L-left-again": Phase.BEFORE_COPY,
    "M6": Phase.DUAL_WRITE,
    "M7": Phase.DUAL_WRITE,
    "M8": Phase.DUAL_WRITE,
    "lost-quorum": Phase.DUAL_WRITE,
    "split-brain": Phase.DUAL_WRITE,
    "M11": Phase.FINALIZED,
    "finalized-with-zookeeper-broker": Phase.FINALIZED,
}


@pytest.mark.parametrize("name", PHASES)
def test_cluster_in_every_state_has_no_unexplained_difference(name, tmp_path):
    # None of them lost anything; what a state does to ZooKeeper or KRaft is explained by it.
    with tarfile.open(STATES / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    answer = compare_observation(load_observation(str(tmp_path)))
    assert answer.phase is (PHASES[name] or Phase.UNKNOWN)
    assert answer.compared is (PHASES[name] is not None)
    assert answer.unexplained == ()
