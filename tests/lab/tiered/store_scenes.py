"""Scenes of the store, of retention and of operators: one function a scene, and the table of them.

In the middle of the act the broker that leads most of them is killed. Each topic has segments of 18 records.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkactl.core.values import Uuid
from tests.lab.tiered.stage import COPIED, COPYING, DELETED, DELETING, Hand, Scene, Steps

KEEP_THREE = "65000"  # bytes: a little more than three segments of 18 records and the open one


def healthy(hand: Hand) -> Steps:
    """Write five segments, and the local log after them."""
    hand.create()
    hand.produce(100)
    yield hand.copied(5)


def two_epochs(hand: Hand) -> Steps:
    """Run a scene in which the leader moves in between."""
    hand.create()
    hand.produce(50)
    yield hand.copied(2)
    hand.move_leader("12,11")
    yield hand.leads(12)
    hand.produce(50)
    yield hand.copied(5)
    hand.move_leader("11,12")
    yield hand.leads(11)


def retention_by_size(hand: Hand) -> Steps:
    """Delete the first segments by retention."""
    yield from healthy(hand)
    hand.configure(retention__bytes=KEEP_THREE)
    yield lambda: len(hand.segments(DELETED)) >= 1 and not hand.segments(DELETING)
    hand.configure(retention__bytes="-1")


def retention_by_time(hand: Hand) -> Steps:
    """Delete everything by retention, then lift the limit."""
    yield from healthy(hand)
    hand.configure(retention__ms="1000")
    yield lambda: not hand.segments(COPYING, COPIED, DELETING) and len(hand.segments(DELETED)) >= 5
    hand.configure(retention__ms="-1")


def cut_at(offset: int, left: int) -> Callable[[Hand], Steps]:
    """Delete records up to an offset, which leaves so many segments."""

    def steps(hand: Hand) -> Steps:
        yield from healthy(hand)
        hand.cut(offset)
        yield lambda: len(hand.segments(COPIED)) == left and not hand.segments(DELETING)

    return steps


def held(fault: str) -> Callable[[Hand], Steps]:
    """Run a scene with a copy that is held when its broker is killed."""

    def steps(hand: Hand) -> Steps:
        yield from healthy(hand)
        hand.fault(fault)
        hand.produce(20)
        yield hand.has(1, COPYING)

    return steps


def copies_fail(*faults: str) -> Callable[[Hand], Steps]:
    """Fail copies for some attempts; then the store is well again."""

    def steps(hand: Hand) -> Steps:
        hand.create()
        hand.fault(*faults)
        hand.produce(50)
        yield lambda: len(hand.segments()) >= 3
        hand.fault(*faults, on=False)
        yield lambda: len(hand.segments(COPIED)) == 2 and hand.offsets().get("earliest_local") == 36

    return steps


def clean_up_refused(hand: Hand) -> Steps:
    """Run a scene in which a copy fails behind a segment that is kept, and so does its clean-up; then the store is well
    again."""
    hand.create()
    hand.produce(20)
    yield hand.copied(1)
    hand.fault("refuse-after-copy", "refuse-delete")
    hand.produce(30)
    yield lambda: len([segment for segment in hand.segments() if segment.start_offset == 18]) >= 3
    hand.fault("refuse-after-copy", "refuse-delete", on=False)
    yield lambda: len(hand.segments(COPIED)) == 2 and hand.offsets().get("earliest_local") == 36


def delete_begun(start: int) -> Callable[[Hand], Steps]:
    """Write DELETE_SEGMENT_STARTED of a segment that retention keeps, and whose objects are there."""

    def steps(hand: Hand) -> Steps:
        yield from healthy(hand)
        (found,) = [segment for segment in hand.segments(COPIED) if segment.start_offset == start]
        hand.update(Uuid.parse(found.segment_id), DELETING)
        yield hand.has(4, COPIED)

    return steps


def refused_by_size(hand: Hand) -> Steps:
    """Delete by size while the store refuses deletes: the log start runs away, but not on 3.6."""
    yield from healthy(hand)
    hand.fault("refuse-delete")
    hand.configure(retention__bytes=KEEP_THREE)
    yield lambda: any(segment.records > 3 for segment in hand.segments(DELETING))
    passed = 90 if _runs_away(hand) else 36
    yield lambda: hand.offsets().get("earliest", 0) >= passed


def _runs_away(hand: Hand) -> bool:
    return hand.cluster.number >= (3, 7)


def refused_and_healed(hand: Hand) -> Steps:
    """Run the same scene, until the store deletes again."""
    yield from refused_by_size(hand)
    hand.fault("refuse-delete", on=False)
    deleted = 5 if _runs_away(hand) else 2
    yield lambda: len(hand.segments(DELETED)) == deleted and not hand.segments(COPYING, DELETING)
    hand.configure(retention__bytes="-1")


def refused_by_cut(hand: Hand) -> Steps:
    """Run a scene with two segments below a log start that an operator moved, and the store refuses."""
    yield from healthy(hand)
    hand.fault("refuse-delete")
    hand.cut(36)
    yield lambda: any(segment.records > 3 for segment in hand.segments(DELETING))


def refused_one(hand: Hand) -> Steps:
    """Run a scene with one segment below the log start, and the store refuses."""
    yield from healthy(hand)
    hand.fault("refuse-delete")
    hand.cut(18)
    yield lambda: any(segment.records > 3 for segment in hand.segments(DELETING))


def lost_deletes(hand: Hand) -> Steps:
    """Run a scene in which the store says that it deleted."""
    hand.create()
    hand.fault("lose-delete")
    hand.produce(100)
    yield hand.copied(5)
    hand.cut(36)
    yield lambda: len(hand.segments(DELETED)) == 2


def lost_copy(hand: Hand) -> Steps:
    """Run a scene in which the store says that it copied."""
    hand.create()
    hand.fault("lose-copy")
    hand.produce(30)
    yield hand.copied(1)
    hand.fault("lose-copy", on=False)
    hand.produce(40)
    yield hand.copied(3)


def harmed(suffix: str, *, cut: bool = False) -> Callable[[Hand], Steps]:
    """Run a scene in which an object of a complete segment is removed or cut."""

    def steps(hand: Hand) -> Steps:
        yield from healthy(hand)
        (file,) = hand.objects(18, suffix)
        if cut:
            file.write_bytes(file.read_bytes()[:5000])
        else:
            file.unlink()

    return steps


def strangers(hand: Hand) -> Steps:
    """Run a scene with objects that no record names: a segment's, and one of another program."""
    yield from healthy(hand)
    folder = hand.objects(0)[0].parent
    (folder / f"{7:020}-{hand.other}.log").write_bytes(b"x" * 100)
    (folder / "README").write_bytes(b"what is this")


