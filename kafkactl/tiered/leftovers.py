"""The objects that no broker will read or delete any more: a list to delete by.

In doubt an object is not in the list: nothing of an id that a living topic still has, in whatever state, nothing of
segments that brokers have forgotten (their data can still be saved), and no file that is not named like a segment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, blocker, note
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.core.wording import counted
from kafkactl.tiered.audit.case import AuditCase
from kafkactl.tiered.audit.findings import in_order
from kafkactl.tiered.audit.metadata_findings import metadata_findings
from kafkactl.tiered.audit.object_findings import (
    AFTER_DELETE_FINISHED,
    UNKNOWN_OBJECT,
    deleted_objects,
    is_of_another_cluster,
    known_ids,
    unknown_objects,
)
from kafkactl.tiered.audit.segment_findings import certain_orphan
from kafkactl.tiered.bucket import Bucket, StoredObject
from kafkactl.tiered.records import PartitionKey
from kafkactl.tiered.states import COPYING

DELETED_TOPIC: Final = "leftover-of-deleted-topic"
ORPHAN: Final = "orphan-copy"
# With one of these some records were not read: an object that seems to be left over may be in use.
_REFUSING: Final = frozenset(
    {
        "damaged-metadata-log",
        "diverged-metadata-replicas",
        "metadata-log-start-moved",
        "metadata-of-another-cluster",
        "metadata-view-incomplete",
        "unread-metadata-batch",
    }
)


Reason = Literal["unknown-object", "object-after-delete-finished", "leftover-of-deleted-topic", "orphan-copy"]


@frozen(kw_only=False)
class Leftover:
    """An object that may go."""

    found: StoredObject
    segment_id: bytes
    reason: Reason

    @property
    def segment_uuid(self) -> Uuid:
        """Return the id of the segment that the key names."""
        return Uuid(self.segment_id)

    to_dict = json_of("key=found.key", "bytes=found.size", "segment_id=segment_uuid", "reason")


_NEXT_STEP: Final = (
    "Look through the list, save what may be needed, and delete the keys with the store's own tool, such as "
    "`aws s3 rm` or `aws s3api delete-objects`, with versioning on."
)


@frozen
class Leftovers:
    """The list; empty if it is refused. `skipped` counts objects that are left out for their age, `undated` those
    in the list whose age is not known, `unproven` those that a record may name that was not read, or that may belong to
    another cluster."""

    refused: bool
    objects: tuple[Leftover, ...]
    findings: tuple[Finding, ...]
    skipped: int = 0
    """Objects younger than --older-than."""
    undated: int = 0
    unproven: int = 0
    """Objects that a record may name that was not read, or that may belong to another cluster."""

    @property
    def size(self) -> int:
        """Return the bytes of the objects."""
        return sum(leftover.found.size for leftover in self.objects)

    @property
    def by_reason(self) -> dict[str, int]:
        """Return the number of objects by reason."""
        return dict(sorted(Counter(leftover.reason for leftover in self.objects).items()))

    @property
    def next_step(self) -> str:
        """Return the action to take with the list; "" if the list is empty."""
        return _NEXT_STEP if self.objects else ""

    @property
    def outcome(self) -> Literal["done", "refused"]:
        """Return refused if the input does not prove which objects are left over."""
        return "refused" if self.refused else "done"

    @property
    def objects_total(self) -> int:
        """Return the number of objects."""
        return len(self.objects)

    to_dict = json_of(
        "outcome", "objects", "objects_total", "bytes=size", "by_reason", "left_out_for_age=skipped",
        "left_out_unproven=unproven", "findings", "next_step",
    )  # fmt: skip


def leftovers(case: AuditCase, bucket: Bucket, *, older_than_ms: int, include_orphans: bool = False) -> Leftovers:
    """Return the objects that may be deleted, without objects younger than `older_than_ms` or of unknown age."""
    reasons = list(_reasons_to_refuse(case, bucket))
    if reasons:
        return Leftovers(refused=True, objects=(), findings=tuple(in_order(reasons)))
    found, skipped, undated, unproven = [], 0, 0, 0
    for leftover, is_proven in _candidates(case, bucket, include_orphans=include_orphans):
        mtime = leftover.found.mtime_ms
        if mtime is not None and (case.now_ms is None or case.now_ms - mtime < older_than_ms):
            skipped += 1
        elif not is_proven:
            unproven += 1
        else:
            undated += mtime is None
            found.append(leftover)
    findings = []
    if undated:
        text = f"the listing has no time for {undated} of the objects: they are in the list whatever their age"
        findings.append(note("object-age-unknown", bucket.listing.path, text))
    if unproven:
        text = (
            f"{counted(unproven, 'object')} may be named by a record that was not read, or belong to another cluster:"
            " they are newer than what was read of the metadata topic, of no known age, or of a topic of which it has"
            " no record"
        )
        step = "Read the cluster with --from-cluster, or give an observation of it. List the prefix of one cluster."
        findings.append(note("object-may-have-a-record", bucket.listing.path, text, step))
    found.sort(key=lambda leftover: leftover.found.key)
    return Leftovers(
        refused=False, objects=tuple(found), findings=tuple(findings), skipped=skipped, undated=undated,
        unproven=unproven,
    )  # fmt: skip


def _reasons_to_refuse(case: AuditCase, bucket: Bucket) -> Iterator[Finding]:
    for finding in metadata_findings(case):
        undecodable = finding.id == "poison-record" and finding.evidence.get("why") == "undecodable"
        if finding.id in _REFUSING or undecodable:
            yield finding
    if is_of_another_cluster(case, bucket) or not case.ledger.partitions:
        yield blocker(
            "listing-of-another-store",
            bucket.listing.path,
            "the metadata topic names no segment and no topic of the listing: all of it would seem to be left over",
            "Give the metadata partitions and the listing of one cluster.",
        )
    if case.hash_partitions is None:
        yield blocker(
            "metadata-view-incomplete",
            "the metadata topic",
            "how many partitions it has is not known: one that was not given may name objects of the list",
            "Give --metadata, --from-cluster, or --metadata-partitions.",
        )
    if case.view.topics is None:
        yield blocker(
            "topics-unknown",
            "the cluster",
            "which topics exist is not known, so that leftovers of deleted topics cannot be distinguished"
            " from those of existing ones",
            "Give --metadata, --observation or --from-cluster.",
        )


def _candidates(case: AuditCase, bucket: Bucket, *, include_orphans: bool) -> Iterator[tuple[Leftover, bool]]:
    """Yield each candidate, and whether it remains one whatever unread records and other clusters contain."""
    living = _ids_of_living_topics(case)
    gone = {
        segment.segment_id
        for partition in case.partitions
        if partition.exists is False
        for segment in partition.log.segments()
    }
    for segment_id, found in bucket.of(sorted(gone - living)):
        yield Leftover(found, segment_id, DELETED_TOPIC), True
    for segment_id, found in deleted_objects(case, bucket, known_ids(case)):
        yield Leftover(found, segment_id, AFTER_DELETE_FINISHED), True
    unknown, _ = unknown_objects(case, bucket)
    for of, found in unknown:
        if of is not None:
            yield Leftover(found, of, UNKNOWN_OBJECT), _has_no_record(case, _key_of(bucket, of, found), found.mtime_ms)
    if include_orphans:
        for partition in case.living():
            for segment in partition.segments:
                if segment.state is COPYING and certain_orphan(partition, segment) is not None:
                    # Records in several metadata partitions have no order: the copy may have ended.
                    ended = len(partition.log.records_in) == 1 and case.reaches(
                        partition.key, segment.event_timestamp_ms + case.choices.copy_timeout_ms
                    )
                    for segment_id, found in bucket.of([segment.segment_id]):
                        yield Leftover(found, segment_id, ORPHAN), ended


def _has_no_record(case: AuditCase, key: PartitionKey | None, mtime_ms: int | None) -> bool:
    """Return True if no record of this cluster, read or not, can name an object of a user partition.

    Brokers write the base record before the first byte of its objects. A topic of which the metadata topic has no
    record is one of another cluster that shares the store, or was tiered before the metadata topic was created again.
    """
    if key is not None and not case.has_records(key.topic_id):
        return False
    if mtime_ms is None and not case.is_listed_before_view:
        return False
    return case.reaches(key, mtime_ms)


def _key_of(bucket: Bucket, segment_id: bytes, found: StoredObject) -> PartitionKey | None:
    """Return the user partition that a key names; None if the layout does not have it."""
    name = next(name for name, other in bucket.segments[segment_id] if other is found)
    return None if name.topic_id is None or name.partition is None else PartitionKey(name.topic_id, name.partition)


def _ids_of_living_topics(case: AuditCase) -> set[bytes]:
    return {segment.segment_id for partition in case.living() for segment in partition.log.segments()}
