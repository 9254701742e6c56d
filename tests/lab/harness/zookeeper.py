"""ZooKeeper 3.8 servers, one or an ensemble, from the jars of the last Kafka that still came with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from tests.lab.harness import probe
from tests.lab.harness.pool import Pool
from tests.lab.harness.ports import HOST, free_port
from tests.lab.harness.releases import ZOOKEEPER_RELEASE
from tests.lab.harness.server import READY_S, Server

_SERVERS: Final = 3


class ZooKeeperNode(Server):
    """A standalone ZooKeeper; its data are in ``workdir/zookeeper-data`` and outlive a restart."""

    def __init__(
        self, workdir: Path, *, port: int | None = None, tick_ms: int = 500, pool: Pool | None = None,
        settings: Mapping[str, str] | None = None, java_options: Sequence[str] = (), heap_mb: int = 256,
    ) -> None:  # fmt: skip
        """Take settings: ``tick_ms`` sets the shortest session timeout: twice that; ``settings`` are further lines of
        its file."""
        self.port = free_port() if port is None else port
        data = workdir / "zookeeper-data"
        data.mkdir(parents=True, exist_ok=True)
        file = workdir / "zookeeper.properties"
        lines = [
            f"dataDir={data}",
            f"clientPort={self.port}",
            f"clientPortAddress={HOST}",
            f"tickTime={tick_ms}",
            "maxSessionTimeout=60000",
            "admin.enableServer=false",
            "4lw.commands.whitelist=*",
            *(f"{key}={value}" for key, value in (settings or {}).items()),
        ]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        super().__init__(
            "zookeeper", ZOOKEEPER_RELEASE, [main, str(file)], workdir, config_file=file, pool=pool,
            java_options=java_options, heap_mb=heap_mb,
        )  # fmt: skip

    @property
    def connect(self) -> str:
        """Return what to give as ``zookeeper.connect``."""
        return f"{HOST}:{self.port}"

    @property
    def ports(self) -> tuple[int, ...]:
        """Return the ports that it holds."""
        return (self.port,)

    def ready(self) -> bool:
        """Return True after an answer to ``srvr`` that names a mode, which a server that does not serve yet leaves
        out."""
        return "Mode: " in probe.zookeeper_srvr(HOST, self.port)


class ZooKeeperEnsemble:
    """Three servers, of which some can be lost and brought back. ``read_only``: one without the others lets read."""

    def __init__(self, workdir: Path, *, read_only: bool = False, heap_mb: int = 96) -> None:
        clients = [free_port() for _ in range(_SERVERS)]
        between = [(free_port(), free_port()) for _ in range(_SERVERS)]
        self.ports = (*clients, *(port for pair in between for port in pair))
        more = {f"server.{number}": f"{HOST}:{peer}:{vote}" for number, (peer, vote) in enumerate(between, 1)}
        more |= {"initLimit": "40", "syncLimit": "20"}
        options: list[str] = []
        if read_only:
            more["localSessionsEnabled"] = "true"  # a read-only server gives no others
            more["localSessionsUpgradingEnabled"] = "true"  # without it no client can make an ephemeral znode
            options.append("-Dreadonlymode.enabled=true")
        self.servers = []
        for client, port in enumerate(clients, 1):
            folder = workdir / f"zookeeper-{client}"
            node = ZooKeeperNode(folder, port=port, settings=more, java_options=options, heap_mb=heap_mb)
            (folder / "zookeeper-data" / "myid").write_text(str(client), encoding="utf-8")
            self.servers.append(node)

    @property
    def connect(self) -> str:
        """Return all of them."""
        return ",".join(server.connect for server in self.servers)

    def start(self) -> Self:
        """Start those that do not run."""
        for server in self.servers:
            if not server.alive:
                server.start()
        return self

    def wait_ready(self, timeout_s: float = READY_S) -> Self:
        """Wait until each server serves."""
        for server in self.servers:
            server.wait_ready(timeout_s)
        return self

    def lose_quorum(self) -> None:
        """Send SIGKILL to all servers but the first."""
        for server in self.servers[1:]:
            server.kill()

    def stop(self, grace_s: float = 60) -> None:
        """Stop all of them."""
        for server in self.servers:
            server.stop(grace_s)

    def kill(self) -> None:
        """Kill all of them."""
        for server in self.servers:
            server.kill()
