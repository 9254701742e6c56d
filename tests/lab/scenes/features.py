"""The scenes of feature levels: every kind of change, and every kind of blocker, release by release."""

from __future__ import annotations

from collections.abc import Iterable

from tests.lab.scenes.deeds import back_again, freeze_at, kill, know_dead, request, rise, run_as, start, thaw
from tests.lab.scenes.scene import Course, Scene, Verdict

WORKS, NOTHING, REFUSED, CLAIMED, ALLOWED, LATER = (
    Verdict.WORKS, Verdict.NOTHING, Verdict.REFUSED, Verdict.CLAIMED, Verdict.ALLOWED,
    Verdict.LATER,
)  # fmt: skip


def upgrade(*levels: str) -> tuple[str, ...]:
    """Run `features upgrade --feature …`."""
    return ("features", "upgrade", *_named(levels))


def downgrade(*levels: str) -> tuple[str, ...]:
    """Run `features downgrade --feature …`."""
    return ("features", "downgrade", *_named(levels))


def disable(*names: str) -> tuple[str, ...]:
    """Run `features disable --feature …`."""
    return ("features", "disable", *_named(names))


def _named(items: Iterable[str]) -> Iterable[str]:
    return [word for item in items for word in ("--feature", item)]


def scene(name: str, words: tuple[str, ...], verdict: Verdict, *because: str, **more: object) -> Scene:
    """Return a row of the table."""
    return Scene(name=name, words=words, verdict=verdict, because=because, **more)  # type: ignore[arg-type]


_LOSES = "metadata-downgrade-loses-metadata"
_BOTH_WAYS = (
    scene("up by one level", upgrade("metadata.version=20"), WORKS),
    scene("up to where it is", upgrade("metadata.version=20"), NOTHING),
    scene("down within a run of levels", downgrade("metadata.version=17"), WORKS),
    scene("down across a metadata change", downgrade("metadata.version=15"), REFUSED, _LOSES),
    scene(
        "the same, unsafe", ("features", "downgrade", "--unsafe", "--feature", "metadata.version=15"), REFUSED,
        _LOSES,
    ),
    scene("down, asked for as an upgrade", upgrade("metadata.version=16"), REFUSED, "downgrade-not-asked-for"),
    scene("up, asked for as a downgrade", downgrade("metadata.version=19"), REFUSED, "upgrade-not-asked-for"),
    scene("a level above every node's range", upgrade("metadata.version=40"), REFUSED, "level-outside-node-range"),
    scene("a feature that nobody knows", upgrade("foo.version=1"), REFUSED, "unknown-feature"),
    scene("metadata.version disabled", disable("metadata.version"), REFUSED, "level-outside-node-range"),
    scene(
        "up while a controller of the same range is dead", upgrade("metadata.version=21"), WORKS,
        before=(kill("follower"),), after=(start("follower"),),
    ),
)  # fmt: skip

_OF_4 = (
    scene("a level above a feature's range", upgrade("group.version=7"), REFUSED, "level-outside-node-range"),
    scene(
        "a feature whose dependency is missing", upgrade("eligible.leader.replicas.version=1"), REFUSED,
        "feature-dependency-missing",
    ),
    scene(
        "two refused, and both are told", upgrade("eligible.leader.replicas.version=1", "group.version=7"), REFUSED,
        "feature-dependency-missing", "level-outside-node-range",
    ),
    scene(
        "a feature and what it depends on", upgrade("eligible.leader.replicas.version=1", "metadata.version=25"), WORKS
    ),
    scene("down below what another feature needs", downgrade("metadata.version=22"), REFUSED, _LOSES),
    scene("a feature disabled", disable("eligible.leader.replicas.version"), WORKS),
    scene("three features at once", upgrade("transaction.version=2", "group.version=1"), WORKS),
    scene("another feature down by one", downgrade("transaction.version=1"), WORKS),
)  # fmt: skip


def _course(release: str, *scenes: Scene) -> Course:
    shape = {"controllers": 3, "brokers": 1, "dynamic": False, "metadata_version": "3.7"}
    return Course(name=f"features of {release}", release=release, shape=shape, scenes=scenes)


_TO_RELEASE = ("features", "upgrade", "--release-version")

