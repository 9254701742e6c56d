"""Comparison of the predicted copy with the log between the copy's begin and its end.

The prediction is made of a tree that was saved before the copy. Ids of ACLs are drawn and not compared; no-ops and the
registrations that the controller writes in between are none of the copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.migration.compare.case import Difference, Unknown, is_withheld
from kafkactl.migration.copy.records import copy_batches, sanitize
from kafkactl.migration.copy.rules import CopyRules
from kafkactl.migration.zktree.password_encoder import PasswordDecodeError, first_opening, parse_encrypted
from kafkactl.migration.zktree.settings import DEFAULT_NAME, is_password_config
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.protocol.json_form import json_named
from kafkactl.protocol.log.frame import MetadataRecord, decode_record, encode_record
from kafkactl.protocol.redact import redacted
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import json_name

MOVED_ON: Final = "moved-on-before-the-copy"
_MOVED_TEXT = "the partition changed its leader or ISR between the saved tree and the copy, as restarts make it do"
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "TopicRecord": ("Name",),
    "PartitionRecord": ("TopicId", "PartitionId"),
    "ConfigRecord": ("ResourceType", "ResourceName", "Name"),
    "UserScramCredentialRecord": ("Name", "Mechanism"),
    "ClientQuotaRecord": ("Entity", "Key"),
    "ProducerIdsRecord": (),
    "AccessControlEntryRecord": (
        "ResourceType", "ResourceName", "PatternType", "Principal", "Host", "Operation", "PermissionType",
    ),
    "DelegationTokenRecord": ("TokenId",),
    "ZkMigrationStateRecord": (),
}  # fmt: skip
_CONFIG_FOLDERS: Final = {2: "topics", 4: "brokers"}
_NOT_COMPARED: Final = {"AccessControlEntryRecord": frozenset({"Id"})}
_MOVES: Final = frozenset({"Isr", "Leader", "LeaderEpoch", "LeaderRecoveryState", "PartitionEpoch"})


def copy_compared(
    tree: KafkaTree, records: Iterable[MetadataRecord], rules: CopyRules, *, secrets: tuple[str, ...] = ()
) -> tuple[tuple[Difference, ...], tuple[Unknown, ...]]:
    """Compare predicted records (`zookeeper`) with those of the copy (`kraft`), by type of record and key.

    Values that were removed from the tree or the log are reported as not comparable.
    """
    batches = copy_batches(tree, rules, acl_id=_no_id, decode_password=lambda value: _opened(value, secrets))
    predicted = _by_key(_through_bytes(record) for batch in batches for record in batch)
    actual = _by_key(records)
    topics = {data["TopicId"]: data["Name"] for side in (predicted, actual) for (type_, _), data in side.items()
              if type_ == "TopicRecord"}  # fmt: skip
    found, unknown = [], []
    for type_, key in sorted({*predicted, *actual}):
        left, right = predicted.get((type_, key)), actual.get((type_, key))
        named = _named(type_, key, topics)
        if _is_unknown(left, right) or (right is not None and _is_hidden(tree, type_, right)):
            unknown.append(Unknown(entity=type_, key=named, reason=_NOT_SHOWN))
        elif left != right:
            found.append(_difference(type_, named, left, right))
    return tuple(found), tuple(unknown)


_NOT_SHOWN: Final = "the saved tree or the log does not show the value"


def _is_hidden(tree: KafkaTree, type_: str, data: Mapping[str, Any]) -> bool:
    """Return True if the tree has this record's znode, or its value in a znode, and does not show it."""
    match type_:
        case "UserScramCredentialRecord":
            names = {(mechanism, name) for mechanism, user in tree.hidden_scram for name in (user, sanitize(user))}
            return (data["Mechanism"], data["Name"]) in names
        case "ConfigRecord":
            folder = _CONFIG_FOLDERS.get(data["ResourceType"])
            path = f"/config/{folder}/{data['ResourceName'] or DEFAULT_NAME}"
            return bool({path, f"{path} {data['Name']}"} & set(tree.hidden))
        case "DelegationTokenRecord":
            return f"/delegation_token/tokens/{data['TokenId']}" in tree.hidden
        case "AccessControlEntryRecord":
            return any(path.startswith(("/kafka-acl", "/kafka-acl-extended")) for path in tree.hidden)
        case _:
            return False


