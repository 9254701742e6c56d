"""Client properties for other nodes, derived from a node's own server.properties.

As Kafka's own channels read them: `listener.name.NAME.KEY` counts before KEY (`ChannelBuilders.clientChannelBuilder`,
`AbstractConfig.valuesWithPrefixOverride`), and the login is that of the mechanism between controllers, or between
brokers (`JaasContext.loadServerContext`: `MECHANISM.sasl.jaas.config`; one without a mechanism is ignored).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkactl.protocol.text.java_text import split_at_commas, trim
from kafkactl.storage.config.node_config import NodeConfig

_OF_CONTROLLERS: Final = "sasl.mechanism.controller.protocol"
_OF_BROKERS: Final = "sasl.mechanism.inter.broker.protocol"
_ENABLED: Final = "sasl.enabled.mechanisms"
_DEFAULT_MECHANISM: Final = "GSSAPI"
_LOGIN: Final = "sasl.jaas.config"
_OF_CHANNELS: Final = ("ssl.", "sasl.")


def controller_client_properties(config: NodeConfig) -> Mapping[str, str]:
    """Return the properties of a client that connects to the controllers as this node does; secrets included."""
    name = config.controller_listener_names[0] if config.controller_listener_names else ""
    return _client_properties(config, name, config.controller_protocol, _OF_CONTROLLERS)


def broker_client_properties(config: NodeConfig) -> Mapping[str, str] | None:
    """Return the properties of a client that connects to other brokers as this broker does; secrets included.

    None for a node that is not a broker: its file does not say how brokers are reached.
    """
    if "broker" not in config.roles:
        return None
    given = config.properties
    name = trim(given.get("inter.broker.listener.name") or given.get("security.inter.broker.protocol") or "PLAINTEXT")
    return _client_properties(config, name, config.listener_protocols.get(name.upper()), _OF_BROKERS)


def controllers_take(config: NodeConfig, protocol: str, mechanism: str) -> bool:
    """Return True if the controllers' listener takes clients with this security protocol and SASL mechanism."""
    if config.controller_protocol != protocol:
        return False
    return "SASL" not in protocol or mechanism == trim(config.properties.get(_OF_CONTROLLERS, _DEFAULT_MECHANISM))


def broker_addresses(config: NodeConfig, protocol: str, mechanism: str) -> tuple[tuple[str, int], ...]:
    """Return host and port of the listeners of this broker that take clients with this protocol and mechanism."""
    controllers = {name.upper() for name in config.controller_listener_names}
    return tuple(
        (endpoint.host, endpoint.port)
        for endpoint in config.advertised_listeners
        if endpoint.listener.upper() not in controllers
        and config.listener_protocols.get(endpoint.listener.upper()) == protocol
        and ("SASL" not in protocol or mechanism in _mechanisms(config, endpoint.listener))
    )


def _mechanisms(config: NodeConfig, listener: str) -> list[str]:
    given = config.properties
    text = given.get(f"listener.name.{listener.lower()}.{_ENABLED}", given.get(_ENABLED, _DEFAULT_MECHANISM))
    return [trim(name) for name in split_at_commas(text)]


def _client_properties(config: NodeConfig, name: str, protocol: str | None, mechanism_key: str) -> Mapping[str, str]:
    prefix = f"listener.name.{name.lower()}."
    given = config.properties
    of_listener = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
    known = {**given, **of_listener}
    values = {key: value for key, value in known.items() if key.startswith(_OF_CHANNELS) and key != _LOGIN}
    mechanism = trim(given.get(mechanism_key, _DEFAULT_MECHANISM))
    login = known.get(f"{mechanism.lower()}.{_LOGIN}")
    values |= {"security.protocol": protocol or "PLAINTEXT", "sasl.mechanism": mechanism}
    return values if login is None else values | {_LOGIN: login}
