"""Trees for comparisons: generated ones, and the image that the copy of a tree comes to."""

from __future__ import annotations

import base64
import string
from dataclasses import replace

from hypothesis import strategies as st

from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import Broker, Image, Listener, LogRecord
from kafkactl.metadata.replay.reference import replay
from kafkactl.migration.copy.records import copy_batches, sanitize
from kafkactl.migration.copy.rules import copy_rules
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.password_encoder import first_opening, parse_encrypted
from kafkactl.migration.zktree.tree import Tree, tree_of
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.log.frame import decode_record, encode_record
from kafkactl.protocol.schema.definitions import message
from tests.migration.zk_trees import acls, config, text, znodes

SECRET = "the-encoder-secret"
MIGRATING = 1


def tree_from(data: dict[str, bytes | None]) -> Tree:
    return tree_of(znodes(data))


def copied(
    tree: Tree, *, secrets: tuple[str, ...] = (), mv: int = 20, patch: tuple[int, int, int] = (3, 9, 2)
) -> Image:
    """Return the image behind the copy, with the brokers of the tree registered as migrating."""
    values = parse_tree(tree)

    def decode(value: str) -> str:
        return first_opening(value, secrets) if secrets and parse_encrypted(value) else value

    batches = copy_batches(
        values, copy_rules(KafkaVersion(*patch)), acl_id=lambda number: Uuid((number + 99).to_bytes(16, "big")),
        decode_password=decode,
    )  # fmt: skip
    sent = [record for batch in batches for record in batch]
    records = [decode_record(encode_record(message(record.type), record.version, record.data)) for record in sent]
    image = replay(LogRecord(offset, 1, 0, record) for offset, record in enumerate(records)).image
    brokers = {id: registered(id, values.brokers[id]) for id in values.brokers}
    return replace(image, brokers=brokers, features={"metadata.version": mv})


def registered(id, broker, **changes) -> Broker:
    listeners = []
    for endpoint in broker.endpoints:
        name, _, address = endpoint.partition("://")
        host, _, port = address.rpartition(":")
        listeners.append(Listener(name=name, host=host, port=int(port), security_protocol=0))
    held = Broker(
        id=id, epoch=7, incarnation_id=Uuid(bytes(16)), listeners=tuple(listeners), features={}, rack=broker.rack,
        fenced=False, in_controlled_shutdown=False, is_migrating_zk_broker=True, directories=(), cordoned=None,
    )  # fmt: skip
    return replace(held, **changes)


NAMES = st.text(string.ascii_lowercase + "._-", min_size=1, max_size=6)
PEOPLE = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=6).filter(
    lambda name: name not in (".", "..", "<default>")
)
IDS = st.binary(min_size=16, max_size=16).filter(any).map(lambda raw: str(Uuid(raw)))
TEXTS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)
QUOTAS = st.dictionaries(
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate", "request_percentage"]),
    st.one_of(st.integers(1, 10**9).map(str), st.floats(0.5, 1e6).map(repr)),
    min_size=1,
    max_size=3,
)
KEYS = st.binary(min_size=8, max_size=16).map(lambda raw: base64.b64encode(raw).decode())


@st.composite
def _topic(draw: st.DrawFn) -> tuple[dict[str, object], list[bytes]]:
    partitions, states = {}, []
    for number in range(draw(st.integers(1, 3))):
        replicas = draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 3))]
        isr = draw(st.permutations(replicas))[: draw(st.integers(1, len(replicas)))]
        partitions[str(number)] = list(replicas)
        state = {"controller_epoch": 3, "leader": isr[0], "version": 1, "leader_epoch": draw(st.integers(0, 9))}
        states.append(text({**state, "isr": list(isr)}))
    moves: dict[str, dict[str, list[int]]] = {"adding_replicas": {}, "removing_replicas": {}}
    return {**moves, "partitions": partitions, "version": 3}, states


@st.composite
def _credential(draw: st.DrawFn) -> str:
    return (
        f"salt={draw(KEYS)},stored_key={draw(KEYS)},server_key={draw(KEYS)},iterations={draw(st.integers(4096, 9999))}"
    )


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes | None]:
    """Return the data of every znode of a cluster, by path."""
    found: dict[str, bytes | None] = {
        "/cluster/id": text({"version": "1", "id": "Some-cluster-id_22char"}),
        "/controller_epoch": b"4",
        "/kafka-acl": None,
        "/latest_producer_id_block": text({"version": 1, "broker": 2, "block_start": "4000", "block_end": "4999"}),
    }
    roots = ("/brokers/ids", "/brokers/topics", "/config/topics", "/config/brokers", "/config/users", "/config/clients")
    found |= dict.fromkeys(roots)
    for id in (1, 2, 3):
        broker = {"endpoints": [f"PLAINTEXT://h{id}:9092"], "jmx_port": -1, "port": 9092, "host": "h", "version": 5}
        found[f"/brokers/ids/{id}"] = text({**broker, "timestamp": "1"})
    topics = draw(st.dictionaries(NAMES, _topic(), max_size=3)).items()
    ids = draw(st.lists(IDS, min_size=len(topics), max_size=len(topics), unique=True))
    for topic_id, (name, (topic, states)) in zip(ids, topics, strict=True):
        if name in (".", ".."):
            continue
        found[f"/brokers/topics/{name}"] = text({**topic, "topic_id": topic_id})
        for number, state in enumerate(states):
            found[f"/brokers/topics/{name}/partitions/{number}/state"] = state
        if draw(st.booleans()):
            found[f"/config/topics/{name}"] = config(**{"retention.ms": draw(TEXTS)})
    for id in draw(st.sets(st.sampled_from(["<default>", "1", "2"]))):
        found[f"/config/brokers/{id}"] = config(**{"log.cleaner.threads": draw(TEXTS)})
    found |= _clients(draw)
    for name in draw(st.sets(NAMES, max_size=2)):
        operations = draw(st.sets(st.sampled_from(["Read", "Write", "Describe"]), min_size=1))
        entries = [("User:a", "Allow", operation, "*") for operation in sorted(operations)]
        found[f"/kafka-acl/{draw(st.sampled_from(['Topic', 'Group']))}/{name}"] = acls(*entries)
    return found


def _clients(draw: st.DrawFn) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for name, quota in draw(st.dictionaries(PEOPLE, QUOTAS, max_size=2)).items():
        scram = {"SCRAM-SHA-256": draw(_credential())} if draw(st.booleans()) else {}
        found[f"/config/users/{sanitize(name)}"] = config(**{**quota, **scram})
        if draw(st.booleans()):
            found[f"/config/users/{sanitize(name)}/clients/<default>"] = config(**draw(QUOTAS))
    for name, quota in draw(st.dictionaries(PEOPLE, QUOTAS, max_size=2)).items():
        found[f"/config/clients/{sanitize(name)}"] = config(**quota)
    return found
