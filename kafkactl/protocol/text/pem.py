"""PEM texts as Kafka takes them (KIP-651): blocks anywhere in a text, their base64 broken by blanks of any kind.

A property may hold a whole certificate on one line, with blanks where lines would end; other readers want lines.
Source: clients `DefaultSslEngineFactory.PemParser`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import field

from kafkactl.core.frozen import frozen

# A row of dashes is tried once, from its first dash on; a begin and its end are brought together by their labels.
_BEGIN = re.compile(r"(?<!-)-+BEGIN ([A-Z0-9 ]+)-+(?=\s)")
_END = re.compile(r"(?<!-)-+END ([A-Z0-9 ]+)-+")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_LINE_CHARS = 64


@frozen
class PemText:
    """The certificates of a text and its private keys, each block written in lines again.

    `key_is_protected` says whether a key needs a password.
    """

    certificates: str
    keys: str = field(default="", repr=False)
    key_is_protected: bool = False


def read_pem(text: str) -> PemText:
    """Return the blocks of a text; whatever is between them does not count. A text without blocks gives empty texts."""
    blocks = [(label, _lines(body)) for label, body in _blocks(text)]
    keys = [(label, body) for label, body in blocks if label.endswith("PRIVATE KEY")]
    return PemText(
        certificates="".join(_block(label, body) for label, body in blocks if label.endswith("CERTIFICATE")),
        keys="".join(_block(label, body) for label, body in keys),
        key_is_protected=any("ENCRYPTED" in label or "ENCRYPTED" in body for label, body in keys),
    )


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield label and body of each block, from a begin to the first end of the same label.

    A begin without an end is text.
    """
    ends: dict[str, deque[re.Match[str]]] = {}
    for match in _END.finditer(text):
        ends.setdefault(match[1], deque()).append(match)
    behind = 0
    for begin in _BEGIN.finditer(text):
        left = ends.get(begin[1])
        while left and left[0].start() <= begin.end():
            left.popleft()
        if left and begin.start() >= behind:
            behind = left[0].end()
            yield begin[1], text[begin.end() : left[0].start()].strip()


def _lines(body: str) -> str:
    if not _BASE64.fullmatch(body):
        return body  # headers of the old form, whose lines mean something
    packed = re.sub(r"\s", "", body)
    return "\n".join(packed[at : at + _LINE_CHARS] for at in range(0, len(packed), _LINE_CHARS))


def _block(label: str, body: str) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"
