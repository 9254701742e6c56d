"""C-14 to C-18: who may do what, the secrets that nodes share, and how large a znode may be.

Invariant: no secret appears in a finding. Rules: core `ControllerApis`, `KafkaApis`, `ControllerServer`,
`KafkaZkClient` of 3.9; measured on 3.9.2: a missing encoder secret is silent, a wrong one ends the controllers one
after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.metadata.image.model import BROKER_CONFIG
from kafkactl.migration.checks.case import FORWARD, ON_ZOOKEEPER, UNFINISHED, CheckCase, Row, Said, Stage, Unknown
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.settings import (
    controller_listener,
    given,
    inter_broker_listener,
    is_encrypted,
    is_hidden,
    is_kraft_file,
    is_on,
    principal,
    protocols,
    super_users,
)
from kafkactl.migration.zktree.password_encoder import PasswordDecodeError, decode_password, parse_encrypted
from kafkactl.migration.zktree.values import KafkaTree
from kafkactl.migration.zktree.znode import Hidden

_AUTHORIZER: Final = "authorizer.class.name"
_SECRET: Final = "password.encoder.secret"
_TOKEN_KEYS: Final = ("delegation.token.secret.key", "delegation.token.master.key")
_CLUSTER, _ALL, _CLUSTER_ACTION, _ALLOW = 4, 2, 9, 3  # ResourceType, AclOperation, AclPermissionType
_EVERY_RIGHT: Final = 31
_WRITTEN_BY_CONTROLLERS: Final = (
    "/controller",
    "/controller_epoch",
    "/brokers/topics",
    "/config",
    "/kafka-acl",
    "/cluster",
)
_SERVER_LIMIT: Final = 0xFFFFF  # jute.maxbuffer of a ZooKeeper server if it is not set
_CLIENT_LIMIT: Final = 4 << 20  # the same of Kafka's client (KafkaZkClient)
_PART: Final = 0.8
_CHILD_BYTES: Final = 4  # next to its name


def _authorizers(case: CheckCase) -> Said:
    """Check C-14: controllers have an authorizer if brokers do, and one that needs no ZooKeeper."""
    classes = {text for broker in case.brokers if (text := given(broker, _AUTHORIZER))}
    for node in case.controllers:
        if node.config is None:
            continue
        own = given(node, _AUTHORIZER)
        if own is not None and own.endswith("AclAuthorizer"):
            yield blocker(
                "zookeeper-authorizer-on-kraft",
                node.name,
                f"{node.name} has the authorizer of ZooKeeper, whose ACLs are not those of KRaft; Kafka does "
                "not refuse it",
            )
        elif own is None and classes:
            yield blocker(
                "controller-without-authorizer",
                node.name,
                f"brokers have {', '.join(sorted(classes))}, and it has no authorizer: from the copy on ACLs can"
                " neither be made nor changed",
            )


def _brokers_at_controllers(case: CheckCase) -> Said:
    """Check C-14: before the copy controllers have no ACLs, so brokers and controllers must be super users there."""
    known = set() if case.log is None else {*case.log.registrations, *case.log.controllers}
    for node in case.controllers:
        if given(node, _AUTHORIZER) is None or is_on(node, "allow.everyone.if.no.acl.found"):
            continue
        users = super_users(node)
        if users is None:
            yield Unknown(f"super.users of {node.name} was not observed")
            continue
        brokers = (case.planned.brokers.get(broker.id, broker) for broker in case.brokers)
        callers = {broker.name: _at_controllers(broker, node) for broker in (*brokers, node) if broker.id not in known}
        callers = {name: who for name, who in callers.items() if name not in _without_credentials(case)}
        if callers:
            yield from _callers(case, node, users, callers)


def _credentials(case: CheckCase) -> Iterator[Finding]:
    """Check C-14: a node's file has credentials for the SASL listeners of nodes of the other kind."""
    for name, (listener, protocol, key) in _without_credentials(case).items():
        kind = "controllers'" if name.startswith("broker") else "brokers'"
        yield warning(
            "listener-credentials-missing",
            name,
            f"the file of {name} has neither {key} nor sasl.jaas.config for the {kind} listener {listener}"
            f" ({protocol}): without a login in the JAAS file of its process the connection is refused",
            f"Write {key} into the server.properties of {name} before the first step: every rendered file keeps the"
            " line. If the login is in the JAAS file of its process, accept this finding.",
            listener=listener,
            key=key,
        )


