"""Configs, quotas and SCRAM credentials: everything below `/config`.

Invariant: no value of a password config and no part of a SCRAM credential appears in a finding.
Sources: core `ZkData.scala` (ConfigEntityZNode), `migration/ZkConfigMigrationClient.scala`, clients `Sanitizer`,
`ScramCredentialUtils`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from kafkactl.core.findings import Severity
from kafkactl.core.frozen import frozen
from kafkactl.metadata.image.model import QuotaEntity, ScramCredential, ScramKey
from kafkactl.migration.zktree.json import MISSING, NotJsonError, as_text, parse_json
from kafkactl.migration.zktree.reading import TreeReader
from kafkactl.migration.zktree.znode import Hidden, Znode
from kafkactl.protocol.scram import MECHANISMS
from kafkactl.protocol.text.java_text import decode_base64, parse_double, parse_int

DEFAULT_NAME: Final = "<default>"
_LETHAL = "the copy fails at it, and with it every KRaft controller in turn"
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")
_SCRAM_KEYS: Final = {"salt", "stored_key", "server_key", "iterations"}
# Key ends of the dynamic configs of type PASSWORD (`DynamicBrokerConfig.isPasswordConfig`).
PASSWORD_KEYS: Final = (
    "sasl.jaas.config",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
)


@frozen
class ClientSettings:
    """Content of `/config/users`, `/config/clients` and `/config/ips`, in the order in which it is migrated."""

    quotas: Mapping[QuotaEntity, Mapping[str, float]]
    scram: Mapping[ScramKey, ScramCredential] = field(repr=False)
    hidden_scram: tuple[ScramKey, ...] = ()  # there, with a value that was taken out


def is_password_config(key: str) -> bool:
    """Return True if the value of this broker config may be encrypted in ZooKeeper."""
    return key.endswith(PASSWORD_KEYS)


def desanitize(name: str) -> str | None:
    """Return the entity whose znode has this name (`Sanitizer.desanitize`, URLDecoder); None if Java throws."""
    if _BAD_ESCAPE.search(name):
        return None
    raw = name.replace("+", " ").encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), raw).decode("utf-8", "replace")


def read_topic_configs(reader: TreeReader) -> dict[str, dict[str, str]]:
    """Read configs by topic, also of topics that do not exist, which are reported by an id of their own."""
    found = {}
    for name in reader.tree.children("/config/topics"):
        path = f"/config/topics/{name}"
        found[name] = _config(reader, path)
        if reader.tree.get(f"/brokers/topics/{name}") is None and "/brokers/topics" not in reader.hidden:
            text = "there is no such topic: no record is made of it, and the first sync after the copy deletes it"
            reader.note("orphan-topic-config", Severity.INFO, path, text)
    return found


def read_broker_configs(reader: TreeReader) -> dict[str, dict[str, str]]:
    """Read configs by broker id as text, "" for the default of all brokers."""
    found = {}
    live = set(reader.tree.children("/brokers/ids"))
    for name in reader.tree.children("/config/brokers"):
        path = f"/config/brokers/{name}"
        if name == DEFAULT_NAME:
            found[""] = _config(reader, path)
            continue
        if parse_int(name) is None:
            reader.note("broken-config-znode", Severity.BLOCKER, path, f"its name is not a broker id; {_LETHAL}")
            continue
        found[name] = _config(reader, path)
        if name not in live and "/brokers/ids" not in reader.hidden:
            text = "no broker with this id is alive; its configs are migrated all the same"
            reader.note("config-of-absent-broker", Severity.WARNING, path, text)
    return found


def _config(reader: TreeReader, path: str) -> dict[str, str]:
    config = reader.read(
        path,
        _config_of,
        id="broken-config-znode",
        then=_LETHAL,
        ignored_id="config-znode-ignored",
        ignored_then="Kafka takes it for no config at all, without a word: what it should hold is lost in the copy",
    )
    for key, value in (config or {}).items():
        if value == Hidden.REDACTED.value:
            reader.hidden.append(f"{path} {key}")
    return config or {}


def _config_of(znode: Znode) -> dict[str, str]:
    if znode.data is None:
        return {}
    parsed = parse_json(znode.data)
    if parsed is MISSING:
        return {}
    fields = parsed.get("config") if isinstance(parsed, dict) else None
    if not isinstance(fields, dict):
        raise NotJsonError("it is not a JSON object with an object named config")
    return {name: as_text(value, name) for name, value in fields.items()}


def read_client_settings(reader: TreeReader) -> ClientSettings:
    """Read quotas by entity, and SCRAM credentials by mechanism and user."""
    quotas: dict[QuotaEntity, Mapping[str, float]] = {}
    scram: dict[ScramKey, ScramCredential] = {}
    seen: set[QuotaEntity] = set()
    hidden: list[ScramKey] = []
    for path, parts, plain in _entities(reader):
        entity = _entity(reader, path, parts)
        if entity is None:
            continue
        config = _config(reader, path)
        if plain:
            user = desanitize(parts[0][1]) or ""
            scram.update(_credentials(reader, path, user, config))
            hidden += [
                (MECHANISMS[name].type, user) for name in MECHANISMS if config.get(name) == Hidden.REDACTED.value
            ]
            config = {key: value for key, value in config.items() if key not in MECHANISMS}
        numbers = _numbers(reader, path, config)
        if entity in seen:
            text = "another znode represents the same client; which of the two takes effect is undefined"
            reader.note("duplicate-client-entity", Severity.BLOCKER, path, text)
        seen.add(entity)
        if numbers:
            quotas[entity] = numbers
    return ClientSettings(quotas=quotas, scram=scram, hidden_scram=tuple(hidden))


def _entities(reader: TreeReader) -> Iterator[tuple[str, tuple[tuple[str, str], ...], bool]]:
    """Yield path, (entity type, name of the znode) and a flag for SCRAM credentials, in Kafka's order."""
    tree = reader.tree
    users = tree.children("/config/users")
    for user in users:
        yield f"/config/users/{user}", (("user", user),), True
        for other in tree.children(f"/config/users/{user}"):
            if other != "clients":
                path = f"/config/users/{user}/{other}"
                reader.note("unexpected-config-znode", Severity.WARNING, path, "no Kafka reads it; it is not migrated")
    for client in tree.children("/config/clients"):
        yield f"/config/clients/{client}", (("client-id", client),), True
    for user in users:
        for client in tree.children(f"/config/users/{user}/clients"):
            yield f"/config/users/{user}/clients/{client}", (("user", user), ("client-id", client)), False
    for ip in tree.children("/config/ips"):
        yield f"/config/ips/{ip}", (("ip", ip),), True


