"""Coverage-guided fuzzing of the decoders with atheris. Run by hand, in an environment of its own:

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris -e '.[test]'
    /tmp/fuzz/bin/python -m tests.fuzz.atheris_decoders CORPUS -max_total_time=600

The first two bytes of an input choose the decoder and, for messages, message and version. The corpus starts from the
golden files and one sound value of every message at every version. A crash of the fuzzer is an input that gave
something else than a value or a declared error, or on which the two codecs differ; it is left in `crash-…`.
(atheris 2.3 and 3.0 have wheels for CPython 3.11 on Linux.)
"""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

import atheris  # type: ignore[import-not-found, unused-ignore]

with atheris.instrument_imports(include=["kafkactl"]):
    from kafkactl.errors import DecodeError, InputError
    from kafkactl.metadata.log.checkpoint import decode_checkpoint
    from kafkactl.metadata.log.frame import decode_record
    from kafkactl.metadata.log.quorum_state import decode_quorum_state
    from kafkactl.protocol.batch_scan import scan_batches
    from kafkactl.protocol.codec import decode_message, encode_message
    from kafkactl.protocol.compiled import decoder, encoder
    from kafkactl.protocol.control_records import decode_control_record
    from kafkactl.protocol.record_batch import decode_batches
    from kafkactl.protocol.text.properties import parse_properties
    from kafkactl.storage.meta_properties import parse_meta_properties

from bench.fuzz_decoders import with_right_crcs
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import every_version, random_message

GOLDEN = Path(__file__).parents[1] / "golden"
VERSIONS = every_version()
FIRST_OTHER = 0xFF00  # choices from here on are not messages


def _messages(choice: int, data: bytes) -> None:
    spec, version = VERSIONS[choice % len(VERSIONS)]
    slow, fast = outcome(decode_message, spec, version, data), outcome(decoder(spec, version), data)
    if slow != fast and repr(slow) != repr(fast):
        raise AssertionError(f"{spec.name} {version}: {slow} and {fast} on {data.hex()}")
    if isinstance(slow[0], dict):
        written = encode_message(spec, version, slow[0])
        if encoder(spec, version)(slow[0]) != written:
            raise AssertionError(f"{spec.name} {version}: written otherwise: {data.hex()}")
        again, end = decode_message(spec, version, written)
        if end != len(written) or repr(again) != repr(slow[0]):
            raise AssertionError(f"{spec.name} {version}: read otherwise: {data.hex()}")


OTHERS = (
    decode_record,
    lambda data: list(decode_batches(data)),
    lambda data: list(decode_batches(with_right_crcs(data))),
    lambda data: list(scan_batches(data)),
    lambda data: decode_checkpoint(with_right_crcs(data)),
    lambda data: decode_control_record(data[:4], data[4:]),
    decode_quorum_state,
    parse_properties,
    parse_meta_properties,
)


def test_one_input(data: bytes) -> None:
    """What the fuzzer calls."""
    choice, rest = int.from_bytes(data[:2], "big"), data[2:]
    if choice < FIRST_OTHER:
        _messages(choice, rest)
        return
    with contextlib.suppress(DecodeError, InputError):
        OTHERS[choice % len(OTHERS)](rest)


def write_corpus(folder: Path) -> None:
    """Something sound to start from, for every decoder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (spec, version) in enumerate(VERSIONS):
        content = encode_message(spec, version, random_message(random.Random(number), spec, version))
        (folder / f"{spec.name}-{version}").write_bytes(number.to_bytes(2, "big") + content)
    for path in GOLDEN.iterdir():
        for number in range(FIRST_OTHER, FIRST_OTHER + len(OTHERS)):
            (folder / f"{path.name}-{number}").write_bytes(number.to_bytes(2, "big") + path.read_bytes())


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        write_corpus(Path(sys.argv[1]))
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
