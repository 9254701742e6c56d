"""Free ports on loopback, kept free for the node that will listen on them.

A port is reserved by a socket that is bound to it and never listens. Linux then gives it to no process that asks
for any port, in this process or another, but lets a server bind it that sets ``SO_REUSEADDR``, as Java's
server sockets do. So there is no gap between choosing a port and listening on it, and a node finds its port
again after a restart.
"""

from __future__ import annotations

import os
import socket

HOST = "127.0.0.1"

_held: dict[int, int] = {}


def free_port() -> int:
    """Return a port on 127.0.0.1 that no process has; reserved until ``release_port`` or the end of this process."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind((HOST, 0))
    except OSError:
        holder.close()
        raise
    port: int = holder.getsockname()[1]
    _held[port] = holder.detach()
    return port


def free_ports(count: int) -> tuple[int, ...]:
    """Return that many different ports, as ``free_port``."""
    return tuple(free_port() for _ in range(count))


def release_port(port: int) -> None:
    """Give a port back; one that is not reserved is left alone."""
    if (held := _held.pop(port, None)) is not None:
        os.close(held)
