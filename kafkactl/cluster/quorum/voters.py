"""Text of `--initial-controllers`, entries of `controller.quorum.voters`, and the order of voters on disk.

Rule: what Kafka's parsers accept is accepted and means the same; what they refuse is refused with their words.
Sources: KIP-853, raft `DynamicVoter`, `DynamicVoters`, `QuorumConfig` (up to 3.8 `RaftConfig`), clients `Utils`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import NoReturn

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid, host_port
from kafkactl.protocol.text.java_text import hash_map_order, parse_int, split_at, trim

GRAMMAR = "id@host:port:directory-id"
LOCALHOST = "localhost"
_HOST_CHARACTERS = r"[0-9a-zA-Z\-%._:]*"
# `host:port` with anything in front up to 3.9, with at most `scheme://` in front from 4.0 on.
_LINE_ENDS = "\n\r\u0085\u2028\u2029"
_NO_HOST_CHARACTER = r"[^0-9a-zA-Z\-%._:]"
_HOST_PORT = rf"(?:[0-9a-zA-Z\-%._]*://)?\[?({_HOST_CHARACTERS})\]?:([0-9]+)"


@frozen
class DynamicVoter:
    """A voter of a dynamic quorum as an operator writes it: `id@host:port:directory-id`."""

    node_id: int
    host: str
    port: int
    directory_id: Uuid

    def __str__(self) -> str:
        return f"{self.node_id}@{host_port(self.host, self.port)}:{self.directory_id}"

    @property
    def stored_host(self) -> str:
        """Return the host as it is in a VotersRecord; see `socket_host`."""
        return socket_host(self.host)


def parse_voters(text: str) -> tuple[DynamicVoter, ...]:
    """Read the argument of `--initial-controllers`; the voters come in ascending order of id.

    Raises InputError with one id a cause (schemas/explain/inputs.toml) and Kafka's words.
    """
    items = [item for item in split_at(trim(text), ",") if item]
    wheres = [_where(number, items) for number in range(len(items))]
    read = [parse_voter(item, where=where) for item, where in zip(items, wheres, strict=True)]
    voters: dict[int, DynamicVoter] = {}
    for voter, where in zip(read, wheres, strict=True):
        if voter.node_id in voters:
            _refuse("duplicate-voter", f"Node id {voter.node_id} was specified more than once.", where)
        voters[voter.node_id] = voter
    if not voters:
        _refuse("no-voters", "No voters given.", f" (in {text!r})")
    return tuple(voters[node_id] for node_id in sorted(voters))


def _where(number: int, items: Sequence[str]) -> str:
    return f" (voter {number + 1} of {len(items)}: {items[number]!r})" if len(items) > 1 else f" ({items[number]!r})"


def parse_voter(text: str, *, where: str = "") -> DynamicVoter:
    """Read one voter. `where` is added to the error's text. Raises InputError as `parse_voters`."""
    id_text, at, address = trim(text).partition("@")
    if not at:
        _refuse("voter-without-at-sign", "No @ found in dynamic voter string.", where)
    if not id_text:
        _refuse("voter-without-node-id", "Invalid @ at beginning of dynamic voter string.", where)
    node_id = parse_int(id_text)
    if node_id is None:
        _refuse("invalid-voter-node-id", "Failed to parse node id in dynamic voter string.", where)
    if node_id < 0:
        _refuse("invalid-voter-node-id", f"Invalid negative node id {node_id} in dynamic voter string.", where)
    if not address:
        _refuse("voter-without-host", "No hostname found after node id.", where)
    host, rest = _split_host(address, where)
    if not rest.startswith(":"):
        _refuse("voter-without-port", "Port section must start with a colon.", where)
    port_text, colon, directory_id = rest[1:].partition(":")
    if not colon:
        _refuse("voter-without-directory-id", "No colon following port could be found.", where)
    return DynamicVoter(
        node_id=node_id,
        host=host,
        port=_parse_port(port_text, where),
        directory_id=_parse_directory_id(directory_id, where),
    )


def standalone_voter(*, node_id: int, host: str | None, port: int, directory_id: Uuid) -> DynamicVoter:
    """Return the one voter of `--standalone`, made as Kafka makes it: through text, and IPv6 hosts without brackets.

    `host` None means localhost. Raises InputError `standalone-ipv6-listener` if Kafka fails on its own text.
    """
    shown = LOCALHOST if host is None else host
    try:
        return parse_voter(f"{node_id}@{shown}:{port}:{directory_id}")
    except InputError as error:
        raise InputError(
            f"the controller listener {host_port(shown, port)} cannot be the voter of --standalone:"
            f" {error.message.strip()}",
            id="standalone-ipv6-listener",
            cause="Kafka puts the listener's host into a voter string without brackets, so an IPv6 address breaks it.",
            next_step=f"Use -I '{node_id}@[{shown}]:{port}:DIRECTORY_ID' or a host name in the controller listener.",
        ) from None


def _split_host(address: str, where: str) -> tuple[str, str]:
    """Return the host and what follows it, the colon included."""
    if address.startswith("["):
        host, bracket, rest = address[1:].partition("]")
        if not bracket:
            words = "Hostname began with left bracket, but no right bracket was found."
            _refuse("voter-host-without-bracket", words, where)
        return host, rest
    host, colon, rest = address.partition(":")
    if not colon:
        _refuse("voter-without-port", "No colon following hostname could be found.", where)
    return host, colon + rest


