"""A broker with two log directories: whether it starts with the remote storage system, and its disks read together."""

from __future__ import annotations

import re
from pathlib import Path

from kafkactl.files.entropy import random_uuid
from kafkactl.tiered.api.verbs import audit, load
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import read_config, write_config
from tests.lab.tiered.brokers import TieredCluster
from tests.lab.tiered.metadata_scenes import TOPIC, three_segments
from tests.lab.tiered.outcome import Outcome
from tests.lab.tiered.stage import Scene, Stage

SEVERAL_DIRECTORIES = "a broker with two log directories"
REFUSAL = re.compile(r"(?i)[^\n]*(multiple log dir|jbod)[^\n]*")


def refuses_several_directories(release: str, workdir: Path) -> Outcome:
    """Give broker 12 a second log directory; then the metadata topic's replicas are on both of them."""
    name = SEVERAL_DIRECTORIES
    try:
        with TieredCluster(release, workdir) as cluster:
            cluster.start()
            with cluster.asking() as client:
                stage = Stage(cluster, client)
                stage.run_scenes([Scene(name="a", steps=three_segments, replicas="11,1")])
                return Outcome(name, *_outcome_of(stage))
    except LabError as error:
        return Outcome(name, "", "", f"not played: {error}")


def _outcome_of(stage: Stage) -> tuple[str, str, str]:
    cluster = stage.cluster
    second = cluster.disks.log_dir(12).parent / "12-second"
    second.mkdir()
    first = (cluster.disks.log_dir(12) / "meta.properties").read_text()
    (second / "meta.properties").write_text(re.sub(r"directory\.id=\S+", f"directory.id={random_uuid()}", first))
    cluster.stop(12)
    file = cluster.config_file(12)
    own = read_config(file) | {"log.dirs": f"{cluster.disks.log_dir(12)},{second}"}
    write_config(file, own)
    outcome = cluster.node(12).outcome(90)
    said = REFUSAL.search(outcome.log)
    words = (
        "starts" if outcome.kind == "started" else f"ends: {said[0].rpartition('] ')[2][-120:] if said else 'no word'}"
    )
    wrong = [] if stage.failed == {} else [str(stage.failed)]
    if outcome.kind != "started":
        write_config(file, own | {"remote.log.storage.system.enable": "false"})
        cluster.start(12)
        stage.wait_in_sync(12)
    folders = (str(cluster.disks.log_dir(12)), str(second))
    both = cluster.request(sources=folders, metadata_partitions=None)
    audited = audit(load(cluster.request()))
    if audited.findings:
        wrong.append(str([finding.id for finding in audited.findings]))
    two = audit(load(both))
    if [each.by_state for each in two.partitions] != [each.by_state for each in audited.partitions]:
        wrong.append(f"by its two directories {two.partitions}")
    places = sum(any(Path(folder).glob(f"{TOPIC}-*")) for folder in folders)
    return "nothing", f"{words}; metadata partitions in {places} of its directories", "; ".join(wrong)
