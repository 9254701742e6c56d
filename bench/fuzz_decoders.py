"""Throws damaged, spliced and random bytes at every decoder: `python -m bench.fuzz_decoders [INPUTS [SEED]]`.

What must hold of each input: it gives a value or a declared error and nothing else; a compiled decoder and the
reference decoder say the same; and memory stays in proportion to the input. The first is checked on every input, the
second on every message, the third by tracemalloc on one input in a hundred and by the peak of the whole process.
The figures of a million inputs or more go to docs/proof/fuzz.md.
"""

from __future__ import annotations

import random
import resource
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from bench.installed import ROOT
from bench.side_by_side import circumstances
from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.values import ZERO_UUID
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.metadata.log.quorum_state import decode_quorum_state
from kafkactl.protocol.batch_scan import scan_batches
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.compiled import decoder
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.form import Form, default_value
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec
from kafkactl.protocol.text.meta_properties import parse_meta_properties
from kafkactl.protocol.text.properties import parse_properties
from tests.protocol.batches import batch, gzipped, record
from tests.protocol.random_messages import every_version, mutated, random_message

PROOF = ROOT / "docs" / "proof" / "fuzz.md"
GOLDEN = ROOT / "tests" / "golden"
INPUTS = 1_000_000
MEASURED_EVERY = 100  # The first inputs load modules, which is not what an input costs.
# Peak memory of one decode: a fixed part (the widest message at its defaults, a decompressor, error texts), and so many
# bytes for each byte of input. The dearest values are arrays of structs that take two bytes each and become dicts.
FIXED_BYTES = 800_000  # the columns of a replay and the texts of a dump take half of it
BYTES_A_BYTE = 400
# What the process may grow by over the whole run, caches of generated code included.
GROWTH_BYTES = 200_000_000
DECLARED = (DecodeError, InputError)


@dataclass(frozen=True)
class Target:
    """A decoder under fire: `read` takes the bytes that `make` makes. `share` is in parts of a hundred."""

    name: str
    share: int
    make: Callable[[random.Random], tuple[Any, bytes]]
    read: Callable[[Any, bytes], object]


@dataclass
class Tally:
    """Outcomes of the inputs of one target."""

    inputs: int = 0
    values: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    worst_ratio: float = 0.0


class UndeclaredError(AssertionError):
    """A decoder did what it must not; the text holds the input."""


@cache
def versions() -> list[tuple[MessageSpec, int]]:
    return every_version()


@cache
def goldens(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob(pattern))]


class Pool:
    """Pool of sound bytes; some are made again now and then, because this costs more than to damage them."""

    def __init__(self, make: Callable[[random.Random], tuple[Any, bytes]], size: int = 2000) -> None:
        self._make, self._size = make, size
        self._kept: list[tuple[Any, bytes]] = []

    def draw(self, rng: random.Random) -> tuple[Any, bytes]:
        if len(self._kept) < self._size:
            self._kept.append(self._make(rng))
            return self._kept[-1]
        at = rng.randrange(self._size)
        if rng.randrange(20) == 0:
            self._kept[at] = self._make(rng)
        return self._kept[at]


