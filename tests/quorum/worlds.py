"""Small quorums for tests: voters by id and the letter of their directory."""

from __future__ import annotations

from kafkactl.values import ReplicaKey, Uuid


def directory(letter: str) -> Uuid:
    """A directory id that a letter stands for."""
    return Uuid(b"\x10" + bytes(14) + letter.encode())


def key(node_id: int, letter: str = "a") -> ReplicaKey:
    """The replica key of a node and one of its directories."""
    return ReplicaKey(node_id=node_id, directory_id=directory(letter))
