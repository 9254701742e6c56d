"""New configuration files of an upgrade on real Kafka, and the rollback to a release that refuses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.lab.harness.cluster import KafkaCluster
from tests.lab.roll.rolled import Rolled
from tests.lab.roll.rolling import ACCEPTED, ids, next_words, wait_until_quiet

NEW = "group.coordinator.append.linger.ms=-1\n"
"""A line that 4.3.1 accepts and 3.9.2 refuses."""


def test_rollback_gives_the_files_back_that_the_old_release_accepts(
    new_cluster: Callable[..., KafkaCluster], tmp_path: Path
) -> None:
    cluster = new_cluster("3.9.2", controllers=1, brokers=1).start()
    place = cluster.config_file(11)
    before = place.read_text()
    rendered = tmp_path / "rendered"
    rendered.mkdir()
    (rendered / "11.properties").write_text(before + NEW)
    with Rolled(cluster) as rolled:
        wait_until_quiet(rolled)
        answer = rolled.kafkactl("run", "--to", "4.3.1", "--rendered", str(rendered), *ACCEPTED)
        assert answer["outcome"] == "done"
        assert place.read_text() == before + NEW
        refused = rolled.kafkactl("rollback", "--to", "3.9.2", *ACCEPTED, code=3)
        assert "setting-refused" in ids(refused)
        words = next_words(rolled, refused, "setting-refused")
        assert words[:3] == ["--to", "3.9.2", "--rendered"]
        back = rolled.kafkactl("rollback", *words, *ACCEPTED)
    assert back["outcome"] == "done"
    assert place.read_text() == before
    assert {node["release"] for node in back["proof"]} == {"3.9.2"}
