"""Writer of tests/golden/tiered/RELEASE: an observation of a real broker that tiers, and that broker's answers.

    python -m tests.campaigns.goldens.tiered [RELEASE...]

The broker has the topics `orders` (five segments, two of them deleted by retention, a copy that was killed after its
upload and made again), `waiting` (a delete that the store refuses) and `gone` (deleted while the store refused).
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from kafkactl.tiered.api.verbs import Request, load, save, segments
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.tiered.cluster import METADATA_PARTITIONS, TieredBroker

GOLDEN = Path(__file__).parents[2] / "golden" / "tiered"
RELEASES = ("3.9.2", "4.3.1")


def states(broker: TieredBroker, topic: str) -> list[str]:
    found = segments(load(Request(sources=(str(broker.data),))))
    return [segment.state for segment in found if segment.topic == topic]


def written(broker: TieredBroker) -> dict[str, dict[str, int]]:
    """Make the scenes; what the broker answers of the topics that are left."""

    def copied(topic: str, count: int) -> None:
        broker.wait_for(lambda: states(broker, topic).count("COPY_SEGMENT_FINISHED") == count, f"{count} of {topic}")

    broker.chores(f"create:orders:{broker.small_segments}", "produce:orders:100")
    copied("orders", 5)
    broker.chores("configure:orders:retention.bytes=65000")
    copied("orders", 3)
    broker.chores("configure:orders:retention.bytes=-1")
    broker.fault("hold-after-copy")
    broker.chores("produce:orders:20")
    broker.wait_for(lambda: "COPY_SEGMENT_STARTED" in states(broker, "orders"), "a copy that is held")
    broker.node.kill()
    broker.fault("hold-after-copy", on=False)
    broker.node.start().wait_ready()
    copied("orders", 4)
    broker.chores(f"create:gone:{broker.small_segments}", "produce:gone:40")
    broker.chores(f"create:waiting:{broker.small_segments}", "produce:waiting:60")
    copied("gone", 2)
    copied("waiting", 3)
    broker.fault("refuse-delete")
    broker.chores("drop:gone", "cut:waiting:18")
    broker.wait_for(lambda: "DELETE_SEGMENT_STARTED" in states(broker, "waiting"), "a refused delete")
    broker.wait_for(lambda: states(broker, "gone") == ["DELETE_SEGMENT_STARTED"] * 2, "the deleted topic")
    return {topic: broker.offsets(topic) for topic in ("orders", "waiting")}


def main(releases: tuple[str, ...]) -> None:
    with StorageToolServer() as tool, tempfile.TemporaryDirectory() as work:
        for release in releases:
            with TieredBroker(release, Path(work) / release) as broker:
                broker.format(tool).node.start().wait_ready()
                said = written(broker)
                broker.node.stop()
                request = Request(
                    sources=(str(broker.data),),
                    metadata=str(broker.metadata_log),
                    bucket=str(broker.store),
                    metadata_partitions=METADATA_PARTITIONS,
                )
                place = GOLDEN / release
                shutil.rmtree(place, ignore_errors=True)
                GOLDEN.mkdir(parents=True, exist_ok=True)
                save(load(request), str(place))
            (place / "answered.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
            print(f"{place.name}: {sum(file.stat().st_size for file in place.rglob('*') if file.is_file())} bytes")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or RELEASES)