def removed(*starts: int) -> Callable[[Hand], Steps]:
    """Complete segments are deleted out of order, by records and objects."""

    def steps(hand: Hand) -> Steps:
        yield from healthy(hand)
        for start in starts:
            hand.remove(start)
        yield hand.has(len(starts), DELETED)

    return steps


def illegal(hand: Hand) -> Steps:
    """Run a scene with an update from COPY_SEGMENT_FINISHED to DELETE_SEGMENT_FINISHED."""
    yield from healthy(hand)
    hand.update(Uuid.parse(hand.segments(COPIED)[1].segment_id), DELETED)


def without_base(hand: Hand) -> Steps:
    """Run a scene with updates of a segment that has no base record."""
    yield from healthy(hand)
    for state in (COPIED, DELETING):
        hand.update(hand.other, state)


def delete_marked(hand: Hand) -> Steps:
    """Write DELETE_PARTITION_MARKED and _STARTED of a partition that lives."""
    yield from healthy(hand)
    for state in (0, 1):
        hand.record("RemotePartitionDeleteMetadataRecord", RemotePartitionDeleteState=state)


def superseded(hand: Hand) -> Steps:
    """Copy a range again, and more of it, as another program would."""
    yield from healthy(hand)
    (found,) = [segment for segment in hand.segments(COPIED) if segment.start_offset == 72]
    hand.base(hand.other, 72, 89, size=found.bytes)
    hand.update(hand.other, COPIED)
    for file in hand.objects(72):
        copy = file.name.replace(found.segment_id, str(hand.other))
        (file.parent / copy).write_bytes(file.read_bytes())
    yield hand.has(6, COPIED)


def orphan_cleaned(hand: Hand) -> Steps:
    """Run a scene with a copy that never ended, once retention has passed its range."""
    yield from healthy(hand)
    hand.base(hand.other, 18, 35)
    yield hand.has(1, COPYING)
    hand.cut(54)
    yield lambda: not hand.segments(COPYING, DELETING) and len(hand.segments(COPIED)) == 2


def orphan_kept(hand: Hand) -> Steps:
    """Run the same scene inside the kept range."""
    yield from healthy(hand)
    hand.base(hand.other, 18, 35)
    yield hand.has(1, COPYING)


