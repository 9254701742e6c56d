"""A ZooKeeper 3.8 server, from the jars of the last Kafka that still came with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.lab import probe
from tests.lab.pool import Pool
from tests.lab.ports import HOST, free_port
from tests.lab.releases import ZOOKEEPER_RELEASE
from tests.lab.server import Server


class ZooKeeperNode(Server):
    """A standalone ZooKeeper; its data are in ``workdir/zookeeper-data`` and outlive a restart."""

    def __init__(
        self, workdir: Path, *, port: int | None = None, tick_ms: int = 500, pool: Pool | None = None,
        settings: Mapping[str, str] | None = None, java_options: Sequence[str] = (), heap_mb: int = 256,
    ) -> None:  # fmt: skip
        """``tick_ms`` sets the shortest session timeout: twice that; ``settings`` are further lines of its file."""
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
        """What to give as ``zookeeper.connect``."""
        return f"{HOST}:{self.port}"

    def ready(self) -> bool:
        """An answer to ``srvr`` that names a mode, which a server that does not serve yet leaves out."""
        return "Mode: " in probe.zookeeper_srvr(HOST, self.port)
