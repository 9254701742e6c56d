"""The lines of a journal: JSON objects chained by hash, read strictly, with a finding of its own for each fault.

Invariant: every line names the hash of all lines before it, so what was edited, left out or put in afterwards is seen.
The last line may be torn: a process that was killed while writing it had not acted on it yet, as an entry is on disk
before its action begins. A torn line stays where it is; the next writer ends it and says so in an entry of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.redact import REDACTED, redacted_text

T = TypeVar("T")
VERSION = 1
HEADER = "journal"
TORN = "torn"
_SEED: Final = hashlib.sha256(b"kafkactl journal").hexdigest()
_FIELDS = ("seq", "at_ms", "entry", "data", "chain")
_SECRET_KEY = re.compile(r"(?i)password|secret|token|credential|jaas|private.?key")
_LONGEST_HEADER = 1_000


@frozen
class Entry:
    """A line. `seq` counts from 0, `at_ms` is the wall clock (for people), `chain` the hash of all up to here."""

    seq: int
    at_ms: int
    entry: str
    data: Mapping[str, Any]
    chain: str


@frozen
class JournalText:
    """A journal as read. `torn` are the bytes of a last line that was cut short, empty if none was.

    `open_end`: the last entry is whole, and the line break after it is missing.
    """

    entries: tuple[Entry, ...]
    torn: bytes = b""
    open_end: bool = False

    @property
    def chain(self) -> str:
        """Return the hash to which the next line is chained."""
        return self.entries[-1].chain if self.entries else _SEED


def new_entry(before: JournalText, entry: str, data: Mapping[str, Any], *, at_ms: int) -> Entry:
    """Return the next entry, with everything that looks like a secret left out of `data`."""
    content = {"seq": len(before.entries), "at_ms": at_ms, "entry": entry, "data": redacted(data)}
    return Entry(**content, chain=_chained(before.chain, content))


def entry_line(entry: Entry) -> bytes:
    """Return the line of an entry, with its line break."""
    return (_canonical({name: getattr(entry, name) for name in _FIELDS}) + "\n").encode()


def torn_data(torn: bytes) -> dict[str, Any]:
    """Return the data of the entry that follows a torn line."""
    return {"bytes": len(torn), "sha256": hashlib.sha256(torn).hexdigest()}


def read_journal(content: bytes, *, file: str, subject: str, cluster_id: str | None) -> JournalText:
    """Read and check a whole journal. `cluster_id` None takes any.

    Raises InputError: `journal-edited` (a line that is not what was written), `journal-incomplete` (lines are gone
    before the last), `journal-not-understood` (no journal, another subject, or of a newer kafkactl),
    `journal-of-another-cluster`.
    """
    entries: list[Entry] = []
    *lines, rest = content.split(b"\n")
    broken: list[bytes] = []  # lines that are not entries; the next entry has to say that they are torn
    for number, line in enumerate(lines, start=1):
        entry = _parsed(line)
        if entry is None:
            broken.append(line)
            continue
        _check_link(entries, entry, file, number)
        if broken and not _explains(entry, broken):
            raise _edited(file, number - 1)
        broken = []
        entries.append(entry)
    text = JournalText(entries=tuple(entries))
    _check_header(text, file, subject, cluster_id)
    if not text.entries and content and not _begins_a_journal(content):
        raise _not_understood(file, subject, "it does not begin like one")
    entry = _parsed(rest)
    if entry is None or (broken and not _explains(entry, broken)):
        return JournalText(entries=text.entries, torn=b"\n".join([*broken, rest]))
    _check_link(entries, entry, file, len(lines) + 1)
    return JournalText(entries=(*text.entries, entry), open_end=True)


def redacted(value: Any) -> Any:
    """Return the value without what looks like a secret: by the name of the key, or as `password=…` in a text."""
    if isinstance(value, Mapping):
        return {
            str(name): REDACTED if _SECRET_KEY.search(str(name)) and item is not None else redacted(item)
            for name, item in value.items()
        }
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [redacted(item) for item in value]
    return value


@contextmanager
def entries_understood() -> Iterator[None]:
    """Convert errors of the body about missing or wrong fields of an entry to InputError `journal-not-understood`.

    The chain is a hash without a key: a process that can write the file can write entries that fit and mean nothing.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            "an entry of the journal lacks something that its kind has, or has a value of another type:"
            f" {type(error).__name__} {error}",
            id="journal-not-understood",
        ) from error


def value_of(data: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """Return the value of a key of an entry. Raises KeyError, and TypeError for a value of another type."""
    value = data[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"of {key}: {type(value).__name__}, expected {kind.__name__}")
    return value


def _explains(entry: Entry, broken: list[bytes]) -> bool:
    """Return True if this entry says of the lines before it that they are torn."""
    return entry.entry == TORN and entry.data == torn_data(b"\n".join(broken))


def _parsed(line: bytes) -> Entry | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or tuple(sorted(found)) != tuple(sorted(_FIELDS)):
        return None
    entry = Entry(**found)
    kinds = (type(entry.seq), type(entry.at_ms), type(entry.entry), type(entry.data), type(entry.chain))
    return entry if kinds == (int, int, str, dict, str) else None


def _check_link(before: Sequence[Entry], entry: Entry, file: str, number: int) -> None:
    content = {name: getattr(entry, name) for name in _FIELDS if name != "chain"}
    if entry.seq > len(before):
        raise InputError(
            f"{file}, line {number}: found entry {entry.seq}, expected entry {len(before)}",
            id="journal-incomplete",
            next_step="Restore the whole file, or move it away to start a new one; the state is read from the"
            " cluster itself.",
        )
    if entry.seq != len(before) or entry.chain != _chained(before[-1].chain if before else _SEED, content):
        raise _edited(file, number)


def _check_header(text: JournalText, file: str, subject: str, cluster_id: str | None) -> None:
    if not text.entries:
        return
    first = text.entries[0]
    version, about, cluster = (first.data.get(name) for name in ("version", "subject", "cluster_id"))
    if first.entry != HEADER or version != VERSION or about != subject:
        raise _not_understood(file, subject, f"it is of version {version!r}, about {about!r}")
    if cluster_id is not None and cluster != cluster_id:
        raise InputError(
            f"{file} is the journal of cluster {cluster}, this one is {cluster_id}",
            id="journal-of-another-cluster",
            next_step="Check the addresses that were given, and name the journal of this cluster.",
        )


def _begins_a_journal(content: bytes) -> bool:
    """Return True if these bytes can be what is left of a first line: another program's file is never written to."""
    begin = b'{"at_ms":'
    return len(content) < _LONGEST_HEADER and (
        content.startswith(begin) or begin.startswith(content) or not content.strip(b"\0")
    )


def _not_understood(file: str, subject: str, found: str) -> InputError:
    return InputError(
        f"{file} is not a journal that this kafkactl can continue: {found}; expected is version {VERSION} about "
        f"{subject!r}",
        id="journal-not-understood",
    )


def _edited(file: str, number: int) -> InputError:
    return InputError(
        f"{file}, line {number}, is not what was written there",
        id="journal-edited",
        next_step="Restore the file, or move it away to start a new one; the state is read from the cluster itself.",
    )


def _chained(chain: str, content: Mapping[str, Any]) -> str:
    return hashlib.sha256((chain + _canonical(content)).encode()).hexdigest()


def _canonical(content: Mapping[str, Any]) -> str:
    # Unpaired surrogates (names of files that are not text) have no UTF-8; ASCII escapes take everything.
    return json.dumps(content, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
