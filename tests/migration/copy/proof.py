"""Predicted records of a copy against those of a real one: what the goldens and the live campaign both ask."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kafkactl.core.values import ZERO_UUID
from kafkactl.migration.copy.records import Batch, copy_batches, copy_parts, joined
from kafkactl.migration.copy.rules import CopyRules, copy_rules
from kafkactl.migration.zktree.parse import parse_saved_tree
from kafkactl.migration.zktree.password_encoder import decode_password
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.protocol.catalog.releases import KafkaVersion
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.schema.definitions import message
from tests.lab.migration.configs import ENCODER_SECRET
from tests.lab.migration.log import copied_batches


def read_tree(place: Path) -> KafkaTree:
    """Return the tree that was kept there."""
    tree, findings = parse_saved_tree((place / "zk.jsonl.gz").read_bytes(), file="zk.jsonl.gz")
    assert not findings
    return tree


def read_copy(place: Path, scratch: Path) -> list[Batch]:
    """Return the batches of the copy in the log that was kept there."""
    log = scratch / "__cluster_metadata-0"
    log.mkdir()
    (log / f"{0:020}.log").write_bytes(gzip.decompress((place / "metadata.log.gz").read_bytes()))
    return copied_batches(log)


def rules_of(release: str) -> CopyRules:
    """Return the rules of a release by its name."""
    return copy_rules(KafkaVersion(*(int(part) for part in release.split("."))))


def assert_same_records(tree: KafkaTree, release: str, real: list[Batch]) -> None:
    """Compare byte for byte, whatever the order."""
    made = copy_batches(
        tree, rules_of(release), acl_id=lambda _: ZERO_UUID, decode_password=_decoded, transactions=_is_marked(real)
    )
    predicted = list(made)
    assert _all(predicted) == _all(real)
    assert [record.type for record in predicted[0]] == [record.type for record in real[0]]
    assert [record.type for record in predicted[-1]] == [record.type for record in real[-1]]
    assert len(predicted) == len(real)


def assert_same_batches(tree: KafkaTree, release: str, real: list[Batch]) -> None:
    """Check that the predicted parts, in the order that Kafka's hash sets happened to have, join to the very
    batches."""
    found = [_shape(record) for batch in real for record in batch]
    places = {content: at for at, content in reversed(list(enumerate(found)))}
    rules = rules_of(release)
    parts = copy_parts(tree, rules, acl_id=lambda _: ZERO_UUID, decode_password=_decoded)
    ordered = sorted(parts, key=lambda part: min(places[_shape(record)] for record in part))
    batches = [Counter(map(_shape, batch)) for batch in joined(ordered, rules.min_batch_size)]
    assert batches == [Counter(map(_shape, batch)) for batch in real[_is_marked(real) : -1]]


def _is_marked(real: list[Batch]) -> bool:
    """Return True if the copy is a transaction, which it is from metadata.version 3.6-IV1 on."""
    return real[0][0].type == "BeginTransactionRecord"


def _decoded(value: str) -> str:
    return decode_password(value, ENCODER_SECRET)


def _bytes(record: MetadataRecord) -> bytes:
    data = dict(record.data)
    if record.type == "AccessControlEntryRecord":
        data["Id"] = ZERO_UUID
    return encode_record(message(record.type), record.version, data)


def _shape(record: MetadataRecord) -> bytes:
    """Return the record; of an ACL its resource alone, for which of a resource's ACLs come first is left to chance."""
    if record.type != "AccessControlEntryRecord":
        return _bytes(record)
    return repr([record.data[name] for name in ("ResourceType", "ResourceName", "PatternType")]).encode()


def _all(batches: Iterable[Batch]) -> Counter[bytes]:
    return Counter(_bytes(record) for batch in batches for record in batch)
