"""A session of kazoo for tests: stopped and closed whatever the test does, as an unclosed socket fails a later test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient


@contextmanager
def kazoo_session(connect: str, timeout_s: float = 20) -> Iterator[KazooClient]:
    """Open a session below the chroot of `connect` and close it at the end."""
    client = KazooClient(connect, timeout=timeout_s)
    try:
        client.start(timeout_s)
        yield client
    finally:
        client.stop()
        client.close()
