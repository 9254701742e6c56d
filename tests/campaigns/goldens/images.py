"""Maker of `tests/golden/images/`: metadata logs of small clusters of every release, with the snapshots they wrote.

`python -m tests.campaigns.goldens.images [RELEASE...]`. A combined node 1 and a broker 2 are formatted at an older
level if there is one; an administrator (`Chores.java`) makes topics, configs, quotas, ACLs, SCRAM credentials,
tokens, reassignments and an upgrade; broker 2 is killed, returns, is killed again and unregistered. Snapshots are
made often. Kept of node 1: the log, gzipped, and three of its snapshots. Ids, salts and times differ from run to run.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.lab.harness import config, java, maven, ports, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.ports import HOST
from tests.lab.harness.storage_tool import JVM_OPTIONS, StorageToolServer, logging_options

INTO = Path(__file__).parents[2] / "golden" / "images"
CLUSTER_ID = "XgM8cvG1S-mQ3k4wGhkVpQ"
METADATA_LOG = "__cluster_metadata-0"
# Format at, upgrade to (metadata.version), by release; 3.3 knows no older level that KRaft in production had.
LEVELS = {
    "3.3.2": ("3.3", None),
    "3.6.2": ("3.4", 14),
    "3.7.2": ("3.7-IV2", 19),
    "3.8.1": ("3.7", 20),
    "3.9.2": ("3.7", 21),
    "4.0.2": ("3.9", 25),
    "4.1.2": ("4.0", 27),
    "4.2.1": ("4.1", 29),
    "4.3.1": ("4.1", 30),
    "4.4.0": ("4.3", 33),
}
_LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="admin"'
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "metadata.max.idle.interval.ms": "1000",
    "auto.leader.rebalance.enable": "false",
}
TOKENS = {"delegation.token.secret.key": "lab"}  # 3.3 refuses to start with it


def capture(release: str, tool: StorageToolServer, work: Path, into: Path) -> None:
    """Run the story on one release and keep the files."""
    first, client_file = _nodes(release, tool, work)
    chores = _Chores(release, client_file, work)
    with first[0] as controller, first[1] as broker:
        controller.start()
        broker.start()
        controller.wait_ready()
        broker.wait_ready()
        chores.run("first")
        level = LEVELS[release][1]
        if level is not None:
            chores.run(f"upgrade:{level}")
            chores.run("users")  # what the older level could not hold
        broker.kill()
        time.sleep(6)
        chores.run("without-2")
        broker.start().wait_ready()
        time.sleep(3)
        chores.run("again")
        broker.kill()
        time.sleep(6)
        chores.run("unregister-2")
        time.sleep(3)
        controller.stop()
    _keep(release, work / "1a" / METADATA_LOG, into)


def _nodes(release: str, tool: StorageToolServer, work: Path) -> tuple[list[KafkaNode], Path]:
    clear, plain, controller, other = ports.free_ports(4)
    quorum = config.static_quorum({1: controller})
    combined = config.combined(
        node_id=1, log_dirs=[work / "1a", work / "1b"], broker_port=clear, controller_port=controller, quorum=quorum
    )
    settings = SETTINGS if release == "3.3.2" else SETTINGS | TOKENS
    combined |= settings | {
        "listeners": f"PLAINTEXT://{HOST}:{clear},PLAIN://{HOST}:{plain},CONTROLLER://{HOST}:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PLAIN:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plain.plain.sasl.jaas.config": f'{_LOGIN} user_admin="admin";',
        "broker.rack": "rack-1",
    }
    broker = config.broker(node_id=2, log_dirs=[work / "2"], port=other, quorum=quorum) | settings
    nodes = []
    for node_id, settings in ((1, combined), (2, broker)):
        file = work / f"{node_id}.properties"
        write_config(file, settings)
        asked = ["format", "-t", CLUSTER_ID, "-c", file, "--release-version", LEVELS[release][0]]
        result = tool.run(release, asked)
        if result.exit_code:
            raise RuntimeError(result.stdout + result.stderr)
        nodes.append(KafkaNode(release, file, work))
    client_file = work / "client.properties"
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{_LOGIN};"}
    write_config(client_file, {"bootstrap.servers": f"{HOST}:{plain}"} | login)
    return nodes, client_file


class _Chores:
    """`Chores.java` with the classes of a release."""

    def __init__(self, release: str, client_file: Path, work: Path) -> None:
        newest = maven.class_path(releases.VERSIONS[-1])
        classes = compiled("Chores", [Path(__file__).parents[2] / "lab" / "java" / "Chores.java"], class_path=newest)
        path = os.pathsep.join((maven.class_path(release), str(classes)))
        options = [*JVM_OPTIONS, *logging_options("tools")]
        self._command = [str(java.java_binary()), *options, "-cp", path, "kafkactl.lab.Chores", str(client_file)]
        self._work = work

    def run(self, word: str) -> None:
        done = subprocess.run(
            [*self._command, word], cwd=self._work, env=java.environment(), capture_output=True, text=True, check=False
        )
        print(f"{word}:\n{done.stdout}{done.stderr if done.returncode else ''}", flush=True)
        if done.returncode:
            raise RuntimeError(f"{word} ended with {done.returncode}")


def _keep(release: str, source: Path, into: Path) -> None:
    """Keep the first segment and three snapshots: an early one, one in the middle, the last."""
    folder = into / release
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    snapshots = sorted(path for path in source.glob("*.checkpoint") if not path.name.startswith("0" * 20))
    segments = sorted(source.glob("*.log"))
    for file in (*segments, *{snapshots[len(snapshots) // 4], snapshots[len(snapshots) // 2], snapshots[-1]}):
        content = file.read_bytes()
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(content, mtime=0))
        print(f"{release}/{file.name}: {len(content)} bytes", flush=True)


def main(arguments: Sequence[str]) -> None:
    """Make those of the named releases, or all."""
    with StorageToolServer() as tool:
        for release in arguments or LEVELS:
            with tempfile.TemporaryDirectory(prefix="kafkactl-image-") as work:
                capture(release, tool, Path(work), INTO)


if __name__ == "__main__":
    main(sys.argv[1:])
