"""Maker of `tests/golden/states/`: a real cluster in every state of its migration, in its rollback, and broken.

`python -m tests.campaigns.goldens.states [story|wrong_ways|three_of_each]`. Kafka 3.9.2 with little metadata, so that
the captures are small; each is a folder as `migrate observe` saves it (without secrets), in one archive.
"""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from kafkactl.core.errors import RefusedError
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.observe import observe
from kafkactl.migration.io.saved_observation import observation_from
from kafkactl.migration.steps.table import observed_state
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.kazoo_session import kazoo_session
from tests.lab.migration.plan_operator import inventory_of

INTO = Path(__file__).parents[2] / "golden" / "states"
_CONTROLLER = 3001
_SETTLED_S = 60.0
_POISON = "/config/clients/poison"


class Camera:
    """Recorder of a cluster when it shows the expected state; `name` begins with that state."""

    def __init__(self, cluster: MigrationCluster) -> None:
        self.cluster = cluster

    def take(self, name: str, state: str) -> None:
        deadline = time.monotonic() + _SETTLED_S
        while True:
            captured = observe(inventory_of(self.cluster), timeout_ms=60_000)
            seen = observed_state(observation_from(captured)).state.value
            if seen == state or time.monotonic() > deadline:
                break
            time.sleep(1)
        print(f"{name}: {seen}", file=sys.stderr)
        folder = self.cluster.workdir / "pictures" / name
        save_observation(str(folder), captured)
        pack(folder, INTO / f"{name}.tar.gz")


def pack(folder: Path, into: Path) -> None:
    """Pack the folder's files in one archive, the same bytes for the same files."""
    into.parent.mkdir(parents=True, exist_ok=True)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = tarfile.TarInfo(str(path.relative_to(folder)))
            info.size = path.stat().st_size
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    into.write_bytes(gzip.compress(plain.getvalue(), mtime=0))


def story(cluster: MigrationCluster) -> None:
    """Forward to M8, back, and forward to the end; broken on the way."""
    camera = Camera(cluster)
    cluster.reach("M0")
    camera.take("M0", "M0")
    cluster.format_controllers()
    camera.take("M2", "M2")
    shutil.rmtree(cluster.plan.log_dir(_CONTROLLER))
    for state in ("M3", "M4L", "M6", "M7", "M8"):
        cluster.reach(state)
        camera.take(state, state)
    back(cluster, camera)
    shutil.rmtree(cluster.plan.log_dir(_CONTROLLER))
    again(cluster, camera)


def back(cluster: MigrationCluster, camera: Camera) -> None:
    """Observe the rollback after each part of it."""
    for broker in cluster.broker_ids:
        cluster.enter(broker)
    camera.take("M6-back-from-kraft", "M6")
    cluster.stop(_CONTROLLER)
    camera.take("lost-quorum", "lost-quorum")
    delete(cluster, "/controller")
    cluster.wait_for(lambda: cluster.controller().get("brokerid") in cluster.broker_ids, "elected a broker")
    camera.take("incomplete-rollback-migration-left", "incomplete-rollback")
    delete(cluster, "/migration")
    time.sleep(3)
    cluster.restart(1, "zk")
    camera.take("incomplete-rollback-one-rolled", "incomplete-rollback")
    cluster.restart(2, "zk")
    camera.take("M0-rolled-back", "M0")


def again(cluster: MigrationCluster, camera: Camera) -> None:
    """Observe a second try: held up by what was done wrong, and to the end."""
    cluster.format_controllers()
    cluster.start(_CONTROLLER)
    cluster.enter(1)
    cluster.restart(1, "zk")
    camera.take("M4L-left-again", "M4L")
    cluster.enter(1, 2)
    camera.take("M6-again", "M6")
    delete(cluster, "/controller")
    camera.take("split-brain", "split-brain")
    cluster.restart(_CONTROLLER)
    camera.take("M6-healed", "M6")
    cluster.to_kraft(1)
    cluster.restart(_CONTROLLER, "final")
    camera.take("finalized-with-zookeeper-broker", "finalized-with-zookeeper-broker")
    cluster.to_kraft(2)
    camera.take("M11", "M11")