def _without_credentials(case: CheckCase) -> dict[str, tuple[str, str, str]]:
    """Return by caller the listener, its protocol, and the setting that lacks the caller's credentials."""
    found = {}
    for node in case.brokers if case.stage in FORWARD else ():
        caller = case.planned.brokers.get(node.id, node)
        name = controller_listener(caller)
        if name is not None and not is_kraft_file(node):
            found[node.name] = _missing_credentials(caller, name, "sasl.mechanism.controller.protocol")
    for node in case.controllers if case.stage in FORWARD else ():
        if node.config is not None:
            listener = inter_broker_listener(node)
            found[node.name] = _missing_credentials(node, listener, "sasl.mechanism.inter.broker.protocol")
    return {name: missing for name, missing in found.items() if missing is not None}


def _missing_credentials(caller: NodeSeen, listener: str, mechanism_key: str) -> tuple[str, str, str] | None:
    protocol = protocols(caller).get(listener, listener)
    mechanism = (given(caller, mechanism_key) or "GSSAPI").lower()
    key = f"listener.name.{listener.lower()}.{mechanism}.sasl.jaas.config"
    if not protocol.startswith("SASL") or given(caller, key) or given(caller, "sasl.jaas.config"):
        return None
    return listener, protocol, key


def _callers(case: CheckCase, node: NodeSeen, users: frozenset[str], callers: Mapping[str, str | None]) -> Said:
    allowed = users | _with_cluster_action(case, of_zookeeper=False)
    refused = {name: who for name, who in callers.items() if who is not None and who not in allowed}
    theirs = {super_user for broker in case.brokers for super_user in super_users(broker) or ()}
    strangers = bool(theirs) and theirs.isdisjoint(users) and not any(callers.values())
    if refused or strangers or not users:
        named = ", ".join(f"{name} ({who})" for name, who in refused.items()) or "every node"
        yield blocker(
            "super-users-missing-on-controller",
            node.name,
            f"{named} may not register there (CLUSTER_AUTHORIZATION_FAILED): its super.users lack them, and it has no"
            " ACLs before the copy",
            principals=sorted(set(refused.values())),
        )
        return
    lacking = sorted(theirs - users)
    if lacking:
        yield warning(
            "super-users-differ",
            node.name,
            f"super.users of {node.name} lacks {', '.join(lacking)}, which the brokers have",
            f"Add {';'.join(lacking)} to super.users of {node.name}; keep its other entries, the controllers' own"
            " principals among them.",
            principals=lacking,
        )
    silent = [name for name, who in callers.items() if who is None]
    if silent:
        yield Unknown(f"the files do not show as which user {', '.join(silent)} connects to {node.name}")


def _at_controllers(caller: NodeSeen, controller: NodeSeen) -> str | None:
    """Return the listener through which a node is known to a controller.

    Its protocol counts if the caller has none yet.
    """
    listener = controller_listener(controller)
    if listener is None:
        return None
    if protocols(controller).get(listener, listener) == "PLAINTEXT":
        return "User:ANONYMOUS"
    own = controller_listener(caller) or listener
    found = principal(caller, own, "sasl.mechanism.controller.protocol")
    return None if found == "User:ANONYMOUS" else found


def _controllers_at_brokers(case: CheckCase) -> Iterator[Finding]:
    """Check C-14: controllers send orders to brokers on ZooKeeper, which requires ClusterAction there."""
    allowed_by_acl = _with_cluster_action(case, of_zookeeper=True)
    for node in case.brokers:
        users = super_users(node)
        if given(node, _AUTHORIZER) is None or is_kraft_file(node) or users is None:
            continue
        if is_on(node, "allow.everyone.if.no.acl.found"):
            continue
        callers = {
            principal(controller, inter_broker_listener(controller), "sasl.mechanism.inter.broker.protocol")
            for controller in case.controllers
            if controller.config is not None
        }
        refused = sorted(who for who in callers - {None} if who not in users | allowed_by_acl and who is not None)
        if refused:
            yield blocker(
                "controllers-not-allowed-on-broker",
                node.name,
                f"the controllers connect to {node.name} as {', '.join(refused)}, which has no ClusterAction there and"
                f" is not in super.users of {node.name}: the broker would get no requests from them",
                principals=refused,
            )


def _with_cluster_action(case: CheckCase, *, of_zookeeper: bool) -> frozenset[str]:
    """Return the principals that an ACL allows ClusterAction."""
    if of_zookeeper:
        entries = [
            (acl.resource_type, acl.operation, acl.permission_type, acl.principal)
            for acl in (() if case.tree is None else case.tree.acls)
        ]
    else:
        entries = [
            (acl.resource_type, acl.operation, acl.permission_type, acl.principal)
            for acl in ({} if case.image is None else case.image.acls).values()
        ]
    return frozenset(
        who
        for kind, operation, permission, who in entries
        if kind == _CLUSTER and operation in (_ALL, _CLUSTER_ACTION) and permission == _ALLOW
    )