def _entity(reader: TreeReader, path: str, parts: tuple[tuple[str, str], ...]) -> QuotaEntity | None:
    """Return the entity as the image has it: sorted by type, None for the default."""
    found = []
    for kind, name in parts:
        plain = None if name == DEFAULT_NAME else desanitize(name)
        if plain is None and name != DEFAULT_NAME:
            text = f"the name {name!r} holds a % that no two hexadecimal digits follow; {_LETHAL}"
            reader.note("broken-config-znode", Severity.BLOCKER, path, text)
            return None
        found.append((kind, plain))
    return tuple(sorted(found, key=lambda part: part[0]))


def _numbers(reader: TreeReader, path: str, config: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for key, value in config.items():
        number = parse_double(value)
        if number is not None:
            found[key] = number
        elif value != Hidden.REDACTED.value or key in MECHANISMS:
            # The value itself may be a secret under a wrong key, so it is not repeated.
            text = f"the value of {key} is not a number; {_LETHAL}"
            reader.note("quota-not-a-number", Severity.BLOCKER, path, text, key=key)
    return found


def _credentials(
    reader: TreeReader, path: str, user: str, config: Mapping[str, str]
) -> Iterator[tuple[ScramKey, ScramCredential]]:
    for name, mechanism in MECHANISMS.items():
        text = config.get(name)
        if text is None or text == Hidden.REDACTED.value:
            continue
        credential = parse_credential(text)
        if credential is None:
            message = f"the credential for {name} cannot be read; {_LETHAL}"
            reader.note("broken-scram-credential", Severity.BLOCKER, path, message, mechanism=name)
        else:
            yield (mechanism.type, user), credential


def parse_credential(text: str) -> ScramCredential | None:
    """Return a credential as ZooKeeper keeps it: `salt=…,stored_key=…,server_key=…,iterations=n`.

    None if Kafka throws.
    """
    given: dict[str, str] = {}
    for token in text.rstrip(",").split(","):
        key, equals, value = token.partition("=")
        if not (key and equals):
            return None
        given[key] = value
    if set(given) != _SCRAM_KEYS:
        return None
    salt, stored_key, server_key = (decode_base64(given[key]) for key in ("salt", "stored_key", "server_key"))
    iterations = parse_int(given["iterations"])
    if salt is None or stored_key is None or server_key is None or iterations is None:
        return None
    return ScramCredential(salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations)
