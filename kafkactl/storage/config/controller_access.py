"""How a node gets in at the controllers: client properties from its own server.properties.

As Kafka's own channel reads them: `listener.name.NAME.KEY` counts before KEY (`ChannelBuilders.clientChannelBuilder`,
`AbstractConfig.valuesWithPrefixOverride`), and the login is that of the mechanism between controllers
(`JaasContext.loadServerContext`: `MECHANISM.sasl.jaas.config`; one without a mechanism is ignored).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkactl.protocol.text.java_text import trim
from kafkactl.storage.config.node_config import NodeConfig

_MECHANISM: Final = "sasl.mechanism.controller.protocol"
_LOGIN: Final = "sasl.jaas.config"
_OF_CHANNELS: Final = ("ssl.", "sasl.")


def controller_client_properties(config: NodeConfig) -> Mapping[str, str]:
    """Return the properties of a client that connects to the controllers as this node does; secrets included."""
    name = config.controller_listener_names[0] if config.controller_listener_names else ""
    prefix = f"listener.name.{name.lower()}."
    given = config.properties
    of_listener = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
    known = {**given, **of_listener}
    values = {key: value for key, value in known.items() if key.startswith(_OF_CHANNELS) and key != _LOGIN}
    mechanism = trim(given.get(_MECHANISM, "GSSAPI"))
    login = known.get(f"{mechanism.lower()}.{_LOGIN}")
    values |= {"security.protocol": config.controller_protocol or "PLAINTEXT", "sasl.mechanism": mechanism}
    return values if login is None else values | {_LOGIN: login}
