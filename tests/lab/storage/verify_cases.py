"""The catalogue of verify: disks of real nodes, damaged or moved, on which a real node is then started.

Each row says how the disks are made (by Kafka's own tool of a release, perhaps started once), what is done to them,
and under which releases the node is started. What then happens is not written down: the test compares the prediction
with the start itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.lab.harness.releases import VERSIONS, release
from tests.lab.storage.verify_damage import (
    BOOTSTRAP,
    FIRST_CHECKPOINT,
    METADATA,
    OTHER_ID,
    QUORUM_STATE,
    SEGMENT,
    Damage,
    added,
    cut,
    cut_in_batch,
    flipped,
    folder,
    holds,
    in_snapshot,
    linked,
    property_of,
    removed,
    renamed,
    steps,
    untouched,
    without_producer_snapshots,
)

FAMILIES = ("3.3.2", "3.6.2", "3.9.2", "4.4.0")
FEW = ("3.6.2", "4.4.0")
WITH_IDS = ("3.7.2", "4.1.2", "4.4.0")
WITH_BOOTSTRAP = ("3.3.2", "3.6.2", "3.9.2", "4.3.1")
DYNAMIC = tuple(version for version in VERSIONS if release(version).number >= (3, 9))
DYNAMIC_FEW = ("3.9.2", "4.2.1", "4.3.1", "4.4.0")
_GARBAGE = random.Random(7).randbytes(300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Kind of a node: its roles, its directories under the case's folder, its quorum, the tool's flags."""

    roles: str = "broker,controller"
    log_dirs: tuple[str, ...] = ("d1",)
    metadata_log_dir: str | None = None
    dynamic: bool = False
    flags: tuple[str, ...] = ()
    more: Mapping[str, str] = field(default_factory=dict, hash=False)


OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "metadata.log.max.snapshot.interval.ms": "600",
    "metadata.max.idle.interval.ms": "100",
}
ONE = Node()
SNAPSHOTS = Node(more=OFTEN)
"""Writes a snapshot about every second; a first start goes on until there are several."""
TWO = Node(log_dirs=("d1", "d2"))
APART = Node(metadata_log_dir="m")
STANDALONE = Node(dynamic=True, flags=("--standalone",))
JOINING = Node(dynamic=True, flags=("--no-initial-controllers",))
CONTROLLER = Node(roles="controller")
STANDALONE_CONTROLLER = replace(STANDALONE, roles="controller")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Row. `started_once`: before the damage the node ran and was stopped; `becomes`: the node as it is then
    configured; `formatted_by`: another release's tool (and first start) made the disks; `locked`: a process holds the
    lock of that directory."""

    name: str
    releases: tuple[str, ...]
    damage: Damage = untouched
    node: Node = ONE
    becomes: Node | None = None
    started_once: bool = False
    formatted_by: str | None = None
    locked: str | None = None


def _healthy() -> Iterator[Case]:
    yield Case(name="healthy static", releases=VERSIONS)
    yield Case(name="healthy static, second start", releases=VERSIONS, started_once=True)
    yield Case(name="healthy standalone", releases=DYNAMIC, node=STANDALONE)
    yield Case(name="healthy standalone, second start", releases=DYNAMIC, node=STANDALONE, started_once=True)
    yield Case(name="healthy controller", releases=FAMILIES, node=CONTROLLER)
    yield Case(name="healthy, two directories", releases=FAMILIES, node=TWO)
    yield Case(name="healthy, metadata directory apart", releases=FAMILIES, node=APART)
    unstable = replace(ONE, more={"unstable.feature.versions.enable": "true"})
    yield Case(name="unstable levels allowed", releases=("4.3.1",), becomes=unstable)


def _interrupted_first_starts() -> Iterator[Case]:
    """Yield a first start that ended after the election, before the records of the first leader; and one before it."""

    def damage(batch: int) -> Damage:
        return steps(cut_in_batch(SEGMENT, batch, 0), without_producer_snapshots)

    rest: dict[str, Any] = {"releases": ("3.9.2", "4.3.1"), "started_once": True}
    yield Case(name="first start interrupted", damage=damage(2), node=STANDALONE, **rest)
    yield Case(name="first start interrupted, static", damage=damage(1), node=CONTROLLER, **rest)
    yield Case(name="voters taken out of the configuration", becomes=replace(ONE, dynamic=True), **rest)


def _meta_properties() -> Iterator[Case]:
    """Yield each damage in the metadata directory (d1) and in a data directory (d2): they end differently."""
    to_version_0 = ("^version=1", "version=0")
    damages: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
        "version=2": (FAMILIES, (("^version=1", "version=2"),)),
        "version=abc": (FEW, (("^version=1", "version=abc"),)),
        "other node.id": (FAMILIES, (("^node.id=1", "node.id=2"),)),
        "blank behind node.id": (FAMILIES, (("^node.id=1", "node.id=1 "),)),
        "negative node.id": (FEW, (("^node.id=1", "node.id=-1"),)),
        "no node.id": (FAMILIES, (("^node.id=1\n", ""),)),
        "other cluster.id": (FAMILIES, (("^cluster.id=.*", f"cluster.id={OTHER_ID}"),)),
        "blank behind cluster.id": (FEW, (("^cluster.id=(.*)", r"cluster.id=\1 "),)),
        "no cluster.id": (FAMILIES, (("^cluster.id=.*\n", ""),)),
        "no directory.id": (WITH_IDS, (("^directory.id=.*\n", ""),)),
        "bad directory.id": (WITH_IDS, (("^directory.id=.*", "directory.id=xyz"),)),
        "reserved directory.id": (WITH_IDS, (("^directory.id=.*", "directory.id=AAAAAAAAAAAAAAAAAAAAAQ"),)),
        "version 0 with broker.id": (FAMILIES, (to_version_0, ("^node.id", "broker.id"))),
        "version 0 with node.id": (FAMILIES, (to_version_0,)),
        "version 0 of another broker": (FEW, (to_version_0, ("^node.id=1", "broker.id=7"))),
        "version 0 without cluster.id": (
            FEW,
            (to_version_0, ("^node.id", "broker.id"), ("^cluster.id=.*\n", "")),
        ),
    }
    for directory in TWO.log_dirs:
        for name, (releases, edits) in damages.items():
            damage = steps(*(property_of(directory, pattern, new) for pattern, new in edits))
            yield Case(name=f"{name} in {directory}", releases=releases, damage=damage, node=TWO)
        yield from _whole_files(directory)


def _whole_files(directory: str) -> Iterator[Case]:
    file = f"{directory}/meta.properties"
    damages = {
        "no meta.properties": removed(file),
        "empty meta.properties": holds(file, ""),
        "bad escape": added(file, b"x=\\u12zz\n"),
        "meta.properties is a folder": steps(removed(file), folder(file)),
        "directory missing": removed(directory),
        "directory is a file": steps(removed(directory), holds(directory, "x")),
    }
    for name, damage in damages.items():
        yield Case(name=f"{name}: {directory}", releases=FAMILIES, damage=damage, node=TWO)


def _ensemble() -> Iterator[Case]:
    both = steps(removed("d1/meta.properties"), removed("d2/meta.properties"))
    yield Case(name="not formatted at all", releases=FAMILIES, damage=both, node=TWO)
    same_id = steps(
        property_of("d1", "^directory.id=.*", f"directory.id={OTHER_ID}"),
        property_of("d2", "^directory.id=.*", f"directory.id={OTHER_ID}"),
    )
    yield Case(name="duplicate directory.id", releases=WITH_IDS, damage=same_id, node=TWO)
    last_counts = added("d1/meta.properties", b"node.id=5\n")
    yield Case(name="node.id twice", releases=("3.6.2", "4.3.1"), damage=last_counts)


def _places() -> Iterator[Case]:
    reordered = replace(TWO, log_dirs=("d2", "d1"))
    yield Case(name="reordered", releases=FAMILIES, node=TWO, becomes=reordered, started_once=True)
    yield Case(
        name="reordered before the first start", releases=(*WITH_BOOTSTRAP, "4.4.0"), node=TWO, becomes=reordered
    )
    second_log = folder("d2/__cluster_metadata-0")
    yield Case(name="metadata log in a data directory", releases=FEW, node=TWO, damage=second_log)
    yield Case(name="metadata.log.dir dropped", releases=FAMILIES, node=APART, becomes=ONE, started_once=True)
    apart = replace(STANDALONE, metadata_log_dir="m")
    dropped = replace(STANDALONE, flags=())
    yield Case(
        name="metadata.log.dir dropped, dynamic", releases=DYNAMIC_FEW, node=apart, becomes=dropped, started_once=True
    )
    yield Case(name="metadata.log.dir dropped before the first start", releases=FEW, node=APART, becomes=ONE)
    third = replace(TWO, log_dirs=("d1", "d2", "d3"))
    yield Case(name="new directory in log.dirs", releases=FAMILIES, node=TWO, becomes=third, started_once=True)
    only_second = replace(TWO, log_dirs=("d2",))
    yield Case(name="metadata disk taken out", releases=FEW, node=TWO, becomes=only_second, started_once=True)
    yield Case(name="link to the other directory", releases=FAMILIES, becomes=TWO, damage=linked("d2", "d1"))
    on_controller = replace(CONTROLLER, log_dirs=("d1", "d2"))
    yield Case(name="link, controller", releases=FEW, node=CONTROLLER, becomes=on_controller, damage=linked("d2", "d1"))
    named_twice = replace(ONE, log_dirs=("d1", "d1"))
    yield Case(name="named twice", releases=("3.6.2", "4.1.2", "4.2.1", "4.4.0"), becomes=named_twice)
    with_slash = replace(ONE, log_dirs=("d1", "d1/"))
    yield Case(name="named twice, once with a slash", releases=FEW, becomes=with_slash)


def _locks() -> Iterator[Case]:
    yield Case(name="locked", releases=FAMILIES, locked="d1")
    yield Case(name="data directory locked", releases=FEW, node=TWO, locked="d2")
    yield Case(name="metadata directory locked", releases=("3.6.2", "4.4.0"), node=APART, locked="m")
    yield Case(name="locked, controller", releases=("3.3.2", "3.6.2", "4.4.0"), node=CONTROLLER, locked="d1")
    two = replace(CONTROLLER, log_dirs=("d1", "d2"))
    yield Case(name="data directory locked, controller", releases=("3.9.2",), node=two, locked="d2")


_FOLDERS = (
    "lost+found", "foo", "topic-x", "t-0", "t--1", "t-2147483648", "t-+1", ".x", ".hidden-0", "a b-0", "-0", "foo-",
    "-delete", "t-0-delete", "t-0.xyz-delete", "t-0.0123456789abcdef0123456789abcdef-delete", "t-0.x-future",
    "t-0.0123456789abcdef0123456789abcdef-stray", "remote-log-index-cache", "__cluster_metadata",
    "__cluster_metadata-1",
)  # fmt: skip


def _folders() -> Iterator[Case]:
    releases = ("3.3.2", "3.6.2", "4.4.0")
    for name in _FOLDERS:
        yield Case(name=f"folder {name}", releases=releases, damage=folder(f"d1/{name}"))
    yield Case(name="foreign folder, controller", releases=FEW, node=CONTROLLER, damage=folder("d1/lost+found"))
    yield Case(name="foreign folder, metadata directory", releases=FEW, node=APART, damage=folder("m/lost+found"))
    yield Case(name="foreign file", releases=FEW, damage=holds("d1/foo", "x"))
    link = steps(folder("elsewhere"), linked("d1/elsewhere", "elsewhere"))
    yield Case(name="link to a foreign folder", releases=FEW, damage=link)
    twice = steps(folder("d1/t-0"), folder("d2/t-0"))
    yield Case(name="partition twice, unknown topic", releases=FEW, node=TWO, damage=twice)


def _bootstrap() -> Iterator[Case]:
    damages: dict[str, Damage] = {
        "missing": removed(BOOTSTRAP),
        "empty": holds(BOOTSTRAP, ""),
        "garbage": holds(BOOTSTRAP, _GARBAGE),
        "zeros": holds(BOOTSTRAP, bytes(300)),
        "cut in the header batch": cut_in_batch(BOOTSTRAP, 0, 30),
        "cut before the data": cut_in_batch(BOOTSTRAP, 1, 0),
        "cut in the data": cut_in_batch(BOOTSTRAP, 1, 70),
        "cut before the footer": cut_in_batch(BOOTSTRAP, 2, 0),
        "wrong CRC field": flipped(BOOTSTRAP, 1, 17),
        "wrong magic": flipped(BOOTSTRAP, 1, 16),
        "wrong length": flipped(BOOTSTRAP, 1, 11),
        "wrong compression": flipped(BOOTSTRAP, 1, 22),
        "wrong record type": flipped(BOOTSTRAP, 1, 68),
        "wrong control type": flipped(BOOTSTRAP, 0, 68),
        "is a folder": steps(removed(BOOTSTRAP), folder(BOOTSTRAP)),
    }
    for name, damage in damages.items():
        yield Case(name=f"bootstrap.checkpoint {name}", releases=WITH_BOOTSTRAP, damage=damage)
    for name in ("missing", "garbage", "wrong CRC field"):
        yield Case(
            name=f"bootstrap.checkpoint {name}, second start",
            releases=("3.6.2", "4.3.1"),
            damage=damages[name],
            started_once=True,
        )
    leftover = holds(BOOTSTRAP, _GARBAGE)
    yield Case(name="garbage leftover of an older release", releases=("4.4.0",), damage=leftover)


def _first_checkpoint() -> Iterator[Case]:
    name, node = "0-0 checkpoint", STANDALONE
    damages: dict[str, tuple[tuple[str, ...], Damage]] = {
        "missing": (DYNAMIC_FEW, removed(FIRST_CHECKPOINT)),
        "empty": (DYNAMIC, holds(FIRST_CHECKPOINT, "")),
        "of 8 bytes": (DYNAMIC_FEW, cut(FIRST_CHECKPOINT, 8)),
        "of 16 bytes": (DYNAMIC_FEW, cut(FIRST_CHECKPOINT, 16)),
        "of 17 bytes": (DYNAMIC_FEW, cut(FIRST_CHECKPOINT, 17)),
        "cut in the first batch": (DYNAMIC_FEW, cut(FIRST_CHECKPOINT, 70)),
        "cut behind the first batch": (DYNAMIC_FEW, cut_in_batch(FIRST_CHECKPOINT, 1, 0)),
        "cut in the second batch": (DYNAMIC_FEW, cut_in_batch(FIRST_CHECKPOINT, 1, 20)),
        "wrong bit": (DYNAMIC_FEW, flipped(FIRST_CHECKPOINT, 0, 70)),
        "wrong bit in the last batch": (DYNAMIC_FEW, flipped(FIRST_CHECKPOINT, -1, 66)),
        "wrong base offset": (DYNAMIC_FEW, flipped(FIRST_CHECKPOINT, 0, 3)),
        "wrong magic": (DYNAMIC_FEW, flipped(FIRST_CHECKPOINT, 0, 16)),
        "wrong length": (DYNAMIC_FEW, flipped(FIRST_CHECKPOINT, 0, 11)),
        "garbage": (DYNAMIC_FEW, holds(FIRST_CHECKPOINT, _GARBAGE)),
        "zeros": (DYNAMIC_FEW, holds(FIRST_CHECKPOINT, bytes(300))),
        "garbage behind": (DYNAMIC_FEW, added(FIRST_CHECKPOINT, b"garbage behind the footer")),
        "is a folder": (("3.9.2", "4.3.1"), steps(removed(FIRST_CHECKPOINT), folder(FIRST_CHECKPOINT))),
    }
    for what, (releases, damage) in damages.items():
        yield Case(name=f"{name} {what}", releases=releases, damage=damage, node=node)
        if what in ("missing", "empty", "of 8 bytes", "cut in the second batch", "wrong bit"):
            yield Case(
                name=f"{name} {what}, second start", releases=releases, damage=damage, node=node, started_once=True
            )
    for what in ("missing", "empty", "wrong bit", "cut behind the first batch"):
        yield Case(name=f"{name} {what}, static", releases=("4.4.0",), damage=damages[what][1])
    old = ("3.6.2", "3.8.1", "3.9.2", "4.2.1", "4.3.1")
    yield Case(name="garbage 0-0 checkpoint, static", releases=old, damage=holds(FIRST_CHECKPOINT, _GARBAGE))
    yield Case(name="empty 0-0 checkpoint, static", releases=old, damage=holds(FIRST_CHECKPOINT, ""))


def _voters() -> Iterator[Case]:
    other = property_of("d1", "^directory.id=.*", f"directory.id={OTHER_ID}")
    none = property_of("d1", "^directory.id=.*\n", "")
    static, dynamic = replace(STANDALONE, dynamic=False, flags=()), replace(ONE, dynamic=True)
    for once in (False, True):
        suffix = ", second start" if once else ""
        rest = {"releases": DYNAMIC_FEW, "started_once": once}
        yield Case(name=f"other directory.id of the voter{suffix}", damage=other, node=STANDALONE, **rest)
        yield Case(name=f"no directory.id of the voter{suffix}", damage=none, node=STANDALONE, **rest)
        yield Case(name=f"dynamic becomes static{suffix}", node=STANDALONE, becomes=static, **rest)
        yield Case(name=f"static becomes dynamic{suffix}", becomes=dynamic, **rest)
    yield Case(name="joining, nobody to join", releases=DYNAMIC_FEW, node=JOINING)
    yield Case(name="joining becomes static", releases=DYNAMIC_FEW, node=JOINING, becomes=static)
    alone = replace(STANDALONE_CONTROLLER, flags=())
    yield Case(
        name="no voters, controller", releases=DYNAMIC_FEW, node=STANDALONE_CONTROLLER, becomes=alone,
        damage=removed(FIRST_CHECKPOINT),
    )  # fmt: skip
    yield Case(name="other directory.id, controller", releases=DYNAMIC_FEW, node=STANDALONE_CONTROLLER, damage=other)


_STATE_0 = (
    '{"clusterId":"","leaderId":LEADER,"leaderEpoch":5,"votedId":VOTED,"appliedOffset":0,'
    '"currentVoters":[VOTERS],"data_version":0}'
)
_ONE_VOTER = '{"voterId":1}'


def _state(*, leader: int = -1, voted: int = -1, voters: str = _ONE_VOTER) -> str:
    return _STATE_0.replace("LEADER", str(leader)).replace("VOTED", str(voted)).replace("VOTERS", voters)


def _quorum_state() -> Iterator[Case]:
    releases = ("3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2")
    version_1 = (
        '{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    contents = {
        "empty": "",
        "garbage": "{{{ nope",
        "an array": "[1]",
        "a blank first line": "\n" + _state(leader=1),
        "without data_version": '{"leaderId":1,"leaderEpoch":1,"votedId":-1}',
        "data_version 9": '{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":9}',
        "data_version 1": version_1,
        "too few fields": '{"leaderId":1,"leaderEpoch":5,"votedId":-1,"data_version":0}',
        "data_version 9, complete": _state(leader=1).replace('"data_version":0', '"data_version":9'),
        "a field of another type": _state(leader=1).replace('"leaderEpoch":5', '"leaderEpoch":"five"'),
        "complete": _state(leader=1),
        "foreign leader": _state(leader=9),
        "foreign voters": _state(voters='{"voterId":1},{"voterId":2}'),
        "voted for itself": _state(voted=1),
        "voted for another": _state(voted=4),
    }
    for name, content in contents.items():
        damage = holds(QUORUM_STATE, content)
        yield Case(name=f"quorum-state {name}", releases=releases, damage=damage, started_once=True)
    yield Case(name="quorum-state missing", releases=releases, damage=removed(QUORUM_STATE), started_once=True)


def _metadata_log() -> Iterator[Case]:
    releases = ("3.3.2", "3.9.2", "4.4.0")
    damages: dict[str, Damage] = {
        "wrong bit in the first batch": flipped(SEGMENT, 0, 80),
        "wrong bit in the second batch": flipped(SEGMENT, 1, 80),
        "wrong bit in the fourth batch": flipped(SEGMENT, 3, 70),
        "wrong bit in the last batch": flipped(SEGMENT, -1, 66),
        "cut": cut(SEGMENT, -5),
        "empty": holds(SEGMENT, ""),
        "missing": removed(SEGMENT),
        "garbage behind": added(SEGMENT, b"garbage" * 20),
        "zeros behind": added(SEGMENT, bytes(500)),
        "renamed": renamed(SEGMENT, f"{METADATA}/00000000000000000100.log"),
        "gone with its folder": removed(METADATA),
        "a file, not a folder": steps(removed(METADATA), holds(METADATA, "x")),
    }
    for name, damage in damages.items():
        yield Case(name=f"metadata log {name}", releases=releases, damage=damage, started_once=True)
    for name in ("wrong bit in the second batch", "missing", "gone with its folder"):
        yield Case(
            name=f"metadata log {name}, dynamic", releases=DYNAMIC_FEW, damage=damages[name], node=STANDALONE,
            started_once=True,
        )  # fmt: skip
    yield Case(
        name="metadata log wrong bit in the second batch, controller", releases=FEW, node=CONTROLLER,
        damage=damages["wrong bit in the second batch"], started_once=True,
    )  # fmt: skip
    small: dict[str, Damage] = {
        "leader-epoch-checkpoint garbage": holds(f"{METADATA}/leader-epoch-checkpoint", "garbage\n"),
        "leader-epoch-checkpoint empty": holds(f"{METADATA}/leader-epoch-checkpoint", ""),
        "partition.metadata garbage": holds(f"{METADATA}/partition.metadata", "garbage\n"),
        "partition.metadata empty": holds(f"{METADATA}/partition.metadata", ""),
        "partition.metadata other": holds(f"{METADATA}/partition.metadata", f"version: 0\ntopic_id: {OTHER_ID}"),
        "index garbage": holds(f"{METADATA}/00000000000000000000.index", "abcdefghijk"),
        "index missing": removed(f"{METADATA}/00000000000000000000.index"),
        "abc.log": holds(f"{METADATA}/abc.log", "x"),
        "a folder in it": folder(f"{METADATA}/sub"),
    }
    for name, damage in small.items():
        yield Case(name=name, releases=FEW, damage=damage, started_once=True)


def _snapshots() -> Iterator[Case]:
    releases = ("3.6.2", "4.2.1", "4.4.0")
    newest: dict[str, Callable[[str], Damage]] = {
        "whole": lambda name: untouched,
        "wrong bit": lambda name: flipped(name, 1, 70),
        "wrong bit in the footer": lambda name: flipped(name, -1, 66),
        "empty": lambda name: holds(name, ""),
        "of 8 bytes": lambda name: cut(name, 8),
        "cut in the first batch": lambda name: cut(name, 40),
        "cut behind the first batch": lambda name: cut_in_batch(name, 1, 0),
        "cut in the second batch": lambda name: cut_in_batch(name, 1, 30),
        "without footer": lambda name: cut_in_batch(name, -1, 0),
        "missing": removed,
    }
    rest: dict[str, Any] = {"releases": releases, "node": SNAPSHOTS, "started_once": True}
    for name, damage in newest.items():
        yield Case(name=f"newest snapshot {name}", damage=in_snapshot(-1, damage), **rest)
    yield from _damaged_with_records_behind()
    older = in_snapshot(-2, lambda name: flipped(name, 1, 70))
    yield Case(name="older snapshot wrong bit", damage=older, **rest)
    yield Case(name="metadata log wrong bit before the snapshot", damage=flipped(SEGMENT, 1, 80), **rest)
    yield Case(name="metadata log missing behind a snapshot", damage=removed(SEGMENT), **rest)
    ends: dict[str, Damage] = {
        "": cut_in_batch(SEGMENT, 3, 0),
        " in a batch": cut_in_batch(SEGMENT, 3, 30),
        " in zeros": steps(cut_in_batch(SEGMENT, 3, 0), added(SEGMENT, bytes(4096))),
    }
    for where, damage in ends.items():
        yield Case(name=f"metadata log ends before the newest snapshot{where}", damage=damage, **rest)


def _damaged_with_records_behind() -> Iterator[Case]:
    """Yield the newest snapshot is gone, so that the log goes on behind the one before, which is damaged."""
    forms: dict[str, Callable[[str], Damage]] = {
        "cut between its batches": lambda name: cut_in_batch(name, 1, 0),
        "cut in the second batch": lambda name: cut_in_batch(name, 1, 100),
        "empty": lambda name: holds(name, b""),
    }
    newest_gone = in_snapshot(-1, removed)
    rest: dict[str, Any] = {"releases": ("3.6.2", *DYNAMIC_FEW), "started_once": True}
    for name, damage in forms.items():
        damages = steps(newest_gone, in_snapshot(-1, damage))
        yield Case(name=f"snapshot {name}, records behind it", damage=damages, node=SNAPSHOTS, **rest)
    lone = replace(STANDALONE, more=OFTEN)
    yield Case(
        name="snapshot with the voters empty",
        releases=DYNAMIC_FEW,
        damage=in_snapshot(-1, forms["empty"]),
        node=lone,
        started_once=True,
    )


def _offset_checkpoints() -> Iterator[Case]:
    for file in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint"):
        for directory in TWO.log_dirs:
            damage = holds(f"{directory}/{file}", "garbage")
            yield Case(name=f"{file} garbage in {directory}", releases=FEW, damage=damage, node=TWO, started_once=True)
    wrong_count = holds("d1/recovery-point-offset-checkpoint", "0\n5\nt 0 1\n")
    yield Case(name="wrong count of recovery points", releases=FEW, damage=wrong_count, started_once=True)
    no_points = holds("d1/recovery-point-offset-checkpoint", "")
    yield Case(name="empty recovery points", releases=FEW, damage=no_points, started_once=True)


def _neighbours(version: str, among: tuple[str, ...]) -> tuple[str, ...]:
    """Return the releases just before and after one, and the newest: the paths of upgrades and downgrades."""
    at = among.index(version)
    near = (*among[max(at - 1, 0) : at], *among[at + 1 : at + 2], among[-1])
    return tuple(release for release in dict.fromkeys(near) if release != version)


def _other_releases() -> Iterator[Case]:
    """Yield disks of one release under another: fresh, after a first start, and of a dynamic quorum."""
    for made_by in VERSIONS:
        others = tuple(version for version in VERSIONS if version != made_by)
        yield Case(name=f"formatted by {made_by}", releases=others, formatted_by=made_by)
        near = _neighbours(made_by, VERSIONS)
        yield Case(name=f"started once with {made_by}", releases=near, formatted_by=made_by, started_once=True)
    static = replace(STANDALONE, dynamic=False, flags=())
    for made_by in DYNAMIC:
        others = tuple(version for version in DYNAMIC if version != made_by)
        yield Case(name=f"standalone by {made_by}", releases=others, node=STANDALONE, formatted_by=made_by)
        yield Case(
            name=f"standalone started once with {made_by}", releases=_neighbours(made_by, DYNAMIC), node=STANDALONE,
            formatted_by=made_by, started_once=True,
        )  # fmt: skip
        yield Case(
            name=f"standalone by {made_by} becomes static", releases=("3.8.1",), node=STANDALONE, becomes=static,
            formatted_by=made_by,
        )  # fmt: skip
    for made_by in ("3.9.2", "4.4.0"):
        asked = replace(STANDALONE, flags=(*STANDALONE.flags, "--release-version", "3.6"))
        yield Case(
            name=f"standalone by {made_by} for 3.6 becomes static", releases=("3.6.2", "3.7.2"), node=asked,
            becomes=static, formatted_by=made_by,
        )  # fmt: skip
    older = {"3.6": ("3.6.2", "3.7.2"), "3.9": ("3.8.1", "3.9.2", "4.2.1"), "4.1": ("4.1.2",), "4.3": ("4.3.1",)}
    for name, releases in older.items():
        asked = replace(ONE, flags=("--release-version", name))
        yield Case(name=f"formatted by 4.4.0 for {name}", releases=releases, node=asked, formatted_by="4.4.0")
    several = replace(TWO, flags=("--release-version", "3.6"))
    yield Case(name="several directories, old level", releases=("3.9.2", "4.3.1"), node=several)
    for made_by, version in (("4.4.0", "4.2.1"), ("4.2.1", "4.1.2"), ("4.4.0", "4.3.1")):
        yield Case(
            name=f"controller by {made_by} under {version}", releases=(version,), node=CONTROLLER, formatted_by=made_by
        )


CASES: tuple[Case, ...] = (
    *_healthy(),
    *_interrupted_first_starts(),
    *_meta_properties(),
    *_ensemble(),
    *_places(),
    *_locks(),
    *_folders(),
    *_bootstrap(),
    *_first_checkpoint(),
    *_voters(),
    *_quorum_state(),
    *_metadata_log(),
    *_snapshots(),
    *_offset_checkpoints(),
    *_other_releases(),
)

REPRESENTATIVES: tuple[tuple[str, str], ...] = (
    ("healthy standalone, second start", "4.4.0"),
    ("version=2 in d2", "3.9.2"),
    ("no meta.properties: d2", "4.3.1"),
    ("folder lost+found", "4.4.0"),
    ("metadata.log.dir dropped", "4.3.1"),
    ("bootstrap.checkpoint missing", "4.3.1"),
    ("bootstrap.checkpoint wrong CRC field", "3.9.2"),
    ("0-0 checkpoint empty", "3.9.2"),
    ("metadata log wrong bit in the second batch", "4.4.0"),
    ("snapshot cut between its batches, records behind it", "4.3.1"),
    ("first start interrupted", "4.3.1"),
    ("formatted by 4.4.0", "4.3.1"),
    ("started once with 4.4.0", "4.3.1"),
    ("standalone by 4.4.0 for 3.6 becomes static", "3.6.2"),
    ("standalone by 3.9.2 for 3.6 becomes static", "3.7.2"),
)
