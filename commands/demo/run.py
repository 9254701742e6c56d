"""A demo from its first to its last scene: the folder is made, the cluster started when it is needed, both removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, Literal

from kafkactl.commands.demo.cluster import Cluster, FakeCluster
from kafkactl.commands.demo.released import Kafka, find_kafka, open_released
from kafkactl.commands.demo.scenes import REPORT, SCENES
from kafkactl.commands.demo.stage import Audience, Stage
from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen

_PREFIX: Final = "kafkactl-demo-"


@frozen
class DemoRequest:
    """Request of a demo: its scenes and its cluster. `kafka` is a folder of released Kafka, None for the fake
    cluster.

    `keeps`: the temporary folder stays. `report` is an absolute path for the report, None for a file in that folder.
    """

    scenes: tuple[str, ...] = tuple(SCENES)
    kafka: Path | None = None
    keeps: bool = False
    report: str | None = None
    color: str = "auto"


@frozen
class Demo:
    """Result of a demo: its cluster (None if no scene needed one), and the remaining files."""

    cluster: Literal["fake", "kafka"] | None
    """None if no scene needed a cluster."""
    release: str | None
    """The release of Kafka that ran, with --kafka."""
    folder: str | None
    """The folder that was kept, with --keep."""
    report: str | None
    """The HTML page, if it was kept."""

    to_dict = json_of("cluster", "release", "folder", "report")


def run_demo(request: DemoRequest, audience: Audience) -> Demo:
    """Show the scenes, one after the other, and leave nothing behind but what was asked for.

    Raises FailedError `demo-command-differs` if a command does not end as it has to, and what `find_kafka` and
    `open_released` raise.
    """
    kafka = None if request.kafka is None else find_kafka(request.kafka)
    with _folder(keeps=request.keeps) as folder, _Clusters(kafka, folder, audience) as clusters:
        audience.open(folder, keeps=request.keeps)
        stage = Stage(folder, clusters.get, audience, report=request.report, color=request.color)
        for name in request.scenes:
            scene = SCENES[name]
            audience.begin(name, scene.title)
            scene.run(stage)
        audience.close()
        running = clusters.running
    kept = str(folder / REPORT) if request.keeps and (folder / REPORT).exists() else None
    return Demo(
        cluster=None if running is None else running.kind,
        release=None if running is None else running.release,
        folder=str(folder) if request.keeps else None,
        report=request.report or kept,
    )


@contextmanager
def _folder(*, keeps: bool) -> Iterator[Path]:
    """Yield a new folder for the length of the block, readable by its owner only."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_place())).resolve()
    try:
        yield folder
    finally:
        if not keeps:
            shutil.rmtree(folder, ignore_errors=True)


def _place() -> str:
    """Return the directory for the folder: the user's cache if there is one, because nodes under /tmp get a warning."""
    cache = Path(os.environ.get("HOME", "/"), ".cache")
    usable = "TMPDIR" not in os.environ and cache.is_dir() and os.access(cache, os.W_OK | os.X_OK)
    return str(cache) if usable else tempfile.gettempdir()


class _Clusters:
    """The cluster of a demo, which is started when a scene first needs it and ends with the block."""

    def __init__(self, kafka: Kafka | None, folder: Path, audience: Audience) -> None:
        self._kafka, self._folder, self._audience = kafka, folder, audience
        self._stack = ExitStack()
        self.running: Cluster | None = None

    def __enter__(self) -> _Clusters:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def get(self) -> Cluster:
        """Return the running cluster."""
        if self.running is None:
            self.running = self._stack.enter_context(self._opened())
        return self.running

    def _opened(self) -> AbstractContextManager[Cluster]:
        if self._kafka is None:
            return FakeCluster()
        self._audience.say(
            f"Kafka {self._kafka.release} is started as six Java processes, three controllers and three brokers, each "
            "formatted by kafkactl. This takes some seconds."
        )
        return open_released(self._kafka, self._folder / "kafka")
