"""`zookeeper.connect` as ZooKeeper's own client reads it (`ConnectStringParser`, measured on 3.6.4 and 3.8.4).

The chroot begins at the first slash of the text; the part before it is split at commas, parts are trimmed, and empty
parts are dropped. A chroot is a path: no slash at its end, no empty part, neither `.` nor `..`. The parser accepts
any text as a host: `zk1:2181;zk2:2181` is one server, whose name `zk1:2181;zk2` no lookup knows.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.protocol.redact import redacted_text
from kafkactl.protocol.text.java_text import parse_int, trim

DEFAULT_PORT: Final = 2181
EXPECTED: Final = 'zookeeper.connect as in server.properties: "zk1:2181,zk2:2181/chroot"'
_LOCAL: Final = "localhost"
"""Host of a server without a name: Java looks up the loopback address."""

_HOST: Final = re.compile(r"[\w.-]+")
_MAX_PORT: Final = (1 << 16) - 1
# ZooKeeper's `PathUtils` refuses control characters, UTF-16 surrogates, the private area, and the last 16 characters.
_REFUSED_IN_PATH: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")


@frozen(kw_only=False)
class ConnectString:
    """The servers as host and port, and the chroot: "" or a path that begins with a slash."""

    servers: tuple[tuple[str, int], ...]
    chroot: str = ""

    @property
    def impossible(self) -> tuple[tuple[str, int], ...]:
        """Return the servers that no client reaches: no host has this name, or the port is 0."""
        return tuple((host, port) for host, port in self.servers if not port or not _is_host(host))


def parse_connect_string(text: str) -> ConnectString:
    """Read a connect string. Raises ValueError with the expected form if ZooKeeper's client refuses the text.

    >>> parse_connect_string("zk1, zk2:2182,/kafka")
    ConnectString(servers=(('zk1', 2181), ('zk2', 2182)), chroot='/kafka')
    """
    hosts, slash, path = trim(text).partition("/")
    servers = tuple(_server(part) for part in map(trim, hosts.split(",")) if part)
    if not servers:
        raise ValueError(EXPECTED)
    chroot = "" if not path else slash + path
    _check_chroot(chroot)
    return ConnectString(servers, chroot)


def check_servers(connect: ConnectString) -> None:
    """Raise ValueError if a server cannot be one, for a text that an operator gives to kafkactl."""
    if not connect.impossible:
        return
    if any(re.search(r"[;|\s]", host) for host, _ in connect.impossible):
        raise ValueError(f"{EXPECTED}. Servers are separated by commas alone")
    if any(":" in host for host, _ in connect.impossible):
        raise ValueError(f'{EXPECTED}. The text after the last colon is the port; write IPv6 as "[2001:db8::1]:2181"')
    raise ValueError(EXPECTED)


def chroot_of(connect: str) -> str:
    """Return the chroot of a text that may be wrong otherwise, without slashes at its ends; "" for none.

    Blanks within the path belong to it: `zk1/ kafka` leads to another tree than `zk1/kafka`.
    """
    _, slash, path = trim(connect).partition("/")
    return ("/" + path.strip("/")) if slash and path.strip("/") else ""


def shown_chroot(chroot: str) -> str:
    """Return a chroot as messages show it: a login that was appended to the text is left out."""
    return redacted_text(chroot) or "/"


def _server(part: str) -> tuple[str, int]:
    """Return host and port. Raises ValueError if Java's parser throws IllegalArgumentException."""
    if part.startswith("["):
        host, bracket, rest = part[1:].rpartition("]")
        if not host or not bracket or (rest and (rest == ":" or not rest.startswith(":"))):
            raise ValueError(EXPECTED)
        port = rest[1:]
    else:
        host, colon, port = part.rpartition(":")
        if not colon:
            host, port = part, ""
    number = parse_int(port) if port else DEFAULT_PORT
    if number is None or not 0 <= number <= _MAX_PORT:
        raise ValueError(EXPECTED)
    return host or _LOCAL, number


def _is_host(text: str) -> bool:
    if _HOST.fullmatch(text):
        return True
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _check_chroot(chroot: str) -> None:
    if chroot.endswith("/"):
        raise ValueError("a chroot without a slash at its end, as ZooKeeper refuses one that has it")
    parts = chroot.split("/")[1:]
    if "" in parts or "." in parts or ".." in parts or _REFUSED_IN_PATH.search(chroot):
        raise ValueError(
            "a chroot without empty parts, '.', '..' and unprintable characters, as ZooKeeper refuses them in a path"
        )
