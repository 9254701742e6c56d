"""The canonical text of an image: JSON in which equal states have equal bytes. (`digest` has another form, of bytes.)

Fields have the names and kinds that they have in Kafka's JSON of records (uuids as text, bytes as base64); the parts
around them are ours. Everything is sorted: topics by name, other things by their keys, lists of replicas as they are.
Secrets are in it as they are in the log; they are withheld when shown. `image_text` gives it in pieces, because the
image of a large cluster takes hundreds of megabytes as text.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    Acl,
    DelegationToken,
    Image,
    OpenTransaction,
    PackedTopics,
    PartitionState,
    ScramCredential,
    ScramKey,
    Topic,
)
from kafkactl.metadata.image.nodes import node_json
from kafkactl.metadata.image.records import acl_data
from kafkactl.protocol.json_form import json_named

_PIECE_BYTES = 64 * 1024


def image_json(image: Image) -> dict[str, Any]:
    """Return the image as one object of JSON values."""
    found = image_parts(image)
    found["topics"] = [_topic(topic) for topic in _topics(image)]
    return {name: found[name] for name in PART_NAMES}


def image_parts(image: Image) -> dict[str, Any]:
    """Return the image without its topics, which can be many."""
    return {name: part(image) for name, part in _PARTS.items()}


def image_text(image: Image) -> Iterator[str]:
    """Yield the object as text, in pieces: the output of `json.dumps(image_json(image), ...)` without spaces."""
    for name in PART_NAMES:
        yield ("{" if name == PART_NAMES[0] else ",") + f'"{name}":'
        if name == "topics":
            yield from _all_topics(image)
        else:
            yield _dumped(_PARTS[name](image))
    yield "}"


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _all_topics(image: Image) -> Iterator[str]:
    if isinstance(image.topics, PackedTopics):
        return image.topics.text()
    renders = Renders()
    return topics_text((topic.name, topic.id, _texts_of(topic, renders)) for topic in _topics(image))


def _topics(image: Image) -> list[Topic]:
    return sorted(image.topics.values(), key=lambda topic: (topic.name, topic.id.raw))


def _topic(topic: Topic) -> dict[str, Any]:
    partitions = [json.loads(text) for text in _texts_of(topic, Renders())]
    return {"name": topic.name, "topicId": str(topic.id), "partitions": partitions}


def topics_text(topics: Iterable[tuple[str, Uuid, list[str]]]) -> Iterator[str]:
    """Yield topics as text, in pieces: each by its name, its id and the text of its partitions."""
    held, size, first = ["["], 0, True
    for name, id, partitions in topics:
        text = ",".join(partitions)
        held.append(f'{"" if first else ","}{{"name":{_dumped(name)},"topicId":"{id}","partitions":[{text}]}}')
        size, first = size + len(text), False
        if size > _PIECE_BYTES:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held) + "]"


class Renders(dict[Any, str]):
    """Lists of node ids and of directory ids as text, each made once."""

    def __init__(self) -> None:
        super().__init__()
        self._uuids: dict[bytes, str] = {}

    def __missing__(self, key: tuple[int, ...] | bytes) -> str:
        parts = map(self._uuid, _ids_in(key)) if isinstance(key, bytes) else map(str, key)
        self[key] = text = f"[{','.join(parts)}]"
        return text

    def _uuid(self, raw: bytes) -> str:
        if raw not in self._uuids:
            self._uuids[raw] = f'"{Uuid(raw)}"'
        return self._uuids[raw]


def _ids_in(joined: bytes) -> Iterator[bytes]:
    return (joined[at : at + 16] for at in range(0, len(joined), 16))


def _texts_of(topic: Topic, renders: Renders) -> list[str]:
    states = topic.partitions.states
    numbers = sorted(states)
    return state_texts(numbers, [states[number] for number in numbers], renders)


def state_texts(numbers: Sequence[int], states: Sequence[PartitionState], renders: Renders) -> list[str]:
    """Return partitions as text, in the order of their numbers."""
    if not states:
        return []
    text = renders.__getitem__
    replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch, directories, elr, last_known = zip(
        *states, strict=True
    )
    lists = (map(text, ids) for ids in (replicas, isr, removing, adding))
    more = (map(text, ids) for ids in (directories, elr, last_known))
    return _partition_texts(zip(numbers, *lists, leader, recovery, leader_epoch, epoch, *more, strict=True))


def _partition_texts(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return partitions as text. A row is a number and the fields of a PartitionState, its lists as text already."""
    return [
        f'{{"partitionId":{number},"replicas":{replicas},"isr":{isr},'
        f'"removingReplicas":{removing},"addingReplicas":{adding},"leader":{leader},'
        f'"leaderRecoveryState":{recovery},"leaderEpoch":{leader_epoch},"partitionEpoch":{epoch},'
        f'"directories":{directories},"eligibleLeaderReplicas":{elr},'
        f'"lastKnownElr":{last_known}}}'
        for (
            number, replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch, directories, elr,
            last_known,
        ) in rows
    ]  # fmt: skip


