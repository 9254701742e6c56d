"""Listeners as a node's configuration writes them: `NAME://host:port`, and which security protocol each has.

Sources: server `SocketServerConfigs`, core `CoreUtils.listenerListToEndPoints` and `EndPoint`, `AbstractKafkaConfig`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain
from typing import NoReturn

from kafkactl.core.frozen import frozen
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import parse_int, split_at_commas, trim
from kafkactl.storage.config.keys import ProblemFound

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
PROTOCOL_MAP = "listener.security.protocol.map"
_ENDPOINT = r"([^\n\r\u0085\u2028\u2029]*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)"
_EXAMPLE = "Write it as NAME://host:port, several with commas between; IPv6 as NAME://[::1]:port."


class Ports(Enum):
    """Rule for listeners with the same port: refused, allowed for one IPv4 and one IPv6, or allowed."""

    DISTINCT = "distinct"
    SHARED = "shared"
    ANY = "any"


@frozen
class Listener:
    """A listener. `host` None: every address. The name is in upper case, as Kafka keeps it."""

    name: str
    host: str | None
    port: int


def parse_listeners(
    items: Sequence[str], protocols: Mapping[str, str], *, key: str, ports: Ports
) -> tuple[Listener, ...]:
    """Read the items of `listeners` or `advertised.listeners`. Raises ProblemFound `invalid-listeners`."""
    listeners = tuple(_parse_listener(item, protocols, key) for item in items)
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        _refuse(key, "Each listener must have a different name", "Rename one of them.")
    if ports is not Ports.ANY:
        _check_ports(listeners, key, shared=ports is Ports.SHARED)
    return listeners


def _parse_listener(item: str, protocols: Mapping[str, str], key: str) -> Listener:
    match = re.fullmatch(_ENDPOINT, item)
    port = parse_int(match[3]) if match else None
    if match is None or port is None:
        _refuse(key, f"Unable to parse {item} to a broker endpoint", _EXAMPLE)
    name = match[1].upper()
    if not trim(name):
        _refuse(key, f"The provided listener name is null or empty string (in {item})", _EXAMPLE)
    if name not in protocols:
        words = f"No security protocol defined for listener {name}"
        _refuse(key, words, f"Add {name}:PLAINTEXT (or SSL, SASL_SSL, …) to {PROTOCOL_MAP}.")
    return Listener(name=name, host=match[2] or None, port=port)


def _check_ports(listeners: Sequence[Listener], key: str, *, shared: bool) -> None:
    """Check ports; `shared`: an IPv4 listener and an IPv6 listener may have one port."""
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port != 0:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        versions = sorted(filter(None, (_ip_version(listener.host) for listener in sharing)))
        both = shared and versions == [4, 6] and len(sharing) == 2
        if len(sharing) > 1 and not both:
            words = "Each listener must have a different port"
            if shared and len(versions) == 2:
                words = "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6"
            _refuse(key, f"{words} (port {port})", "Give each listener a port of its own.")


def _ip_version(host: str | None) -> int | None:
    import ipaddress

    try:
        return ipaddress.ip_address(host or "").version
    except ValueError:
        return None


def _refuse(key: str, words: str, next_step: str) -> NoReturn:
    raise ProblemFound(Problem(id="invalid-listeners", key=key, words=f"{key}: {words}", next_step=next_step))


def csv_items(text: str | None) -> list[str]:
    """Return the items between commas, blanks around them removed, empty ones dropped (`Csv.parseCsvList`)."""
    return [item for item in split_at_commas(text) if item] if text else []


def csv_map(text: str | None, key: str) -> dict[str, str]:
    """Read `name:value` items, split at the last colon (`Csv.parseCsvMap`). Raise ProblemFound `invalid-config-map`."""
    if not text:
        return {}
    items = split_at_commas(text)
    while items and not items[-1]:
        items.pop()
    pairs = {}
    for item in items:
        name, colon, value = item.rpartition(":")
        if not colon:
            words = f"Error parsing configuration property '{key}': no colon in {item!r}"
            raise ProblemFound(Problem(id="invalid-config-map", key=key, words=words))
        pairs[trim(name)] = trim(value)
    return pairs


def protocol_of(text: str, key: str) -> str:
    """Return the security protocol of that name, in any case. Raises ProblemFound `invalid-security-protocol`."""
    if text.upper() not in SECURITY_PROTOCOLS:
        raise ProblemFound(
            Problem(
                id="invalid-security-protocol",
                key=key,
                words=f"Invalid security protocol `{text}` defined in {key}",
                next_step=f"The protocols are {', '.join(SECURITY_PROTOCOLS)}.",
            )
        )
    return text.upper()


def security_protocols(
    text: str, *, explicit: bool, controller_names: Iterable[str], listener_items: Iterable[str], unique_names: bool
) -> dict[str, str]:
    """Return the security protocol of each listener name.

    If the map is not written down (`explicit`), controller listeners speak PLAINTEXT unless SSL or SASL is in
    use anywhere. `unique_names`: 4.0 and later refuse a name that occurs twice. Raises ProblemFound.
    """
    pairs = csv_map(text, PROTOCOL_MAP)
    protocols = {name.upper(): protocol_of(value, PROTOCOL_MAP) for name, value in pairs.items()}
    if unique_names and len(protocols) != len(pairs):
        words = "Duplicate key: a listener name occurs twice (names count in upper case)"
        raise ProblemFound(Problem(id="invalid-config-map", key=PROTOCOL_MAP, words=f"{PROTOCOL_MAP}: {words}"))
    if explicit:
        return protocols
    names = list(controller_names)
    if unique_names and len(set(names)) != len(names):
        words = f"Duplicate key: controller.listener.names names a listener twice ({', '.join(names)})"
        raise ProblemFound(Problem(id="invalid-config-map", key="controller.listener.names", words=words))
    if any(name in SECURITY_PROTOCOLS[1:] for name in chain(names, map(_name_of, listener_items))):
        return protocols
    return protocols | {name: "PLAINTEXT" for name in names if name != "PLAINTEXT"}


def _name_of(item: str) -> str:
    name, colon, _ = item.partition(":")
    if not colon:
        words = f"Unable to parse a listener name from {item}"
        raise ProblemFound(Problem(id="invalid-listeners", key="listeners", words=words, next_step=_EXAMPLE))
    return name.upper()
