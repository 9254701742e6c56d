"""ACLs of the ZooKeeper authorizer, and delegation tokens.

Sources: core `ZkData.scala` (ZkAclStore), `AclAuthorizer.loadAllAcls`, server `AclEntry`, clients `SecurityUtils`,
`DelegationTokenManagerZk.fromBytes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Severity
from kafkactl.metadata.image.model import DelegationToken
from kafkactl.migration.zktree.json import (
    MISSING,
    BrokenError,
    as_int,
    as_list,
    as_long,
    as_object,
    as_text,
    needed,
    parse_json,
)
from kafkactl.migration.zktree.reading import TreeReader
from kafkactl.migration.zktree.settings import desanitize
from kafkactl.migration.zktree.values import ZkAcl
from kafkactl.migration.zktree.znode import Znode

UNKNOWN, ANY = 0, 1  # in each of the three lists
LITERAL, PREFIXED = 3, 4
_TOKENS: Final = "/delegation_token/tokens"
_TOKEN_VERSIONS: Final = range(1, 4)
_LETHAL = "the copy fails at it, and with it every KRaft controller in turn"
_STORES: Final = ((LITERAL, "/kafka-acl"), (PREFIXED, "/kafka-acl-extended/prefixed"))
RESOURCE_TYPES: Final[Mapping[str, int]] = {
    "Topic": 2,
    "Group": 3,
    "Cluster": 4,
    "TransactionalId": 5,
    "DelegationToken": 6,
    "User": 7,
}
_OPERATIONS: Final = (
    "Unknown",
    "Any",
    "All",
    "Read",
    "Write",
    "Create",
    "Delete",
    "Alter",
    "Describe",
    "ClusterAction",
    "DescribeConfigs",
    "AlterConfigs",
    "IdempotentWrite",
    "CreateTokens",
    "DescribeTokens",
)
_PERMISSIONS: Final = ("Unknown", "Any", "Deny", "Allow")


def _numbers(names: tuple[str, ...]) -> dict[str, int]:
    """Return the numbers by name as written and, for old clusters, in capitals."""
    return {word: number for number, name in enumerate(names) for word in (name.upper(), name)}


OPERATIONS: Final = _numbers(_OPERATIONS)
PERMISSION_TYPES: Final = _numbers(_PERMISSIONS)


def read_acls(reader: TreeReader) -> tuple[ZkAcl, ...]:
    """Read all ACLs that the migration finds; what it ignores is reported."""
    found: list[ZkAcl] = []
    for pattern_type, store in _STORES:
        for name in reader.tree.children(store):
            path = f"{store}/{name}"
            if name in RESOURCE_TYPES:
                found.extend(_of_type(reader, path, RESOURCE_TYPES[name], pattern_type))
            elif reader.tree.children(path):
                text = f"{name} is not a resource type that Kafka reads; its ACLs are silently lost"
                reader.note("acl-of-unknown-resource-type", Severity.BLOCKER, path, text)
    for name in reader.tree.children("/kafka-acl-extended"):
        if name != "prefixed":
            text = "Kafka reads no ACLs from here; what it holds is lost in the copy, without a word"
            reader.note("acl-of-unknown-pattern-type", Severity.WARNING, f"/kafka-acl-extended/{name}", text)
    return tuple(found)


def _of_type(reader: TreeReader, path: str, resource_type: int, pattern_type: int) -> Iterator[ZkAcl]:
    for name in reader.tree.children(path):
        entries = reader.read(
            f"{path}/{name}",
            _entries,
            id="broken-acl-znode",
            then=_LETHAL,
            ignored_id="acl-znode-ignored",
            ignored_then="Kafka takes it for no ACL at all, without a word: what it allowed or denied is lost",
        )
        for principal, host, operation, permission in entries or ():
            _note_words(reader, f"{path}/{name}", principal, operation, permission)
            yield ZkAcl(
                resource_type=resource_type,
                resource_name=name,
                pattern_type=pattern_type,
                principal=principal,
                host=host,
                operation=operation,
                permission_type=permission,
            )


def _entries(znode: Znode) -> tuple[tuple[str, str, int, int], ...]:
    """Yield principal, host, operation and permission of each entry, without duplicates."""
    if not znode.data:
        return ()
    fields = as_object(parse_json(znode.data))
    version = needed(fields, "version", as_int)
    if version != 1:
        raise BrokenError(f"its version is {version}; only 1 is known")
    listed = needed(fields, "acls", as_list)
    return tuple(dict.fromkeys(_entry(as_object(entry, "an entry of acls")) for entry in listed))


def _entry(fields: Mapping[str, object]) -> tuple[str, str, int, int]:
    principal = _principal(needed(fields, "principal", as_text), "principal")
    operation = _number(OPERATIONS, needed(fields, "operation", as_text))
    permission = _number(PERMISSION_TYPES, needed(fields, "permissionType", as_text))
    if ANY in (operation, permission):
        raise BrokenError("the operation or permission of an entry is Any, which is for filters only")
    return principal, needed(fields, "host", as_text), operation, permission


def _number(numbers: Mapping[str, int], word: str) -> int:
    return numbers.get(word, numbers.get(word.upper(), UNKNOWN))


def _principal(text: str, what: str) -> str:
    if ":" not in text:
        raise BrokenError(f"{what} is not written type:name")
    return text


def _note_words(reader: TreeReader, path: str, principal: str, operation: int, permission: int) -> None:
    if UNKNOWN in (operation, permission):
        text = f"an entry for {principal} has an unknown operation or permission; it is migrated as Unknown"
        reader.note("acl-with-unknown-word", Severity.BLOCKER, path, text, principal=principal)


def read_tokens(reader: TreeReader) -> dict[str, DelegationToken]:
    """Read delegation tokens by id."""
    found = {}
    for name in reader.tree.children(_TOKENS):
        token = reader.read(
            f"{_TOKENS}/{name}",
            _token,
            id="broken-delegation-token-znode",
            then=_LETHAL,
            ignored_id="delegation-token-ignored",
            ignored_then="Kafka takes it for no token at all, without a word: clients that use it are turned away",
        )
        if token is not None:
            found[token.token_id] = token
    return found


def _token(znode: Znode) -> DelegationToken | None:
    if not znode.data:
        return None
    parsed = parse_json(znode.data)
    if parsed is MISSING:
        raise BrokenError("it contains only blanks")
    fields = as_object(parsed)
    version = needed(fields, "version", as_int)
    if version not in _TOKEN_VERSIONS:
        raise BrokenError(f"its version is {version}; 1 to {_TOKEN_VERSIONS[-1]} are known")
    owner = _sanitized_principal(needed(fields, "owner", as_text), "owner")
    named = needed(fields, "tokenRequester", as_text) if version >= _TOKEN_VERSIONS[-1] else None
    renewers = needed(fields, "renewers", as_list)
    return DelegationToken(
        token_id=needed(fields, "tokenId", as_text),
        owner=owner,
        requester=owner if named is None else _sanitized_principal(named, "tokenRequester"),
        renewers=tuple(
            _sanitized_principal(as_text(renewer, "an entry of renewers"), "a renewer") for renewer in renewers
        ),
        issue_timestamp_ms=needed(fields, "issueTimestamp", as_long),
        max_timestamp_ms=needed(fields, "maxTimestamp", as_long),
        expiration_timestamp_ms=needed(fields, "expiryTimestamp", as_long),
    )


def _sanitized_principal(text: str, what: str) -> str:
    plain = desanitize(text)
    if plain is None:
        raise BrokenError(f"{what} holds a % that no two hexadecimal digits follow")
    return _principal(plain, what)
