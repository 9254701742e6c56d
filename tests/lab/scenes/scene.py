"""Scenes on real clusters: what kafkactl predicts of a change is compared with what the cluster then does.

Rule: a prediction is read before anything is sent, from `--dry-run`; the truth is read afterwards from the nodes, by
questions that no command of ours answers for us. Where kafkactl would act, it acts. Where it refuses, Kafka itself is
asked for the same thing: by its own tool, or by the bare request where the tool would wait for a minute.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kafkactl.core.errors import KafkactlError
from kafkactl.core.values import ZERO_UUID
from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.storage_tool import StorageToolServer

FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
LEADERLESS_S = 9.0
NO_ANSWER = -100


class Verdict(StrEnum):
    """Verdict on a change."""

    WORKS = "works"
    NOTHING = "nothing to do"
    REFUSED = "refused by Kafka"
    CLAIMED = "Kafka says done, and it is not"
    ALLOWED = "Kafka does it"  # and kafkactl advises against it
    WEDGES = "the quorum stops"
    KILLS = "a node dies"
    LATER = "unknown until the nodes are back"


# What kafkactl means when it refuses with one of these; every other refusal says that Kafka refuses as well.
MEANINGS: Mapping[str, Verdict] = {
    "broker-only-node": Verdict.KILLS,
    "quorum-would-wedge": Verdict.WEDGES,
    "kraft-version-not-convertible": Verdict.CLAIMED,
    "conversion-not-supported": Verdict.CLAIMED,
    "kraft-version-not-alone": Verdict.ALLOWED,
    "zero-tolerance": Verdict.ALLOWED,
    "even-voter-count": Verdict.ALLOWED,
    "too-few-voters": Verdict.ALLOWED,
    "controller-is-voter": Verdict.CLAIMED,  # it registers again at once
    "controller-alive": Verdict.CLAIMED,
    "broker-alive": Verdict.ALLOWED,
}


@dataclass(slots=True)
class Stage:
    """A cluster, our command line, Kafka's tools, and the part that each node has in this scene."""

    cluster: KafkaCluster
    kafkactl: Callable[..., Run]
    tool: StorageToolServer
    cast: dict[str, Any] = field(default_factory=dict)
    undo: Callable[[], None] = lambda: None  # what a deed has done to our client

    def cast_parts(self) -> None:
        """Name the leader and the others, as they are when the scene begins."""
        cluster = self.cluster
        leader, voters = cluster.leader(), cluster.voters()
        others = [voter for voter in voters if voter != leader]
        alive = [other for other in others if cluster.node(other).alive]
        outside = [
            controller_id
            for controller_id in cluster.controller_ids
            if controller_id not in voters and cluster.node(controller_id).alive
        ]
        parts = dict(zip(("leader", "follower", "other", "third"), [leader, *sorted(alive), 0, 0, 0], strict=False))
        parts["observer"] = (outside or [0])[0]
        self.cast |= parts
        for part, node_id in parts.items():
            self.cast[f"{part}_dir"] = voters.get(node_id) or cluster.disks.directory_ids.get(node_id, "")
            self.cast[f"{part}_config"] = cluster.config_file(node_id)
        lists = {
            "voters_text": voters,
            "without_leader": set(voters) - {leader},
            "without_follower": set(voters) - {parts["follower"]},
            "survivors": set(voters) - {parts["other"], parts["third"]},
            "three": sorted(voters)[:3],
        }
        self.cast |= {name: ",".join(map(str, sorted(ids))) for name, ids in lists.items()}
        self.cast["cluster_id"] = cluster.cluster_id

    def filled(self, words: Sequence[str]) -> list[str]:
        """Return the words with the parts in their places: `{leader}`, `{follower_dir}` …"""
        return [word.format(**self.cast) for word in words]

    def part(self, who: int | str) -> int:
        """Return a node by id or by part."""
        return who if isinstance(who, int) else int(self.cast[who])