def _voters(voters: Sequence[Voter] | None) -> list[dict[str, Any]] | None:
    if voters is None:
        return None
    return [_voter(voter) for voter in sorted(voters, key=lambda voter: (voter.node_id, voter.directory_id))]


def _voter(voter: Voter) -> dict[str, Any]:
    return {
        "voterId": voter.node_id,
        "voterDirectoryId": str(voter.directory_id),
        "endpoints": [
            {"name": endpoint.listener, "host": endpoint.host, "port": endpoint.port}
            for endpoint in sorted(voter.endpoints, key=lambda endpoint: endpoint.listener)
        ],
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_kraft_version,
            "maxSupportedVersion": voter.max_kraft_version,
        },
    }


def _configs(image: Image) -> list[dict[str, Any]]:
    return [
        {"resourceType": kind, "resourceName": name, "configs": dict(sorted(held.items()))}
        for (kind, name), held in sorted(image.configs.items())
    ]


def _client_quotas(image: Image) -> list[dict[str, Any]]:
    entities = sorted(
        image.client_quotas, key=lambda entity: [(kind, name is not None, name or "") for kind, name in entity]
    )
    return [
        {
            "entity": [{"entityType": kind, "entityName": name} for kind, name in entity],
            "quotas": {key: _number(value) for key, value in sorted(image.client_quotas[entity].items())},
        }
        for entity in entities
    ]


def _number(value: float) -> float | str:
    """Return a number as `json_form` does: JSON has no infinity and no NaN."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _producer_ids(image: Image) -> dict[str, Any] | None:
    return None if image.next_producer_id is None else {"nextProducerId": image.next_producer_id}


def _acl(acl: Acl) -> dict[str, Any]:
    return {**json_named(acl_data(acl)), "id": str(acl.id)}


def _scram(key: ScramKey, held: ScramCredential) -> dict[str, Any]:
    return {
        "name": key[1],
        "mechanism": key[0],
        "salt": _base64(held.salt),
        "storedKey": _base64(held.stored_key),
        "serverKey": _base64(held.server_key),
        "iterations": held.iterations,
    }


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _token(token: DelegationToken) -> dict[str, Any]:
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestamp": token.issue_timestamp_ms,
        "maxTimestamp": token.max_timestamp_ms,
        "expirationTimestamp": token.expiration_timestamp_ms,
        "tokenId": token.token_id,
    }


def _transaction(held: OpenTransaction | None) -> dict[str, Any] | None:
    if held is None:
        return None
    return {"beginOffset": held.begin_offset, "name": held.name, "records": len(held.records)}


_PARTS: Mapping[str, Callable[[Image], Any]] = {
    "features": lambda image: dict(sorted(image.features.items())),
    "zk_migration_state": lambda image: image.zk_migration_state,
    "kraft_version": lambda image: image.kraft_version,
    "voters": lambda image: _voters(image.voters),
    "brokers": lambda image: [node_json(broker) for _, broker in sorted(image.brokers.items())],
    "controllers": lambda image: [node_json(controller) for _, controller in sorted(image.controllers.items())],
    "configs": _configs,
    "client_quotas": _client_quotas,
    "producer_ids": _producer_ids,
    "acls": lambda image: [_acl(acl) for _, acl in sorted(image.acls.items())],
    "scram": lambda image: [_scram(key, credential) for key, credential in sorted(image.scram.items())],
    "delegation_tokens": lambda image: [_token(token) for _, token in sorted(image.delegation_tokens.items())],
    "transaction": lambda image: _transaction(image.transaction),
}
PART_NAMES = (*list(_PARTS)[:6], "topics", *list(_PARTS)[6:])