def _parse_port(text: str, where: str) -> int:
    port = parse_int(text)
    if port is None:
        _refuse("invalid-voter-port", "Failed to parse port in dynamic voter string.", where)
    if not 0 <= port <= 65535:
        _refuse("invalid-voter-port", f"Invalid port {port} in dynamic voter string.", where)
    return port


def _parse_directory_id(text: str, where: str) -> Uuid:
    try:
        return Uuid.parse(text)
    except InputError:
        _refuse("invalid-voter-directory-id", "Failed to parse directory ID in dynamic voter string.", where)


def _refuse(id: str, words: str, where: str) -> NoReturn:
    raise InputError(words + where, id=id, next_step=f"A voter is written {GRAMMAR}, several with commas between.")


@frozen
class StaticVoter:
    """An entry of `controller.quorum.voters`: `id@host:port`."""

    node_id: int
    host: str
    port: int


def parse_static_voters(entries: Sequence[str], *, anything_before_host: bool = False) -> tuple[StaticVoter, ...]:
    """Read the entries of `controller.quorum.voters`; of an id given twice the last counts, as in Kafka.

    `anything_before_host`: up to 3.9 text in front of the host is overlooked. The order is that of first mention.
    Raises InputError `invalid-quorum-voters` with Kafka's words.
    """
    return _static_voters(tuple(entries), anything_before_host)


@functools.lru_cache(maxsize=64)  # all nodes of a cluster name the same
def _static_voters(entries: tuple[str, ...], anything_before_host: bool) -> tuple[StaticVoter, ...]:
    voters: dict[int, StaticVoter] = {}
    for entry in entries:
        parts = split_at(entry, "@")
        if len(parts) != 2:
            _refuse_entry("Invalid configuration value for controller.quorum.voters.", entry)
        node_id = parse_int(parts[0])
        if node_id is None:
            _refuse_entry(f"Failed to parse voter ID as an integer from {parts[0]}.", entry)
        address = parse_host_port(parts[1], anything_before_host=anything_before_host)
        if address is None:
            _refuse_entry("Failed to parse host name from an entry of controller.quorum.voters.", entry)
        host, port = address
        if port > 65535:
            _refuse_entry(f"port out of range:{port}.", entry)
        voters[node_id] = StaticVoter(node_id=node_id, host=host, port=port)
    return tuple(voters.values())


def parse_host_port(text: str, *, anything_before_host: bool = False) -> tuple[str, int] | None:
    """Read `host:port` or `[ipv6]:port` as clients' `Utils` does; return None if the text does not match.

    The port is any number that fits 31 bits.
    """
    if anything_before_host:
        host, digits = _after_anything(text)
    else:
        match = re.fullmatch(_HOST_PORT, text)
        host, digits = (match[1], match[2]) if match else ("", "")
    port = parse_int(digits) if digits else None
    return None if port is None else (host, port)


def _after_anything(text: str) -> tuple[str, str]:
    """Return host and port after anything, read from the end; no port if there is none.

    Kafka's expression with anything in front of the host takes the square of the text's length.
    """
    head, _, port = text.rpartition(":")
    head = head.removesuffix("]")
    before = max((match.end() for match in re.finditer(_NO_HOST_CHARACTER, head)), default=0)
    is_match = port.isascii() and port.isdigit() and not any(sign in head[:before] for sign in _LINE_ENDS)
    return (head[before:], port) if is_match else ("", "")


def is_host_pattern(text: str) -> bool:
    """Return True if a host has only characters that hosts and addresses have (clients `Utils.validHostPattern`)."""
    return re.fullmatch(_HOST_CHARACTERS, text) is not None


def _refuse_entry(words: str, entry: str) -> NoReturn:
    raise InputError(
        f"{words} Found {entry!r}; each entry should be in the form `{{id}}@{{host}}:{{port}}`.",
        id="invalid-quorum-voters",
    )


def hash_order(node_ids: Iterable[int]) -> list[int]:
    """Return distinct node ids in the order in which Kafka writes voters: of a `HashMap` filled by ascending id."""
    ascending = sorted(node_ids)
    return [ascending[position] for position in hash_map_order(ascending)]


def socket_host(host: str) -> str:
    """Return the host string of Java's `InetSocketAddress(host, port)`: names stay, IP literals take Java's form.

    IPv6 is written out (`::1` becomes `0:0:0:0:0:0:0:1`), IPv4-mapped IPv6 becomes IPv4, short IPv4 forms become
    four numbers, an empty host is localhost.
    """
    if not host:
        return LOCALHOST
    if ":" in host:
        return _ipv6_text(host)
    return _ipv4_text(host) or host


def address_key(host: str, port: int) -> tuple[str, int]:
    """Return an address for comparing: `::1` and `0:0:0:0:0:0:0:1` are one host, and so are names in any case."""
    return socket_host(host).lower(), port


def _ipv6_text(host: str) -> str:
    import ipaddress

    literal, percent, scope = host.partition("%")
    try:
        address = ipaddress.IPv6Address(literal)
    except ValueError:
        return host  # Java cannot make an address of it either, and keeps the text
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":")) + percent + scope


def _ipv4_text(host: str) -> str | None:
    """Return four numbers if Java reads the text as an IPv4 address (one to four decimal numbers), else None."""
    import ipaddress

    parts = host.split(".")
    if len(host) > 15 or len(parts) > 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    *bytes_, last = map(int, parts)
    room = 4 - len(bytes_)
    if any(byte > 255 for byte in bytes_) or last >= 1 << 8 * room:
        return None
    return str(ipaddress.IPv4Address(bytes(bytes_) + last.to_bytes(room, "big")))