def _zookeeper_rights(case: CheckCase) -> Said:
    """Check C-15: if znodes belong to the brokers, controllers must authenticate as the same identity."""
    tree = case.observation.tree
    closed = []
    if tree is not None:
        closed = [
            path
            for path, znode in tree.znodes.items()
            if path.startswith(_WRITTEN_BY_CONTROLLERS)
            and znode.acl
            and not any(acl.scheme == "world" and acl.perms & _EVERY_RIGHT == _EVERY_RIGHT for acl in znode.acl)
        ]
    set_by_brokers = [broker.name for broker in case.brokers if is_on(broker, "zookeeper.set.acl")]
    if not closed and not set_by_brokers:
        if tree is None and not any(broker.config is not None for broker in case.brokers):
            yield Unknown("neither the access lists of the znodes nor the brokers' files were observed")
        return
    for node in case.controllers:
        if set_by_brokers and node.config is not None and is_on(node, "zookeeper.set.acl") is False:
            yield warning(
                "zookeeper-set-acl-differs",
                node.name,
                "brokers write znodes that only they may change (zookeeper.set.acl), and it would write open ones",
            )
    first = f", {sorted(closed)[0]} among them" if closed else ""
    yield Unknown(
        f"{len(closed)} znodes{first} are owned by one ZooKeeper identity, and the controllers' files do not show which"
        " identity they use: if it is another, the copy fails with NoAuth"
    )


def _encoder_secret(case: CheckCase) -> Said:
    """Check C-16: without the brokers' secret controllers copy cipher text as passwords; with a wrong one they exit."""
    if case.tree is None:
        yield Unknown("the ZooKeeper tree was not observed: whether it contains encrypted passwords is unknown")
        return
    held = {
        f"/config/brokers/{id or '<default>'} {key}": value
        for id, config in case.tree.broker_configs.items()
        for key, value in config.items()
        if is_encrypted(key, value)
    }
    unseen = _unseen(case.tree, "/config/brokers")
    if not held and unseen:
        yield Unknown(f"{unseen} configs of brokers were not shown: whether they hold encrypted passwords is not known")
    for node in case.controllers if held else ():
        if node.config is None:
            yield Unknown(f"{_SECRET} of {node.name} was not observed")
        elif given(node, _SECRET) is None:
            yield blocker(
                "encoder-secret-missing",
                node.name,
                f"ZooKeeper holds {len(held)} encrypted passwords ({sorted(held)[0]} …), and it has no {_SECRET}: the"
                " cipher text would be copied in place of the passwords, without a word",
                count=len(held),
            )
        else:
            yield from _secret_opens(case, node, held)


def _secret_opens(case: CheckCase, node: NodeSeen, held: Mapping[str, str]) -> Said:
    secret = given(node, _SECRET) or ""
    brokers = {text for broker in case.brokers if (text := given(broker, _SECRET)) is not None}
    if is_hidden(secret):
        yield Unknown(f"{_SECRET} of {node.name} is set, and not shown")
        return
    if secret in brokers and len(brokers) == 1:
        return
    shown = {path: value for path, value in held.items() if parse_encrypted(value) is not None}
    closed = [path for path, value in shown.items() if not _opens(value, secret)]
    if closed or (brokers and secret not in brokers and not any(map(is_hidden, brokers))):
        yield blocker(
            "encoder-secret-wrong",
            node.name,
            f"{_SECRET} of {node.name} differs from the brokers': the copy would fail at {sorted(closed or held)[0]}"
            " after KRaft took /controller, and so would every other controller",
            paths=sorted(closed or held)[:10],
        )
    elif not shown:
        yield Unknown(f"whether {_SECRET} of {node.name} equals that of the brokers is unknown: the values are hidden")


def _opens(value: str, secret: str) -> bool:
    try:
        decode_password(value, secret)
    except PasswordDecodeError:
        return False
    return True


def _unseen(tree: KafkaTree, parent: str) -> int:
    """Return the number of values below a path that the observation does not show."""
    return sum(path.startswith(parent + "/") for path in tree.hidden)


def _cipher_text_copied(case: CheckCase) -> Iterator[Finding]:
    """Check C-16 after the copy: a password in KRaft that is still encrypted was copied without the secret."""
    found = [
        f"broker {id or '(default)'} {key}"
        for (kind, id), config in ({} if case.image is None else case.image.configs).items()
        for key, value in config.items()
        if kind == BROKER_CONFIG and value != Hidden.REDACTED.value and parse_encrypted(value) is not None
    ]
    if found:
        yield blocker(
            "cipher-text-copied-as-password",
            ", ".join(sorted(found)[:5]),
            f"{len(found)} passwords stand in KRaft as ZooKeeper kept them, encrypted: they were copied by a controller"
            f" without {_SECRET}, and brokers on KRaft would use the cipher text as the password",
            "Set these values again in plain text with `kafka-configs --alter`." if case.stage is Stage.FINAL else "",
            count=len(found),
        )


