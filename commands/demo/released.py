"""Released Kafka as the cluster of the demo: six Java processes on loopback, which end with the block.

Kafka is not downloaded: its jars are in a folder that the operator names. Formatting is kafkactl's own `storage plan`
and `storage apply`; the topics are created with Kafka's tool.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Literal

from kafkactl.commands.demo.cluster import CONTROLLERS, Cluster
from kafkactl.commands.demo.fleet import INVENTORY, NODES, PLAN, config_name, write_fleet
from kafkactl.commands.demo.stage import environment, run_command
from kafkactl.commands.demo.topics import BROKERS, TOPICS, DemoTopic
from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import first_with_dynamic_quorum

_HOST: Final = "127.0.0.1"
_JVM: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_NODE: Final = "kafka.Kafka"
_TOPIC_TOOL: Final = "org.apache.kafka.tools.TopicCommand"
_START_TIMEOUT_S: Final = 300.0
_POLL_S: Final = 0.5
_LOG_END: Final = 600  # characters of a log, in an error


@frozen
class Kafka:
    """Released Kafka on this machine, and the Java to run it with."""

    release: str
    jars: Path
    java: Path


def find_kafka(folder: Path) -> Kafka:
    """Return the Kafka of an unpacked distribution (its jars are in `libs/`), or of a folder of its jars.

    Raises InputError `kafka-not-found`, `kafka-too-old`, `java-not-found`.
    """
    for jars in (folder / "libs", folder):
        # The jar of the tools, for a node's jars may be without it, and the topics are created with one of them.
        releases = [match[1] for jar in _jars_of(jars) if (match := re.fullmatch(r"kafka-tools-(\d.*)\.jar", jar))]
        if releases:
            return Kafka(release=_new_enough(releases[0]), jars=jars.resolve(), java=_java())
    raise InputError(f"there is no kafka-tools-*.jar in {folder / 'libs'} or {folder}", id="kafka-not-found")


def _jars_of(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def _new_enough(release: str) -> str:
    numbers = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    oldest = first_with_dynamic_quorum()
    if numbers < oldest.numbers[:2]:
        raise InputError(f"Kafka {release} has no dynamic quorums, expected {oldest.name} or newer", id="kafka-too-old")
    return release


def _java() -> Path:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None or not os.access(found, os.X_OK):
        where = f"JAVA_HOME is {home}" if home else "there is no java on the PATH, and JAVA_HOME is not set"
        raise InputError(f"no Java to run Kafka with: {where}", id="java-not-found")
    return Path(found)


@contextmanager
def open_released(kafka: Kafka, folder: Path) -> Iterator[Cluster]:
    """Run three controllers and three brokers with the demo's topics, all files in `folder`, while the block lasts.

    Raises FailedError `playground-not-started`.
    """
    with ExitStack() as stack:
        ports = {node: _reserved_port(stack) for node in NODES}
        cluster = _Released(kafka, folder, ports)
        stack.callback(cluster.end)
        cluster.format()
        cluster.start()
        yield cluster


def _reserved_port(stack: ExitStack) -> int:
    """Reserve a free port with a bound socket that never listens: only Java's servers may bind it."""
    holder = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((_HOST, 0))
    port: int = holder.getsockname()[1]
    return port


