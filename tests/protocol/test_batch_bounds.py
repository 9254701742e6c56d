"""Limits of a batch: any batch that Kafka writes is read, and a larger one is refused before it takes memory."""

from __future__ import annotations

import zlib

import pytest

from kafkactl.core.errors import DecodeError
from kafkactl.metadata.log.scan import Stop, walk_batches
from kafkactl.protocol.compression import decompressed
from kafkactl.protocol.record_batch import encode_batch

MIB = 1024 * 1024
GZIP = 1


@pytest.mark.parametrize(
    ("length", "reason", "words"),
    [
        (8 * MIB, "cut", "the file ended"),  # Kafka's largest
        (16 * MIB, "cut", "the file ended"),
        (16 * MIB + 1, "crc", "a batch of 16777217 bytes cannot be"),
    ],
)
def test_batch_beyond_the_limit_is_refused_by_its_length_alone(length: int, reason: str, words: str):
    # Only the header is there, of a file that says it is large enough.
    header = bytearray(encode_batch([(None, b"x")], base_offset=0, timestamp_ms=0)[:61])
    header[8:12] = length.to_bytes(4, "big")
    (stop,) = walk_batches([bytes(header)], 64 * MIB, file="f")
    assert isinstance(stop, Stop)
    assert stop.reason == reason
    assert words in stop.message


def stored(size: int) -> bytes:
    """Return a gzip stream that is as large as its content, so that its ratio does not refuse it."""
    packer = zlib.compressobj(level=0, wbits=31)
    return packer.compress(bytes(size)) + packer.flush()


def test_eight_mebibytes_are_decompressed_and_no_more():
    assert len(decompressed(stored(8 * MIB), GZIP, file=None, position=0)) == 8 * MIB
    with pytest.raises(DecodeError, match="more than 8388608 when decompressed") as caught:
        decompressed(stored(8 * MIB + 1), GZIP, file=None, position=0)
    assert caught.value.id == "decompressed-too-large"
