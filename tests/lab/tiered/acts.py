"""Acts: scenes that share a cluster and what happens to its brokers, and what came of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from kafkactl.core.errors import KafkactlError
from kafkactl.tiered.api.verbs import left_over, load, observe
from tests.lab.harness.errors import LabError
from tests.lab.tiered.brokers import TieredCluster
from tests.lab.tiered.election_scenes import PAUSED_SCENES, UNCLEAN_SCENES
from tests.lab.tiered.looks import Look, forecast_wrong, forecasts, look, readable_wrong
from tests.lab.tiered.outcome import Outcome
from tests.lab.tiered.stage import Hand, Scene, Stage
from tests.lab.tiered.store_scenes import SCENES

HOLDS = ("hold-before-copy", "hold-after-copy")
MORE = 40  # records: enough to close two segments


def shown(look: Look) -> str:
    """Return the offsets of a look on one line."""
    offsets = look.offsets
    if not offsets:
        return "–"
    tiered = f", tiered to {offsets['latest_tiered']}" if "latest_tiered" in offsets else ""
    return f"{offsets.get('earliest')}{tiered}, local from {offsets.get('earliest_local')}"


def outcomes(stage: Stage, ended: str) -> list[Outcome]:
    """Return a row for each scene; `ended` is why the act ended early, "" if it did not."""
    rows = []
    for hand in stage.hands:
        seen = {phase: by_topic[hand.topic] for phase, by_topic in stage.looks.items() if hand.topic in by_topic}
        words = [f"{phase}: {text}" for phase, each in seen.items() for text in each.wrong]
        words += [f"{what}: {by_topic[hand.topic]}" for what, by_topic in stage.wrong if hand.topic in by_topic]
        if hand.topic in stage.failed:
            words.append(f"not played: {stage.failed[hand.topic]}")
        if ended:
            words.append(f"the act ended early: {ended}")
        found = list(dict.fromkeys(", ".join(each.found) or "nothing" for each in seen.values()))
        kafka = list(dict.fromkeys(shown(each) for each in seen.values()))
        rows.append(Outcome(hand.scene.name, " → ".join(found), " → ".join(kafka), "; ".join(words)))
    return rows


def produce_more(stage: Stage, hands: Iterable[Hand], records: int = MORE) -> None:
    """Produce records for the leader of each living topic to copy."""
    stage.refresh()
    for hand in hands:
        led = stage.leaders().partitions.get((hand.topic, 0))
        if led is not None and led.leader >= 0 and hand.topic not in stage.failed:
            hand.produce(records)


def remove_leftovers(stage: Stage) -> None:
    """Delete every object that `tiered leftovers` lists; raises LabError where it refuses to list any.

    The cluster is asked: by disks it is not known where the metadata topic ends, and less is listed.
    """
    store = stage.cluster.disks.store
    request = stage.cluster.request(sources=(), metadata=None, live=observe(stage.client))
    found = left_over(load(request), older_than_ms=0, include_orphans=True)
    if found.refused:
        raise LabError(f"leftovers refuses: {[finding.id for finding in found.findings]}")
    for leftover in found.objects:
        (store / leftover.found.key).unlink()


def leader_lost(stage: Stage, scenes: Sequence[Scene] = SCENES, *, returns: bool = True) -> None:
    """Run all; forecast the next leader, kill theirs; where it `returns`, forecast and elect it."""
    cluster = stage.cluster
    stage.run_scenes(scenes)
    stage.looks["before"] = look(stage, "before")
    stage.wrong.append(("readable before", readable_wrong(stage)))

    made = forecasts(stage, 12)
    cluster.kill(11)
    for hand in stage.hands:
        if hand.scene.uploads:
            hand.fault(*HOLDS, on=False)
        if "leftover-of-deleted-topic" in hand.scene.before:
            hand.fault("refuse-delete", on=False)
    both = [hand for hand in stage.living() if "12" in hand.scene.replicas]
    stage.wait_led([hand.topic for hand in both], 12)
    produce_more(stage, both)
    stage.wrong.append(("leader lost", forecast_wrong(stage, made, stage.hands)))
    stage.looks["lost"] = look(stage, "lost")

    if returns:
        _leader_back(stage)
    remove_leftovers(stage)
    stage.wrong.append(("readable without leftovers", readable_wrong(stage)))


def _leader_back(stage: Stage) -> None:
    cluster = stage.cluster
    cluster.start(11)
    stage.wait_in_sync(11)
    made = forecasts(stage, 11)
    back = [hand for hand in stage.living() if stage.leaders().partitions[hand.topic, 0].replicas[0] == 11]
    cluster.chore("elect", "preferred", ",".join(hand.topic for hand in back))
    stage.wait_led([hand.topic for hand in back], 11)
    produce_more(stage, back)
    made = {topic: each for topic, each in made.items() if topic in {hand.topic for hand in back}}
    stage.wrong.append(("leader back", forecast_wrong(stage, made, stage.hands)))
    stage.looks["back"] = look(stage, "back")


def unclean_elections(stage: Stage) -> None:
    """Elect uncleanly: 12 is stopped while 11 writes; 11 is lost; 12 leads uncleanly; 11 comes back and cuts its log;
    then it leads."""
    cluster = stage.cluster
    stage.run_scenes(UNCLEAN_SCENES)
    cluster.stop(12)
    stage.wait_led([hand.topic for hand in stage.hands if hand.scene.replicas == "11,12"], 11)
    stage.reach("12 is away")
    cluster.kill(11)
    stage.reach("11 is lost")
    cluster.start(12)
    unclean = [hand for hand in stage.living() if hand.scene.replicas == "11,12"]
    cluster.chore("elect", "unclean", ",".join(hand.topic for hand in unclean))
    stage.wait_led([hand.topic for hand in unclean], 12)
    stage.reach("12 leads")
    stage.looks["before"] = look(stage, "before")
    stage.wrong.append(("readable before", readable_wrong(stage)))

    cluster.start(11)
    stage.wait_in_sync(11)
    made = forecasts(stage, 11)
    cluster.kill(12)
    stage.wait_led([hand.topic for hand in unclean], 11)
    both = [hand for hand in stage.living() if "11" in hand.scene.replicas]
    produce_more(stage, both)
    stage.wrong.append(("leader lost", forecast_wrong(stage, made, stage.hands)))
    stage.looks["lost"] = look(stage, "lost")
    stage.wrong.append(("readable at the end", readable_wrong(stage)))


def leader_paused(stage: Stage) -> None:
    """Pause 11 until 12 leads in its place, and resume it; then it leads again."""
    cluster = stage.cluster
    stage.run_scenes(PAUSED_SCENES)
    cluster.pause(11)
    stage.reach("11 is paused")
    stage.wait_led([hand.topic for hand in stage.hands], 12)
    stage.reach("12 leads")
    cluster.resume(11)
    stage.wait_in_sync(11)
    stage.reach("11 goes on")
    stage.looks["before"] = look(stage, "before")
    stage.wrong.append(("readable before", readable_wrong(stage)))
    made = forecasts(stage, 11)
    cluster.kill(12)
    stage.wait_led([hand.topic for hand in stage.hands], 11)
    produce_more(stage, stage.hands)
    stage.wrong.append(("leader lost", forecast_wrong(stage, made, stage.hands)))
    stage.looks["lost"] = look(stage, "lost")
    stage.wrong.append(("readable at the end", readable_wrong(stage)))


Act = Callable[[Stage], list[Outcome] | None]


def performed(act: Act, release: str, workdir: Path, settings: Mapping[str, str] | None = None) -> list[Outcome]:
    """Return an act on a cluster of its own; an act that gives no rows has one for each of its scenes."""
    begun = time.monotonic()
    with TieredCluster(release, workdir, settings) as cluster:
        cluster.start()
        with cluster.asking() as client:
            stage, ended = Stage(cluster, client), ""
            rows: list[Outcome] | None = None
            try:
                rows = act(stage)
            except (LabError, KafkactlError) as error:
                ended = str(error)
            rows = rows or outcomes(stage, ended)
    for row in rows:
        print(f"{release} | {row.scene} | {row.found} | {row.kafka} | {row.wrong or 'agrees'}", flush=True)
    print(f"{release}: {len(rows)} scenes in {time.monotonic() - begun:.0f} s", flush=True)
    return rows


ACTS: dict[str, Act] = {
    "leader lost": leader_lost,
    "unclean elections": unclean_elections,
    "leader paused": leader_paused,
}