def _named(type_: str, key: str, topics: Mapping[str, str]) -> str:
    """Return the name of a partition with its topic's name: `orders-3`."""
    id, _, number = key.partition(" ")
    return f"{topics[id]}-{number}" if type_ == "PartitionRecord" and id in topics else key


def copy_findings(differences: Iterable[Difference]) -> tuple[Finding, ...]:
    """Return one finding if some of the differences cannot be explained."""
    odd = [difference for difference in differences if difference.explained is None]
    if not odd:
        return ()
    named = [f"{difference.entity} {difference.key}" for difference in odd[:5]]
    text = f"{len(odd)} records of the copy are not those that the tree from before it makes ({named[0]} …)"
    return (warning("migration-copy-not-as-predicted", "copy", text, count=len(odd), first=named),)


def _no_id(_: int) -> Uuid:
    return ZERO_UUID


def _opened(value: str, secrets: tuple[str, ...]) -> str:
    """Decrypt a value as the controllers' encoder does; a value that cannot be decrypted stays, and is then unknown."""
    try:
        return first_opening(value, secrets) if parse_encrypted(value) is not None else value
    except PasswordDecodeError:
        return value


def _through_bytes(record: MetadataRecord) -> MetadataRecord:
    """Return the record as read from the log, with the fields that its version does not carry."""
    return decode_record(encode_record(message(record.type), record.version, record.data))


def _by_key(records: Iterable[MetadataRecord]) -> dict[tuple[str, str], dict[str, Any]]:
    found = {}
    for record in records:
        if record.type in _KEYS:
            without = _NOT_COMPARED.get(record.type, frozenset())
            data = {name: _plain(value) for name, value in record.data.items() if name not in without}
            key = " ".join(_text(data.get(name)) for name in _KEYS[record.type])
            found[record.type, key] = data
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(json_named(value))


def _is_unknown(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> bool:
    """Return True if one of the values was removed, or is an encrypted password that could not be decrypted."""
    if left is None or right is None or left == right:
        return any(map(_has_withheld, (left, right))) if left == right else False
    if _has_withheld(left) or _has_withheld(right):
        return True
    name, value = left.get("Name"), left.get("Value")
    is_cipher = isinstance(name, str) and isinstance(value, str) and is_password_config(name)
    return is_cipher and parse_encrypted(str(value)) is not None and right.get("Value") != value


def _has_withheld(data: Mapping[str, Any] | None) -> bool:
    return any(is_withheld(value) for value in (data or {}).values() if isinstance(value, str | bytes))


def _difference(type_: str, key: str, left: dict[str, Any] | None, right: dict[str, Any] | None) -> Difference:
    difference = Difference(
        entity=type_, key=key, zookeeper=_shown(type_, left, right), kraft=_shown(type_, right, left)
    )
    if left is None or right is None or type_ != "PartitionRecord":
        return difference
    names = {name for name in left if left[name] != right.get(name)}
    is_later = (right["LeaderEpoch"], right["PartitionEpoch"]) >= (left["LeaderEpoch"], left["PartitionEpoch"])
    return changed(difference, rule=MOVED_ON, explained=_MOVED_TEXT) if names <= _MOVES and is_later else difference


def _shown(type_: str, data: dict[str, Any] | None, other: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if data is None:
        return None
    differs = {json_name(name) for name in data if other is None or data[name] != other.get(name)}
    safe: dict[str, Any] = redacted(type_, json_named(data))
    return {name: "<bytes>" if isinstance(value, bytes) else value for name, value in safe.items() if name in differs}
