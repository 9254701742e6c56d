"""`kafkactl log lint`: what the records show that the state at the end does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import Listener
from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import BEFORE, MetadataLog, disk, uuid

HOSTILE_LINES = {"log lint": ("{log}",)}

Kafkactl = Callable[..., Run]


def registered(log: MetadataLog, process: int, host: str, seconds: int) -> MetadataLog:
    """Add a registration of broker 11 as another process at another host."""
    broker = changed(
        BEFORE.brokers[11],
        incarnation_id=uuid(900 + process),
        listeners=(Listener(name="X", host=host, port=9, security_protocol=0),),
    )
    (record,) = [
        each for each in worlds.records(changed(BEFORE, brokers={11: broker})) if each.type == "RegisterBrokerRecord"
    ]
    later = MetadataLog(log.dynamic, log.data, log.end, log.starts, log.begun_ms + seconds * 1_000)
    return later.append([record])


@pytest.mark.parametrize(("hosts", "is_reported"), [("abab", True), ("abcd", False), ("aaaa", False)])
def test_broker_id_used_by_two_processes_is_reported(
    kafkactl: Kafkactl, tmp_path: Path, hosts: str, is_reported: bool
) -> None:
    log = worlds.first_log(BEFORE)
    for process, host in enumerate(hosts):
        log = registered(log, process, host, 10)
    run = kafkactl("log", "lint", disk(tmp_path / "c1", 1, log), "-o", "json")
    found = {finding["id"]: finding for finding in run.json["findings"]}
    assert ("broker-id-used-in-turns" in found) is is_reported
    if is_reported:
        assert found["broker-id-used-in-turns"]["evidence"]["addresses"] == ["a:9", "b:9"]


def test_snapshots_after_every_change_are_reported(kafkactl: Kafkactl, tmp_path: Path) -> None:
    made = disk(tmp_path / "c1", 1, worlds.whole_log())
    for end in (12, 14, 16):
        worlds.snapshot(made, BEFORE, end, 1)
    run = kafkactl("log", "lint", made, "-o", "json")
    assert "snapshots-too-frequent" in {finding["id"] for finding in run.json["findings"]}
