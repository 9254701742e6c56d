"""Warnings about how a log came to its state: broker ids that two processes use in turns, and snapshots without end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid

FEWEST_TURNS: Final = 3
# A broker that moved to another address does not return to the old one within so short a time.
_WITHIN_MS: Final = 60_000
_SNAPSHOTS: Final = 3
_FEW_RECORDS: Final = 60


@frozen
class BrokerStart:
    """A registration of a broker: the process by its incarnation id, and where it listens (`host:port`)."""

    broker: int
    offset: int
    timestamp_ms: int
    incarnation: Uuid
    addresses: tuple[str, ...]


def ids_in_turns(starts: Iterable[BrokerStart]) -> Iterator[Finding]:
    """Yield a warning for each broker id that two processes registered in turns.

    An address, or a process, that comes back after another one used the id shows two processes: an address within a
    minute, a process whenever it is.
    """
    by_broker: dict[int, list[BrokerStart]] = defaultdict(list)
    for start in starts:
        by_broker[start.broker].append(start)
    for broker, every in sorted(by_broker.items()):
        back = [at for at in range(2, len(every)) if _is_back(every, at)]
        if not back:
            continue
        first, last = every[back[0] - 2], every[back[-1]]
        places = sorted({", ".join(start.addresses) for start in every[back[0] - 2 : back[-1] + 1]})
        yield warning(
            "broker-id-used-in-turns",
            f"broker {broker}",
            f"broker {broker} registered {back[-1] - back[0] + 3} times in turns from {' and '.join(places)}, offsets"
            f" {first.offset} to {last.offset}: two processes run with this id",
            addresses=places,
            first_offset=first.offset,
            last_offset=last.offset,
            registrations=len(every),
        )


def _is_back(every: list[BrokerStart], at: int) -> bool:
    """Return True if a registration is by the process, or from the address, that was there before the last one."""
    now, between, before = every[at], every[at - 1], every[at - 2]
    if now.incarnation == before.incarnation != between.incarnation:
        return True
    is_soon = now.timestamp_ms - before.timestamp_ms <= _WITHIN_MS
    return is_soon and now.addresses == before.addresses != between.addresses


def frequent_snapshots(log: str, end_offsets: Iterable[int]) -> Iterator[Finding]:
    """Yield a warning if the last snapshots of a log follow each other within few records.

    By default one is made each hour, or after 20 MiB of records; an idle controller writes two records a second.
    """
    ends = sorted({end for end in end_offsets if end > 0})[-_SNAPSHOTS:]
    apart = [later - earlier for earlier, later in pairwise(ends)]
    if len(ends) == _SNAPSHOTS and max(apart) <= _FEW_RECORDS:
        yield warning(
            "snapshots-too-frequent",
            f"log {log}",
            f"the last {len(ends)} snapshots, up to offset {ends[-1]}, are {min(apart)} to {max(apart)} records apart:"
            " a snapshot is made after almost every change",
            end_offsets=ends,
        )
