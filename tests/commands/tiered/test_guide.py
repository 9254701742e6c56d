"""The guide docs/tiered.md: all `kafkactl` lines of its code blocks, run on a broker's disk, an observation, a listing.

Lines that ask a live cluster are given one that does not answer.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from tests.conftest import Run
from tests.repository.tree import ROOT
from tests.tiered.logs import (
    TIERED,
    LogOf,
    Topic,
    metadata_log,
    observed,
    partition_seen,
    save_observation,
    save_replica,
    segment_uuid,
)

PAGE = (ROOT / "docs" / "tiered.md").read_text(encoding="utf-8")
LINES = [
    line.strip()
    for block in re.findall(r"(?sm)^```\n(.*?)^```|((?:^    .*\n)+)", PAGE)
    for line in "".join(block).splitlines()
    if line.strip().startswith("kafkactl ")
]
LIVE = "127.0.0.1:1"
TOPIC = Topic("orders", 1)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = LogOf(0).add(TOPIC.copied(3, "a", 0, 9), TOPIC.copied(3, "b", 20, 29))
    broker = tmp_path / "data" / "kafka"
    log.save(broker)
    save_replica(broker, TOPIC, 3, epochs=((0, 0),), bases=(20, 40))
    topics = [(REMOTE_LOG_METADATA, Uuid(b"\x55" * 16)), (TOPIC.name, TOPIC.id)]
    metadata_log(broker / "__cluster_metadata-0", topics)
    seen = partition_seen(3, earliest=0, local=25, latest=60, bases=(25, 40))
    for name in ("saved", "monday"):
        save_observation(tmp_path / name, observed([(TOPIC, TIERED, [seen])]), log)
    keys = [f"kafka-tiered-storage/orders-3-{TOPIC.id}/{0:020}-{segment_uuid(name)}.log" for name in ("a", "stranger")]
    (tmp_path / "listing.txt").write_text("".join(f"{key} 1000 1600000000000\n" for key in keys))
    (tmp_path / "listing.json").write_text(
        '{"Contents": [' + ", ".join(f'{{"Key": "{key}", "Size": 1000}}' for key in keys) + "]}"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_guide_has_lines_for_every_verb():
    verbs = {line.split()[2] for line in LINES}
    assert verbs == {"audit", "segments", "history", "forecast", "observe", "leftovers", "report"}
    assert len(LINES) > 20


@pytest.mark.parametrize("line", dict.fromkeys(LINES))
def test_line_of_the_guide_works(kafkactl: Callable[..., Run], world: Path, line: str):
    words = [word.replace("/data/kafka", str(world / "data" / "kafka")) for word in shlex.split(line)[1:]]
    if words[1] == "observe":
        words[words.index("--out") + 1] = "new"  # other lines read the folders that these would write
    if "--from-cluster" in words:
        words[words.index("--bootstrap-server") + 1] = LIVE
        # Unreachable, or timed out on a machine with much to do: the line was understood either way.
        assert kafkactl(*words, "--timeout", "300ms").code in (4, 6)
        return
    run = kafkactl(*words)
    assert run.code in (0, 7), run.stderr
    assert run.stdout or "No record" in run.stderr or "No segment" in run.stderr
