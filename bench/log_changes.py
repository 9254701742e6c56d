"""Changes of one partition for `bench.log_generator`: what may happen to it, and the bytes behind the ids."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from typing import Any

from kafkactl.protocol.primitives import base128

IDS = struct.Struct(">i")
REPLICAS, ISR, REMOVING, ADDING, LEADER, LEADER_EPOCH, PARTITION_EPOCH, DIRECTORIES, ELR, LAST_KNOWN = range(10)


def _shrink(state: list[Any], rng: random.Random) -> dict[int, Any] | None:
    others = [entry for entry in state[ISR] if entry != state[LEADER]]
    if not others:
        return None
    gone = others[int(rng.random() * len(others))]
    isr = tuple(item for item in state[ISR] if item != gone)
    return {ISR: isr, ELR: (gone,)} if len(isr) < 2 and not state[ELR] else {ISR: isr}


def _grow(state: list[Any], _rng: random.Random) -> dict[int, Any] | None:
    missing = [item for item in state[REPLICAS] if item not in state[ISR]]
    if not missing or state[LEADER] < 0:
        return None
    isr = tuple(sorted((*state[ISR], missing[0])))
    return {ISR: isr, ELR: ()} if state[ELR] else {ISR: isr}


def _move(state: list[Any], rng: random.Random) -> dict[int, Any] | None:
    others = [item for item in state[ISR] if item != state[LEADER]]
    return {LEADER: others[int(rng.random() * len(others))]} if others else None


def _fail(state: list[Any], _rng: random.Random) -> dict[int, Any] | None:
    others = tuple(item for item in state[ISR] if item != state[LEADER])
    if not others:
        return None
    return {ISR: others, LEADER: others[0]}


def _lose(state: list[Any], _rng: random.Random) -> dict[int, Any] | None:
    if len(state[ISR]) != 1 or state[LEADER] < 0:
        return None
    return {ISR: (), LEADER: -1, ELR: state[ISR], LAST_KNOWN: (state[LEADER],)}


def _regain(state: list[Any], _rng: random.Random) -> dict[int, Any] | None:
    if state[LEADER] < 0 and len(state[ISR]) == 1:
        return {LEADER: state[ISR][0]}
    if state[LEADER] >= 0 or len(state[ELR]) != 1:
        return None
    return {ISR: state[ELR], LEADER: state[ELR][0], ELR: (), LAST_KNOWN: ()}


def without_elr(change: dict[int, Any]) -> dict[int, Any]:
    """Return the change as a controller without ELR makes it: the last member stays in the ISR."""
    return {place: value for place, value in change.items() if place not in (ELR, LAST_KNOWN) and value != ()}


def in_any_order(change: dict[int, Any], state: list[Any], rng: random.Random) -> dict[int, Any]:
    """Return the change with its ISR in an order of its own; one that names a leader has the ISR, too."""
    isr = change.get(ISR, state[ISR] if LEADER in change else None)
    return change if isr is None else {ISR: tuple(rng.sample(isr, len(isr))), **_without(change, ISR)}


def _without(change: dict[int, Any], place: int) -> dict[int, Any]:
    return {key: value for key, value in change.items() if key != place}


CHANGES = [_shrink, _grow, _grow, _move, _fail, _lose, _regain, _regain]
DIVERSE_CHANGES = [*CHANGES, _move]
_TAGS = {ISR: 0, LEADER: 1, REPLICAS: 2, REMOVING: 3, ADDING: 4, ELR: 6, LAST_KNOWN: 7, DIRECTORIES: 8}


def tail(change: Mapping[int, Any]) -> bytes:
    """Return the tagged fields of a PartitionChangeRecord of version 2, which are all it has behind the ids."""
    parts = []
    for place, value in sorted(change.items(), key=lambda item: _TAGS[item[0]]):
        if place == LEADER:
            content = IDS.pack(value)
        elif place == DIRECTORIES:
            content = base128(len(value) + 1) + b"".join(value)
        else:
            content = base128(len(value) + 1) + b"".join(IDS.pack(entry) for entry in value)
        parts.append(base128(_TAGS[place]) + base128(len(content)) + content)
    return base128(len(parts)) + b"".join(parts)
