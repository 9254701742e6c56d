"""The scenes of the quorum: growing and shrinking, lost disks, dead and paused voters, and what ends it permanently."""

from __future__ import annotations

from typing import Any

from tests.lab.scenes.deeds import (
    add_bare,
    convert_bare,
    freeze_at,
    kill,
    know_dead,
    lose_disk,
    pause,
    remove_bare,
    resume,
    rise,
    start,
    thaw,
)
from tests.lab.scenes.features import scene
from tests.lab.scenes.scene import Course, Scene, Verdict

WORKS, NOTHING, REFUSED, CLAIMED, ALLOWED, WEDGES, KILLS, LATER = (
    Verdict.WORKS, Verdict.NOTHING, Verdict.REFUSED, Verdict.CLAIMED, Verdict.ALLOWED, Verdict.WEDGES, Verdict.KILLS,
    Verdict.LATER,
)  # fmt: skip


def reassign(target: str, *options: str) -> tuple[str, ...]:
    """Run `quorum reassign --target`."""
    return ("quorum", "reassign", "--target", target, *options)


def remove(who: str) -> tuple[str, ...]:
    """Run `quorum remove-controller`."""
    return ("quorum", "remove-controller", "-i", f"{{{who}}}", "-d", f"{{{who}_dir}}")


def add(who: str) -> tuple[str, ...]:
    """Run `quorum add-controller`."""
    return ("quorum", "--command-config", f"{{{who}_config}}", "add-controller")


_THREE = reassign("1,2,3")

_COMMON = (
    scene("the only voter removed", remove("leader"), REFUSED, "last-voter", instead=remove_bare("leader")),
    scene("from one voter to three", _THREE, WORKS),
    scene("to the voters there are", _THREE, NOTHING),
    scene("who votes already is added", add("follower"), NOTHING),
    scene("who does not vote is removed", remove("observer"), NOTHING),
    scene("a voter removed under another directory", (*remove("follower")[:-1], "{observer_dir}"), REFUSED,
          "voter-has-another-directory"),
    scene("an observer that is dead is added", add("observer"), REFUSED, "candidate-not-fetching",
          before=(know_dead("observer"),), instead=add_bare("observer"), after=(start("observer"),)),
    scene("a broker as a voter", reassign("1,2,3,4,11"), KILLS, "broker-only-node", instead=add_bare(11)),
    scene("the dead broker leaves the voters", _THREE, WORKS, before=(know_dead(),), after=(start(11),)),
    scene("one of three dead, a healthy one removed", remove("other"), WEDGES, "quorum-would-wedge",
          before=(know_dead("follower"),), instead=remove_bare("other"), after=(rise("follower"),)),
    scene("from two voters to three", _THREE, WORKS),
    scene("a lost disk replaced", _THREE, WORKS, before=(lose_disk("follower"),)),
    scene("a dead voter gives way to an observer", reassign("{without_follower},{observer}"), WORKS,
          before=(know_dead("follower"),), after=(start("follower"),)),
    scene("the leader gives way to an observer", reassign("{without_leader},{observer}"), WORKS),
    scene("from three voters to five", reassign("1,2,3,4,5"), WORKS),
    scene("two dead of five leave", reassign("{survivors}"), WORKS, before=(know_dead("other", "third"),),
          after=(start("other", "third"),)),
)  # fmt: skip

_MORE = (
    scene("a paused voter gives way to an observer", reassign("{without_follower},{observer}"), WORKS,
          before=(pause("follower"),), after=(resume("follower"),)),
    scene("an even number of voters", reassign("{voters_text},{observer}"), ALLOWED, "even-voter-count",
          instead=add_bare("observer")),
    scene("a voter removed while two of four pause, for two seconds", remove("third"), WORKS,
          during=freeze_at("RemoveRaftVoter", "follower", "other", for_s=2.2)),
    scene("from three voters to five, once more", reassign("1,2,3,4,5"), WORKS),
    scene("the leader removed by itself", remove("leader"), WORKS),
    scene("a voter removed while two of four pause, for long", remove("third"), LATER,
          options=("--step-timeout", "9s"), during=freeze_at("RemoveRaftVoter", "follower", "other"),
          after=(thaw("follower", "other"),)),
    scene("back to five, whatever came of it", reassign("1,2,3,4,5"), WORKS),
    scene("five voters, two dead, a healthy one removed", remove("follower"), WEDGES, "quorum-would-wedge",
          before=(know_dead("other", "third"),), instead=remove_bare("follower"), after=(rise("other", "third"),)),
    scene("from four voters to three", reassign("{three}"), WORKS),
)  # fmt: skip


_FIVE_AND_THREE = (
    scene("to five voters", reassign("1,2,3,4,5"), WORKS),
    scene("from five voters to three", reassign("{three}"), WORKS),
)


def _course(release: str, *scenes: Scene, **shape: Any) -> Course:
    usual = {"controllers": 5, "voters": (1,), "brokers": 1}
    return Course(name=f"quorum of {release}", release=release, shape={**usual, **shape}, scenes=scenes)


_STATIC = {"controllers": 3, "voters": None, "brokers": 1, "dynamic": False}
_CONVERT = ("quorum", "convert")
_CONFIRMED = ("--confirm", "{cluster_id}")

STATIC = tuple(
    Course(
        name=f"static quorum of {release}", release=release, shape=_STATIC,
        scenes=(
            scene("a voter removed from a static quorum", remove("follower"), REFUSED, "quorum-is-static",
                  instead=remove_bare("follower")),
            *scenes,
        ),
    )
    for release, scenes in {
        "3.9.2": (
            scene("converted where it is pretended", _CONVERT, CLAIMED, "conversion-not-supported",
                  options=_CONFIRMED, instead=convert_bare),
        ),
        "4.3.1": (
            scene("converted while a voter is dead", _CONVERT, REFUSED, "voter-not-alive", options=_CONFIRMED,
                  before=(know_dead("follower"), kill("leader"), rise("leader")), instead=convert_bare,
                  after=(start("follower"),)),
            scene("converted", _CONVERT, WORKS, options=_CONFIRMED),
            scene("a voter removed after that", remove("follower"), WORKS),
        ),
    }.items()
)  # fmt: skip

MIXED = _course("4.3.1 with controllers of 3.9.2", *_COMMON[1:3], *_COMMON[11:14], releases={2: "3.9.2", 4: "3.9.2"})

ALL = (
    _course("3.9.2", *_COMMON),
    _course("4.0.2", *_COMMON),
    _course("4.3.1", *_COMMON, *_MORE),
    _course("4.4.0", *_COMMON, *_FIVE_AND_THREE),
    Course(name=MIXED.name, release="4.3.1", shape=MIXED.shape, scenes=MIXED.scenes),
    *STATIC,
)
