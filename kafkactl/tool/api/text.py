"""Texts for the command line: argument files, and messages without secrets."""

from __future__ import annotations


def read_argument_file(path: str) -> str:
    """Return the text of an argument file. Raises OSError, and UnicodeDecodeError if it is not UTF-8."""
    from kafkactl.files.input_files import InputKind, read_whole

    return read_whole(path, InputKind.ARGUMENTS).decode("utf-8")


def redacted(text: str) -> str:
    """Return a text with everything that looks like a secret left out."""
    from kafkactl.protocol.redact import redacted_text

    return redacted_text(text)
