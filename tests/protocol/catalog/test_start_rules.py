"""The table of how releases start, compared with the first release of each change."""

from __future__ import annotations

import pytest

from kafkactl.protocol.catalog.releases import find_release, known_releases
from kafkactl.protocol.catalog.start_rules import StartRules, start_rules

EVERY_PATCH = [
    find_release(f"{release.name}.{patch}") for release in known_releases() for patch in range(release.newest_patch + 1)
]
# Field -> the value of 3.3.0, and from which patch on it is another.
CHANGES = {
    "names_raft_failure": (False, {(3, 4, 0): True}),
    "meta_properties_compared_as_written": (True, {(3, 4, 0): False}),
    "reserved_word": ("resrved", {(4, 1, 0): "reserved"}),
    "locks_metadata_directory": (False, {(3, 4, 0): True}),
    "keeps_repeated_log_dirs": (True, {(4, 2, 0): False}),
    "knows_remote_index_cache": (False, {(3, 5, 0): True}),
    "knows_stray_folders": (False, {(3, 6, 1): True}),
    "sets_strays_aside": (False, {(3, 7, 0): True}),
    "sets_folders_without_id_aside": (False, {(3, 7, 1): True}),
    "stops_without_remote_metadata": (False, {(4, 2, 0): True}),
    "stops_without_metadata_directory": (False, {(3, 7, 0): True}),
    "reports_old_level_of_directories": (False, {(3, 7, 0): True}),
    "reads_any_quorum_state": (True, {(3, 7, 0): False}),
    "refuses_newer_quorum_state": (False, {(3, 7, 0): True, (3, 8, 0): False}),
    "deletes_broken_quorum_state": (True, {(3, 8, 0): False}),
    "quorum_state_range_named": (False, {(3, 8, 0): True}),
    "quorum_state_decides": (False, {(3, 8, 0): True}),
    "lone_candidate_exits": (True, {(4, 0, 0): False}),
    "foreign_leader_refused": (True, {(3, 9, 0): False}),
    "raft_reads_records": (False, {(3, 8, 0): True}),
    "waits_at_unknown_record": (True, {(3, 6, 0): False}),
    "reads_every_snapshot": (False, {(3, 6, 0): True}),
    "first_checkpoint_is_snapshot": (False, {(3, 6, 0): True, (4, 3, 0): False}),
    "loader_gets_first_checkpoint": (True, {(4, 3, 0): False}),
    "first_checkpoint_without_voters": (False, {(3, 8, 0): True, (3, 9, 0): False}),
    "reads_voters": (False, {(3, 8, 0): True}),
    "followers_report_addresses": (False, {(4, 0, 0): True}),
    "kraft_version_needs_voters": (False, {(3, 9, 0): True}),
    "activates_by_metadata_version": (False, {(4, 0, 0): True}),
    "loader_needs_metadata_version": (False, {(4, 0, 0): True}),
    "recorded_kraft_version_ignored": (False, {(4, 0, 0): True}),
    "bootstrap_reads_voters": (False, {(4, 4, 0): True}),
    "keeps_orphaned_configs": (False, {(3, 8, 0): True}),
    "bootstrap_lowest_level": (4, {(4, 0, 0): 7}),
    "bootstrap_level_words": ("metadata versions", {(3, 7, 0): "metadata.version"}),
    "level_word": ("metadata version", {(3, 8, 0): "feature level"}),
}


def test_every_field_is_in_the_list() -> None:
    assert set(CHANGES) == set(StartRules.__annotations__)


@pytest.mark.parametrize("field", CHANGES)
def test_field_changes_where_kafka_changed(field: str) -> None:
    expected, changes = CHANGES[field]
    for release in EVERY_PATCH:
        expected = changes.get(release.numbers, expected)
        assert getattr(start_rules(release), field) == expected, release.version_text


def test_patch_that_is_newer_than_the_known_ones_has_the_rules_of_its_release() -> None:
    assert start_rules(find_release("3.6.9")) == start_rules(find_release("3.6.2"))
    assert start_rules(find_release("3.6.9")) != start_rules(find_release("3.7.0"))
