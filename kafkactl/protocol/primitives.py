"""Kafka's wire primitives: a reader that trusts nothing and a writer.

Invariant of this file: a length or a count is compared with the bytes that remain before anything is allocated or
looped over, so memory and time stay proportional to the input. Every refusal is a `DecodeError` with the byte offset
of the value that is wrong and the field path that the codec keeps on the reader.

Sources: the protocol guide's "Protocol Primitive Types"; KIP-482 (compact lengths, tagged fields); Kafka's
`clients/.../protocol/Readable.java`, `ByteBufferAccessor.java` and `utils/ByteUtils.java`. Where Kafka's reader is
laxer (it drops the bits of a varint above the 32nd, takes any negative length for null, and replaces malformed
UTF-8) this one refuses: Kafka never writes such bytes, and a value that is guessed is worse than an error.
"""

from __future__ import annotations

import struct

from kafkactl.core.errors import DecodeError, EncodeError
from kafkactl.core.values import Uuid

MAX_STRING_BYTES = 0x7FFF
MAX_TAG = 0x7FFFFFFF
MAX_INT32 = 0x7FFFFFFF
VARINT_BYTES = 5
VARLONG_BYTES = 10

PathSegment = str | int

INT8 = struct.Struct(">b")
INT16 = struct.Struct(">h")
UINT16 = struct.Struct(">H")
INT32 = struct.Struct(">i")
UINT32 = struct.Struct(">I")
INT64 = struct.Struct(">q")
FLOAT64 = struct.Struct(">d")
FIXED = {
    "int8": INT8,
    "int16": INT16,
    "uint16": UINT16,
    "int32": INT32,
    "uint32": UINT32,
    "int64": INT64,
    "float64": FLOAT64,
}


def render_path(segments: list[PathSegment]) -> str:
    """Return `VotersRecord.Voters[2].Endpoints` from its segments; numbers are positions in arrays."""
    text = "".join(f"[{segment}]" if isinstance(segment, int) else f".{segment}" for segment in segments)
    return text.removeprefix(".")


