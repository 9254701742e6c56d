"""Znodes without their secrets, as an observation saves them.

Invariant: what is taken out is unknown afterwards, but what Kafka cannot read stays what Kafka cannot read, in the same
way. So a check of a redacted tree finds the same poison. Ids of delegation tokens stay: they name znodes, and without
the master key, which is not in ZooKeeper, they open nothing.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kafkactl.core.frozen import changed
from kafkactl.migration.zktree.json import MISSING, BrokenError, parse_json
from kafkactl.migration.zktree.settings import is_password_config, parse_credential
from kafkactl.migration.zktree.tree import find_chroots
from kafkactl.migration.zktree.znode import Znode, ZnodeAcl
from kafkactl.protocol.redact import BROKER, REDACTED, TOPIC, is_hidden_config
from kafkactl.protocol.scram import MECHANISMS
from kafkactl.protocol.text.java_text import parse_double

_CLIENTS: Final = ("/config/users/", "/config/clients/", "/config/ips/")
_BROKERS: Final = "/config/brokers/"
_OTHERS: Final = ("/config/topics/", _BROKERS)
# In place of what Kafka cannot read: no JSON, no config, no credential, no number.
_NO_JSON: Final = REDACTED.encode()
_NO_CONFIG: Final = b"{}"
_NO_CREDENTIAL: Final = f"salt={REDACTED}"
_NO_NUMBER: Final = f"{REDACTED} text"


def redact_znodes(znodes: Iterable[Znode]) -> Iterator[Znode]:
    """Yield the znodes of every Kafka tree without passwords, keys and the hashes in their access lists."""
    every = list(znodes)
    roots = sorted({"", *find_chroots(znode.path for znode in every)}, key=len, reverse=True)
    for znode in every:
        root = next((root for root in roots if znode.path.startswith(root + "/")), "")
        yield redact_znode(znode, znode.path.removeprefix(root))


def redact_znode(znode: Znode, path: str) -> Znode:
    """Return one znode without secrets; `path` is relative to the chroot."""
    acl = tuple(_entry(acl) for acl in znode.acl)
    data = znode.data
    if data is not None and path.startswith(_CLIENTS + _OTHERS):
        kind = None if path.startswith(_CLIENTS) else BROKER if path.startswith(_BROKERS) else TOPIC
        data = _config(data, kind)
    return znode if (acl, data) == (znode.acl, znode.data) else changed(znode, acl=acl, data=data)


def _entry(entry: ZnodeAcl) -> ZnodeAcl:
    if entry.scheme != "digest":
        return entry
    return changed(entry, id=f"{entry.id.partition(':')[0]}:{REDACTED}" if ":" in entry.id else REDACTED)


def _config(data: bytes, kind: int | None) -> bytes:
    """Return the configurations of a kind of resource (`ConfigResource.Type`); None for those of clients."""
    try:
        parsed = parse_json(data)
    except BrokenError:
        return _NO_JSON
    if parsed is MISSING:
        return data
    config = parsed.get("config") if isinstance(parsed, dict) else None
    if not isinstance(config, dict):
        return _NO_CONFIG
    hide = _client_value if kind is None else functools.partial(_value, kind)
    hidden = {key: hide(key, value) for key, value in config.items()}
    # Only what is known is kept: behind the JSON, or next to the config, could be anything.
    return json.dumps({"version": 1, "config": hidden}, separators=(",", ":")).encode()


def _client_value(key: str, value: Any) -> Any:
    if not isinstance(value, str):
        return _of_the_same_type(value)
    if value == REDACTED:
        return value
    if key in MECHANISMS:
        return REDACTED if parse_credential(value) is not None else _NO_CREDENTIAL
    return value if parse_double(value) is not None else _NO_NUMBER


def _value(kind: int, key: str, value: Any) -> Any:
    is_secret = key in MECHANISMS or is_password_config(key)
    if not (is_secret or is_hidden_config(kind, key, value if isinstance(value, str) else json.dumps(value))):
        return value
    return REDACTED if isinstance(value, str) else _of_the_same_type(value)


def _of_the_same_type(value: Any) -> Any:
    return None if value is None else type(value)()
