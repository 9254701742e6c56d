"""Checkpoint files of text, such as `leader-epoch-checkpoint`, as Kafka reads them (`CheckpointFile`)."""

from __future__ import annotations

import re

from kafkactl.core.frozen import frozen
from kafkactl.protocol.text.java_text import parse_int

NOT_UTF8 = "java.nio.charset.MalformedInputException"


@frozen
class CheckpointProblem:
    """Problem of a checkpoint file of text. `is_io`: an I/O error, which puts a directory offline."""

    words: str
    is_io: bool = True


def checkpoint_problem(content: bytes, *, parts: int) -> CheckpointProblem | None:
    """Read `0`, a count, then that many lines of `parts` words, numbers but for a topic's name (`CheckpointFile`).

    An empty file and one that ends after its version are none.
    """
    text = utf8_text(content)
    if text is None:
        return CheckpointProblem(words=NOT_UTF8)
    lines = text.splitlines()
    numbers = [parse_int(line) for line in lines[:2]]
    if None in numbers:
        return CheckpointProblem(words="Malformed line in checkpoint file")
    if numbers and numbers[0] != 0:
        return CheckpointProblem(words="Unrecognised version:")
    return None if len(lines) < 2 else _entries_problem(lines[2:], numbers[1] or 0, parts)


def _entries_problem(lines: list[str], count: int, parts: int) -> CheckpointProblem | None:
    if count < 0:
        return CheckpointProblem(words="Illegal Capacity", is_io=False)
    for line in lines:
        words = re.split(r"\s+", line, flags=re.ASCII)
        if len(words) != parts:
            return CheckpointProblem(words="Malformed line in checkpoint file")
        if parse_int(words[-2]) is None or parse_int(words[-1], 64) is None:
            return CheckpointProblem(words="java.lang.NumberFormatException: For input string", is_io=False)
    if count != len(lines):
        return CheckpointProblem(words=f"Expected [{count}] entries in checkpoint file")
    return None


def utf8_text(content: bytes) -> str | None:
    """Return the text of UTF-8 bytes, None if the bytes are not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