def dropped(*faults: str) -> Callable[[Hand], Steps]:
    """Run a scene in which the topic is deleted; with faults its objects stay. The store is well again when the leader
    is lost."""

    def steps(hand: Hand) -> Steps:
        yield from healthy(hand)
        hand.fault(*faults)
        hand.drop()
        if "refuse-delete" in faults:
            yield lambda: len(hand.segments(DELETING)) == 5 and hand.refused("refuse-delete")
        else:
            yield hand.has(5, DELETED)

    return steps


def dropped_in_copy(hand: Hand) -> Steps:
    """Run a scene in which the topic is deleted while a copy runs, which then ends."""
    yield from healthy(hand)
    hand.fault("hold-after-copy")
    hand.produce(20)
    yield hand.has(1, COPYING)
    hand.drop()
    yield lambda: len(hand.segments(DELETED)) >= 5
    hand.fault("hold-after-copy", on=False)


def recreated(*faults: str) -> Callable[[Hand], Steps]:
    """Delete a topic, and create it again by the same name."""

    def steps(hand: Hand) -> Steps:
        yield from dropped(*faults)(hand)
        yield lambda: (hand.topic, 0) not in hand.stage.leaders().partitions
        hand.create()
        hand.produce(50)
        yield lambda: len(hand.segments(COPIED)) == 2 and hand.offsets().get("earliest_local") == 36

    return steps


def copying_off(hand: Hand) -> Steps:
    """Run a scene with remote.log.copy.disable: nothing more is copied."""
    yield from healthy(hand)
    hand.configure(local__retention__bytes="-2", local__retention__ms="-2", remote__log__copy__disable="true")


def tiering_off(hand: Hand) -> Steps:
    """Run a scene with remote.log.delete.on.disable: everything remote is deleted."""
    yield from healthy(hand)
    hand.configure(remote__storage__enable="false", remote__log__delete__on__disable="true")
    yield hand.has(5, DELETED)


def tiering_off_and_on(hand: Hand) -> Steps:
    """Switch tiering off and on again: new ids from the first local segment on."""
    yield from tiering_off(hand)
    hand.configure(remote__storage__enable="true", remote__log__delete__on__disable="false")
    hand.produce(40)
    yield lambda: len(hand.segments(COPIED)) >= 2 and not hand.segments(COPYING)


def tiered_late(hand: Hand) -> Steps:
    """Create a topic without tiering, and switch tiering on when it has data."""
    hand.create(remote__storage__enable="false", local__retention__bytes="-2")
    hand.produce(60)
    hand.configure(remote__storage__enable="true", local__retention__bytes="1")
    yield hand.copied(3)


def more_partitions(hand: Hand) -> Steps:
    """Add partitions, which are empty."""
    yield from healthy(hand)
    hand.cluster.chore("grow", hand.topic, 3)


def custom_metadata(hand: Hand) -> Steps:
    """Run a scene in which the store gives metadata of its own."""
    hand.create()
    hand.fault("custom-metadata")
    hand.produce(100)
    yield hand.copied(5)


def running(hand: Hand) -> Steps:
    """Run a scene with a copy that runs all the time, on a broker that stays."""
    yield from held("hold-after-copy")(hand)


def moved_in_copy(hand: Hand) -> Steps:
    """Run a scene in which the leader moves while its copy runs, and the copy ends afterwards."""
    yield from held("hold-after-copy")(hand)
    hand.move_leader("12,11")
    yield hand.leads(12)
    hand.fault("hold-after-copy", on=False)
    yield lambda: any(s.start_offset == 90 and s.broker_id == 12 for s in hand.segments(COPIED))


def empty(hand: Hand) -> Steps:
    """Run a scene with a topic that never had a closed segment."""
    hand.create()
    hand.produce(5)
    yield lambda: hand.offsets().get("latest") == 5


