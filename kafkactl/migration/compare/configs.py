"""Configs, quotas and SCRAM credentials of ZooKeeper against those of the image.

Names are compared as they are meant, not as znodes are called; a znode whose config has become empty is the same as
none; numbers of quotas are compared as numbers. Passwords are compared as what they are once opened: ZooKeeper keeps
them encrypted, KRaft does not. One that cannot be opened is unknown, with one exception: where KRaft holds the cipher
text itself, the controllers had no `password.encoder.secret`, and every broker now takes it for the password.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, QuotaEntity, ScramCredential
from kafkactl.migration.compare.case import REDACTED, Answer, Case, Difference, Unknown, is_withheld
from kafkactl.migration.copy.records import sanitize
from kafkactl.migration.zktree.password_encoder import PasswordDecodeError, first_opening, parse_encrypted
from kafkactl.migration.zktree.settings import DEFAULT_NAME, desanitize, is_password_config
from kafkactl.protocol.redact import redacted_configs
from kafkactl.protocol.scram import MECHANISMS

BROKER_CONFIGS, CLIENT_QUOTA, SCRAM, OTHER_CONFIGS = "broker-config", "client-quota", "scram-credential", "config"
_BROKERS: Final = "/config/brokers"
_KINDS: Final = {"user": "/config/users", "client-id": "/config/clients", "ip": "/config/ips"}
_TOLERANCE: Final = 1e-6
_SHOWN_HASH: Final = 12
CIPHER_TEXT: Final = "<encrypted password taken for the password>"
_OTHER_RESOURCES: Final = {16: "client-metrics", 32: "group"}


def broker_configs(case: Case) -> Iterator[Answer]:
    """Compare dynamic configs of brokers, and their default."""
    if not case.is_kept(_BROKERS):
        yield Unknown(entity=BROKER_CONFIGS, key="*", reason=f"{_BROKERS} is not in the observation")
        return
    kraft = {name: held for (kind, name), held in case.image.configs.items() if kind == BROKER_CONFIG}
    for name in sorted({*case.tree.broker_configs, *kraft}):
        zookeeper = case.tree.broker_configs.get(name, {})
        path, key = f"{_BROKERS}/{name or DEFAULT_NAME}", name or DEFAULT_NAME
        yield from config_differences(case, Configs(BROKER_CONFIGS, key, path, zookeeper, kraft.get(name, {})))


def other_configs(case: Case) -> Iterator[Answer]:
    """Report configs for which ZooKeeper has no place: these are not mirrored, and client-metrics stop the mirror."""
    for (kind, name), held in sorted(case.image.configs.items()):
        if kind not in (TOPIC_CONFIG, BROKER_CONFIG) and held:
            key = f"{_OTHER_RESOURCES.get(kind, str(kind))} {name or DEFAULT_NAME}"
            yield Difference(entity=OTHER_CONFIGS, key=key, zookeeper=None, kraft=_shown(kind, held, held))


class Configs(NamedTuple):
    """Configs of one entity on both sides, as its key is shown, and the znode that keeps them."""

    entity: str
    key: str
    path: str
    zookeeper: Mapping[str, str]
    kraft: Mapping[str, str]

    @property
    def kind(self) -> int:
        """Return the kind of resource, as `ConfigResource.Type` numbers it."""
        return BROKER_CONFIG if self.path.startswith(f"{_BROKERS}/") else TOPIC_CONFIG


def config_differences(case: Case, configs: Configs) -> Iterator[Answer]:
    """Yield at most one difference, with the keys that differ; what is unknown is reported for each key."""
    named = {"entity": configs.entity, "key": configs.key}
    if case.is_hidden(configs.path):
        yield Unknown(**named, reason="its znode is not shown")
        return
    if configs.path in case.unreadable:
        left = {"unreadable": case.unreadable[configs.path]}
        yield Difference(
            **named,
            znode=configs.path,
            zookeeper=left,
            kraft=_shown(configs.kind, configs.kraft, configs.kraft) or None,
        )
        return
    differing = set()
    for name in sorted({*configs.zookeeper, *configs.kraft}):
        verdict = _compared(case, configs.path, name, configs.zookeeper.get(name), configs.kraft.get(name))
        if isinstance(verdict, str):
            yield Unknown(entity=configs.entity, key=f"{configs.key} {name}", reason=verdict)
        elif verdict:
            differing.add(name)
    if differing:
        left, right = _shown(configs.kind, configs.zookeeper, differing), _shown(configs.kind, configs.kraft, differing)
        right |= {name: CIPHER_TEXT for name in sorted(differing) if _is_cipher_text(name, configs.kraft.get(name))}
        yield Difference(**named, znode=configs.path, zookeeper=left or None, kraft=right or None)


def _is_cipher_text(name: str, value: str | None) -> bool:
    """Return True if KRaft holds an encrypted password, which Kafka never writes there."""
    return value is not None and is_password_config(name) and parse_encrypted(value) is not None


def _compared(case: Case, path: str, name: str, left: str | None, right: str | None) -> bool | str:
    """Return True if the values differ; the reason if that is unknown."""
    if left is None or right is None:
        return left is not right
    if _is_cipher_text(name, right):
        return True
    if is_withheld(left) or is_withheld(right) or case.is_hidden(path, name):
        return "its value is not shown"
    if not is_password_config(name) or parse_encrypted(left) is None:
        return left != right
    try:
        return first_opening(left, case.secrets) != right
    except PasswordDecodeError as error:
        return f"it is encrypted: {error}"


def _shown(kind: int, config: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    kept = {name: config[name] for name in sorted(names) if name in config}
    return redacted_configs(kind, kept)


def quotas(case: Case) -> Iterator[Answer]:
    """Compare quotas of users, clients, clients of users, and addresses."""
    yield from _absent(case, CLIENT_QUOTA, _KINDS.values())
    entities = {*case.tree.client_quotas, *case.image.client_quotas}
    for entity in sorted(entities, key=_quota_key):
        path, key = quota_path(entity), _quota_key(entity)
        if not case.is_kept("/".join(path.split("/")[:3])):
            continue
        zookeeper, kraft = case.tree.client_quotas.get(entity, {}), case.image.client_quotas.get(entity, {})
        differing = sorted(name for name in {*zookeeper, *kraft} if not _equal(zookeeper.get(name), kraft.get(name)))
        if case.is_hidden(path):
            yield Unknown(entity=CLIENT_QUOTA, key=key, reason="its znode is not shown")
        elif differing:
            yield Difference(
                entity=CLIENT_QUOTA,
                key=key,
                znode=path,
                zookeeper={name: zookeeper[name] for name in differing if name in zookeeper} or None,
                kraft={name: kraft[name] for name in differing if name in kraft} or None,
            )


def _equal(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return left == right or abs(left - right) <= _TOLERANCE


def _quota_key(entity: QuotaEntity) -> str:
    """Return `user alice, client-id app*1`; the user first."""
    parts = sorted(entity, key=lambda part: part[0] != "user")
    return ", ".join(f"{kind} {DEFAULT_NAME if name is None else name}" for kind, name in parts)


def quota_path(entity: QuotaEntity) -> str:
    """Return the path in ZooKeeper of an entity's quotas."""
    names = {kind: DEFAULT_NAME if name is None else sanitize(name) for kind, name in entity}
    if "user" in names and "client-id" in names:
        return f"/config/users/{names['user']}/clients/{names['client-id']}"
    kind = next(iter(names), "user")
    return f"{_KINDS.get(kind, '/config/' + kind)}/{names.get(kind, '')}"


