"""An observation of a roll as a folder: written, read, and unknown if something is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kafkactl.change.journal_lines import JournalText, new_entry
from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.schema.spec import Versions
from kafkactl.roll.io.saved_observation import CapturedRoll, load_captured, load_observation, save_observation
from kafkactl.roll.observation import RollNode, make_observation
from tests.roll.rolls import Roll, save_roll

GOLDEN = Path(__file__).parents[2] / "golden"
NODES = (
    RollNode(id=1, roles=(Role.CONTROLLER,), alive=True, config="process.roles=controller\nssl.key.password=hunter2\n"),
    RollNode(
        id=11,
        roles=(Role.BROKER,),
        host="b1",
        rack="a",
        alive=None,
        release="4.3.1",
        installed="4.4.0",
        java='openjdk version "17.0.1"',
        features={"metadata.version": Versions(7, 30)},
    ),
)
QUORUM = {
    "kind": "quorum.describe",
    "leader_id": 1,
    "leader_epoch": 3,
    "voters": [{"id": 1, "log_end_offset": 90, "lag": 0, "alive": True}],
    "observers": [{"id": 11, "log_end_offset": 88, "alive": None}],
    "nodes": [{"id": 1, "leader_epoch": 3}, {"id": 11, "leader_epoch": None}],
}
LISTED = {"kind": "nodes.list", "nodes": [{"id": 11, "answers": False, "fenced": True, "features": {}}]}


def log_folder(place: Path) -> Path:
    folder = place / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / "segment-4.3.1-static.log.bin", folder / "00000000000000000000.log")
    return folder


def captured(tmp_path: Path, **more: object) -> CapturedRoll:
    journal = [new_entry(JournalText(entries=()), "journal", {"version": 1, "subject": "roll"}, at_ms=5)]
    observation = make_observation(
        time_ms=7, cluster_id=None, nodes=NODES, quorum=QUORUM, nodes_list=LISTED, journal=journal
    )
    return CapturedRoll(observation=observation, logs={1: open_source(str(log_folder(tmp_path / "disk")))})


def test_saved_observation_is_read_as_it_was_captured(tmp_path):
    saved = captured(tmp_path)
    save_observation(tmp_path / "seen", saved, include_secrets=True)
    assert load_captured(tmp_path / "seen").observation == saved.observation


def test_log_is_read_with_its_history(tmp_path):
    save_observation(tmp_path / "seen", captured(tmp_path))
    log = load_observation(tmp_path / "seen").log
    assert log is not None
    assert log.controller_id == 1
    assert log.image.features["metadata.version"] >= 7
    assert log.end_offset == log.loaded.last_offset + 1
    assert [event.kind.value for event in log.events if event.role is Role.BROKER][:2] == ["registered", "unfenced"]
    assert log.leaders
    assert log.record_versions[12] == 0  # FeatureLevelRecord


def test_password_of_a_node_is_saved_only_on_request(tmp_path):
    save_observation(tmp_path / "seen", captured(tmp_path))
    assert "hunter2" not in (tmp_path / "seen" / "observation.json").read_text()


def test_answers_are_read_for_what_a_roll_needs():
    observation = make_observation(time_ms=7, cluster_id=None, nodes=NODES, quorum=QUORUM, nodes_list=LISTED)
    quorum = observation.quorum_view
    assert quorum is not None
    assert (quorum.leader_id, quorum.leader_epoch, quorum.asked_epochs) == (1, 3, (3,))
    assert quorum.replica(11).log_end_offset == 88
    assert observation.listed[11].answers is False
    assert observation.listed[11].registered is None


def test_observation_without_answers_log_and_journal_is_unknown(tmp_path):
    document = {"kind": "roll.observation", "schema_version": 1, "nodes": [{"id": 3, "roles": ["broker"]}]}
    (tmp_path / "observation.json").write_text(json.dumps(document))
    found = load_observation(tmp_path)
    assert (found.log, found.journal, found.quorum_view, found.listed) == (None, None, None, {})
    assert found.node(3).alive is None
    assert found.findings == ()


def test_damaged_log_and_journal_are_findings(tmp_path):
    save_observation(tmp_path / "seen", captured(tmp_path))
    (tmp_path / "seen" / "journal.jsonl").write_text('{"no": "journal"}\n')
    for file in (tmp_path / "seen" / "metadata" / "1" / "__cluster_metadata-0").iterdir():
        file.rename(file.with_name("00000000000000000999.log"))
    found = load_observation(tmp_path / "seen")
    assert [finding.id for finding in found.findings] == ["observed-journal-unreadable", "observed-log-unreadable"]
    assert found.log is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"kind": "migrate.observation"}, "kind"),
        ({"nodes": [{"id": 1, "roles": ["voter"]}]}, "nodes[0].roles"),
        ({"nodes": [{"id": -1, "roles": ["broker"]}]}, "nodes[0].id"),
        ({"nodes": [{"id": 1, "roles": ["broker"], "alive": "yes"}]}, "nodes[0].alive"),
        ({"nodes": [{"id": 1, "roles": ["broker"]}] * 2}, "nodes"),
        ({"nodes": [{"id": 1, "roles": ["broker"], "features": {"a": 1}}]}, "nodes[0].features.a"),
        ({"nodes": []}, "nodes"),
        ({"quorum": {"voters": [{}]}}, "quorum.voters[0].id"),
    ],
)
def test_field_of_the_wrong_type_is_an_error_with_its_path(tmp_path, change, field):
    document = {"kind": "roll.observation", "schema_version": 1, "nodes": [{"id": 1, "roles": ["broker"]}], **change}
    (tmp_path / "observation.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"observation\.json: ") as raised:
        load_captured(tmp_path)
    assert raised.value.id == "invalid-observation"
    assert f": {field}: " in raised.value.message


def test_folder_without_an_observation_is_an_error(tmp_path):
    with pytest.raises(InputError) as raised:
        load_observation(tmp_path / "none")
    assert raised.value.id == "no-observation"


def test_folder_in_use_is_refused(tmp_path):
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen" / "other").touch()
    with pytest.raises(RefusedError):
        save_observation(tmp_path / "seen", captured(tmp_path))


def test_whole_log_of_a_follower_counts_if_that_of_the_leader_is_cut_or_empty(tmp_path: Path) -> None:
    roll = Roll("4.3.1").topic("orders", [11, 12, 13])
    folder = save_roll(roll, tmp_path / "seen")
    leader = folder / "metadata" / "3"
    shutil.copytree(leader, folder / "metadata" / "1")
    file = next(leader.rglob("*.log"))
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], bytes(500), b""):
        file.write_bytes(content)
        seen = load_observation(folder)
        assert seen.log is not None
        assert (seen.log.controller_id, seen.log.end_offset) == (1, roll.end_offset)
    shutil.rmtree(folder / "metadata" / "1")
    seen = load_observation(folder)
    assert seen.log is None, "a log without a record shows nothing"
    assert [finding.id for finding in seen.findings] == ["observed-log-unreadable"]


def test_quorum_whose_leader_is_not_named_is_unknown(tmp_path: Path) -> None:
    roll = Roll("4.3.1")
    roll.quorum = {"leader_id": None, "voters": []}
    assert load_observation(save_roll(roll, tmp_path / "seen")).quorum_view is None


@pytest.mark.parametrize("order", [(1, 11, 12, 13), (13, 1, 12, 11), (11, 12, 13, 1)])
def test_node_is_found_by_its_id_in_any_order(order):
    nodes = tuple(RollNode(id=id, roles=(Role.BROKER,)) for id in order)
    made = make_observation(time_ms=7, cluster_id=None, nodes=nodes, quorum=None, nodes_list=None)
    observation = changed(made, nodes=nodes)
    assert tuple(observation.node(id) for id in order) == nodes
    assert [observation.node(id) for id in (0, 5, 14)] == [None] * 3
