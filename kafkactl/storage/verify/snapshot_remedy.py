"""The way out of a damaged newest snapshot: what else the disk holds, and what other nodes hold.

A snapshot only repeats what log and older snapshots say, as long as these reach back far enough. Then the damaged file
is moved aside: a start is predicted without it, by the same rules, before this is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kafkactl.core.frozen import changed
from kafkactl.metadata.verify.folder import MetadataLogFacts, SnapshotFacts
from kafkactl.storage.verify.model import RuleResult, StartContext, Verification, file_subject
from kafkactl.storage.verify.voters import other_voters

_IDS = ("broken-checkpoint", "checkpoint-truncated", "checkpoint-unreadable")
Predict = Callable[[MetadataLogFacts], Verification]


def with_remedies(context: StartContext, results: Iterable[RuleResult], predict: Predict) -> Iterator[RuleResult]:
    """Yield the results, those on the newest snapshot with a next step for what the disk shows.

    `predict` is the prediction of a start with another content of the metadata log.
    """
    newest = context.log.latest_snapshot
    subject = "" if newest is None else file_subject(f"{context.log.path}/{newest.name}")
    step = ""
    for result in results:
        if newest is None or result.finding.subject != subject or not _is_about_damage(result, newest):
            yield result
            continue
        step = step or _step(context, newest, predict)
        yield changed(result, finding=changed(result.finding, next_step=step)) if step else result


def _is_about_damage(result: RuleResult, newest: SnapshotFacts) -> bool:
    if result.finding.id == "checkpoint-unreadable":
        return newest.error == "Is a directory"  # else the file may be sound, and only its owner is wrong
    return result.finding.id in _IDS


def _step(context: StartContext, newest: SnapshotFacts, predict: Predict) -> str:
    if newest.is_first and not context.log.contents.records:
        return "If the node never started: `kafkactl storage unformat`, then format it again with the same arguments."
    damaged = _damaged_from_newest(context.log)
    if not damaged:
        return ""  # The snapshot is sound, and only this release cannot read it.
    rest = changed(context.log, snapshots=tuple(found for found in context.log.snapshots if found not in damaged))
    missing = _missing(rest, newest.offset)
    if missing is None and _starts_whole(predict(rest)):
        return _aside(context, damaged, rest)
    if not context.is_controller:
        return (
            f"Stop the broker, move {context.log.path} out of the log directory, and start it: a broker has no vote,"
            " and fetches the whole metadata log from the controllers."
        )
    if other_voters(context):
        return (
            "Make sure that a majority of the voters, this one not counted, follows the leader (`kafkactl quorum"
            f" describe` shows them alive). Then move {context.log.path} out of the log directory while the node is"
            " stopped, and start it: it fetches the whole metadata log from the leader. Never do that on two voters at"
            " once."
        )
    return (
        f"{_lost_words(missing)} No other voter has it. A broker's copy of the log (`__cluster_metadata-0` in its log"
        " directory) may: compare with `kafkactl log verify`; `kafkactl quorum recover` takes the better copy."
    )


def _damaged_from_newest(log: MetadataLogFacts) -> list[SnapshotFacts]:
    """Return the newest snapshots, down to the first sound one."""
    damaged = []
    for snapshot in sorted(log.snapshots, key=lambda found: (found.offset, found.epoch), reverse=True):
        if snapshot.problem is None:
            break
        damaged.append(snapshot)
    return damaged


def _missing(rest: MetadataLogFacts, end_offset: int) -> tuple[int, int] | None:
    """Return the first offsets below `end_offset` that neither log nor remaining snapshots hold, None for none."""
    base = max((snapshot.offset for snapshot in rest.snapshots), default=0)
    if not rest.segments:
        return (base, end_offset) if base < end_offset else None
    if rest.start_offset > base:
        return base, rest.start_offset
    gaps = [gap for segment in rest.segments for gap in segment.gaps if gap[1] > base]
    if gaps:
        return gaps[0]
    return (rest.end_offset, end_offset) if rest.end_offset < end_offset else None


def _starts_whole(answer: Verification) -> bool:
    return answer.will_start is not False and not answer.would_lose


def _aside(context: StartContext, damaged: list[SnapshotFacts], rest: MetadataLogFacts) -> str:
    older = max((snapshot.offset for snapshot in rest.snapshots if not snapshot.is_first), default=None)
    source = "from offset 0 on" if older is None else f"from the older snapshot at offset {older} on"
    moves = " && ".join(
        f"mv {context.log.path}/{snapshot.name} {context.log.path}/{snapshot.name}.damaged" for snapshot in damaged
    )
    return (
        f"Move the damaged file aside while the node is stopped: `{moves}`. Nothing is lost: the log is whole {source},"
        f" up to offset {rest.end_offset - 1}, and the node replays it."
    )


def _lost_words(missing: tuple[int, int] | None) -> str:
    if missing is None:
        return "What is left on this disk does not start without the checkpoint."
    first, behind = missing
    return f"The records from offset {first} to {behind - 1} are in no other file of this disk."