def hurt(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Damage, noise, a splice of two inputs, a length that promises the world, or nothing at all."""
    kind = rng.randrange(20)
    if kind == 0:
        return rng.randbytes(rng.choice((0, 1, 3, 20, 200, 2000)))
    if kind == 1:
        return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]
    if kind == 2:
        at = rng.randrange(len(data) + 1)
        promise = rng.choice(
            (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff", base128(rng.getrandbits(31)))
        )
        return data[:at] + promise + data[at + len(promise) :]
    return data if kind == 3 else mutated(rng, data)


def _sound_message(rng: random.Random) -> tuple[Any, bytes]:
    spec, version = rng.choice(versions())
    return (spec, version), encode_message(spec, version, random_message(rng, spec, version))


def _greedy_message(rng: random.Random) -> tuple[Any, bytes]:
    """Return arrays of the cheapest elements there are: what the most memory for a byte can be had with."""
    while True:
        spec, version = rng.choice(versions())
        form = Form(version, spec.is_flexible(version))
        arrays = [field for field in spec.fields if field.is_array and form.has(field)]
        if arrays:
            value = {array.name: [_cheapest(array, form)] * rng.choice((30, 300, 3000)) for array in arrays}
            return (spec, version), encode_message(spec, version, random_message(rng, spec, version) | value)


def _cheapest(field: FieldSpec, form: Form) -> Any:
    if field.kind == "struct":
        return {
            item.name: default_value(item)
            if item.is_array or item.default is not None or form.allows_null(item)
            else _cheapest(item, form)
            for item in field.fields
        }
    plain = {"bool": False, "string": "", "bytes": b"", "records": b"", "uuid": ZERO_UUID, "float64": 0.0}
    return plain.get(field.kind, 0)


def _sound_record(rng: random.Random) -> tuple[Any, bytes]:
    while True:
        spec, version = rng.choice(versions())
        if spec.kind == "metadata":
            content = encode_message(spec, version, random_message(rng, spec, version))
            return None, b"\x01" + base128(spec.api_key or 0) + base128(version) + content


def _sound_batch(rng: random.Random) -> tuple[Any, bytes]:
    count = rng.randrange(1, 6)
    body = b"".join(
        record(
            rng.choice((None, b"", b"key")), rng.choice((None, b"v", rng.randbytes(90))), delta=at,
            time_delta=rng.choice((0, 0, -3, 2**40)), headers=[(b"h", b"x")] * rng.choice((0, 0, 1, 3)),
        )
        for at in range(count)
    )  # fmt: skip
    attributes = rng.choice((0, 0, 0, 0x20, 0x10, 0x08, 1, 2))
    return None, batch(gzipped(body) if attributes == 1 else body, count=count, attributes=attributes)


def _sound_log(rng: random.Random) -> tuple[Any, bytes]:
    return None, b"".join(_sound_batch(rng)[1] for _ in range(rng.randrange(1, 4))) + rng.choice((b"", bytes(200)))


def _sound_control(rng: random.Random) -> tuple[Any, bytes]:
    while True:
        spec, version = rng.choice(versions())
        if spec.name in _CONTROL:
            value = random_message(rng, spec, version)
            if "Version" in value:
                value["Version"] = version
            return _CONTROL[spec.name], encode_message(spec, version, value)


_CONTROL = {
    "EndTxnMarker": 1, "LeaderChangeMessage": 2, "SnapshotHeaderRecord": 3, "SnapshotFooterRecord": 4,
    "KRaftVersionRecord": 5, "VotersRecord": 6,
}  # fmt: skip
_PROPERTIES = (
    b"#\n#Fri Nov 20 10:27:37 UTC 2026\nnode.id=0\ndirectory.id=JEXY6aqzQY-32P5TStzaFg\nversion=1\n"
    b"cluster.id=XgM8cvG1S-mQ3k4wGhkVpQ\n",
    b"version=0\nbroker.id=3\ncluster.id=a\\u00e9\\tb\\\n  c\n! note\nkey : value\n\\ x\\=y=z",
)


def with_right_crcs(data: bytes) -> bytes:
    """Return the same batches, CRCs put right as far as the lengths can be followed, so that damage gets past them."""
    out, at = bytearray(data), 0
    while at + 61 <= len(out):
        end = at + 12 + int.from_bytes(out[at + 8 : at + 12], "big", signed=True)
        if not at + 61 <= end <= len(out):
            break
        out[at + 17 : at + 21] = crc32c(bytes(out[at + 21 : end])).to_bytes(4, "big")
        at = end
    return bytes(out)


def damaged(sound: Callable[[random.Random], tuple[Any, bytes]], *, batches: bool = False) -> Callable[..., Any]:
    pool = Pool(sound)

    def make(rng: random.Random) -> tuple[Any, bytes]:
        what, data = pool.draw(rng)
        data = hurt(rng, data, pool.draw(rng)[1])
        return what, with_right_crcs(data) if batches and rng.randrange(3) else data

    return make


def _outcome(read: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return read(*arguments)
    except DecodeError as error:
        return error


def _read_message(what: tuple[MessageSpec, int], data: bytes) -> object:
    """Read with both codecs, which must agree; raise what they raised."""
    slow, fast = _outcome(decode_message, *what, data), _outcome(decoder(*what), data)
    if isinstance(slow, DecodeError):
        if not isinstance(fast, DecodeError) or (fast.id, str(fast)) != (slow.id, str(slow)):
            raise UndeclaredError(f"reference: {slow}; compiled: {fast}")
        raise slow
    if fast != slow and repr(fast) != repr(slow):  # NaN is not equal to itself
        raise UndeclaredError(f"reference: {slow}; compiled: {fast}")
    return slow


def _read_control(number: int, data: bytes) -> object:
    return decode_control_record(b"\0\0" + number.to_bytes(2, "big"), data)


def _read_checkpoint(_: object, data: bytes) -> object:
    found = decode_checkpoint(data)
    if found.problems:
        raise found.problems[0]
    return found


def targets() -> list[Target]:
    """Return all decoders."""
    golden_batches = damaged(lambda rng: (None, rng.choice(goldens("*.checkpoint.bin"))), batches=True)
    elections = damaged(lambda rng: (None, rng.choice(goldens("quorum-state-*.json"))))
    properties = damaged(lambda rng: (None, rng.choice(_PROPERTIES)))
    return [
        Target("messages, both codecs", 54, damaged(_sound_message), _read_message),
        Target("messages of many cheap elements", 1, _greedy_message, _read_message),
        Target("metadata records", 10, damaged(_sound_record), lambda _, data: decode_record(data)),
        Target("record batches", 10, damaged(_sound_batch, batches=True), lambda _, data: list(decode_batches(data))),
        Target("damaged logs", 5, damaged(_sound_log, batches=True), lambda _, data: list(scan_batches(data))),
        Target("control records", 5, damaged(_sound_control), _read_control),
        Target("checkpoints", 5, golden_batches, _read_checkpoint),
        Target("quorum-state", 4, elections, lambda _, data: decode_quorum_state(data)),
        Target("properties", 3, properties, lambda _, data: parse_properties(data)),
        Target("meta.properties", 3, properties, lambda _, data: parse_meta_properties(data)),
    ]


@dataclass
class Campaign:
    """A run and its figures."""

    inputs: int
    seed: int
    tallies: dict[str, Tally]
    seconds: float
    growth_bytes: int


def run(inputs: int = INPUTS, seed: int = 1, chosen: Sequence[Target] | None = None) -> Campaign:
    """Throw `inputs` inputs. Raises UndeclaredError at the first that is answered in a way that was not declared."""
    rng, chosen = random.Random(seed), chosen or targets()
    tallies = {target.name: Tally() for target in chosen}
    for spec, version in versions():
        decoder(spec, version)  # code that is generated once is not what an input costs
    before, started = _peak_bytes(), time.perf_counter()
    for number, target in enumerate(rng.choices(chosen, [target.share for target in chosen], k=inputs)):
        _throw(target, rng, tallies[target.name], measure=number % MEASURED_EVERY == MEASURED_EVERY - 1)
    growth = _peak_bytes() - before
    if growth > GROWTH_BYTES:
        raise UndeclaredError(f"the process grew by {growth} bytes")
    return Campaign(inputs, seed, tallies, time.perf_counter() - started, growth)


def _throw(target: Target, rng: random.Random, tally: Tally, *, measure: bool) -> None:
    what, data = target.make(rng)
    if measure:
        tracemalloc.start()
    try:
        target.read(what, data)
        tally.values += 1
    except DECLARED as error:
        tally.errors[error.id] += 1
    except BaseException as error:
        named = what if not isinstance(what, tuple) else (what[0].name, what[1])
        raise UndeclaredError(f"{target.name} {named}: {error!r} on {data.hex()}") from error
    finally:
        tally.inputs += 1
        if measure:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            tally.worst_ratio = max(tally.worst_ratio, peak / max(len(data), 1024))
            if peak > FIXED_BYTES + BYTES_A_BYTE * len(data):
                raise UndeclaredError(f"{target.name}: {peak} bytes for an input of {len(data)}: {data.hex()}")


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(campaign: Campaign) -> str:
    """Return the figures as a page of docs/proof/."""
    rows = [
        f"| {name} | {tally.inputs:,} | {tally.values:,} | {sum(tally.errors.values()):,} | {len(tally.errors)} | 0 |"
        f" {tally.worst_ratio:.0f} |"
        for name, tally in campaign.tallies.items()
    ]
    total = [sum(getattr(tally, name) for tally in campaign.tallies.values()) for name in ("inputs", "values")]
    return "\n".join(
        [
            "# Fuzz",
            "",
            "Written by `python -m bench.fuzz_decoders`, which says what is checked. Inputs are sound bytes of all",
            "kinds, damaged, cut, spliced, with lengths that promise too much, CRCs put right behind it; and noise.",
            "",
            f"{circumstances()}; seed {campaign.seed}; {campaign.seconds:.0f} s; the process grew by",
            f"{campaign.growth_bytes / 1e6:.0f} MB (limit {GROWTH_BYTES / 1e6:.0f}).",
            "",
            "The last column: the most memory that decoding took, for each byte of input (counted as 1 KiB at least).",
            "",
            "| decoder | inputs | gave a value | declared error | ids of these | undeclared | memory |",
            "|---|---|---|---|---|---|---|",
            *rows,
            f"| all | {total[0]:,} | {total[1]:,} | {total[0] - total[1]:,} | | 0 | |",
            "",
        ]
    )


def main(arguments: Sequence[str]) -> None:
    """Run, print and record."""
    inputs = int(arguments[0]) if arguments else INPUTS
    text = report(run(inputs, int(arguments[1]) if len(arguments) > 1 else 1))
    if inputs >= INPUTS:
        write(PROOF, text)
    print(text)


def write(path: Path, text: str) -> None:
    """Put the figures where they are kept; what other runs wrote below `## ` headings stays."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    _, heading, rest = old.partition("\n## ")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + (heading + rest), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