def wrong_ways(cluster: MigrationCluster) -> None:
    """Observe what goes wrong before and in the copy, and what is done to a cluster that has copied."""
    camera = Camera(cluster)
    cluster.reach("M0")
    cluster.write(_CONTROLLER, "final")
    cluster.format_controllers()
    cluster.start(_CONTROLLER)
    camera.take("quorum-without-migration-flag", "quorum-without-migration-flag")
    restart_blank(cluster)
    cluster.stop(_CONTROLLER)
    for broker in cluster.broker_ids:
        cluster.restart(broker, "migration")  # which does not wait for a registration
    poison(cluster)  # only now: a broker does not start with it either
    cluster.start(_CONTROLLER, wait=False)
    camera.take("copy-crashed", "copy-crashed")
    delete(cluster, _POISON)
    cluster.start(_CONTROLLER)
    camera.take("M6-after-a-crash", "M6")
    time.sleep(30)  # the old offset has to be ahead of the new log for some time
    cluster.stop(_CONTROLLER)
    delete(cluster, "/controller")
    cluster.wait_for(lambda: cluster.controller().get("brokerid") in cluster.broker_ids, "elected a broker")
    restart_blank(cluster)
    camera.take("stale-migration", "stale-migration")
    cluster.enter(1, 2)
    cluster.wait_for(lambda: cluster.controller().get("kraftControllerEpoch", -1) > 0, "claimed /controller")
    camera.take("stale-migration-claimed", "stale-migration")
    cluster.stop(_CONTROLLER)
    delete(cluster, "/migration")
    delete(cluster, "/controller")
    restart_blank(cluster)
    cluster.enter(1, 2)
    camera.take("M6-after-a-stale-one", "M6")
    delete(cluster, "/migration", times=50)
    camera.take("lost-migration-znode", "lost-migration-znode")
    cluster.restart(_CONTROLLER)
    time.sleep(15)
    camera.take("lost-migration-znode-made-anew", "lost-migration-znode")


def three_of_each(cluster: MigrationCluster) -> None:
    """Observe some of three brokers entered; a controller that lost the flag; the end, with one that still has it."""
    camera = Camera(cluster)
    for state in ("M4", "M8"):
        cluster.reach(state)
        camera.take(state if state == "M4" else "M8-three-controllers", state)
    seen = observation_from(observe(inventory_of(cluster), timeout_ms=60_000)).quorum
    assert seen is not None and seen.leader_id is not None
    first, last = (id for id in cluster.controller_ids if id != seen.leader_id)
    cluster.restart(first, "final")
    camera.take("M8-controller-without-flag", "M8")
    cluster.restart(last, "final")
    cluster.restart(seen.leader_id)  # which keeps the flag, and cannot lead meanwhile
    camera.take("M10", "M10")


def poison(cluster: MigrationCluster) -> None:
    """Observe a quota that is not a number: harmless until the copy, and the end of every controller in it."""
    with kazoo_session(cluster.connect) as client:
        client.create(_POISON, b'{"version":1,"config":{"producer_byte_rate":"abc"}}', makepath=True)


def restart_blank(cluster: MigrationCluster) -> None:
    """Restart the controller on an empty disk, with the flag. Brokers in migration mode exit because of it."""
    cluster.stop(_CONTROLLER)
    shutil.rmtree(cluster.plan.log_dir(_CONTROLLER))
    cluster.write(_CONTROLLER, "migration")
    cluster.format_controllers()
    cluster.start(_CONTROLLER)


def delete(cluster: MigrationCluster, path: str, times: int = 1) -> None:
    """Delete one znode, whatever its version; one that is written twice a second may need several attempts."""
    with cluster.open_zookeeper() as zookeeper:
        for attempt in range(1, times + 1):
            found = zookeeper.read(path)
            assert found is not None, path
            try:
                return zookeeper.delete(path, found.version)
            except RefusedError:
                if attempt == times:
                    raise


_STORIES = {"story": (story, 2, 1), "wrong_ways": (wrong_ways, 2, 1), "three_of_each": (three_of_each, 3, 3)}


if __name__ == "__main__":
    for name in sys.argv[1:] or _STORIES:
        run_story, brokers, controllers = _STORIES[name]
        with (
            tempfile.TemporaryDirectory(prefix="kafkactl-states-") as work,
            MigrationCluster("3.9.2", Path(work), brokers=brokers, controllers=controllers) as running,
        ):
            run_story(running)
