"""Scenes of elections: unclean ones, a paused leader, replicas that are all down. One function a scene, and the tables.

In the unclean act broker 12 is away while 11 writes, then leads in its place: what 11 wrote meanwhile is lost. A scene
yields `PHASE` where it waits for that.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.lab.tiered.stage import COPIED, COPYING, Hand, Scene, Steps

UNCLEAN = "true"


def unclean(together: int, alone: int, afterwards: int) -> Callable[[Hand], Steps]:
    """Return records that both have, that only the lost leader has, and that the new leader writes."""

    def steps(hand: Hand) -> Steps:
        hand.create(unclean__leader__election__enable=UNCLEAN)
        hand.produce(together)
        yield hand.has(together // 18 - (together % 18 == 0), COPIED)
        yield hand.stage.reached("12 is away")
        hand.produce(alone)
        total = together + alone
        yield lambda: _end(hand) >= (total - 1) // 18 * 18 - 1
        yield hand.stage.reached("12 leads")
        hand.produce(afterwards)
        end = together + afterwards
        yield lambda: hand.offsets().get("latest") == end

    return steps


def _end(hand: Hand) -> int:
    return max((segment.end_offset for segment in hand.segments(COPIED)), default=-1)


def unclean_in_copy(hand: Hand) -> Steps:
    """Run a scene in which the lost leader was copying when it was killed."""
    hand.create(unclean__leader__election__enable=UNCLEAN)
    hand.produce(40)
    yield hand.has(2, COPIED)
    yield hand.stage.reached("12 is away")
    hand.fault("hold-after-copy")
    hand.produce(40)
    yield hand.has(1, COPYING)
    yield hand.stage.reached("11 is lost")
    hand.fault("hold-after-copy", on=False)
    yield hand.stage.reached("12 leads")
    hand.produce(60)


def clean(hand: Hand) -> Steps:
    """Run a scene with a replica on a broker that stays: no election but a clean one."""
    hand.create()
    hand.produce(50)
    yield hand.copied(2)
    yield hand.stage.reached("12 leads")
    hand.produce(50)
    yield lambda: len(hand.segments(COPIED)) >= 5


def dropped_while_down(hand: Hand) -> Steps:
    """Delete a topic while its only replica is down: no broker deletes what is remote."""
    hand.create()
    hand.produce(100)
    yield hand.copied(5)
    yield hand.stage.reached("12 is away")
    hand.drop()
    yield hand.stage.reached("12 leads")


def made_again_while_down(hand: Hand) -> Steps:
    """Delete a topic while its only replica is down, and create it elsewhere by the same name."""
    hand.create()
    hand.produce(100)
    yield hand.copied(5)
    yield hand.stage.reached("12 is away")
    hand.drop()
    yield lambda: (hand.topic, 0) not in hand.stage.leaders().partitions
    settings = hand.cluster.topic_settings()
    hand.cluster.chore("place", hand.topic, "1", settings)
    hand.produce(40)
    yield hand.has(7, COPIED)


UNCLEAN_SCENES: tuple[Scene, ...] = (
    Scene(name="unclean, in the middle of a segment", steps=unclean(50, 40, 40), before="*"),
    Scene(name="unclean, at the end of a segment", steps=unclean(54, 40, 40), before="*"),
    Scene(name="unclean, much lost", steps=unclean(50, 120, 40), before="*"),
    Scene(name="unclean, more written than lost", steps=unclean(50, 40, 120), before="*"),
    Scene(name="unclean, nothing lost", steps=unclean(50, 0, 60), before="*"),
    Scene(name="unclean, little written", steps=unclean(50, 60, 3), before="*"),
    Scene(name="unclean, in the first segment", steps=unclean(10, 80, 60), before="*"),
    Scene(name="unclean, in mid copy", steps=unclean_in_copy, before="*"),
    Scene(name="a replica stays", steps=clean, replicas="1,12"),
    Scene(
        name="topic deleted, its only replica down", steps=dropped_while_down, replicas="12", gone=True,
        before="leftover-of-deleted-topic",
    ),
    Scene(
        name="topic made again, its only replica down", steps=made_again_while_down, replicas="12",
        before="leftover-of-deleted-topic",
    ),
)  # fmt: skip


def paused(hand: Hand) -> Steps:
    """Run a scene in which the leader is paused in mid copy, another leads and copies, and it goes on."""
    hand.create()
    hand.produce(100)
    yield hand.copied(5)
    hand.fault("hold-after-copy")
    hand.produce(20)
    yield hand.has(1, COPYING)
    yield hand.stage.reached("11 is paused")
    hand.fault("hold-after-copy", on=False)
    yield hand.stage.reached("12 leads")
    hand.produce(40)
    yield lambda: any(s.broker_id == 12 for s in hand.segments(COPIED))
    yield hand.stage.reached("11 goes on")


def paused_before(hand: Hand) -> Steps:
    """Run the same scene with the pause before its upload."""
    hand.create()
    hand.produce(100)
    yield hand.copied(5)
    hand.fault("hold-before-copy")
    hand.produce(20)
    yield hand.has(1, COPYING)
    yield hand.stage.reached("11 is paused")
    hand.fault("hold-before-copy", on=False)
    yield hand.stage.reached("12 leads")
    hand.produce(40)
    yield lambda: any(s.broker_id == 12 for s in hand.segments(COPIED))
    yield hand.stage.reached("11 goes on")


def idle(hand: Hand) -> Steps:
    """Run a scene in which nothing runs while its leader is paused."""
    hand.create()
    hand.produce(100)
    yield hand.copied(5)
    yield hand.stage.reached("12 leads")
    hand.produce(40)
    yield hand.stage.reached("11 goes on")


PAUSED_SCENES: tuple[Scene, ...] = (
    Scene(name="paused after the upload", steps=paused, before="*"),
    Scene(name="paused before the upload", steps=paused_before, before="*"),
    Scene(name="paused, nothing to copy", steps=idle),
    Scene(name="paused, not its leader", steps=idle, replicas="12,11"),
)
