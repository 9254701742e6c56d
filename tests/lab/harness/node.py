"""A Kafka node of any release: start it, watch it, disturb it.

::

    with KafkaNode("4.4.0", config.combined(...), tmp_path) as node:
        node.start().wait_ready()
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import javaproperties

from tests.lab.harness import probe
from tests.lab.harness.errors import LabError
from tests.lab.harness.pool import Pool
from tests.lab.harness.ports import HOST
from tests.lab.harness.server import POLL_S, Server

STARTED = "Kafka Server started"
"""Logged by every release when all parts of the process have started; by a broker after it was unfenced."""
REGISTERED = "Our registration has been persisted to the metadata log"
"""Logged by a controller (3.7 and later) that read the registration of its own process in the metadata log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOutcome:
    """Outcome of a start: it serves, it ended with ``exit_code``, or it neither serves nor ends."""

    kind: Literal["started", "exited", "hangs"]
    exit_code: int | None
    log: str


class KafkaNode(Server):
    """A node of Kafka; its disks are whatever the test made of them."""

    def __init__(
        self, release: str, config: Mapping[str, str] | Path, workdir: Path, *, name: str | None = None,
        pool: Pool | None = None, heap_mb: int = 256, java_options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Write ``config`` to ``workdir``, or a file that is there already; ``workdir`` also takes the logs."""
        self.config = read_config(config) if isinstance(config, Path) else dict(config)
        name = name or f"kafka-{release}-{self.config.get('node.id', self.config.get('broker.id', 'x'))}"
        file = config if isinstance(config, Path) else workdir / f"{name}.properties"
        if not isinstance(config, Path):
            workdir.mkdir(parents=True, exist_ok=True)
            write_config(file, config)
        super().__init__(
            name, release, ["kafka.Kafka", str(file)], workdir, config_file=file,
            pool=pool, heap_mb=heap_mb, java_options=java_options, env=env,
        )  # fmt: skip

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port of the first broker listener, or of the first controller listener if there is none."""
        return listener_address(self.config)

    def ready(self) -> bool:
        """Return True after an answered ApiVersions request; a node with roles must also have logged its start.

        A controller's listener answers before the controller has joined its quorum, a broker's before it is unfenced.
        """
        if "process.roles" in self.config and STARTED not in self.log_text():
            return False
        return probe.answers_api_versions(*self.address)

    def outcome(self, timeout_s: float = 20) -> StartOutcome:
        """Start the node unless it runs, and say how that goes within ``timeout_s`` seconds.

        A node that started or hangs is left running: stop it.
        """
        if not self.alive:
            self.start()
        deadline = time.monotonic() + timeout_s
        while self.alive:
            if self.ready():
                return StartOutcome(kind="started", exit_code=None, log=self.log_text())
            if time.monotonic() > deadline:
                return StartOutcome(kind="hangs", exit_code=None, log=self.log_text())
            time.sleep(POLL_S)
        return StartOutcome(kind="exited", exit_code=self.exit_code, log=self.log_text())


def read_config(file: Path) -> dict[str, str]:
    """Return a ``.properties`` file as Java reads it."""
    return dict(javaproperties.loads(file.read_text(encoding="utf-8")))


def write_config(file: Path, config: Mapping[str, str]) -> None:
    """Write a ``.properties`` file."""
    file.write_text(javaproperties.dumps(dict(config), timestamp=False), encoding="utf-8")


def listener_address(config: Mapping[str, str]) -> tuple[str, int]:
    """Return where to ask a node with this configuration whether it is there (see ``KafkaNode.address``)."""
    controllers = {name.strip() for name in config.get("controller.listener.names", "").split(",")}
    listeners = [_split_listener(item) for item in config.get("listeners", "").split(",") if item.strip()]
    ordered = [listener for listener in listeners if listener[0] not in controllers] or listeners
    if not ordered:
        raise LabError("the lab needs a configuration with listeners to know where to ask")
    return ordered[0][1], ordered[0][2]


def _split_listener(item: str) -> tuple[str, str, int]:
    name, _, place = item.strip().partition("://")
    host, _, port = place.rpartition(":")
    return name, host.strip("[]") or HOST, int(port)
