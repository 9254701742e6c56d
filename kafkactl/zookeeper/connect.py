"""`zookeeper.connect` as ZooKeeper's own client reads it (`ConnectStringParser`, the same on 3.8.4).

The chroot begins at the first slash of the text; the part before it is split at commas, parts are trimmed, and empty
parts are dropped. A chroot is a path: no slash at its end, no empty part, neither `.` nor `..`.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.protocol.redact import redacted_text

DEFAULT_PORT: Final = 2181
EXPECTED: Final = 'zookeeper.connect as in server.properties: "zk1:2181,zk2:2181/chroot"'
_HOST: Final = re.compile(r"[^\[\]:\s@\"'=]+")
_PORT: Final = re.compile(r"\d{1,5}")


@frozen(kw_only=False)
class ConnectString:
    """The servers as host and port, and the chroot: "" or a path that begins with a slash."""

    servers: tuple[tuple[str, int], ...]
    chroot: str = ""


def parse_connect_string(text: str) -> ConnectString:
    """Read a connect string. Raises ValueError with what was expected, or with what is wrong with the chroot.

    >>> parse_connect_string("zk1, zk2:2182,/kafka")
    ConnectString(servers=(('zk1', 2181), ('zk2', 2182)), chroot='/kafka')
    """
    hosts, slash, path = text.strip().partition("/")
    servers = tuple(_server(part.strip()) for part in hosts.split(",") if part.strip())
    if not servers:
        raise ValueError(EXPECTED)
    chroot = "" if not path else slash + path
    _check_chroot(chroot)
    return ConnectString(servers, chroot)


def chroot_of(connect: str) -> str:
    """Return the chroot of a text that may be wrong otherwise, without slashes at its end; "" for none."""
    _, slash, path = connect.partition("/")
    return ("/" + path.strip("/ ")) if slash and path.strip("/ ") else ""


def shown_chroot(chroot: str) -> str:
    """Return a chroot as messages show it: a login that was appended to the text is left out."""
    return redacted_text(chroot) or "/"


def _server(part: str) -> tuple[str, int]:
    host, colon, port = part.rpartition(":")
    if not colon or part.endswith("]"):
        host, port = part, ""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        is_host = _is_ipv6(host)
    else:
        is_host = bool(_HOST.fullmatch(host)) or _is_ipv6(host)
    if not is_host or (port and not _PORT.fullmatch(port)):
        raise ValueError(EXPECTED)
    number = int(port) if port else DEFAULT_PORT
    if not 0 < number < 1 << 16:
        raise ValueError(EXPECTED)
    return host, number


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _check_chroot(chroot: str) -> None:
    if chroot.endswith("/"):
        raise ValueError("a chroot without a slash at its end, as ZooKeeper refuses one that has it")
    parts = chroot.split("/")[1:]
    if "" in parts or "." in parts or ".." in parts or not chroot.isprintable():
        raise ValueError("a chroot without empty parts, '.' and '..', as ZooKeeper refuses them in a path")