Deed = Callable[[Stage], None]
Asking = Callable[[Stage, Sequence[str]], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Change on a cluster. `because` are ids that must be among the blockers; `instead` asks Kafka its own way."""

    name: str
    words: tuple[str, ...]
    verdict: Verdict
    because: tuple[str, ...] = ()
    before: tuple[Deed, ...] = ()
    after: tuple[Deed, ...] = ()
    instead: Asking | None = None
    options: tuple[str, ...] = ()  # for kafkactl alone
    during: Deed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Scenes that follow each other on one cluster."""

    name: str
    release: str
    shape: Mapping[str, Any]
    scenes: tuple[Scene, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Course of a scene."""

    course: str
    release: str
    scene: str
    predicted: str
    happened: str
    by: str
    seconds: float
    remarks: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return True if the prediction was right, and for the right reason."""
        return self.predicted == self.happened and not self.remarks


def run_course(course: Course, stage: Stage) -> list[Seen]:
    """Run the scenes in their order; one that breaks ends the course, and says so."""
    seen: list[Seen] = []
    for scene in course.scenes:
        began = time.monotonic()
        try:
            predicted, happened, by, remarks = _run_scene(scene, stage)
        except Exception as error:  # what a scene breaks on is a result: the other courses are still to be run
            remarks = (f"{type(error).__name__}: {str(error)[:600]}",)
            predicted, happened, by = str(scene.verdict), "the scene broke", "-"
        seconds = time.monotonic() - began
        seen.append(
            Seen(
                course=course.name, release=course.release, scene=scene.name, predicted=predicted, happened=happened,
                by=by, seconds=seconds, remarks=remarks,
            )
        )  # fmt: skip
        print(f"{course.name} | {scene.name}: {predicted} / {happened} {remarks or ''} {seconds:.1f} s", flush=True)
        if happened == "the scene broke":
            break
    return seen


def _run_scene(scene: Scene, stage: Stage) -> tuple[str, str, str, tuple[str, ...]]:
    stage.cast_parts()
    stage.cast["registrations"] = scene.words[0] == "nodes"  # other changes may bring registrations with them
    for deed in scene.before:
        deed(stage)
    words = stage.filled(scene.words)
    dry = ask_kafkactl(stage, [*words, *stage.filled(scene.options), "--dry-run"])
    predicted, remarks = _prediction(scene, dry)
    if predicted in (Verdict.WORKS, Verdict.NOTHING, Verdict.LATER):
        happened, by = _done_by_us(scene, stage, words, dry), "kafkactl"
    else:
        happened, by = _done_by_kafka(scene, stage, words), "Kafka's own request"
    if (predicted, happened) != (scene.verdict, scene.verdict):
        remarks = (*remarks, f"expected: {scene.verdict}; blockers: {_blockers(dry)}")
    for deed in scene.after if scene.verdict is not Verdict.LATER else ():
        deed(stage)
    return str(predicted), str(happened), by, remarks


def ask_kafkactl(stage: Stage, words: Sequence[str]) -> dict[str, Any]:
    """Return the answer of one of our commands, with its exit code."""
    where = ["--bootstrap-controller", stage.cluster.bootstrap_controller]
    run = stage.kafkactl(*words, *where, "-o", "json", "--timeout", "120s")
    text = run.stdout if run.stdout.startswith("{") else run.stderr[run.stderr.index("{") :]
    answer: dict[str, Any] = json.loads(text)
    return answer | {"exit_code": run.code}


def _prediction(scene: Scene, dry: Mapping[str, Any]) -> tuple[Verdict, tuple[str, ...]]:
    if dry["kind"] == "error":
        return Verdict.REFUSED, () if dry["id"] in scene.because else (f"error {dry['id']}: {dry['message']}",)
    blockers = _blockers(dry)
    missing = [finding for finding in scene.because if finding not in blockers]
    remarks = (f"not among the blockers {blockers}: {missing}",) if missing else ()
    outcome = dry["outcome"]
    if outcome == "refused":
        return next((meaning for id, meaning in MEANINGS.items() if id in blockers), Verdict.REFUSED), remarks
    if outcome == "nothing-to-do":
        return Verdict.NOTHING, remarks
    if outcome == "planned":
        return Verdict.LATER if scene.verdict is Verdict.LATER else Verdict.WORKS, remarks
    return Verdict.REFUSED, (*remarks, f"outcome {outcome} of a dry run")


def _blockers(dry: Mapping[str, Any]) -> list[str]:
    return [finding["id"] for finding in dry.get("findings", ()) if finding["severity"] == "blocker"]


def _done_by_us(scene: Scene, stage: Stage, words: Sequence[str], dry: Mapping[str, Any]) -> str:
    before = _picture(stage)
    yes = ["--yes"] if words[0] == "nodes" or "reassign" in words else []
    if scene.during is not None:
        scene.during(stage)
    try:
        answer = ask_kafkactl(stage, [*words, *stage.filled(scene.options), *yes])
    finally:
        stage.undo()
    said = answer.get("outcome", answer.get("id"))
    if scene.verdict is Verdict.LATER:
        return _later(scene, stage, answer)
    wanted = _promised(stage, before, dry)
    after = _settled(stage, wanted)
    if after != wanted:
        return f"{said} (exit {answer['exit_code']}), but {after} instead of {wanted}"
    if (said, answer["exit_code"]) == ("done", 0):
        return Verdict.WORKS
    if (said, answer["exit_code"]) == ("nothing-to-do", 0):
        return Verdict.NOTHING
    found = [finding.get("message") for finding in answer.get("findings", ()) if finding["severity"] == "blocker"]
    return f"{said} (exit {answer['exit_code']}) {answer.get('message', '')} {found}"


def _later(scene: Scene, stage: Stage, answer: Mapping[str, Any]) -> str:
    """Return an unknown outcome that the cluster resolves after the paused nodes are back."""
    if (answer.get("outcome"), answer["exit_code"]) != ("unknown", 6):
        return f"{answer.get('outcome', answer.get('id'))} (exit {answer['exit_code']}), not unknown"
    unresolved = [finding["id"] for finding in answer["findings"] if finding["id"] == "feature-outcome-unknown"]
    if not (answer.get("may_happen") or unresolved):
        return "unknown, and nothing is said of what may still happen"
    for deed in scene.after:
        deed(stage)
    stage.cluster.wait_complete()
    return Verdict.LATER


def _done_by_kafka(scene: Scene, stage: Stage, words: Sequence[str]) -> str:
    before, ran = _picture(stage), {node.name for node in stage.cluster.running}
    code = (scene.instead or kafkas_tool)(stage, words)
    if words[0] == "nodes":  # who lives may register again
        _settled(stage, before, 5)
    if scene.verdict in (Verdict.WEDGES, Verdict.KILLS):
        return _harm(scene, stage, ran, code)
    if code not in (0, NO_ANSWER):
        return Verdict.REFUSED if _picture(stage) == before else f"refused ({code}), and yet {_picture(stage)}"
    return Verdict.CLAIMED if _is_claimed(words, before, _picture(stage)) else Verdict.ALLOWED


def _is_claimed(words: Sequence[str], before: Picture, after: Picture) -> bool:
    """Return True if nothing came of a change that was answered as done; a quorum without directory ids is static."""
    converts = "convert" in words or "kraft.version=1" in words
    return all(key == str(ZERO_UUID) for _, key in after[1]) if converts else after == before


def _harm(scene: Scene, stage: Stage, ran: set[str], code: int) -> str:
    if scene.verdict is Verdict.KILLS:
        stage.cluster.wait_for(lambda: ran - {node.name for node in stage.cluster.running}, "lost a node", 120)
        return Verdict.KILLS if code == 0 else f"refused ({code})"
    stage.cluster.wait_for(lambda: stage.cluster.leader_now() == -1, "lost its leader", 120)
    until = time.monotonic() + LEADERLESS_S
    while time.monotonic() < until:
        with contextlib.suppress(KafkactlError):  # a busy machine may answer late
            if stage.cluster.leader_now() != -1:
                return "the quorum found a leader again"
        time.sleep(0.5)
    return Verdict.WEDGES


def kafkas_tool(stage: Stage, words: Sequence[str]) -> int:
    """Return the exit code of Kafka's own tool with the same words, where kafkactl's are the same."""
    release = stage.cluster.shape.release
    version = release if releases.release(release).tools else releases.NEWEST_WITH_TOOLS
    where = ["--bootstrap-controller", stage.cluster.bootstrap_controller]
    name = FEATURES if words[0] == "features" else QUORUM
    return stage.tool.run_tool(version, name, [*where, *words[1:]], timeout_s=90).exit_code


Picture = tuple[dict[str, int], frozenset[tuple[int, str]], frozenset[tuple[str, int]]]


def _picture(stage: Stage) -> Picture:
    """Return levels, voters and registered brokers, as the active controller has them; of a leaderless quorum
    nothing."""
    try:
        levels = stage.cluster.levels(stage.cluster.leader_now())
        voters = frozenset(stage.cluster.voters().items())
    except (KafkactlError, KeyError):
        return {}, frozenset(), frozenset()
    return levels, voters, frozenset(registered(stage)) if stage.cast.get("registrations") else frozenset()


def registered(stage: Stage) -> set[tuple[str, int]]:
    """Return who is registered, out of the metadata log."""
    from kafkactl.cluster.io.fetched_registrations import fetch_registrations

    with stage.cluster.client() as client:
        found = fetch_registrations(client)
    return {("broker", broker) for broker in found.brokers} | {
        ("controller", controller) for controller in found.controllers
    }


def _promised(stage: Stage, before: Picture, dry: Mapping[str, Any]) -> Picture:
    """Return what the cluster must be after a plan."""
    levels, voters, nodes = dict(before[0]), set(before[1]), set(before[2])
    for change in dry.get("changes", ()):
        levels[change["name"]] = change["to"]
    if any(step.get("action") == "upgrade" for step in dry.get("steps", ())):
        levels["kraft.version"] = 1
    if levels.get("kraft.version") and not before[0].get("kraft.version"):
        voters = {(node_id, stage.cluster.directory_id(node_id)) for node_id, _ in voters}
    for step in dry.get("steps", ()):
        if step.get("action") == "add":
            voters.add((step["id"], step["directory_id"]))
        elif step.get("action") == "remove":
            voters.discard((step["id"], step["directory_id"]))
    if dry["kind"] == "nodes.unregister" and dry["outcome"] == "planned":
        nodes.discard((dry["role"], dry["node_id"]))
    return {name: level for name, level in levels.items() if level}, frozenset(voters), frozenset(nodes)


def _settled(stage: Stage, wanted: Picture, within_s: float = 60) -> Picture:
    """Return the picture once it is as wanted and every node that runs shows these levels, or as it is in the end."""
    until = time.monotonic() + within_s
    while True:
        found = _picture(stage)
        if found == wanted and all(_has(stage, node.config["node.id"], wanted[0]) for node in stage.cluster.running):
            return wanted
        if time.monotonic() > until:
            return found
        time.sleep(0.2)


def _has(stage: Stage, node_id: str, levels: Mapping[str, int]) -> bool:
    try:
        return stage.cluster.levels(int(node_id)) == levels
    except KafkactlError:
        return False