class _Released:
    """The processes, and what a scene needs of them."""

    kind: Literal["fake", "kafka"] = "kafka"

    def __init__(self, kafka: Kafka, folder: Path, ports: Mapping[int, int]) -> None:
        self.release = kafka.release
        self.controllers: tuple[int, int, int] = CONTROLLERS
        self._kafka, self._folder, self._ports = kafka, folder, ports
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        """Return the address of the controller that leads since the start."""
        return f"{_HOST}:{self._ports[self.controllers[0]]}"

    def directory_id(self, controller: int) -> str:
        """Return the directory id that formatting wrote; see `Cluster`."""
        text = (self._disk(controller) / "meta.properties").read_text(encoding="utf-8")
        found: list[str] = re.findall(r"(?m)^directory\.id=(\S+)$", text)
        return found[0]

    def stop_controller(self, controller: int) -> None:
        """Stop a controller by SIGKILL; see `Cluster`."""
        self._running[controller].kill()
        self._running[controller].wait()

    def format(self) -> None:
        """Write the configuration files and format every node, with one plan."""
        self._folder.mkdir()
        write_fleet(self._folder, self.release, lambda _: _HOST, self._ports.__getitem__)
        self._kafkactl("storage", "plan", INVENTORY, "--out", PLAN)
        self._kafkactl("storage", "apply", PLAN, "--host", _HOST, "--yes")

    def _kafkactl(self, *words: str) -> str:
        run = run_command(words, self._folder, environment(self._folder), captures=True)
        if run.exit_code:
            raise _not_started(f"`{run.line}` ended with exit code {run.exit_code}", f"{run.stdout}{run.stderr}")
        return run.stdout or ""

    def _config(self, node: int) -> Path:
        return self._folder / config_name(node)

    def _disk(self, node: int) -> Path:
        return self._folder / f"node-{node}"

    def start(self) -> None:
        """Start every node, create the topics, and see who leads."""
        for node in self._ports:
            with self._log(node).open("wb") as log:
                # A session of its own: Ctrl-C is for kafkactl, which ends these processes.
                self._running[node] = subprocess.Popen(
                    self._java(_NODE, str(self._config(node))), cwd=self._folder, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
        until = monotonic() + _START_TIMEOUT_S
        for topic in TOPICS:
            while (failure := self._created(topic, until)) is not None:
                self._check_all_run()
                if monotonic() > until:
                    raise _not_started(
                        f"the topic {topic.name} was not created within {_START_TIMEOUT_S:.0f} s", failure
                    )
                sleep(_POLL_S)
        described = self._kafkactl("quorum", "describe", "--bootstrap-controller", self.address, "-o", "json")
        leader = json.loads(described)["leader_id"]
        first, second = (controller for controller in CONTROLLERS if controller != leader)
        self.controllers = (leader, first, second)

    def _created(self, topic: DemoTopic, until: float) -> str | None:
        """Try to create a topic: None, or what Kafka's tool says against it, such as that a broker is not there yet."""
        assignment = ",".join(":".join(map(str, replicas)) for replicas in topic.replicas)
        words = ["--create", "--if-not-exists", "--topic", topic.name, "--replica-assignment", assignment]
        words += [word for name, value in topic.configs.items() for word in ("--config", f"{name}={value}")]
        brokers = ",".join(f"{_HOST}:{self._ports[broker]}" for broker in BROKERS)
        command = self._java(_TOPIC_TOOL, "--bootstrap-server", brokers, *words)
        try:
            done = subprocess.run(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                encoding="utf-8", errors="replace", timeout=max(1.0, until - monotonic()), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "kafka-topics.sh does not end"
        return f"{done.stdout}{done.stderr}" if done.returncode else None

    def _check_all_run(self) -> None:
        for node, process in self._running.items():
            if process.poll() is not None:
                log = self._log(node).read_text(encoding="utf-8", errors="replace")
                raise _not_started(f"node {node} ended with exit code {process.returncode}", log)

    def _java(self, *words: str) -> list[str]:
        return [str(self._kafka.java), *_JVM, "-cp", f"{self._kafka.jars}/*", *words]

    def _log(self, node: int) -> Path:
        return self._folder / f"node-{node}.log"

    def end(self) -> None:
        """Kill every process: what they hold is removed with the folder."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()


def _not_started(what: str, output: str) -> FailedError:
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("\tat ")]  # no stack frames
    cause = " / ".join(lines)[-_LOG_END:] or None
    return FailedError(f"the cluster of the demo did not start: {what}", id="playground-not-started", cause=cause)
