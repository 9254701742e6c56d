"""A sequence whose members are made when they are asked for, and whose length is known before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

Member = TypeVar("Member")


class Later(Sequence[Member], Generic[Member]):
    """`made` gives all `length` members, `first` so many of the first ones where these are quicker to have.

    It equals each sequence with the same members.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        length: int,
        made: Callable[[], Iterable[Member]],
        first: Callable[[int], Sequence[Member]] | None = None,
    ) -> None:
        self._length = length
        self._made = made
        self._first = first
        self._members: tuple[Member, ...] | None = None

    def _all(self) -> tuple[Member, ...]:
        if self._members is None:
            self._members = tuple(self._made())
        return self._members

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Member]:
        return iter(self._all())

    @overload
    def __getitem__(self, place: int) -> Member: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Member]: ...
    def __getitem__(self, place: int | slice) -> Member | Sequence[Member]:
        is_head = isinstance(place, slice) and not place.start and place.step is None and place.stop is not None
        if is_head and self._members is None and self._first is not None and place.stop >= 0:  # type: ignore[union-attr]
            return self._first(place.stop)  # type: ignore[union-attr]
        return self._all()[place]

    def __eq__(self, other: Any) -> bool:
        return self._all() == tuple(other) if isinstance(other, Sequence) else NotImplemented
