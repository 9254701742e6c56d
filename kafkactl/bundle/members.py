"""The rules of an archive: which members a bundle may have. The writer and the reader keep the same ones.

A bundle is read by people who did not make it. Names lead to no other folder, nothing but regular files is in it, no
two members share bytes, and what it comes to when it is unpacked has a bound that is known before the first byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen

MANIFEST: Final = "manifest.json"
INDEX: Final = "index.html"
MOST_MEMBERS: Final = 10_000
MOST_MEMBER_BYTES: Final = 2**31 - 1  # of one file, and of the archive, as ZIP without extensions counts them
MOST_BYTES: Final = 4 * 1024 * 1024 * 1024
MOST_RATIO: Final = 200  # batches of a metadata log, each with a checksum of its own, come to 30 at most
FREE_BYTES: Final = 64 * 1024 * 1024  # below this the ratio does not matter
# What file managers and archivers add to a folder that a person packs again.
_ADDED: Final = re.compile(r"(?:.*/)?(?:__MACOSX/.*|\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)")
_LONGEST_NAME: Final = 240
_DEEPEST: Final = 8
_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@frozen
class Entry:
    """Entry of a member in the directory of an archive. `offset` is where its header begins, in bytes."""

    name: str
    size: int
    compressed_size: int
    offset: int
    is_plain: bool  # a regular file, not encrypted, stored or deflated


def is_member_name(name: str) -> bool:
    """Return True if a member may have this name.

    >>> is_member_name("logs/1/__cluster_metadata-0/00000000000000000000.log"), is_member_name("../etc/passwd")
    (True, False)
    """
    words = name.split("/")
    return len(name) <= _LONGEST_NAME and len(words) <= _DEEPEST and all(map(_WORD.fullmatch, words))


def packed_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of members by their names in an archive that may have been packed again by a person.

    Folders and what file managers add are left out, and so are the folders around everything else. A packer of Windows
    may write backslashes.

    >>> packed_names(["support/", "support/manifest.json", "support/logs/a", "__MACOSX/support/._manifest.json"])
    {'support/manifest.json': 'manifest.json', 'support/logs/a': 'logs/a'}
    """
    listed = list(names)
    is_windows = not any("/" in name for name in listed)
    slashed = {name: name.replace("\\", "/") if is_windows else name for name in listed}
    files = {name: to for name, to in slashed.items() if not to.endswith("/") and not _ADDED.fullmatch(to)}
    manifests = [to for to in files.values() if to == MANIFEST or to.endswith(f"/{MANIFEST}")]
    prefix = min(manifests, key=len, default=MANIFEST).removesuffix(MANIFEST)
    if all(to.startswith(prefix) for to in files.values()):
        return {name: to.removeprefix(prefix) for name, to in files.items()}
    return files


def too_large(sizes: Iterable[int], archive_bytes: int) -> str | None:
    """Return why members of these sizes exceed the limit for an archive of this size; None if they do not."""
    total = sum(sizes)
    if total > MOST_BYTES:
        return f"its members have {total} bytes uncompressed, and the limit is {MOST_BYTES}"
    if total > FREE_BYTES and total > MOST_RATIO * archive_bytes:
        return f"its members have {total} bytes uncompressed, over {MOST_RATIO} times the archive ({archive_bytes})"
    return None


def check_entries(entries: Sequence[Entry], archive_bytes: int, *, file: str) -> None:
    """Refuse an archive that kafkactl would not have written. Raises InputError `hostile-bundle`."""
    why = _refusal(entries, archive_bytes)
    if why is not None:
        raise hostile(file, why)


def hostile(file: str, why: str) -> InputError:
    """Return the error for an archive that is refused as a whole."""
    return InputError(f"{file} was not read: {why}", id="hostile-bundle")


def _refusal(entries: Sequence[Entry], archive_bytes: int) -> str | None:
    if len(entries) > MOST_MEMBERS:
        return f"the archive has {len(entries)} members, and the limit is {MOST_MEMBERS}"
    for entry in entries:
        if not is_member_name(entry.name):
            return f"the name {entry.name[:_LONGEST_NAME]!r} is not one that a member of a bundle may have"
        if not entry.is_plain:
            return f"the member {entry.name} is a link, a folder, encrypted, or compressed in another way than deflate"
    why = _clashing_names([entry.name for entry in entries])
    if why is None and _shares_bytes(entries, archive_bytes):
        why = "the members overlap, or are outside of the archive"
    return why or too_large((entry.size for entry in entries), archive_bytes)


def _clashing_names(paths: Sequence[str]) -> str | None:
    """Return why the members cannot be stored in one folder; None if they can."""
    names = set(paths)
    if len(names) < len(paths):
        return "two members have the same name"
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    return f"{min(names & folders)} is a member and the folder of another" if names & folders else None


def _shares_bytes(entries: Sequence[Entry], archive_bytes: int) -> bool:
    """Return True if compressed data is counted twice (how small archives come to petabytes), or lies outside."""
    if not entries:
        return False
    placed = sorted(entries, key=lambda entry: entry.offset)
    ends = [entry.offset + entry.compressed_size for entry in placed]
    behind = [*(entry.offset for entry in placed[1:]), archive_bytes]
    is_outside = any(entry.offset < 0 for entry in placed)
    return is_outside or any(end > later for end, later in zip(ends, behind, strict=True))