def _absent(case: Case, entity: str, paths: Iterable[str]) -> Iterator[Answer]:
    for path in paths:
        if not case.is_kept(path) and path != _KINDS["ip"]:  # which a cluster of before 2.7 does not have
            yield Unknown(entity=entity, key="*", reason=f"{path} is not in the observation")


def scram_credentials(case: Case) -> Iterator[Answer]:
    """Compare credentials by user and mechanism: byte for byte."""
    users = _KINDS["user"]
    if not case.is_kept(users):
        yield Unknown(entity=SCRAM, key="*", reason=f"{users} is not in the observation")
        return
    names = {mechanism.type: name for name, mechanism in MECHANISMS.items()}
    hidden = set(_hidden_credentials(case))
    for mechanism, user in sorted(
        {*case.tree.scram, *case.image.scram, *hidden}, key=lambda entry: (entry[1], entry[0])
    ):
        path, key = f"{users}/{sanitize(user)}", f"{user} {names.get(mechanism, str(mechanism))}"
        left, right = case.tree.scram.get((mechanism, user)), case.image.scram.get((mechanism, user))
        if case.is_hidden(path):
            yield Unknown(entity=SCRAM, key=key, reason="its znode is not shown")
        elif (mechanism, user) in hidden:
            if right is None:
                yield Difference(entity=SCRAM, key=key, znode=path, zookeeper=REDACTED, kraft=None)
            else:
                yield Unknown(entity=SCRAM, key=key, reason="its value is not shown")
        elif left != right:
            if right is not None and left is not None and is_withheld(right.salt):
                yield Unknown(entity=SCRAM, key=key, reason="its value is not shown")
            else:
                yield Difference(
                    entity=SCRAM,
                    key=key,
                    znode=path,
                    zookeeper=_credential(left, right),
                    kraft=_credential(right, left),
                )


def _hidden_credentials(case: Case) -> Iterator[tuple[int, str]]:
    """Report credentials that exist and are not shown."""
    prefix = _KINDS["user"] + "/"
    for hidden in case.hidden:
        path, _, name = hidden.rpartition(" ")
        if name in MECHANISMS and path.startswith(prefix):
            user = desanitize(path.removeprefix(prefix))
            if user is not None:
                yield MECHANISMS[name].type, user


def _credential(credential: ScramCredential | None, other: ScramCredential | None) -> Any:
    if credential is None:
        return None
    fields: dict[str, Any] = {"iterations": credential.iterations}
    fields |= {name: _fingerprint(getattr(credential, name)) for name in ("salt", "stored_key", "server_key")}
    if other is None:
        return fields
    return {name: value for name, value in fields.items() if getattr(credential, name) != getattr(other, name)}


def _fingerprint(data: bytes) -> str:
    """Return a text that distinguishes two keys and reveals neither.

    The keys themselves are hashes of 256 bits and more.
    """
    return f"sha256:{hashlib.sha256(data).hexdigest()[:_SHOWN_HASH]}"
