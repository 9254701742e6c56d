"""Random metadata logs: the epoch index is that of Kafka's own store, and the same records stop it."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from kafkactl.core.values import Uuid
from kafkactl.tiered.partition_log import PartitionLog
from tests.lab.harness import java, maven
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS, logging_options
from tests.tiered.logs import DELETED, DELETING, FINISHED, STARTED, LogOf, Topic, folded

LOGS, RECORDS = 60, 250
TOPIC = Topic("orders", 7)
SOURCE = Path(__file__).parents[1] / "java" / "TieredJudge.java"


def random_log(chance: random.Random) -> list[bytes]:
    """Return copies, deletes and elections; some records that brokers drop, rarely one that stops them."""
    values: list[bytes] = []
    names: list[str] = []
    next_offset, epoch = 0, 0
    for number in range(RECORDS):
        deed = chance.random()
        if deed < 0.4 or not names:
            epoch += chance.random() < 0.1
            start = max(0, next_offset - chance.choice((0, 0, 0, 0, 18, 36)))
            end = start + chance.choice((9, 17, 17, 35))
            middle = chance.randint(start + 1, end)
            epochs = {epoch: start} if epoch == 0 or chance.random() < 0.7 else {epoch - 1: start, epoch: middle}
            name = f"n{number}"
            names.append(name)
            values.append(TOPIC.started(0, name, start, end, epochs=epochs, broker=chance.randint(1, 3)))
            if chance.random() < 0.8:
                values.append(TOPIC.update(0, name, FINISHED))
                next_offset = max(next_offset, end + 1)
        elif deed < 0.97:
            state = chance.choice((FINISHED, DELETING, DELETING, DELETED, DELETED))
            custom = chance.choice((None, b"c"))
            values.append(
                TOPIC.update(0, chance.choice(names[-12:]), state, broker=chance.randint(1, 3), custom=custom)
            )
        elif deed < 0.999:
            values.append(TOPIC.started(0, chance.choice(names), 0, 9, epochs={0: 0}))
        else:
            values.append(TOPIC.started(0, "poison", 0, 9, state=chance.choice((FINISHED, DELETING))))
    return values


def shown(partition: PartitionLog) -> str:
    """Return the ledger as TieredJudge.java prints it."""
    import base64

    words = ["table"]
    for name, segment in sorted((str(Uuid(raw)), segment) for raw, segment in partition.table.items()):
        custom = "-" if segment.custom_metadata is None else base64.b64encode(segment.custom_metadata).decode()
        words.append(f"{name}={segment.state.name}/{segment.broker_id}/{custom}")
    for epoch, state in sorted(partition.epochs.items()):
        words.append(f"epoch {epoch} {'null' if state.highest is None else state.highest}")
        words += [f"{start}:{Uuid(segment.segment_id)}" for start, segment in state.in_order()]
        words += sorted(f"~{Uuid(raw)}" for raw in state.unreferenced)
    return " ".join(words)


def ours(values: list[bytes]) -> str:
    ledger = folded(LogOf(0).add(values))
    return f"stopped {ledger.poison[0].offset}" if ledger.poison else shown(ledger.partitions[TOPIC.key(0)])


def judged(release: str, logs: list[list[bytes]]) -> list[str]:
    class_path = maven.class_path(release)
    classes = compiled(f"tiered-judge-{release}", [SOURCE], class_path=class_path)
    command = [java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", f"{classes}{os.pathsep}{class_path}"]
    ended = subprocess.run(
        [*map(str, command), "kafkactl.lab.TieredJudge", TOPIC.name, str(TOPIC.id), "0"],
        check=True, env=java.environment(), capture_output=True, text=True, timeout=120,
        input="".join("".join(f"{value.hex()}\n" for value in values) + "\n" for values in logs),
    )  # fmt: skip
    return ended.stdout.splitlines()


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1", "4.4.0"])
def test_random_logs_lead_to_kafkas_own_index(release: str) -> None:
    logs = [random_log(random.Random(seed)) for seed in range(LOGS)]
    for seed, (values, said) in enumerate(zip(logs, judged(release, logs), strict=True)):
        assert ours(values) == said, seed


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_records_that_stop_the_consumer_are_found_as_by_kafka(release: str) -> None:
    base = TOPIC.started(0, "a", 0, 9)
    logs = [
        [base, TOPIC.update(0, "a", FINISHED)],
        [base, TOPIC.update(0, "a", STARTED)],
        [base, b"\1\x63\0"],
        [TOPIC.started(0, "a", 9, 5)],
        [TOPIC.started(0, "a", -1, 5)],
        [TOPIC.started(0, "a", 0, 5, state=FINISHED)],
        [TOPIC.update(0, "a", 9)],
        [base + b"x"],
    ]
    said = judged(release, logs)
    assert [ours(values) for values in logs] == said
