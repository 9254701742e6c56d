"""Rules for the start of a release's node on its disks: schemas/features/start_rules.toml as values."""

from __future__ import annotations

import functools

from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.release_table import ReleaseTable, Version, read_release_table


@frozen
class StartRules:
    """Differences between the starts of two releases.

    Directories
      names_raft_failure: SharedServer logs a failure of its own if the raft layer cannot start.
      meta_properties_compared_as_written: the files of several directories are compared word by word, not by fields.
      reserved_word: how "reserved" is spelled in the refusal of a directory.id.
      locks_metadata_directory: a metadata directory that stands apart, or has no broker, is locked for itself.
      keeps_repeated_log_dirs: a path that log.dirs names twice is taken twice.
      knows_remote_index_cache, knows_stray_folders: such folders are not topic partitions, and are skipped.
      sets_strays_aside: a replica of a topic that is not in the metadata is renamed before it is counted.
      sets_folders_without_id_aside: a folder without a topic id is one of them, and does not end the start.
      stops_without_metadata_directory: a broker whose metadata directory fails ends, though others are left.
      reports_old_level_of_directories: several directories under a metadata.version without them are an error.

    quorum-state
      reads_any_quorum_state: a file of any data_version is read as far as its fields are known.
      refuses_newer_quorum_state: a data_version above 0 that can be read is refused.
      deletes_broken_quorum_state: a file that cannot be read is deleted, and the vote in it forgotten.
      quorum_state_range_named: the refusal of a data_version names the range that is known.
      quorum_state_decides: leader and vote of the file are judged; before, its voters are compared with the
      configuration.
      lone_candidate_exits: a node that is alone in its quorum and voted cannot continue from there.
      foreign_leader_refused: the leader in the file has to be a voter.

    Log and snapshots
      raft_reads_records: the raft layer decodes every record, so what is broken stops the node before the replay.
      waits_at_unknown_record: a broker that cannot read a record waits indefinitely and does not exit.
      reads_every_snapshot: a snapshot is read also if the log begins at offset 0.
      first_checkpoint_is_snapshot: the 0-0 checkpoint is loaded as any other snapshot.
      loader_gets_first_checkpoint: the metadata loader gets the 0-0 checkpoint, and needs its first batch.
      first_checkpoint_without_voters: voters in the 0-0 checkpoint cannot be filed.
      reads_voters: the voters come from log and snapshots (KIP-853).
      followers_report_addresses: a leader takes the address that a follower advertises into the voter set.
      kraft_version_needs_voters: a leader under kraft.version 1 without a recorded voter set ends.
      activates_by_metadata_version: a new leader takes a log without metadata.version for an empty one; before, one
      without records.
      loader_needs_metadata_version: a controller that has read up to the end of the log, records of it after a
      snapshot included, ends if there was no metadata.version among them.
      keeps_orphaned_configs: the configuration of a topic that was created and removed within one read stays.
      recorded_kraft_version_ignored: a FeatureLevelRecord of kraft.version is not compared with what is supported.
      stops_without_remote_metadata: a broker whose topic-based manager of tiered metadata finds no servers stops.

    bootstrap.checkpoint
      bootstrap_reads_voters: kraft.version and voters may be in it. bootstrap_lowest_level: the lowest
      metadata.version that its reader takes. bootstrap_level_words, level_word: how refusals name a level.
    """

    names_raft_failure: bool
    meta_properties_compared_as_written: bool
    reserved_word: str
    locks_metadata_directory: bool
    keeps_repeated_log_dirs: bool
    knows_remote_index_cache: bool
    knows_stray_folders: bool
    sets_strays_aside: bool
    sets_folders_without_id_aside: bool
    stops_without_metadata_directory: bool
    reports_old_level_of_directories: bool
    reads_any_quorum_state: bool
    refuses_newer_quorum_state: bool
    deletes_broken_quorum_state: bool
    quorum_state_range_named: bool
    quorum_state_decides: bool
    lone_candidate_exits: bool
    foreign_leader_refused: bool
    raft_reads_records: bool
    waits_at_unknown_record: bool
    reads_every_snapshot: bool
    first_checkpoint_is_snapshot: bool
    loader_gets_first_checkpoint: bool
    first_checkpoint_without_voters: bool
    reads_voters: bool
    followers_report_addresses: bool
    kraft_version_needs_voters: bool
    activates_by_metadata_version: bool
    loader_needs_metadata_version: bool
    recorded_kraft_version_ignored: bool
    keeps_orphaned_configs: bool
    stops_without_remote_metadata: bool
    bootstrap_reads_voters: bool
    bootstrap_lowest_level: int
    bootstrap_level_words: str
    level_word: str


def start_rules(release: Release) -> StartRules:
    """Return the rules of a release, to the patch."""
    return _at(release.numbers)


@functools.cache
def _at(version: Version) -> StartRules:
    return StartRules(**_table().at(version))


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("features/start_rules.toml", StartRules.__annotations__)
