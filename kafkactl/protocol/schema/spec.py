"""Message definition, as checked immutable values.

The words are those of Kafka's own JSON dialect (`clients/src/main/resources/common/message/README.md`): a message has
valid versions, some of them flexible; a field exists in some versions, may be nullable in some, and may be tagged.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen


@frozen(kw_only=False)
class Versions:
    """An inclusive range of versions; `none` is the empty range (0, -1). An open end is 32767."""

    lowest: int
    highest: int

    OPEN_END = 32767

    def __contains__(self, version: int) -> bool:
        """Return True if a version lies in the range."""
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        """Iterate over every version of the range; limit an open range first."""
        return iter(range(self.lowest, self.highest + 1))

    def __bool__(self) -> bool:
        """Return False for the empty range."""
        return self.lowest <= self.highest

    def intersect(self, other: Versions) -> Versions:
        """Return the versions that are in both; `NO_VERSIONS` when there are none."""
        low, high = max(self.lowest, other.lowest), min(self.highest, other.highest)
        return Versions(low, high) if low <= high else NO_VERSIONS

    def __str__(self) -> str:
        """Return the range as in a definition: `3`, `3+`, `3-5` or `none`."""
        if not self:
            return "none"
        if self.highest == self.OPEN_END:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    to_dict = json_of("min=lowest", "max=highest")

    @classmethod
    def from_json(cls, data: Mapping[str, int]) -> Versions:
        """Return the range from the result of `to_dict`."""
        return cls(data["min"], data["max"])


NO_VERSIONS = Versions(0, -1)


@functools.cache
def json_name(name: str) -> str:
    """Return a field's name in Kafka's JSON: `KRaftVersion` becomes `kRaftVersion`
    (`MessageGenerator.lowerCaseFirst`).

    For names of definitions only: there are few of them, and each is made once.
    """
    return name[:1].lower() + name[1:]


@frozen
class FieldSpec:
    """A field. `type` is the element type for arrays, and for structs the struct's name.

    `kind` is one of: a primitive name (`bool int8 int16 uint16 int32 uint32 int64 float64 uuid string bytes records`),
    or `struct`. `is_array` says whether the field is an array of `kind`. `fields` holds a struct's fields.
    `default` is the value of a field that is not there, `None` meaning null (see schema/defaults.py, which makes
    fresh values): bool, int, float, str, bytes, Uuid; `()` for an empty array and for a struct of its fields' defaults.
    `tag` is None unless the field is tagged in `tagged_versions`. `flexible_versions` is an override
    (RequestHeader's ClientId), None if the message's own applies. `versions` are cut to those of the struct around.
    """

    name: str
    kind: str
    is_array: bool
    type_name: str
    versions: Versions
    nullable_versions: Versions
    tagged_versions: Versions
    tag: int | None
    default: object
    ignorable: bool
    map_key: bool
    entity_type: str | None
    flexible_versions: Versions | None
    fields: tuple[FieldSpec, ...]


@frozen
class MessageSpec:
    """A message: `kind` is request, response, header, metadata or data; `api_key` None if it has none.

    `listeners` are those of a request (broker, controller, zkBroker); `about` is our own sentence on what it is for.
    `deprecated_versions` are still valid, but Kafka means to drop them.
    """

    name: str
    kind: str
    api_key: int | None
    valid_versions: Versions
    flexible_versions: Versions
    latest_version_unstable: bool
    fields: tuple[FieldSpec, ...]
    listeners: tuple[str, ...] = ()
    deprecated_versions: Versions = NO_VERSIONS
    about: str = ""

    def is_flexible(self, version: int) -> bool:
        """Return True if the version uses compact lengths and tagged fields (KIP-482)."""
        return version in self.flexible_versions
