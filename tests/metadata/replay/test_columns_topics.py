"""Topics that are columns still say the same as topics that are made, and are a value like them."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.core.frozen import changed
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.json import image_json, image_text
from kafkactl.metadata.image.lint import SHOWN, lint
from kafkactl.metadata.image.model import LOST, UNASSIGNED, Image, PackedTopics
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message
from tests.dryrun import odd_logs
from tests.metadata.replay.reference_logs import by_the_record

SHAPE = Shape(records=6_000, partitions=1_500, brokers=9, seed=5)


def _batches() -> list[bytes]:
    return list(LogGenerator(SHAPE).batches())


def _by_columns(data: bytes, start: Image | None = None) -> LogReplay:
    replaying = LogReplay() if start is None else LogReplay(start)
    _go_on(replaying, data)
    return replaying


def _go_on(replaying: LogReplay, data: bytes) -> None:
    for run in walk_runs([data]):
        assert isinstance(run, BatchRun)
        replaying.take_run(run.data, run.positions, run.base)


def _plain(data: bytes, start: Image | None = None) -> Image:
    return by_the_record([data], *([] if start is None else [start])).image


@pytest.mark.slow
def test_counts_and_text_are_checked_before_any_topic_is_made():
    data = b"".join(_batches())
    plain, packed = _plain(data), _by_columns(data).image()

    assert isinstance(packed.topics, PackedTopics)
    assert not isinstance(plain.topics, PackedTopics)
    assert (packed.partition_count(), len(packed.topics)) == (plain.partition_count(), len(plain.topics))
    assert packed.leaderless_count() == plain.leaderless_count() > 0
    assert "".join(image_text(packed)) == "".join(image_text(plain))
    assert image_sha256(packed) == image_sha256(plain)
    assert packed.topics._made is None
    assert packed.topics == plain.topics
    assert plain == packed
    assert image_json(packed) == image_json(plain)


def test_it_is_a_value_that_can_be_sent_and_asked():
    data = b"".join(_batches())
    plain, packed = _plain(data), _by_columns(data).image()
    id = next(iter(plain.topics))

    assert pickle.loads(pickle.dumps(packed)) == plain
    assert packed.topics[id] == plain.topics[id]
    assert id in packed.topics
    assert set(packed.topics) == set(plain.topics)
    assert sorted(topic.name for topic in packed.topics.values()) == sorted(plain.topic_ids)
    assert dict(packed.topics.items()) == plain.topics
    with pytest.raises(TypeError):
        packed.topics[id] = plain.topics[id]


@pytest.mark.slow
def test_later_batches_do_not_change_an_image():
    batches = _batches()
    first, rest = b"".join(batches[: len(batches) // 2]), b"".join(batches[len(batches) // 2 :])
    replaying = _by_columns(first)
    before = replaying.image()
    _go_on(replaying, rest)

    assert before == _plain(first)
    assert replaying.image() == _plain(first + rest)


def test_it_has_the_columns_of_the_replay_and_no_copy():
    replaying = _by_columns(b"".join(_batches()))
    topics, table = replaying.image().topics, replaying._columns.table

    assert np.shares_memory(topics._rows.columns["replicas"], table.replicas)
    assert len(table.present) == table.used == topics.partition_count()
    with pytest.raises(ValueError, match="read-only"):
        table.replicas[0] = 0
    table.own()
    assert not np.shares_memory(topics._rows.columns["replicas"], table.replicas)


def test_partitions_that_no_record_of_the_log_touched_are_there_too():
    batches = _batches()
    start, end = _plain(b"".join(batches[:-3])), b"".join(batches[-3:])

    assert _by_columns(end, start).image() == _plain(end, start)


def test_topics_without_partitions_are_there_too():
    generator = LogGenerator(SHAPE)
    data = b"".join(generator.batches())
    value = encode_record(message("TopicRecord"), 0, {"Name": "a-empty", "TopicId": Uuid(bytes(15) + b"x")})
    at = generator.expected().last_offset + 1
    data += encode_batch([(None, value)], base_offset=at, timestamp_ms=0, partition_leader_epoch=9)
    packed, plain = _by_columns(data).image(), _plain(data)

    assert isinstance(packed.topics, PackedTopics)
    assert '"topics":[{"name":"a-empty",' in "".join(image_text(packed))
    assert image_sha256(packed) == image_sha256(plain)
    assert packed == plain


def _odd(image: Image, rng: random.Random) -> Image:
    """Return an image with brokers that are gone, fenced, or have other directories, or a directory id that is not
    one."""
    brokers = dict(image.brokers)
    for id in rng.sample(sorted(brokers), 3):
        if rng.random() < 0.5:
            del brokers[id]
        else:
            others = rng.choice([(), (LOST,), (UNASSIGNED,), brokers[rng.choice(list(brokers))].directories])
            brokers[id] = changed(brokers[id], directories=others)
    return changed(image, brokers=brokers)


@pytest.mark.parametrize("seed", range(6))
def test_lint_finds_what_it_finds_in_topics_that_are_made(seed):
    rng = random.Random(seed)
    shape = Shape(records=2_000, partitions=400, brokers=12, replicas=1 + seed % 4, elr=seed % 2 > 0, seed=seed)
    sound = _by_columns(b"".join(LogGenerator(shape).batches())).image()
    assert len(list(sound.topics.suspects(sound.brokers))) < sound.partition_count()
    for image in (sound, _odd(sound, rng), changed(sound, brokers={})):
        assert lint(image) == lint(changed(image, topics=dict(image.topics)))


def test_of_those_that_merely_have_no_leader_some_are_listed_and_the_others_counted():
    shape = Shape(records=4_000, partitions=800, brokers=12, elr=True)
    live = _by_columns(b"".join(LogGenerator(shape).batches())).image()
    image = changed(live, brokers={id: changed(broker, fenced=True) for id, broker in live.brokers.items()})
    every = list(image.topics.suspects(image.brokers, has_elr=True))
    assert len(every) == image.leaderless_count() > 2 * SHOWN

    some = image.topics.suspects(image.brokers, has_elr=True, most_leaderless=SHOWN)
    assert list(some) == every[:SHOWN]
    assert some.unlisted == len(every) - SHOWN
    (found,) = (finding for finding in lint(image) if finding.id == "leaderless-partition")
    assert found.evidence["count"] == len(every)
    assert found.evidence["subjects"] == [f"partition {topic}-{number}" for topic, number, _ in every[:SHOWN]]


@pytest.mark.parametrize(
    "given",
    [
        {"Replicas": [1, 2, 2]},
        {"Isr": [1, 4]},
        {"Isr": []},
        {"Leader": 3, "Isr": [1, 2]},
        {"Leader": -1},
        {"LeaderRecoveryState": 1},
        {"AddingReplicas": [9]},
        {"RemovingReplicas": [9]},
        {"EligibleLeaderReplicas": [1]},
        {"LastKnownElr": [1]},
        {"Directories": [UNASSIGNED, UNASSIGNED, LOST]},
        {"Replicas": [1, 2, 9], "Isr": [1]},
        {"at": 1},
    ],
)
def test_partition_that_is_not_sound_is_seen(given):
    brokers = [
        odd_logs.record("RegisterBrokerRecord", 4, BrokerId=id, LogDirs=[Uuid(bytes([id]) * 16)], Fenced=False)
        for id in (1, 2, 3)
    ]
    values = [*brokers, odd_logs.topic(1), odd_logs.partition(1, **given)]
    image = _by_columns(odd_logs.encoded([[odd_logs.LEVEL], values])).image()
    assert isinstance(image.topics, PackedTopics)
    made = lint(changed(image, topics=dict(image.topics)))
    assert made
    assert lint(image) == made
