"""The canonical binary form of an image says all that its text says, and nothing about how the image came to be."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.frozen import changed as replace
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.digest import image_bytes, image_sha256
from kafkactl.metadata.image.json import image_json
from kafkactl.metadata.image.model import EMPTY, Image, Partitions, Topic
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.protocol.log.batch_runs import walk_runs

LISTS = ("replicas", "isr", "removingReplicas", "addingReplicas", "eligibleLeaderReplicas", "lastKnownElr")
NUMBERS = ("partitionId", "leader", "leaderRecoveryState", "leaderEpoch", "partitionEpoch")


class Form:
    """Reader of the form by its description."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def raw(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def integers(self, count: int, form: str = "q") -> list[int]:
        return list(struct.unpack(f"<{count}{form}", self.raw(struct.calcsize(f"<{count}{form}"))))

    def text(self) -> str:
        return self.raw(self.integers(1)[0]).decode()

    def lists(self, count: int) -> list[list[int]]:
        return [self.integers(size, "i") for size in self.integers(count, "i")]


def parsed(data: bytes) -> dict[str, Any]:
    form = Form(data)
    assert form.raw(17) == b"metadata image 1\n"
    found = json.loads(form.text())
    heads = [(form.text(), Uuid(form.raw(16)), form.integers(1)[0]) for _ in range(form.integers(1)[0])]
    total = sum(count for _, _, count in heads)
    columns: dict[str, list[Any]] = {name: form.integers(total) for name in NUMBERS}
    columns |= {name: form.lists(total) for name in LISTS}
    columns["directories"] = [[str(Uuid(form.raw(16))) for _ in range(size)] for size in form.integers(total, "i")]
    assert form.at == len(data)
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    found["topics"] = [
        {"name": name, "topicId": str(id), "partitions": [next(rows) for _ in range(count)]}
        for name, id, count in heads
    ]
    return found


def generated() -> Image:
    shape = Shape(records=3_000, partitions=600, brokers=9, replicas=4, is_diverse=True)
    return replay_runs(walk_runs([b"".join(LogGenerator(shape).batches())])).image


@pytest.mark.parametrize("image", [EMPTY, generated()], ids=["empty", "generated"])
def test_it_says_what_the_text_says(image: Image):
    data = b"".join(image_bytes(image))
    assert parsed(data) == image_json(image)
    assert image_sha256(image) == hashlib.sha256(data).hexdigest()


def test_every_field_of_a_partition_counts():
    image = generated()
    id, topic = next((id, topic) for id, topic in image.topics.items() if topic.partitions)
    number, state = next(iter(topic.partitions.states.items()))
    digests = {image_sha256(image)}
    for at, value in enumerate(state):
        other = value + 1 if isinstance(value, int) else value[:0] if value else (7,)
        states = {**topic.partitions.states, number: (*state[:at], other, *state[at + 1 :])}
        topics = {**image.topics, id: Topic(name=topic.name, id=id, partitions=Partitions(states))}
        digests.add(image_sha256(replace(image, topics=topics)))
    assert len(digests) == 1 + len(state)


def test_it_is_defined_once():
    # A new form has a new version; otherwise sums of different builds would be compared.
    assert image_sha256(EMPTY) == "d65af72dc5ad47bb6d6719ad37a11dd62160cb83d31a20e66a06a42bdd551ce0"
