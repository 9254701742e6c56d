"""Experiments about the size of the log: scenario `growth` against a node that writes snapshots all the time.

In the manner of `dryrun_experiments`, on a cluster of one node that is controller and broker.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path

from kafkactl.dryrun.by_name import run
from kafkactl.dryrun.engine.local import load
from kafkactl.dryrun.prediction import Prediction
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.metadata.image.model import TOPIC_CONFIG
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.record_batch import HEADER_BYTES
from tests.lab.dryrun.experiments import Experiment, configure
from tests.lab.dryrun.stage import Stage

DAY_MS = 86_400_000
IDLE_S, CHANGES = 40, 200
SETTINGS = {
    "metadata.max.idle.interval.ms": "250",
    "metadata.log.max.snapshot.interval.ms": "4000",
}
KEPT = {"metadata.max.retention.bytes": "30000", "metadata.log.segment.ms": "20000"}
CLEANING_S = 60  # how often Kafka looks
NEAR = 0.15  # of what a few tens of seconds can show


def grown(stage: Stage) -> tuple[ScenarioContext, Prediction]:
    """Return the log as it is now, and what is foreseen of it for a day."""
    world = stage.world()
    return world, run("growth", world, {"days": 1})


def idle(stage: Stage) -> object:
    """Check an idle cluster: bytes, records and snapshots come as often as the controller's file says."""
    stage.settle(lambda _: True)
    before, found = grown(stage)
    count = len(_snapshots(stage))
    time.sleep(IDLE_S)
    after, _ = grown(stage)
    log, snapshot = found.effects["log"], found.effects["snapshot"]
    days = (after.loaded.last_timestamp_ms - before.loaded.last_timestamp_ms) / DAY_MS
    for what, said, real in (
        ("bytes", log["bytes_per_day"] * days, after.loaded.log_bytes - before.loaded.log_bytes),
        ("records", log["records_per_day"] * days, after.loaded.records - before.loaded.records),
    ):
        assert abs(real - said) <= NEAR * said, f"{said:.0f} {what} in {days * 86_400:.0f} s predicted, {real} written"
    said, real = snapshot["per_day"] * days, len(_snapshots(stage)) - count
    assert abs(real - said) <= 1.5, f"{said:.1f} snapshots predicted, {real} written"
    return found


def snapshot_size(stage: Stage) -> object:
    """Check that the snapshot of a state is as large as the one that Kafka wrote of it."""
    source = open_source(str(stage.cluster.disks.metadata_log(1)))
    newest = _snapshots(stage)[-1]
    end_offset = int(newest.name.split("-")[0])
    world = stage.world()
    then = replace(world, loaded=load(source.segments, source.checkpoints, at=end_offset - 1))
    found = run("growth", then, {"days": 1})
    said, real = found.effects["snapshot"]["bytes"], newest.stat().st_size
    assert abs(said - real) <= 0.01 * real, f"{said} bytes predicted, {real} written"
    return found


def burst(stage: Stage) -> object:
    """Change many configurations: the log grows by what is predicted for one of them, times their number."""
    stage.settle(lambda _: True)
    _, change = configure("topic:one", "retention.ms", "100000")
    found = change(stage)
    assert isinstance(found, Prediction) and found.appended is not None
    begun = stage.world().loaded.last_offset
    for number in range(CHANGES):
        config = {"Name": "retention.ms", "ConfigOperation": 0, "Value": str(200_000 + number)}
        resource = {"ResourceType": TOPIC_CONFIG, "ResourceName": "one", "Configs": [config]}
        stage.ask("IncrementalAlterConfigs", {"Resources": [resource], "ValidateOnly": False})
    stage.settle(lambda _: True)
    batches = stage.batches(begun)
    said, real = found.appended.bytes * CHANGES, sum(batches) + HEADER_BYTES * len(batches)
    assert abs(real - said) <= 0.001 * said, f"{said} bytes predicted for {CHANGES} changes, {real} written"
    return found


def kept(stage: Stage) -> object:
    """Check that cleaning deletes, and leaves no more than predicted, except what is written until its next run."""
    stage.settle(lambda _: True)
    _, found = grown(stage)
    folder = stage.cluster.disks.metadata_log(1)
    log, snapshot = found.effects["log"], found.effects["snapshot"]
    a_day = log["bytes_per_day"] + snapshot["per_day"] * snapshot["bytes"]
    most = log["bytes_kept_after"] + a_day * (CLEANING_S + 10) // 86_400
    seen = []
    for _ in range(4 * CLEANING_S):
        time.sleep(0.5)
        seen.append(sum(file.stat().st_size for file in (*folder.glob("*.log"), *folder.glob("*.checkpoint"))))
    assert max(seen) <= most, f"at most {most} bytes predicted, {max(seen)} seen"
    assert max(seen) > log["bytes_kept_after"] // 2, f"{max(seen)} bytes: nothing that could have been cleaned"
    assert any(after < before for before, after in itertools.pairwise(seen)), "nothing was cleaned"
    return found


def _snapshots(stage: Stage) -> list[Path]:
    folder = stage.cluster.disks.metadata_log(1)
    return sorted(path for path in folder.glob("*.checkpoint") if not path.name.startswith(f"{0:020}"))


GROWTH: tuple[Experiment, ...] = (
    (f"idle for {IDLE_S} s: bytes, records, snapshots", idle),
    ("the size of a snapshot", snapshot_size),
    (f"{CHANGES} changes of a configuration: bytes", burst),
    ("the size of a snapshot behind them", snapshot_size),
)
CLEANED: tuple[Experiment, ...] = ((f"{2 * CLEANING_S} s with a small retention: bytes kept", kept),)
