"""Layouts of object keys: the segment that a key names, and the objects of a complete segment.

`local` is LocalTieredStorage of Kafka's own tests, `aiven` the plugin of Aiven (and its five index objects of before
October 2023); a pattern names any other. A topic's name may have dots and dashes: the ids are found from the end.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.primitives import Reader

LOG: Final = "log"
_ID = r"[A-Za-z0-9_-]{22}"
_LOCAL: Final = re.compile(
    rf"(?:.*/)?(?P<topic>[^/]+)-(?P<partition>\d+)-(?P<topic_id>{_ID})/"
    rf"(?P<offset>\d{{20}})-(?P<segment_id>{_ID})\.(?P<suffix>[A-Za-z0-9_-]+)"
)
_AIVEN: Final = re.compile(
    rf"(?:.*/)?(?P<topic>[^/]+)-(?P<topic_id>{_ID})/(?P<partition>\d+)/"
    rf"(?P<offset>\d{{20}})-(?P<segment_id>{_ID})\.(?P<suffix>[A-Za-z0-9_-]+)"
)
_FIELDS: Final = {
    "topic": r"[^/]+",
    "topic_id": _ID,
    "partition": r"\d+",
    "offset": r"\d+",
    "segment_id": _ID,
    "suffix": r"[^/]+",
}
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


class ObjectName(NamedTuple):
    """Parts of a key; None for missing ones."""

    segment_id: bytes
    suffix: str
    topic: str | None
    topic_id: bytes | None
    partition: int | None


class SegmentPlace(NamedTuple):
    """Position of a segment by its object's key, apart from the topic's name."""

    topic_id: str
    partition: int
    start_offset: int
    segment_id: str


@frozen
class Layout:
    """A way to name objects. A segment is whole with the objects of one of `whole`; `has_size` says that the log object
    has the size of the segment."""

    name: str
    pattern: re.Pattern[str]
    whole: tuple[frozenset[str], ...]
    has_size: bool = False

    def parse(self, key: str) -> ObjectName | None:
        """Return the parts of a key; None if the key names no segment."""
        found = self.pattern.fullmatch(key)
        if found is None:
            return None
        fields = found.groupdict()
        segment_id = uuid_bytes(fields["segment_id"])
        if segment_id is None:
            return None
        topic_id, partition = fields.get("topic_id"), fields.get("partition")
        return ObjectName(
            segment_id=segment_id,
            suffix=fields.get("suffix") or LOG,
            topic=fields.get("topic"),
            topic_id=None if topic_id is None else uuid_bytes(topic_id),
            partition=None if partition is None else int(partition),
        )

    def key_before(self, like: str, topic: str, place: SegmentPlace) -> str | None:
        """Return the key prefix of a segment, in the folder of a key `like`; None if the layout does not define it."""
        folders = {
            LOCAL.name: [f"{topic}-{place.partition}-{place.topic_id}"],
            AIVEN.name: [f"{topic}-{place.topic_id}", f"{place.partition}"],
        }.get(self.name)
        above = like.split("/")[: -1 - len(folders)] if folders else []
        return "/".join([*above, *folders, f"{place.start_offset:020}-{place.segment_id}."]) if folders else None

    def missing(self, suffixes: Iterable[str]) -> tuple[str, ...]:
        """Return the objects that a segment with these lacks; () for a whole one."""
        have = frozenset(suffixes)
        least = min((wanted - have for wanted in self.whole), key=len)
        return tuple(sorted(least))


LOCAL: Final = Layout(
    name="local",
    pattern=_LOCAL,
    whole=(frozenset({LOG, "index", "timeindex", "snapshot", "leader_epoch_checkpoint"}),),
    has_size=True,
)
AIVEN: Final = Layout(
    name="aiven",
    pattern=_AIVEN,
    whole=(
        frozenset({LOG, "indexes", "rsm-manifest"}),
        frozenset({LOG, "rsm-manifest", "index", "timeindex", "snapshot", "leader-epoch-checkpoint"}),
    ),
)
AUTO: Final = "auto"
_KNOWN: Final = {layout.name: layout for layout in (LOCAL, AIVEN)}


def layout_of(word: str) -> Layout | None:
    """Return the layout of `--layout`: a known name or a pattern; None for `auto`.

    Raises InputError `invalid-layout`.
    """
    if word == AUTO:
        return None
    return _KNOWN.get(word) or _of_pattern(word)


def _of_pattern(text: str) -> Layout:
    names = _PLACEHOLDER.findall(text)
    unknown = sorted(set(names) - set(_FIELDS))
    if unknown or names.count("segment_id") != 1 or len(set(names)) != len(names):
        raise InputError(
            f"the layout {text!r} is not a valid pattern: it needs {{segment_id}} and may have each of "
            f"{', '.join(f'{{{name}}}' for name in _FIELDS if name != 'segment_id')} once",
            id="invalid-layout",
        )
    parts = _PLACEHOLDER.split(text)
    made = (f"(?P<{part}>{_FIELDS[part]})" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return Layout(name=text, pattern=re.compile("".join(made)), whole=(frozenset({LOG}),))


def guessed(keys: Sequence[str]) -> Layout | None:
    """Return the known layout that most keys fit; None if none fits any."""
    fits = {layout.name: sum(layout.parse(key) is not None for key in keys) for layout in _KNOWN.values()}
    best = max(fits, key=lambda name: fits[name])
    return _KNOWN[best] if fits[best] else None


def uuid_bytes(text: str) -> bytes | None:
    """Return the 16 bytes of an id of 22 characters, None if it is not a valid one."""
    try:
        raw = base64.urlsafe_b64decode(text + "==")
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == 16 else None


def aiven_remote_size(custom_metadata: bytes | None) -> int | None:
    """Return the size of all objects of a segment, if Aiven's custom metadata contains it (tag 0, a varlong)."""
    if not custom_metadata:
        return None
    reader = Reader(custom_metadata)
    try:
        for _ in range(reader.unsigned_varint()):
            tag, size = reader.unsigned_varint(), reader.unsigned_varint()
            if tag == 0:
                value = custom_metadata[reader.position : reader.position + size]
                return _varlong(value) if len(value) == size else None
            reader.position += size
    except (DecodeError, IndexError):
        return None
    return None


def _varlong(data: bytes) -> int | None:
    """Return a zigzag varlong that fills the bytes."""
    value = 0
    for at, byte in enumerate(data):
        value |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1) if at + 1 == len(data) else None
    return None
