"""Logins of a node's SASL listeners and of its connections to the controllers, as its file has them.

Measured on 3.9.2 and 4.3.1: a node looks for the login of every enabled mechanism of a SASL listener in
`listener.name.NAME.MECHANISM.sasl.jaas.config` (both in lower case) and, without it, in the file that the JVM option
java.security.auth.login.config names. `MECHANISM.sasl.jaas.config` and `sasl.jaas.config` are not read (`JaasContext`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.scram import MECHANISMS
from kafkactl.protocol.text.jaas import parse_jaas
from kafkactl.protocol.text.java_text import split_list, trim
from kafkactl.storage.config.node_config import NodeConfig

CONTROLLER_MECHANISM: Final = "sasl.mechanism.controller.protocol"
_ENABLED: Final = "sasl.enabled.mechanisms"
_DEFAULT: Final = "GSSAPI"
_WITH_HANDLERS: Final = re.compile("GSSAPI|PLAIN|SCRAM-SHA-256|SCRAM-SHA-512|OAUTHBEARER")
SCRAM: Final = {name: mechanism.type for name, mechanism in MECHANISMS.items()}
"""The mechanisms whose users are in the metadata log, with their numbers in its records."""


@frozen
class MissingLogin:
    """A mechanism of a listener for which the file has no login. `problem`: why the one it has cannot be read."""

    listener: str
    mechanism: str
    problem: str | None = None

    @property
    def key(self) -> str:
        """Return the key that the node reads."""
        return f"listener.name.{self.listener.lower()}.{self.mechanism.lower()}.sasl.jaas.config"


def is_sasl(config: NodeConfig, listener: str) -> bool:
    """Return True for a listener with a SASL protocol."""
    return config.listener_protocols.get(listener.upper(), "").startswith("SASL_")


def controller_listener(config: NodeConfig) -> str | None:
    """Return the name of the listener over which the node reaches the controllers, if that listener uses SASL."""
    name = config.controller_listener_names[0] if config.controller_listener_names else None
    return name if name is not None and is_sasl(config, name) else None


def controller_mechanism(config: NodeConfig) -> str | None:
    """Return the mechanism with which the node logs in at the controllers, None without SASL."""
    if controller_listener(config) is None:
        return None
    return trim(config.properties.get(CONTROLLER_MECHANISM, _DEFAULT))


def enabled_mechanisms(config: NodeConfig, listener: str) -> tuple[str, ...]:
    """Return the mechanisms that a listener of the node offers."""
    own = config.properties.get(f"listener.name.{listener.lower()}.{_ENABLED}")
    text = config.properties.get(_ENABLED, _DEFAULT) if own is None else own
    return tuple(item for item in split_list(text) if item)


def controller_user(config: NodeConfig) -> str | None:
    """Return the user as which the node logs in at the controllers, if its file states it."""
    listener, mechanism = controller_listener(config), controller_mechanism(config)
    if listener is None or mechanism is None:
        return None
    text = config.properties.get(MissingLogin(listener=listener, mechanism=mechanism).key)
    try:
        return None if text is None else parse_jaas(text).options.get("username")
    except InputError:
        return None


def missing_logins(config: NodeConfig) -> Iterator[MissingLogin]:
    """Yield the logins that the node needs to start, and that its file does not have, or not in a readable form."""
    needed = [
        (endpoint.listener, mechanism)
        for endpoint in config.listeners
        if is_sasl(config, endpoint.listener)
        for mechanism in enabled_mechanisms(config, endpoint.listener)
        if _WITH_HANDLERS.fullmatch(mechanism)
    ]
    listener, mechanism = controller_listener(config), controller_mechanism(config)
    if listener is not None and mechanism is not None:
        needed.append((listener, mechanism))
    for name, wanted in dict.fromkeys((listener.upper(), mechanism) for listener, mechanism in needed):
        login = MissingLogin(listener=name, mechanism=wanted)
        text = config.properties.get(login.key)
        if text is None:
            yield login
            continue
        try:
            parse_jaas(text)
        except InputError as error:
            yield MissingLogin(listener=name, mechanism=wanted, problem=error.message)
