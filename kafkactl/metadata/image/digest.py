"""The digest of an image: SHA-256 of its canonical binary form, in which equal states have equal bytes.

The form, whose version is in its first line (the reasons are in docs/decisions/0008-the-image.md):

1. the line `metadata image 1`,
2. the parts other than topics as the canonical JSON (`image_json.image_parts`), after the length of its UTF-8,
3. how many topics there are, and of each, in the order of names and ids: the length of its name in UTF-8, the name,
   its id, how many partitions it has,
4. the partitions of all these topics, by number within a topic, column by column: number, leader, leader recovery
   state, leader epoch, partition epoch; replicas, ISR, removing, adding, ELR, last known ELR; directory ids. A column
   of lists is how many elements each has, and then the elements of all.

Integers are little-endian and of 8 bytes; counts of elements and node ids are of 4. Secrets are in it as they are in
the log. Columns are what a replay by columns has at hand, and what an array of numbers takes at once.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from kafkactl.metadata.image.json import image_parts
from kafkactl.metadata.image.model import (
    ADDING_AT,
    DIRECTORIES_AT,
    ELR_AT,
    ISR_AT,
    LAST_KNOWN_ELR_AT,
    LEADER_AT,
    LEADER_EPOCH_AT,
    PARTITION_EPOCH_AT,
    RECOVERY_AT,
    REMOVING_AT,
    REPLICAS_AT,
    Image,
    PackedTopics,
    PartitionState,
    Topic,
)

DIGEST_VERSION: Final = 1
NUMBERS: Final = (LEADER_AT, RECOVERY_AT, LEADER_EPOCH_AT, PARTITION_EPOCH_AT)  # after the partition's number
LISTS: Final = (REPLICAS_AT, ISR_AT, REMOVING_AT, ADDING_AT, ELR_AT, LAST_KNOWN_ELR_AT)
_ID_BYTES: Final = 16
_AT_ONCE: Final = 100_000  # partitions


def image_sha256(image: Image) -> str:
    """Return the SHA-256, in hex, of the canonical binary form."""
    digest = hashlib.sha256()
    for piece in image_bytes(image):
        digest.update(piece)
    return digest.hexdigest()


def image_bytes(image: Image) -> Iterator[bytes]:
    """Yield the canonical binary form in pieces."""
    yield f"metadata image {DIGEST_VERSION}\n".encode()
    text = json.dumps(image_parts(image), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    yield from _sized(text)
    topics = image.topics
    if isinstance(topics, PackedTopics):
        yield from _heads(topics.heads())
        yield from topics.columns()
        return
    ordered = sorted(topics.values(), key=lambda topic: (topic.name, topic.id.raw))
    yield from _heads([(topic.name, topic.id.raw, len(topic.partitions)) for topic in ordered])
    yield from _columns(ordered)


def _sized(text: str) -> Iterator[bytes]:
    raw = text.encode("utf-8", "surrogatepass")
    yield len(raw).to_bytes(8, "little")
    yield raw


def _heads(heads: Sequence[tuple[str, bytes, int]]) -> Iterator[bytes]:
    yield len(heads).to_bytes(8, "little")
    for name, id, count in heads:
        yield b"".join((*_sized(name), id, count.to_bytes(8, "little")))


def _columns(topics: Sequence[Topic]) -> Iterator[bytes]:
    numbers = [sorted(topic.partitions.states) for topic in topics]
    yield _integers("q", chain.from_iterable(numbers))
    states: list[PartitionState] = []
    for topic, own in zip(topics, numbers, strict=True):
        held = topic.partitions.states
        states += [held[number] for number in own]
    for at in NUMBERS:
        yield from _in_parts("q", list(map(itemgetter(at), states)))
    for at in LISTS:
        lists = list(map(itemgetter(at), states))
        yield from _in_parts("i", list(map(len, lists)))
        for first in range(0, len(lists), _AT_ONCE):
            yield _integers("i", chain.from_iterable(lists[first : first + _AT_ONCE]))
    joined: list[bytes] = list(map(itemgetter(DIRECTORIES_AT), states))
    yield from _in_parts("i", [len(item) // _ID_BYTES for item in joined])
    for first in range(0, len(joined), _AT_ONCE):
        yield b"".join(joined[first : first + _AT_ONCE])


def _in_parts(form: str, numbers: list[Any]) -> Iterator[bytes]:
    for first in range(0, len(numbers), _AT_ONCE):
        yield _integers(form, numbers[first : first + _AT_ONCE])


def _integers(form: str, numbers: Iterable[int]) -> bytes:
    """Return integers as bytes; `form` is `q` for 8 of each and `i` for 4."""
    column = array(form, numbers)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