COURSES = (
    _course(
        "3.9.2",
        *_BOTH_WAYS,
        scene("kraft.version where it is pretended", upgrade("kraft.version=1"), CLAIMED,
              "kraft-version-not-convertible"),
    ),
    _course(
        "4.0.2",
        *_BOTH_WAYS,
        *_OF_4,
        scene("kraft.version where it is ignored", upgrade("kraft.version=1"), CLAIMED,
              "kraft-version-not-convertible"),
        scene(
            "kraft.version together with another", upgrade("kraft.version=1", "transaction.version=2"), CLAIMED,
            "kraft-version-not-alone", "kraft-version-not-convertible",
        ),
    ),
    _course(
        "4.3.1",
        *_BOTH_WAYS,
        *_OF_4,
        scene(
            "kraft.version while a voter is dead", upgrade("kraft.version=1"), REFUSED, "voter-not-ready",
            before=(kill("follower"), kill("leader"), rise("leader")), after=(start("follower"),),
        ),
        scene("all of a release but kraft.version", (*_TO_RELEASE, "4.3"), WORKS),
        scene("down across the newest change", downgrade("metadata.version=29"), REFUSED, _LOSES),
        scene("the quorum converted", ("quorum", "convert"), WORKS, options=("--confirm", "{cluster_id}")),
        scene("the quorum converted again", ("quorum", "convert"), NOTHING, options=("--confirm", "{cluster_id}")),
        scene("a dynamic quorum made static", downgrade("kraft.version=0"), REFUSED, "kraft-version-one-way"),
        scene("disabled while two of three pause, for two seconds", disable("streams.version"), WORKS,
              during=freeze_at("UpdateFeatures", "follower", "other", for_s=2.2)),
        scene("disabled while two of three pause, for long", disable("share.version"), LATER,
              during=freeze_at("UpdateFeatures", "follower", "other"), after=(thaw("follower", "other"),)),
    ),
    _course(
        "4.4.0",
        *_BOTH_WAYS,
        *_OF_4,
        scene("all of a release but kraft.version", (*_TO_RELEASE, "4.4"), WORKS),
        scene("down across the newest change", downgrade("metadata.version=32"), REFUSED, _LOSES),
        scene("kraft.version by name", upgrade("kraft.version=1"), WORKS),
    ),
)  # fmt: skip

_UNREGISTER = ("nodes", "unregister", "--id")

MIXED = Course(
    name="features of 4.3.1 with nodes of 4.0.2",
    release="4.3.1",
    shape={
        "controllers": 4, "voters": (1, 2, 3), "brokers": 2, "releases": {4: "4.0.2", 12: "4.0.2"},
        "metadata_version": "4.0", "features": {"kraft.version": 1},
    },
    scenes=(
        scene("old nodes alive: both are named", upgrade("metadata.version=27"), REFUSED, "level-outside-node-range"),
        scene("a live broker unregistered", (*_UNREGISTER, "11", "--role", "broker"), ALLOWED, "broker-alive",
              instead=request("UnregisterBroker", "BrokerId", 11), after=(kill(11), start(11))),
        scene("an old broker dead: its registration blocks", upgrade("metadata.version=27"), REFUSED,
              "stale-broker-registration", "level-outside-node-range", before=(kill(12),)),
        scene("the dead broker unregistered", (*_UNREGISTER, "12", "--role", "broker"), WORKS),
        scene("unregistered once more", (*_UNREGISTER, "12", "--role", "broker"), NOTHING),
        scene("an old controller dead: its registration blocks", upgrade("metadata.version=27"), REFUSED,
              "stale-controller-registration", before=(know_dead(4),)),
        scene("a dead controller unregistered where Kafka cannot", (*_UNREGISTER, "4", "--role", "controller"), REFUSED,
              "controllers-cannot-be-unregistered", instead=request("UnregisterController", "ControllerId", 4)),
        scene("the same id started with the new Kafka", upgrade("metadata.version=27"), WORKS,
              before=(run_as(4, "4.3.1"),)),
        scene("to the newest level", upgrade("metadata.version=30"), WORKS),
    ),
)  # fmt: skip

NEWEST = Course(
    name="registrations of 4.4.0",
    release="4.4.0",
    shape={"controllers": 4, "voters": (1, 2, 3), "brokers": 2},
    scenes=(
        scene("a voter unregistered", (*_UNREGISTER, "{follower}", "--role", "controller"), CLAIMED,
              "controller-is-voter", instead=request("UnregisterController", "ControllerId", "follower"),
              after=(back_again("follower"),)),
        scene("a live controller unregistered", (*_UNREGISTER, "4", "--role", "controller"), CLAIMED,
              "controller-alive", instead=request("UnregisterController", "ControllerId", 4),
              after=(back_again(4),)),
        scene("a dead controller unregistered", (*_UNREGISTER, "4", "--role", "controller"), WORKS,
              before=(know_dead(4),)),
        scene("a dead broker unregistered", (*_UNREGISTER, "12", "--role", "broker"), WORKS, before=(kill(12),)),
        scene("an unknown node unregistered", (*_UNREGISTER, "99", "--role", "broker"), NOTHING),
    ),
)  # fmt: skip

ALL = (*COURSES, MIXED, NEWEST)
