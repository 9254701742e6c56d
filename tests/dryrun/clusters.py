"""Clusters in a few lines of text, as images.

kafka 4.3                                # what the nodes run; metadata.version is the newest of it
levels eligible.leader.replicas.version=1
brokers 1 2 3 4
broker 4 fenced                          # or: stopping
topic a min.insync.replicas=2            # then: leader (- for none), replicas, ISR, ELR, last known
  1 | 1 2 3 | 1 2 3
  - | 1 | | 1 | 1
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.facts import Facts, facts_of
from kafkactl.metadata.image.model import (
    BROKER_CONFIG,
    TOPIC_CONFIG,
    Broker,
    FeatureRange,
    Image,
    Listener,
    Partition,
    Partitions,
    Topic,
    state_of,
)
from kafkactl.protocol.catalog.releases import find_release

NEXT_OFFSET = 5_000


def uuid(number: int) -> Uuid:
    return Uuid(b"\x4d" + number.to_bytes(15, "big"))


def cluster(text: str, **static: str) -> tuple[Image, Facts]:
    """Return the image that these lines tell of, and the facts that a log of it would give."""
    kafka, levels = "4.3", {}
    brokers: dict[int, Broker] = {}
    configs: dict[tuple[int, str], dict[str, str]] = {}
    topics: dict[str, list[Partition]] = {}
    for line in text.strip().splitlines():
        word, *rest = line.split()
        if word == "kafka":
            kafka = rest[0]
        elif word == "levels":
            levels |= {name: int(level) for name, level in (word.split("=") for word in rest)}
        elif word == "cluster":
            configs[BROKER_CONFIG, ""] = dict(word.split("=") for word in rest)
        elif word == "brokers":
            brokers |= {int(word): _broker(int(word), kafka) for word in rest}
        elif word == "broker":
            states = {"fenced": {"fenced": True}, "stopping": {"in_controlled_shutdown": True}}
            for state in rest[1:]:
                brokers[int(rest[0])] = replace(brokers[int(rest[0])], **states[state])
        elif word == "topic":
            topics[rest[0]] = []
            if rest[1:]:
                configs[TOPIC_CONFIG, rest[0]] = dict(word.split("=") for word in rest[1:])
        else:
            topics[list(topics)[-1]].append(_partition(line))
    image = image_of(brokers, topics, configs, {"metadata.version": _level(kafka), **levels})
    return image, facts_of(
        image, release=find_release(kafka), static=static, next_offset=NEXT_OFFSET, timestamp_ms=1_700_000_000_000
    )


def image_of(
    brokers: dict[int, Broker],
    topics: dict[str, list[Partition]],
    configs: dict[tuple[int, str], dict[str, str]],
    levels: dict[str, int],
) -> Image:
    made = {
        name: Topic(
            name=name,
            id=uuid(number),
            partitions=Partitions({at: state_of(part) for at, part in enumerate(partitions)}),
        )
        for number, (name, partitions) in enumerate(topics.items(), start=1_000)
    }
    return Image(
        features={name: level for name, level in levels.items() if level},
        brokers=brokers,
        topics={topic.id: topic for topic in made.values()},
        topic_ids={name: topic.id for name, topic in made.items()},
        configs=configs,
    )


def _level(kafka: str) -> int:
    return find_release(kafka).production_level


def _broker(node_id: int, kafka: str) -> Broker:
    release = find_release(kafka)
    return Broker(
        id=node_id,
        epoch=100 + node_id,
        incarnation_id=uuid(node_id),
        listeners=(Listener(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0),),
        features={"metadata.version": FeatureRange(release.lowest_supported_level, release.production_level)},
        rack=None,
        fenced=False,
        in_controlled_shutdown=False,
        is_migrating_zk_broker=False,
        directories=(uuid(node_id + 500),),
        cordoned=None,
    )


def _partition(line: str) -> Partition:
    leader, replicas, isr, elr, known = (*(part.split() for part in line.split("|")), [], [])[:5]
    ids = tuple(int(replica) for replica in replicas)
    return partition(
        ids,
        leader=-1 if leader == ["-"] else int(leader[0]),
        isr=tuple(map(int, isr)),
        elr=tuple(map(int, elr)),
        known=tuple(map(int, known)),
    )


def partition(
    replicas: tuple[int, ...],
    *,
    leader: int,
    isr: tuple[int, ...],
    elr: tuple[int, ...] = (),
    known: tuple[int, ...] = (),
) -> Partition:
    return Partition(
        replicas=replicas,
        isr=isr,
        removing_replicas=(),
        adding_replicas=(),
        leader=leader,
        leader_recovery_state=0,
        leader_epoch=3,
        partition_epoch=7,
        directories=tuple(uuid(replica + 500) for replica in replicas),
        eligible_leader_replicas=elr,
        last_known_elr=known,
    )


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Image, Facts]:
    """Return clusters of a few brokers in any state that a log can show."""
    kafka = draw(st.sampled_from(["3.9", "4.0", "4.3"]))
    elr = kafka != "3.9" and draw(st.booleans())
    ids = draw(st.lists(st.integers(1, 40), min_size=3, max_size=6, unique=True))
    brokers = {id: _broker(id, kafka) for id in ids}
    for id in draw(st.lists(st.sampled_from(ids), max_size=1)):
        brokers[id] = replace(brokers[id], fenced=True)
    live = [id for id in ids if not brokers[id].fenced]
    topics = {}
    configs = {}
    for name in draw(st.sets(st.sampled_from("abcde"), min_size=1)):
        factor = draw(st.integers(1, min(4, len(ids))))
        topics[name] = [
            _drawn(draw, ids, live, factor, elr=elr) for _ in range(draw(st.integers(1, 4)))
        ]  # fmt: skip
        configs[TOPIC_CONFIG, name] = {
            "min.insync.replicas": str(draw(st.integers(1, 3))),
            "unclean.leader.election.enable": draw(st.sampled_from(["true", "false"])),
        }
    levels = {"metadata.version": _level(kafka), "eligible.leader.replicas.version": int(elr)}
    image = image_of(brokers, topics, configs, levels)
    return image, facts_of(image, release=find_release(kafka), static={}, next_offset=NEXT_OFFSET)


def _drawn(draw: st.DrawFn, ids: list[int], live: list[int], factor: int, *, elr: bool) -> Partition:
    replicas = tuple(draw(st.permutations(ids)))[:factor]
    alive = [replica for replica in replicas if replica in live]
    isr = tuple(broker for broker in alive if draw(st.booleans()))
    if not isr and not elr:
        isr = replicas[:1]  # without ELR the last member stays
    leader = next((broker for broker in isr if broker in live), -1)
    others = [replica for replica in replicas if replica not in isr]
    eligible = tuple(sorted(other for other in others if elr and draw(st.booleans())))
    if leader < 0 and any(broker in live for broker in eligible):
        eligible = ()  # it would lead
    return partition(replicas, leader=leader, isr=isr, elr=eligible, known=())
