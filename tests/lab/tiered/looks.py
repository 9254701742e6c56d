"""Results of the audit for each scene's topic from every source, compared with Kafka's answers; and forecasts.

A look is repeated until everything agrees or time is up; the last disagreement is what counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding
from kafkactl.tiered.api.verbs import Audit, audit, foresee, load, observe, save
from kafkactl.tiered.audit.run import PartitionStatus
from tests.lab.tiered.leaders import Leaders
from tests.lab.tiered.stage import COPIED, Hand, Stage

AGREE_S = 60.0
OBJECT_IDS = frozenset(
    {
        "missing-object", "object-size-mismatch", "missing-index-object", "object-after-delete-finished",
        "unknown-object", "unreachable-object", "objects-newer-than-view",
    }
)  # fmt: skip
UNREADABLE = frozenset({"missing-object", "missing-index-object"})
DOUBTFUL = frozenset({"object-size-mismatch"})  # what is left of the object may be read
LATEST_TIERED_SINCE = (3, 9)  # KIP-1005
FIELDS = {"log_start_offset": "earliest", "local_log_start_offset": "earliest_local", "highest_offset": "latest_tiered"}
Answer = dict[str, Any]


class Look(NamedTuple):
    """Observation of a topic: finding ids by the disks, offsets as Kafka answers, and what does not agree."""

    found: tuple[str, ...]
    offsets: Mapping[str, int]
    wrong: tuple[str, ...]


def answers(stage: Stage, name: str) -> dict[str, Audit]:
    """Return the audit by every source: disks and the live cluster, with and without a listing, and a saved
    observation."""
    cluster = stage.cluster
    live = observe(stage.client)
    kept = stage.save_folder(name)
    save(load(cluster.request(sources=(), metadata=None, live=live)), kept)
    return {
        "disks": audit(load(cluster.request())),
        "disks without listing": audit(load(cluster.request(bucket=False))),
        "live": audit(load(cluster.request(sources=(), metadata=None, live=live))),
        "live without listing": audit(load(cluster.request(sources=(), metadata=None, live=live, bucket=False))),
        "saved": audit(load(cluster.request(sources=(), metadata=None, observation=kept, bucket=False))),
    }


def ids(answer: Audit, topic: str) -> list[str]:
    """Return the findings about a topic, those about its objects included."""
    return sorted({found.id for found in answer.findings if _is_about(found, topic)})


def _is_about(found: Finding, topic: str) -> bool:
    evidence = found.evidence
    if "objects" in evidence:
        return any(f"/{topic}-0-" in f"/{each['key']}" for each in evidence["objects"])
    return evidence.get("topic") == topic


def status_of(answer: Audit, topic: str, topic_id: str) -> PartitionStatus | None:
    """Return the status of partition 0 of a living topic."""
    found = [each for each in answer.partitions if each.topic_id == topic_id and each.partition == 0]
    assert all(each.topic == topic for each in found)
    return found[0] if found else None


def look(stage: Stage, phase: str, *, deadline_s: float = AGREE_S) -> dict[str, Look]:
    """Return every scene that has not failed, by its topic."""
    begun = time.monotonic()
    looks: dict[str, Look] = {}
    while True:
        try:
            stage.refresh()
            leaders = stage.leaders()
            hands = [hand for hand in stage.hands if hand.topic not in stage.failed]
            keys = [(hand.topic, 0) for hand in hands]
            first = leaders.offsets(keys)
            said = answers(stage, phase)
            offsets = leaders.offsets(keys)
        except KafkactlError:
            if time.monotonic() - begun > deadline_s:
                raise
            continue
        for hand in hands:
            key = hand.topic, 0
            wrong = list(_compared(stage, hand, phase, said, offsets[key], steady=first[key] == offsets[key]))
            looks[hand.topic] = Look(tuple(ids(said["disks"], hand.topic)), offsets[key], tuple(wrong))
        if not any(each.wrong for each in looks.values()) or time.monotonic() - begun > deadline_s:
            return looks
        time.sleep(0.5)


def _compared(
    stage: Stage, hand: Hand, phase: str, said: Mapping[str, Audit], offsets: Mapping[str, int], *, steady: bool
) -> Iterator[str]:
    scene, number = hand.scene, stage.cluster.number
    expected = scene.expected("before" if phase == "before" else "after", number)
    found = ids(said["disks"], hand.topic)
    if expected != "*" and sorted(expected.split()) != found:
        yield f"found {', '.join(found) or 'nothing'}, expected {expected or 'nothing'}"
    if scene.moves:
        return
    for source, answer in said.items():
        others = ids(answer, hand.topic)
        bare = "without" in source
        wanted = [id for id in found if not (bare and id in OBJECT_IDS)]
        if [id for id in others if not (bare and id in OBJECT_IDS)] != wanted:
            yield f"{source}: {', '.join(others) or 'nothing'}; disks: {', '.join(found) or 'nothing'}"
    if scene.gone or not steady:
        if not steady:
            yield "its offsets move"
        return
    led = stage.leaders().partitions.get((hand.topic, 0))
    if led is None or led.leader < 0:
        return
    for source in ("disks", "live", "saved"):
        yield from _same_offsets(hand, number, source, status_of(said[source], hand.topic, str(led.topic_id)), offsets)


def _same_offsets(
    hand: Hand, number: tuple[int, ...], source: str, status: PartitionStatus | None, offsets: Mapping[str, int]
) -> Iterator[str]:
    if status is None:
        if hand.scene.answers_latest_tiered:
            yield f"{source}: no such partition"
        return
    for field, name in FIELDS.items():
        if name == "latest_tiered" and (number < LATEST_TIERED_SINCE or not hand.scene.answers_latest_tiered):
            continue
        if getattr(status, field) != offsets.get(name):
            yield f"{source}: {field} {getattr(status, field)}, Kafka answers {name} {offsets.get(name)}"


def readable_wrong(stage: Stage) -> dict[str, str]:
    """Return by topic which offsets consumers get, where they are not those that the audit leaves."""
    stage.refresh()
    answer = audit(load(stage.cluster.request()))
    leaders = Leaders(stage.client)
    wrong = {}
    for hand in stage.living():
        led = leaders.partitions[hand.topic, 0]
        status = status_of(answer, hand.topic, str(led.topic_id))
        offsets = leaders.offsets([(hand.topic, 0)])[hand.topic, 0]
        if hand.scene.moves or status is None or led.leader < 0 or "latest" not in offsets:
            continue
        first, end = offsets["earliest"], offsets["latest"]
        lost, doubtful = _lost(hand, answer, status, UNREADABLE), _lost(hand, answer, status, DOUBTFUL)
        expected = set(range(first, end)) - lost
        got = {offset for low, high in leaders.readable((hand.topic, 0), first, end) for offset in range(low, high + 1)}
        if got - doubtful != expected - doubtful:
            wrong[hand.topic] = (
                f"readable but for {spans(set(range(first, end)) - got)}, by the audit but for {spans(lost)}"
            )
    return wrong


def _lost(hand: Hand, answer: Audit, status: PartitionStatus, reasons: frozenset[str]) -> set[int]:
    """Return offsets that are in a hole, or in a segment with such a finding, and not in the local log."""
    local = status.local_log_start_offset
    lost: set[int] = set()
    for hole in status.holes:
        lost.update(range(hole.from_offset, hole.to_offset + 1))
    for found in answer.findings:
        if found.id in reasons and found.evidence.get("topic") == hand.topic:
            for segment in found.evidence["segments"]:
                lost.update(range(segment["start_offset"], segment["end_offset"] + 1))
    return {offset for offset in lost if offset < local and offset >= (status.log_start_offset or 0)}


def spans(offsets: Iterable[int]) -> str:
    """Return offsets as ranges."""
    found: list[list[int]] = []
    for offset in sorted(offsets):
        if found and found[-1][1] == offset - 1:
            found[-1][1] = offset
        else:
            found.append([offset, offset])
    return ", ".join(f"{low}-{high}" for low, high in found) or "none"


class Forecast(NamedTuple):
    """Forecast of what a broker would do as leader, and the segments that there were then."""

    broker: int
    candidate: Answer
    known: frozenset[str]


def forecasts(stage: Stage, broker: int, **more: Any) -> dict[str, Forecast]:
    """Return forecasts by topic, for one broker, from the disks of all; where it has a replica and does not lead."""
    stage.refresh()
    partitions = stage.leaders().partitions
    answer = foresee(load(stage.cluster.request(bucket=False, **more))).to_dict()
    found = {}
    for each in answer["partitions"]:
        led = partitions.get((each["topic"], each["partition"]))
        if each["partition"] or led is None or str(led.topic_id) != each["topic_id"]:
            continue
        for candidate in each["candidates"]:
            if candidate["broker_id"] == broker and (not candidate["leads_now"] or more.get("restart")):
                known = frozenset(segment.segment_id for segment in stage.segments.get(each["topic"], []))
                found[each["topic"]] = Forecast(broker, candidate, known)
    return found


def first_upload(stage: Stage, topic: str, forecast: Forecast) -> int | None:
    """Return where the first segment begins that a broker has uploaded since it was forecast; None for none yet."""
    new = [
        segment
        for segment in stage.segments.get(topic, [])
        if segment.segment_id not in forecast.known and segment.broker_id == forecast.broker
    ]
    done = [segment for segment in new if segment.state == COPIED]
    return min((segment.start_offset for segment in new), default=None) if done else None


def forecast_wrong(
    stage: Stage, made: Mapping[str, Forecast], hands: Sequence[Hand], *, has_bases: bool = True
) -> dict[str, str]:
    """Return by topic what differs from its forecast. The new leader has work to do when this is asked.

    Without `has_bases` it was not known where local segments begin: a first upload is not compared.
    """
    moving = {hand.topic for hand in hands if hand.scene.moves}
    wanted = {topic: each for topic, each in made.items() if topic not in moving and topic not in stage.failed}
    busy = {topic: each for topic, each in wanted.items() if each.candidate["uploads"] == "continues"}

    def uploaded() -> bool:
        stage.refresh()
        return all(first_upload(stage, topic, each) is not None for topic, each in busy.items())

    wrong: dict[str, str] = {}
    begun = time.monotonic()
    while not uploaded() and time.monotonic() - begun < AGREE_S:
        time.sleep(0.3)
    offsets = stage.leaders().offsets([(topic, 0) for topic in wanted])
    for topic, each in wanted.items():
        words = []
        expected, came = each.candidate["log_start_offset"], offsets[topic, 0].get("earliest")
        if expected != came:
            words.append(f"log start {expected} was forecast, {came} came")
        base = each.candidate["next_segment_base_offset"]
        first = first_upload(stage, topic, each)
        if topic in busy and has_bases and first != base:
            words.append(f"a first upload at {base} was forecast, {first} came")
        if topic not in busy and first is not None:
            words.append(f"no upload was forecast, one at {first} came")
        if words:
            wrong[topic] = "; ".join(words)
    return wrong
