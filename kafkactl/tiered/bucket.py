"""The objects of a store, joined with segments by id."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.tiered.layouts import Layout, ObjectName, guessed

UNKNOWN_SIZE: Final = -1  # as rclone lists it
_SAMPLED = 10_000


class StoredObject(NamedTuple):
    """An object: bytes, and when it was written, None if the listing does not contain times.

    An archived object is in a storage class that must be restored before a read.
    """

    key: str
    size: int
    mtime_ms: int | None
    is_archived: bool = False


@frozen
class Listing:
    """The objects of a store. `time_ms` is when the listing was made, None if it does not say; `written_ms` is when its
    file was written last: the listing was made before."""

    path: str
    format: str
    objects: tuple[StoredObject, ...]
    time_ms: int | None = None
    ends_whole: bool = True  # False if the text ends without a line end
    written_ms: int | None = None


@frozen
class BucketRead:
    """The listing of the store."""

    path: str
    format: str
    layout: str | None
    """None if no key names a segment."""
    objects: int
    bytes: int

    to_dict = by_fields


class Bucket:
    """A listing by segment ids. `layout` is None if no key names a segment."""

    def __init__(self, listing: Listing, layout: Layout | None) -> None:
        self.listing = listing
        self.layout = layout or guessed([found.key for found in listing.objects[:_SAMPLED]])
        self.segments: dict[bytes, list[tuple[ObjectName, StoredObject]]] = {}
        self.unnamed: list[StoredObject] = []
        for found in listing.objects:
            name = None if self.layout is None else self.layout.parse(found.key)
            if name is None:
                self.unnamed.append(found)
            else:
                self.segments.setdefault(name.segment_id, []).append((name, found))

    @property
    def time_ms(self) -> int | None:
        """Return the time at which the listing was made."""
        return self.listing.time_ms

    @property
    def last_key(self) -> str | None:
        """Return the last key of a listing in the order of its keys, suffixes aside.

        None if it is in another order.
        """
        objects = self.listing.objects
        stems = (found.key.rpartition(".")[0] for found in objects)
        in_order = all(before <= after for before, after in itertools.pairwise(stems))
        return objects[-1].key if objects and in_order else None

    def count(self, segment_id: bytes) -> int:
        """Return the number of objects of a segment."""
        return len(self.segments.get(segment_id, ()))

    def has_archived(self, segment_id: bytes) -> bool:
        """Return True if an object of a segment is in an archive class."""
        return any(found.is_archived for _, found in self.segments.get(segment_id, ()))

    def sizes(self, segment_id: bytes) -> dict[str, int]:
        """Return the objects of a segment: bytes by suffix."""
        return {name.suffix: found.size for name, found in self.segments.get(segment_id, ())}

    def listed_twice(self) -> list[tuple[bytes, StoredObject]]:
        """Return the objects of segments that have one of their objects more than once."""
        found = []
        for segment_id, entries in self.segments.items():
            if len({name.suffix for name, _ in entries}) < len(entries):
                found += [(segment_id, stored) for _, stored in entries]
        return found

    def of(self, segment_ids: Iterable[bytes]) -> Iterator[tuple[bytes, StoredObject]]:
        """Yield every object of these segments."""
        for segment_id in segment_ids:
            for _, found in self.segments.get(segment_id, ()):
                yield segment_id, found

    def summary(self) -> BucketRead:
        """Return the summary for an answer."""
        return BucketRead(
            path=self.listing.path,
            format=self.listing.format,
            layout=None if self.layout is None else self.layout.name,
            objects=len(self.listing.objects),
            bytes=sum(found.size for found in self.listing.objects),
        )
