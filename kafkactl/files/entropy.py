"""Source of new ids, salts and the time: the operating system."""

from __future__ import annotations

import os
import time

from kafkactl.core.values import Uuid

_SALT_BYTES = 24


def random_uuid() -> Uuid:
    """Return a new version 4 uuid that Kafka does not reserve and whose text does not begin with `-`.

    Kafka's own tools would parse a text that begins with `-` as an option (KAFKA-13741, KAFKA-15754).
    """
    while True:
        fresh = _version_4(os.urandom(16))
        if not fresh.is_reserved and not str(fresh).startswith("-"):
            return fresh


def _version_4(drawn: bytes) -> Uuid:
    """Return the bits of version and variant in 16 random bytes (RFC 4122); importing uuid would cost a start more."""
    return Uuid(drawn[:6] + bytes([drawn[6] & 0x0F | 0x40, drawn[7], drawn[8] & 0x3F | 0x80]) + drawn[9:])


class SystemSource:
    """The `Source` of a real format (kafkactl.storage.model): no directory id is handed out twice."""

    def __init__(self) -> None:
        self._given: set[Uuid] = set()

    def now_ms(self) -> int:
        """Return the wall clock."""
        return time.time_ns() // 1_000_000

    def directory_id(self, path: str) -> Uuid:
        """Return a fresh id for any path."""
        while (fresh := random_uuid()) in self._given:
            pass
        self._given.add(fresh)
        return fresh

    def scram_salt(self, position: int) -> bytes:
        """Return 192 random bits. Kafka takes 130 bits written as base 36; a salt is any bytes."""
        return os.urandom(_SALT_BYTES)
