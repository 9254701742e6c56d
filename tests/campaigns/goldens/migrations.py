"""Maker of `tests/golden/migrations/`: what ZooKeeper held, and what the copy made of it, on real clusters.

`python -m tests.campaigns.goldens.migrations [RELEASE...]`. Two brokers and a controller of the release, ZooKeeper
3.8.4, metadata of every kind (`MigrationChores.java`) with a reassignment under way, brought to dual write. Kept: the
tree as `migrate observe` saves it, and the first segment of the controller's metadata log, gzipped. A tree that was
read after the copy is the one that was copied if no state znode has changed since; if one has, the run is made
again.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.znode import encode_znodes
from tests.lab.harness import releases
from tests.lab.migration.cluster import MigrationCluster

INTO = Path(__file__).parents[2] / "golden" / "migrations"
RELEASES = ("3.6.2", "3.7.2", "3.8.1", "3.9.2")
ONCE = ("3.6.1", "3.7.0")
"""Patches whose copy differs; the lab has no other use for them, and they were captured by name."""
SEGMENT = f"{0:020}.log"
ATTEMPTS = 3


def capture(release: str, work: Path, into: Path) -> bool:
    """Run the story on one release and keep the files; False if the tree has moved on since the copy."""
    with MigrationCluster(release, work) as cluster:
        cluster.reach("M0")
        cluster.fill()
        cluster.chores("reassign")
        cluster.reach("M6")
        with cluster.open_zookeeper() as zookeeper:
            tree = zookeeper.read_tree()
        if moved_since_copy(tree):
            return False
        place = into / release
        place.mkdir(parents=True, exist_ok=True)
        (place / "zk.jsonl.gz").write_bytes(encode_znodes(tree.znodes.values()))
        log = (cluster.metadata_log() / SEGMENT).read_bytes()
        (place / "metadata.log.gz").write_bytes(gzip.compress(log, mtime=0))
    return True


def moved_since_copy(tree: Tree) -> list[str]:
    """Return the partition states that were written after the KRaft controller took over."""
    claimed = tree.znodes["/controller"].czxid
    return [path for path, znode in tree.znodes.items() if path.endswith("/state") and znode.mzxid > claimed]


def main(arguments: Sequence[str]) -> None:
    """Capture the named releases, or all."""
    for release in arguments or RELEASES:
        releases.RELEASES.setdefault(release, releases.Release(version=release))
        for _ in range(ATTEMPTS):
            with tempfile.TemporaryDirectory(prefix="kafkactl-migration-") as work:
                if capture(release, Path(work), INTO):
                    break
        else:
            raise SystemExit(f"{release}: partitions changed after the copy in each of {ATTEMPTS} runs")


if __name__ == "__main__":
    main(sys.argv[1:])
