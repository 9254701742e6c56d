"""ACLs and delegation tokens of ZooKeeper against those of the image.

ACLs are compared as sets for each resource, for KRaft's ids of them are drawn. What ZooKeeper holds and no Kafka reads
(an unknown type of resource) is a difference, too: an operator relies on it, and KRaft does not have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from kafkactl.metadata.image.model import Acl, DelegationToken
from kafkactl.migration.compare.case import Answer, Case, Difference, Unknown
from kafkactl.migration.zktree.access import LITERAL, OPERATIONS, PERMISSION_TYPES, PREFIXED, RESOURCE_TYPES
from kafkactl.migration.zktree.values import ZkAcl

ACL, TOKEN = "acl", "delegation-token"
EXPIRED: Final = "expired-token"
_EXPIRED_TEXT = "the token has expired: each side forgets it when it comes to it"
_PATTERNS: Final = {LITERAL: "LITERAL", PREFIXED: "PREFIXED"}
_STORES: Final = {LITERAL: "/kafka-acl", PREFIXED: "/kafka-acl-extended/prefixed"}
_TOKENS: Final = "/delegation_token/tokens"
_TYPE_NAMES: Final = {number: name for name, number in RESOURCE_TYPES.items()}

_Resource: TypeAlias = tuple[int, str, int]  # type, name, pattern type
_Entry: TypeAlias = tuple[str, str, int, int]  # principal, host, operation, permission type


def _words(numbers: Mapping[str, int]) -> dict[int, str]:
    """Return the name of each number as Kafka's tools write it: CLUSTER_ACTION."""
    named = {number: name for name, number in numbers.items() if not name.isupper()}
    return {number: "".join(f"_{letter}" if letter.isupper() else letter for letter in name).lstrip("_").upper()
            for number, name in named.items()}  # fmt: skip


_OPERATION_WORDS: Final = _words(OPERATIONS)
_PERMISSION_WORDS: Final = _words(PERMISSION_TYPES)
_TYPE_WORDS: Final = _words(RESOURCE_TYPES)


def acls(case: Case) -> Iterator[Answer]:
    """Yield the entries of each resource that only one side has."""
    zookeeper, kraft = _by_resource(case.tree.acls), _by_resource(case.image.acls.values())
    for pattern, store in _STORES.items():
        unseen = [resource for resource in kraft if resource[2] == pattern] if not case.is_kept(_top(store)) else []
        if unseen:
            yield Unknown(entity=ACL, key="*", reason=f"{_top(store)} is not in the observation")
            kraft = {resource: entries for resource, entries in kraft.items() if resource not in unseen}
    hidden = {path for path in case.hidden if path.startswith(tuple(f"{path}/" for path in _STORES.values()))}
    for resource in sorted({*zookeeper, *kraft}):
        path = acl_path(resource)
        left, right = zookeeper.get(resource, set()), kraft.get(resource, set())
        if case.is_hidden(path):
            yield Unknown(entity=ACL, key=_key(resource), reason="its znode is not shown")
            hidden.discard(path)
        elif left != right:
            yield Difference(
                entity=ACL, key=_key(resource), znode=path, zookeeper=_shown(left - right), kraft=_shown(right - left)
            )
    yield from (Unknown(entity=ACL, key=path, reason="its znode is not shown") for path in sorted(hidden))
    yield from _unread(case)


def _top(path: str) -> str:
    """Return the first part of a path, which remains after everything below it was deleted."""
    return "/" + path.split("/")[1]


def _unread(case: Case) -> Iterator[Answer]:
    """Report ACLs in places that no Kafka looks into."""
    ids = ("acl-of-unknown-resource-type", "acl-of-unknown-pattern-type")
    for finding in case.tree.findings:
        if finding.id in ids:
            yield Difference(
                entity=ACL, key=finding.subject, znode=finding.subject, zookeeper="not read by Kafka", kraft=None
            )


def _by_resource(found: Iterable[ZkAcl | Acl]) -> dict[_Resource, set[_Entry]]:
    by: dict[_Resource, set[_Entry]] = {}
    for acl in found:
        resource = acl.resource_type, acl.resource_name, acl.pattern_type
        by.setdefault(resource, set()).add((acl.principal, acl.host, acl.operation, acl.permission_type))
    return by


def acl_path(resource: _Resource) -> str:
    """Return the path in ZooKeeper of a resource's ACLs."""
    type_, name, pattern = resource
    return f"{_STORES.get(pattern, '/kafka-acl')}/{_TYPE_NAMES.get(type_, str(type_))}/{name}"


def _key(resource: _Resource) -> str:
    type_, name, pattern = resource
    return f"{_TYPE_WORDS.get(type_, str(type_))} {name} {_PATTERNS.get(pattern, str(pattern))}"


def _shown(entries: set[_Entry]) -> list[str] | None:
    return [
        f"{principal} {_PERMISSION_WORDS.get(permission, str(permission))}"
        f" {_OPERATION_WORDS.get(operation, str(operation))} from {host}"
        for principal, host, operation, permission in sorted(entries)
    ] or None


def tokens(case: Case) -> Iterator[Answer]:
    """Compare tokens by id. Renewers are a set."""
    if case.image.delegation_tokens and not case.is_kept(_top(_TOKENS)):
        yield Unknown(entity=TOKEN, key="*", reason=f"{_top(_TOKENS)} is not in the observation")
        return
    hidden = {path for path in case.hidden if path.startswith(f"{_TOKENS}/")}
    for id in sorted({*case.tree.delegation_tokens, *case.image.delegation_tokens}):
        path = f"{_TOKENS}/{id}"
        hidden.discard(path)
        if case.is_hidden(path):
            yield Unknown(entity=TOKEN, key=id, reason="its znode is not shown")
        else:
            yield from _token(case, id, case.tree.delegation_tokens.get(id), case.image.delegation_tokens.get(id))
    yield from (
        Unknown(entity=TOKEN, key=path.rpartition("/")[2], reason="its znode is not shown") for path in sorted(hidden)
    )


def _token(case: Case, id: str, kept: DelegationToken | None, copied: DelegationToken | None) -> Iterator[Answer]:
    left, right = None if kept is None else _fields(kept), None if copied is None else _fields(copied)
    if left == right:
        return
    rule = text = None
    ends = [token.expiration_timestamp_ms for token in (kept, copied) if token is not None]
    if None in (left, right) and case.time_ms is not None and max(ends) < case.time_ms:
        rule, text = EXPIRED, _EXPIRED_TEXT
    if left is not None and right is not None:
        same = {name for name, value in left.items() if value == right[name]}
        left, right = ({name: side[name] for name in side if name not in same} for side in (left, right))
    path = f"{_TOKENS}/{id}"
    yield Difference(entity=TOKEN, key=id, znode=path, zookeeper=left, kraft=right, rule=rule, explained=text)


def _fields(token: DelegationToken) -> dict[str, Any]:
    return {
        "owner": token.owner,
        "requester": token.requester,
        "renewers": sorted(set(token.renewers)),
        "issue_timestamp_ms": token.issue_timestamp_ms,
        "max_timestamp_ms": token.max_timestamp_ms,
        "expiration_timestamp_ms": token.expiration_timestamp_ms,
    }