def _token_key(case: CheckCase) -> Said:
    """Check C-17: tokens are verified with a key that all nodes share."""
    if case.tree is None:
        yield Unknown("the ZooKeeper tree was not observed: whether it contains delegation tokens is unknown")
        return
    if not case.tree.delegation_tokens:
        if unseen := _unseen(case.tree, "/delegation_token/tokens"):
            yield Unknown(f"{unseen} delegation tokens were not shown")
        return
    of_brokers = {key for broker in case.brokers if (key := _token_key_of(broker)) is not None}
    for node in case.controllers:
        key = _token_key_of(node)
        if node.config is None:
            yield Unknown(f"{_TOKEN_KEYS[0]} of {node.name} was not observed")
        elif key is not None and any(map(is_hidden, {*of_brokers, key})):
            yield Unknown(f"{_TOKEN_KEYS[0]} of {node.name} is set, and not shown")
        elif key is None or (of_brokers and key not in of_brokers):
            yield blocker(
                "delegation-token-key-mismatch",
                node.name,
                f"{len(case.tree.delegation_tokens)} delegation tokens exist, and {node.name} has"
                f" {'no' if key is None else 'another'} {_TOKEN_KEYS[0]}",
            )


def _token_key_of(node: NodeSeen) -> str | None:
    return next((text for key in _TOKEN_KEYS if (text := given(node, key))), None)


def _sizes(case: CheckCase) -> Said:
    """Check C-18: each request of the controllers fits jute.maxbuffer, which is not in any file."""
    tree = case.observation.tree
    if tree is None:
        yield Unknown("the ZooKeeper tree was not observed")
        return
    sizes = {path: len(znode.data) for path, znode in tree.znodes.items() if znode.data is not None}
    sizes |= {
        f"the list of children of {path}": sum(len(name.encode()) + _CHILD_BYTES for name in names)
        for path, names in tree.names.items()
    }
    path, size = max(sizes.items(), key=lambda path_size: path_size[1], default=("", 0))
    if size > _PART * _SERVER_LIMIT:
        make = blocker if size > _PART * _CLIENT_LIMIT else warning
        yield make(
            "znode-near-jute-maxbuffer",
            path,
            f"{path} has {size} bytes; a ZooKeeper server accepts {_SERVER_LIMIT} and Kafka's client {_CLIENT_LIMIT} if"
            " jute.maxbuffer is not set, and the controllers stop there without an error",
            "Set -Djute.maxbuffer, the same and with room to spare, for ZooKeeper, brokers and controllers.",
            size=size,
        )


def _too_large_to_mirror(case: CheckCase) -> Iterator[Finding]:
    """Check C-18 in dual write: a topic in KRaft whose znode is too large for ZooKeeper stops all later writes."""
    if case.image is None or case.tree is None:
        return
    for topic in case.image.topics.values():
        size = sum(10 + sum(len(str(id)) + 1 for id in partition.replicas) for partition in topic.partitions.values())
        if topic.name not in case.tree.topics and size > _PART * _SERVER_LIMIT:
            yield blocker(
                "topic-too-large-for-zookeeper",
                f"topic {topic.name}",
                f"KRaft has it with {len(topic.partitions)} partitions, and its znode of about {size} bytes does not"
                " get into ZooKeeper: nothing behind it is mirrored either",
                size=size,
            )


ROWS: Final = (
    Row("C-14", "authorizers-unknown", "authorizers", UNFINISHED, _authorizers),
    Row("C-14", "broker-rights-unknown", "brokers' rights at controllers", FORWARD, _brokers_at_controllers),
    Row("C-14", "listener-credentials-unknown", "credentials for each other's listeners", FORWARD, _credentials),
    Row("C-14", "controller-rights-unknown", "controllers' rights at brokers", ON_ZOOKEEPER, _controllers_at_brokers),
    Row("C-15", "zookeeper-rights-unknown", "rights in ZooKeeper", UNFINISHED, _zookeeper_rights),
    Row("C-16", "encoder-secret-unknown", "password.encoder.secret", ON_ZOOKEEPER, _encoder_secret),
    Row(
        "C-16",
        "copied-passwords-unknown",
        "copied passwords",
        frozenset({Stage.DUAL, Stage.FINAL}),
        _cipher_text_copied,
    ),
    Row("C-17", "delegation-token-key-unknown", "delegation token key", UNFINISHED, _token_key),
    Row("C-18", "jute-maxbuffer-unknown", "jute.maxbuffer", UNFINISHED, _sizes),
    Row("C-18", "topic-sizes-unknown", "topics too large", frozenset({Stage.DUAL}), _too_large_to_mirror),
)
