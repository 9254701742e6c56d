"""Single pieces of evidence at their edges: addresses, hidden znodes, what a saved tree leaves out, leftovers."""

from __future__ import annotations

import pytest

from kafkactl.core.frozen import changed
from kafkactl.migration.state.brokers import _live_ids
from kafkactl.migration.state.evidence import DualWrite, evidence_of
from kafkactl.migration.state.identity import _same
from kafkactl.migration.state.unknown import what_is_left_over
from kafkactl.migration.state.view import observed_view
from kafkactl.migration.steps.broken_states import is_version_untold
from kafkactl.migration.steps.table import State, observed_state
from tests.migration.state.states_seen import HEALTHY
from tests.migration.state.test_soak import in_m8, soak
from tests.migration.steps.test_table import SITUATIONS

_M8 = HEALTHY["M8"]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("[FD00::A]:9092", "[fd00::a]:9092", True),
        ("fd00::a:9092", "[fd00::a]:9092", True),
        ("[fd00::a]:9092", "[fd00::a]:9093", False),
        ("[fd00::a]:9092", "[fd00::b]:9092", False),
        ("Broker-1:9092", "broker-1:9092", True),
        (None, "broker-1:9092", False),
    ],
)
def test_addresses_of_one_place_are_equal(left: str | None, right: str, same: bool) -> None:
    assert _same(left, right) is same


def test_broker_whose_znode_cannot_be_read_lives() -> None:
    tree = evidence_of(_M8.observation()).tree
    assert tree is not None
    hidden = changed(tree, hidden=("/brokers/ids/17", "/brokers/ids/seqid", "/config/users/alice"))
    assert _live_ids(hidden) - _live_ids(tree) == {17}


@pytest.mark.parametrize(
    ("offset", "last", "lag"),
    [(5, 5, 0), (7, 5, 0), (5, 6, 1), (-1, 6, None), (0, 6, None), (1, 2, 1), (5, None, None)],
)
def test_lag_of_zookeeper_is_the_number_of_records_after_its_offset(
    offset: int, last: int | None, lag: int | None
) -> None:
    assert DualWrite(offset=offset, last=last, age_ms=0).lag == lag


@pytest.mark.parametrize("has_versions", [True, False])
def test_saved_tree_without_versions_leaves_a_recreated_znode_unknown(has_versions: bool) -> None:
    observation = _M8.observation()
    assert observation.tree is not None
    znodes = [
        changed(znode, untold=frozenset() if has_versions else frozenset({"version"}))
        if znode.path == "/migration"
        else znode
        for znode in observation.tree.znodes.values()
    ]
    tree = changed(observation.tree, znodes={znode.path: znode for znode in znodes})
    assert is_version_untold(evidence_of(changed(observation, tree=tree))) is not has_versions


@pytest.mark.parametrize(("end", "is_left"), [(0, False), (1, True), (40, True)])
def test_one_record_on_a_controllers_disk_is_left_over(end: int, is_left: bool) -> None:
    seen, _ = SITUATIONS["rolled back from M6"]
    observation = seen.observation()
    logs = {id: changed(log, end_offset=end) for id, log in observation.logs.items()}
    found = what_is_left_over(evidence_of(changed(observation, logs=logs)))
    assert ("controller-disk-left-over" in {finding.id for finding in found}) is is_left


def test_leftover_has_its_next_step_and_its_offset() -> None:
    seen, _ = SITUATIONS["rolled back from M6"]
    left = {finding.id: finding for finding in observed_state(seen.observation()).leftovers}
    assert "remove that directory while the broker is stopped" in str(left["broker-metadata-left-over"].advice)
    (znode,) = (
        finding for finding in what_is_left_over(evidence_of(_M8.observation())) if finding.subject == "/migration"
    )
    tree = evidence_of(_M8.observation()).tree
    assert tree is not None and tree.migration is not None
    assert znode.evidence == {"metadata_offset": tree.migration.metadata_offset}


def test_view_shows_the_soak_in_m8() -> None:
    observation = in_m8()
    found, shown = soak(observation), observed_view(evidence_of(observation), State.M8)["soak"]
    assert found is not None and shown is not None
    assert (shown["lasted_ms"], shown["elections"], shown["words"]) == (found.lasted_ms, found.elections, found.words)
    assert observed_view(evidence_of(_M8.observation()), State.M8)["soak"] is None


def test_migration_znode_that_cannot_be_read_is_left_over_as_well() -> None:
    found = what_is_left_over(evidence_of(HEALTHY["M0"].but(migration="no JSON").observation()))
    assert {finding.id: finding.evidence for finding in found} == {
        "migration-znode-left-over": {"metadata_offset": None}
    }
