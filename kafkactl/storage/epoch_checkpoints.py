"""The checkpoint files of a broker's log directory: leader epochs of a partition, offsets of all partitions.

Line 1 is the version 0, line 2 the number of entries, then one entry per line. A broker creates the file empty, and
reads an empty file as one without entries. Sources: `CheckpointFile.java`,
`LeaderEpochCheckpointFile.java`, `OffsetCheckpointFile.java`. Raises InputDecodeError `invalid-checkpoint-file`.
"""

from __future__ import annotations

from kafkactl.core.errors import InputDecodeError


def parse_leader_epochs(data: bytes, *, file: str) -> tuple[tuple[int, int], ...]:
    """Read `leader-epoch-checkpoint`: (leader epoch, its first offset), ascending."""
    entries = [_numbers(line, 2, file) for line in _entries(data, file)]
    return tuple(sorted((epoch, start) for epoch, start in entries))


def parse_offsets(data: bytes, *, file: str) -> dict[tuple[str, int], int]:
    """Read `log-start-offset-checkpoint` and files like it: offsets by topic and partition."""
    found = {}
    for line in _entries(data, file):
        topic, _, rest = line.partition(" ")
        partition, offset = _numbers(rest, 2, file)
        found[topic, partition] = offset
    return found


def _entries(data: bytes, file: str) -> list[str]:
    if not data:
        return []
    lines = data.decode("utf-8", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if len(lines) < 2 or lines[0].strip() != "0":
        raise _invalid(file, "the first line is not the version 0")
    (count,) = _numbers(lines[1], 1, file)
    if len(lines) - 2 != count:
        raise _invalid(file, f"{count} entries are announced, and {len(lines) - 2} are there")
    return lines[2:]


def _numbers(line: str, count: int, file: str) -> list[int]:
    words = line.split()
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise _invalid(file, f"expected {count} numbers, found {line[:80]!r}")
    return numbers


def _invalid(file: str, what: str) -> InputDecodeError:
    return InputDecodeError(what, id="invalid-checkpoint-file", offset=0, file=file)