SCENES: tuple[Scene, ...] = (
    Scene(name="healthy", steps=healthy),
    Scene(name="empty", steps=empty),
    Scene(name="two leader epochs", steps=two_epochs),
    Scene(name="three replicas", steps=healthy, replicas="11,12,1"),
    Scene(name="one replica", steps=healthy, replicas="11"),
    Scene(name="led by a broker that stays", steps=healthy, replicas="12,11"),
    Scene(name="custom metadata", steps=custom_metadata),
    Scene(name="more partitions", steps=more_partitions),
    Scene(name="tiered late", steps=tiered_late),
    Scene(name="retention by size", steps=retention_by_size),
    Scene(name="retention by time", steps=retention_by_time),
    Scene(name="records deleted inside a segment", steps=cut_at(25, 4)),
    Scene(name="records deleted to a segment", steps=cut_at(36, 3)),
    Scene(name="records deleted into the local log", steps=cut_at(95, 0)),
    Scene(
        name="killed after the upload", steps=held("hold-after-copy"), before="copy-in-progress", after="orphan-copy"
    ),
    Scene(
        name="killed before the upload", steps=held("hold-before-copy"), before="copy-in-progress", after="orphan-copy"
    ),
    Scene(name="a copy that runs", steps=running, replicas="12,11", before="copy-in-progress", uploads=False),
    Scene(name="leader moved in mid copy", steps=moved_in_copy, before="*", after="*"),
    Scene(name="copies refused before", steps=copies_fail("refuse-before-copy"), old=("orphan-copy", "orphan-copy")),
    Scene(name="copies refused after", steps=copies_fail("refuse-after-copy"), old=("orphan-copy", "orphan-copy")),
    Scene(
        name="copies and clean-up refused",
        steps=copies_fail("refuse-after-copy", "refuse-delete"),
        before="*",  # dangling-delete where a copy ended before the next retention pass
        old=("orphan-copy", "orphan-copy"),
    ),
    Scene(
        name="copies and clean-up refused behind a kept segment",
        steps=clean_up_refused,
        before="dangling-delete",
        old=("orphan-copy", "orphan-copy"),
    ),
    Scene(name="a delete begun on the first segment", steps=delete_begun(0), before="*"),
    Scene(name="a delete begun in the middle", steps=delete_begun(36), before="dangling-delete gap"),
    Scene(
        name="copies fail with a retriable error",
        steps=copies_fail("retry-after-copy"),
        before="orphan-copy",
        since=(4, 2),  # the release that brought RetriableRemoteStorageException
    ),
    Scene(
        name="deletes refused by size",
        steps=refused_by_size,
        moves=True,
        before="*",
        after="*",
    ),
    Scene(name="deletes refused by size and healed", steps=refused_and_healed),
    Scene(
        name="deletes refused by DeleteRecords",
        steps=refused_by_cut,
        before="below-log-start dangling-delete log-start-runs-away",
    ),
    Scene(name="delete refused of one", steps=refused_one, before="dangling-delete deletes-refused"),
    Scene(name="deletes lost", steps=lost_deletes, before="object-after-delete-finished"),
    Scene(name="copy lost", steps=lost_copy, before="missing-object"),
    Scene(name="log object removed", steps=harmed("log"), before="missing-object"),
    Scene(name="log object cut", steps=harmed("log", cut=True), before="object-size-mismatch"),
    Scene(name="index object removed", steps=harmed("timeindex"), before="missing-index-object"),
    Scene(name="unknown objects", steps=strangers, before="unknown-object"),
    Scene(name="a middle segment removed", steps=removed(36), before="gap"),
    Scene(name="two middle segments removed", steps=removed(18, 54), before="gap"),
    Scene(name="the newest two removed", steps=removed(72, 54), before="gap hole-below-highest", after="gap"),
    Scene(name="the oldest removed", steps=removed(0), before="gap", after=""),
    Scene(name="illegal transition", steps=illegal, before="illegal-transition", since=(3, 7)),
    Scene(name="updates without base", steps=without_base, before="update-without-base"),
    Scene(name="partition delete only marked", steps=delete_marked),
    Scene(name="a segment copied again", steps=superseded, before="superseded"),
    Scene(name="an orphan by record", steps=orphan_kept, before="orphan-copy"),
    Scene(name="an orphan that retention takes", steps=orphan_cleaned),
    Scene(name="topic deleted", steps=dropped(), gone=True),
    Scene(
        name="topic deleted, store refuses",
        steps=dropped("refuse-delete"),
        gone=True,
        before="leftover-of-deleted-topic",
    ),
    Scene(
        name="topic deleted, store loses",
        steps=dropped("lose-delete"),
        gone=True,
        before="object-after-delete-finished",
    ),
    Scene(name="topic deleted in mid copy", steps=dropped_in_copy, gone=True, before="*", after="*"),
    Scene(name="topic made again", steps=recreated()),
    Scene(name="topic made again, store refused", steps=recreated("refuse-delete"), before="leftover-of-deleted-topic"),
    Scene(name="copying switched off", steps=copying_off, since=(3, 9), uploads=False),
    Scene(name="tiering switched off", steps=tiering_off, since=(3, 9), uploads=False, answers_latest_tiered=False),
    Scene(name="tiering switched off and on", steps=tiering_off_and_on, since=(3, 9)),
)
