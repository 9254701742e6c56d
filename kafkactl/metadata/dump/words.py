"""Texts by number: a line of JSON is a row of such numbers, and numpy puts millions of rows together.

Needs numpy. What returns again and again (numbers of brokers and partitions after their field's name, topic ids) is
made once and stays, until there is too much of it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from kafkactl.metadata.replay.columns.bytes import Array, IdNumbers

Label: TypeAlias = "tuple[str, str]"
"""The text in front of a number and the text after it."""

_LOWEST: Final = -2  # "the leader stays"
_NUMBERS: Final = 256  # texts that are made for a label at once, from the lowest on
_MOST_WORDS: Final = 1 << 17
_PADDED_ID: Final = 24  # characters of base64 for an id and two zero bytes, of which 22 are the id


class Words:
    """Texts by number, the numbers given as they come."""

    def __init__(self) -> None:
        self._texts: Array = np.empty(_NUMBERS, object)
        self._size = 0
        self._labels: dict[Label, int] = {}

    @property
    def is_full(self) -> bool:
        """Return True if it is time to start again from nothing. A hostile log has no end of different texts."""
        return self._size > _MOST_WORDS

    def add(self, texts: Sequence[str]) -> int:
        """Add these texts; return the number of the first, which the others follow."""
        first, end = self._size, self._size + len(texts)
        if end > len(self._texts):
            self._texts = np.concatenate([self._texts, np.empty(max(len(self._texts), len(texts)), object)])
        self._texts[first:end] = texts
        self._size = end
        return first

    def joined(self, numbers: Array, last: str) -> str:
        """Return the texts with these numbers, one after the other, and a last one."""
        texts = self._texts[numbers].tolist()
        texts.append(last)
        return "".join(texts)

    def of_numbers(self, values: Array, labels: Sequence[Label], kind: Array | int = 0) -> Array:
        """Return the numbers of the texts of integers, each in the label `labels[kind]`."""
        bases = np.array([self._base(label) for label in labels])
        found: Array = bases[kind] + (values - _LOWEST)
        far = np.flatnonzero((values < _LOWEST) | (values >= _LOWEST + _NUMBERS))
        if len(far):
            kinds = np.broadcast_to(kind, values.shape)[far]
            own, place = np.unique(np.stack([kinds, values[far]]), axis=1, return_inverse=True)
            texts = [f"{labels[which][0]}{value}{labels[which][1]}" for which, value in own.T.tolist()]
            found[far] = self.add(texts) + place.reshape(-1)
        return found

    def _base(self, label: Label) -> int:
        base = self._labels.get(label)
        if base is None:
            before, behind = label
            texts = [f"{before}{value}{behind}" for value in range(_LOWEST, _LOWEST + _NUMBERS)]
            base = self._labels[label] = self.add(texts)
        return base


class IdWords:
    """Texts of uuids in a label, each made when it is first observed."""

    def __init__(self, words: Words, label: Label) -> None:
        self._words = words
        self._label = label
        self._new: list[bytes] = []
        self._ids = IdNumbers(self._new.extend)
        self._numbers: Array = np.zeros(0, np.int64)

    def of(self, first: Array, second: Array) -> Array:
        """Return the numbers of the texts of ids, which are columns of their halves, little-endian."""
        found = self._ids.numbers(first, second)
        if self._new:
            before, behind = self._label
            base = self._words.add([f"{before}{text}{behind}" for text in uuid_texts(self._new)])
            self._numbers = np.concatenate([self._numbers, np.arange(base, base + len(self._new))])
            self._new.clear()
        own: Array = self._numbers[found]
        return own


def uuid_texts(ids: Sequence[bytes]) -> list[str]:
    """Return `str(Uuid(id))` of each id, faster.

    >>> uuid_texts([bytes(15) + bytes([1]), bytes(16)])
    ['AAAAAAAAAAAAAAAAAAAAAQ', 'AAAAAAAAAAAAAAAAAAAAAA']
    """
    text = base64.urlsafe_b64encode(b"".join([id + b"\0\0" for id in ids])).decode("ascii")
    return [text[at : at + 22] for at in range(0, len(text), _PADDED_ID)]