class Reader:
    """Typed reads from a buffer, in order.

    `position` counts within `data`; errors speak of `base + position`, where `base` is the place of `data` in its
    file. `path` holds the segments of the field being read; the reader of the fields keeps it.
    """

    __slots__ = ("_data", "_zero_size_left", "base", "end", "file", "path", "position")

    def __init__(
        self, data: bytes, *, file: str | None = None, base: int = 0, position: int = 0, end: int | None = None
    ) -> None:
        self._data = data
        self.file = file
        self.base = base
        self.position = position
        self.end = len(data) if end is None else end
        self.path: list[PathSegment] = []
        self._zero_size_left = self.end - position

    @property
    def remaining(self) -> int:
        """Return the number of remaining bytes."""
        return self.end - self.position

    def error(self, message: str, *, id: str, position: int | None = None) -> DecodeError:
        """Return an error that names the file, the byte offset and the field path; the caller raises it."""
        at = self.position if position is None else position
        return DecodeError(message, id=id, offset=self.base + at, path=render_path(self.path), file=self.file)

    def raw(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        start = self.position
        if size > self.end - start:
            raise self.error(f"{size} bytes expected, {self.end - start} left", id="truncated-data")
        self.position = start + size
        return self._data[start : self.position]

    def number(self, kind: str) -> int | float:
        """Return a number of a fixed size; `kind` is int8, int16, uint16, int32, uint32, int64 or float64."""
        layout = FIXED[kind]
        value: int | float = layout.unpack(self.raw(layout.size))[0]
        return value

    def int8(self) -> int:
        """Return a signed byte."""
        return int(self.number("int8"))

    def int16(self) -> int:
        """Return a signed 16-bit number."""
        return int(self.number("int16"))

    def int32(self) -> int:
        """Return a signed 32-bit number."""
        return int(self.number("int32"))

    def int64(self) -> int:
        """Return a signed 64-bit number."""
        return int(self.number("int64"))

    def boolean(self) -> bool:
        """Read one byte; as in Kafka, any value but 0 is true."""
        return self.raw(1) != b"\0"

    def uuid(self) -> Uuid:
        """Read 16 bytes."""
        return Uuid(self.raw(16))

    def unsigned_varint(self) -> int:
        """Return an unsigned number of at most 32 bits, 7 bits a byte, low bits first."""
        return self._base128(32, VARINT_BYTES)

    def varint(self) -> int:
        """Return a signed 32-bit number, zigzag coded."""
        return zigzag_decoded(self._base128(32, VARINT_BYTES))

    def varlong(self) -> int:
        """Return a signed 64-bit number, zigzag coded."""
        return zigzag_decoded(self._base128(64, VARLONG_BYTES))

    def _base128(self, bits: int, most_bytes: int) -> int:
        start, value = self.position, 0
        for count in range(most_bytes):
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << (7 * count)
            if byte < 0x80:
                if value >> bits:
                    raise self.error(f"a varint of more than {bits} bits", id="varint-overflow", position=start)
                return value
        raise self.error(f"a varint of more than {most_bytes} bytes", id="varint-too-long", position=start)

    def compact_length(self) -> int:
        """Return the length of a compact string, byte string or array: stored plus one; -1 means null."""
        return self.unsigned_varint() - 1

    def text(self, size: int) -> str:
        """Return a text of `size` bytes; Kafka's limit for strings is 32767."""
        start = self.position
        if size > MAX_STRING_BYTES:
            message = f"a string of {size} bytes; at most {MAX_STRING_BYTES} are allowed"
            raise self.error(message, id="string-too-long")
        data = self.sized(size)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            position = start + error.start
            raise self.error(f"not UTF-8: {error.reason}", id="invalid-utf8", position=position) from error

    def sized(self, size: int) -> bytes:
        """Read `size` bytes; `size` was read from the data."""
        self.check_length(size)
        return self.raw(size)

    def check_length(self, size: int, count: int | None = None) -> None:
        """Refuse a length that the data claims but does not hold; `count` if it is of that many elements."""
        if size > self.remaining:
            what = f"{size} bytes" if count is None else f"{count} elements (at least {size} bytes)"
            raise self.error(f"{what} claimed, {self.remaining} bytes left", id="length-exceeds-data")

    def check_count(self, count: int, least_size: int) -> None:
        """Refuse an array of more elements than the rest can hold, `least_size` bytes each.

        Elements that take no bytes are rationed: one for each byte of the whole input.
        """
        self.check_length(count * max(least_size, 1), count)
        if least_size == 0:
            self._zero_size_left -= count
            if self._zero_size_left < 0:
                message = f"{count} elements without content, more than the input has bytes"
                raise self.error(message, id="length-exceeds-data")


class Writer:
    """Typed writes, in order. Errors name the field `path` that the codec keeps."""

    __slots__ = ("_out", "path")

    def __init__(self) -> None:
        self._out = bytearray()
        self.path: list[PathSegment] = []

    def to_bytes(self) -> bytes:
        """Return the bytes written so far."""
        return bytes(self._out)

    def error(self, message: str, *, id: str) -> EncodeError:
        """Return an error that names the field path; the caller raises it."""
        return EncodeError(message, id=id, path=render_path(self.path))

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        self._out += data

    def number(self, kind: str, value: object) -> None:
        """Write a number of a fixed size (see `Reader.number`). Raise EncodeError `value-out-of-range`."""
        try:
            self._out += FIXED[kind].pack(value)
        except (struct.error, OverflowError) as error:
            raise self.error(f"{value!r} is not an {kind}", id="value-out-of-range") from error

    def unsigned_varint(self, value: int) -> None:
        """Write an unsigned number of at most 32 bits."""
        if not 0 <= value <= 0xFFFFFFFF:
            raise self.error(f"{value} does not fit an unsigned varint", id="value-out-of-range")
        self._out += base128(value)

    def varint(self, value: int) -> None:
        """Write a signed 32-bit number, zigzag coded."""
        if not -(2**31) <= value < 2**31:
            raise self.error(f"{value} does not fit a varint", id="value-out-of-range")
        self._out += base128(zigzag_encoded(value))

    def varlong(self, value: int) -> None:
        """Write a signed 64-bit number, zigzag coded."""
        if not -(2**63) <= value < 2**63:
            raise self.error(f"{value} does not fit a varlong", id="value-out-of-range")
        self._out += base128(zigzag_encoded(value))


def base128(value: int) -> bytes:
    """Return a number that is not negative, 7 bits a byte, low bits first."""
    if 0 <= value < len(_BASE128):
        return _BASE128[value]
    return _base128(value)


def _base128(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_BASE128 = tuple(map(_base128, range(256)))  # nearly all there are


def zigzag_decoded(value: int) -> int:
    """Return 0, -1, 1, -2 … for 0, 1, 2, 3 …."""
    return (value >> 1) ^ -(value & 1)


def zigzag_encoded(value: int) -> int:
    """Return 0, 1, 2, 3 … for 0, -1, 1, -2 …."""
    return value << 1 if value >= 0 else (-value << 1) - 1
