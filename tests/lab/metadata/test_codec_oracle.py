"""Our codecs against Kafka's own classes: every message at every version, sound and damaged.

Sound bytes: Kafka reads them whole, prints the JSON that we print, and writes the same bytes. Damaged bytes: where
both read a message it is the same one; we never read what Kafka refuses; and where we refuse what Kafka reads, it is
one of the laxities that `protocol/primitives.py` and `codec.py` name.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.side_by_side import circumstances
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.record_batch import decode_batches, encode_batch
from kafkactl.protocol.schema.spec import MessageSpec
from tests.lab.harness.pool import Pool
from tests.lab.oracles.messages import Oracle
from tests.metadata.goldens import BATCH_FILES, golden
from tests.protocol.batches import batch, gzipped, record
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import every_version, mutated, random_message

PROOF = Path(__file__).parents[3] / "docs" / "proof" / "codec.md"
# Old versions of a request, and records that were dropped, are known to old releases only.
RELEASES = ("4.4.0", "3.9.2", "3.3.2")
EVERY_VERSION = every_version()
STRICTER_THAN_KAFKA = {
    "invalid-utf8",  # Kafka puts replacement characters
    "invalid-length",  # any negative length is null to Kafka
    "tags-out-of-order",
    "tagged-field-size",  # Kafka does not compare the size with what was read
    "truncated-data",  # … so a tagged field may run beyond its size
    "length-exceeds-data",
    "varint-overflow",  # Kafka drops the bits above the 32nd
    "invalid-tag",
    "null-not-allowed",  # the length 2^32-1 plus one is 0 to Kafka, and such a count negative
    "string-too-long",
}


@pytest.fixture(scope="module")
def oracles(lab_pool: Pool) -> Iterator[list[Oracle]]:
    opened = [Oracle(release, pool=lab_pool).__enter__() for release in RELEASES]
    yield opened
    for oracle in opened:
        oracle.__exit__(None, None, None)


def ask(oracles: list[Oracle], spec: MessageSpec, version: int, data: bytes) -> str:
    """Return the answer of the newest release that has this version."""
    for oracle in oracles:
        answer = oracle.ask("message", spec.name, str(version), data)
        if answer != "NONE":
            return answer
    raise AssertionError(f"no release has {spec.name} {version}")


def without_records(value: Any) -> Any:
    """Return the JSON without the content of record sets, of which Kafka's JSON shows none."""
    if isinstance(value, dict):
        return {name: without_records(held) for name, held in value.items() if not name.lower().endswith("records")}
    return [without_records(item) for item in value] if isinstance(value, list) else value


def check_same(spec: MessageSpec, version: int, data: bytes, value: dict[str, Any], end: int, answer: str) -> None:
    """Check that Kafka read the same value from the same bytes, and would write what we would."""
    assert answer.startswith("OK "), (spec.name, version, answer)
    printed, written, left = answer[3:].split("\t")
    ours = json.loads(json.dumps(to_json(spec, version, value)))
    assert without_records(json.loads(printed)) == without_records(ours), (spec.name, version)
    assert bytes.fromhex(written) == encode_message(spec, version, value), (spec.name, version)
    assert int(left) == len(data) - end


def check_sound(oracles: list[Oracle], seeds: range) -> None:
    for spec, version in EVERY_VERSION:
        for seed in seeds:
            value = random_message(random.Random(seed), spec, version)
            data = encode_message(spec, version, value)
            check_same(spec, version, data, value, len(data), ask(oracles, spec, version, data))


def check_damaged(oracles: list[Oracle], rounds: int, seed: int) -> Counter[str]:
    rng, seen = random.Random(seed), Counter[str]()
    for spec, version in EVERY_VERSION * rounds:
        data = mutated(rng, encode_message(spec, version, random_message(rng, spec, version)))
        answer, ours = ask(oracles, spec, version, data), outcome(decode_message, spec, version, data)
        if isinstance(ours[0], dict):
            check_same(spec, version, data, ours[0], ours[1], answer)
            seen["both read it"] += 1
        elif answer.startswith("OK "):
            assert ours[1] in STRICTER_THAN_KAFKA, (spec.name, version, data.hex(), ours)
            seen[f"only Kafka: {ours[1]}"] += 1
        else:
            seen["both refuse it"] += 1
    return seen


def test_sound_messages_are_read_as_by_kafka(oracles: list[Oracle]):
    check_sound(oracles, range(2))


def test_damaged_messages_are_read_as_by_kafka(oracles: list[Oracle]):
    seen = check_damaged(oracles, rounds=6, seed=1)
    assert seen["both read it"] > 200
    assert seen["both refuse it"] > 500


@pytest.mark.campaign
def test_many_messages_are_read_as_by_kafka(oracles: list[Oracle]):
    seeds, rounds = range(100, 160), 400
    check_sound(oracles, seeds)
    PROOF.write_text(proof(len(seeds) * len(EVERY_VERSION), check_damaged(oracles, rounds, seed=2)), encoding="utf-8")


def proof(sound: int, damaged: Counter[str]) -> str:
    """Return the figures of a campaign as a page of docs/proof/."""
    rows = "\n".join(f"| {what} | {count:,} |" for what, count in damaged.most_common())
    return f"""# Codecs against Kafka's own classes

Written by `make lab` (`tests/lab/metadata/test_codec_oracle.py`, which says what is compared). {circumstances()};
Kafka {", ".join(RELEASES)}; {len({spec.name for spec, _ in EVERY_VERSION})} messages, {len(EVERY_VERSION)} versions.

{sound:,} sound messages: Kafka reads them whole, prints the same JSON and writes the same bytes; no difference.

{damaged.total():,} damaged ones: where both read a message it is the same one; nothing is read that Kafka refuses.

| outcome | messages |
|---|---|
{rows}
"""


def our_batches(data: bytes) -> str:
    """Return the same text that the oracle prints of batches."""
    lines = []
    for found in decode_batches(data):
        head = f"{found.header.base_offset}:{found.header.last_offset}:{found.header.partition_leader_epoch}:"
        head += str(found.header.is_control).lower()
        for framed in found.records:
            headers = ",".join(
                f"{name.encode().hex()}={'null' if held is None else held.hex()}" for name, held in framed.headers
            )
            key, value = ("null" if part is None else part.hex() for part in (framed.key, framed.value))
            lines.append(f"{head}:{framed.offset}:{framed.timestamp_ms}:{key}:{value}:{headers}")
    return "\t".join(lines)


def batch_samples() -> list[bytes]:
    rng = random.Random(5)
    body = record(b"k", b"v", headers=[(b"h", b"x"), ("ü".encode(), None)]) + record(None, None, delta=3, time_delta=-7)
    return [
        *map(golden, BATCH_FILES),
        encode_batch([(None, rng.randbytes(size)) for size in (1, 63, 64, 9000)], base_offset=2**40, timestamp_ms=1),
        batch(body, count=2, last_delta=3, attributes=0x10),
        batch(body, count=2, last_delta=3, attributes=0x08, max_time=77),
        batch(gzipped(body), count=2, last_delta=3, attributes=1),
    ]


def test_record_batches_are_read_as_by_kafka(oracles: list[Oracle]):
    for data in batch_samples():
        for oracle in oracles:
            assert oracle.ask("batches", data) == f"OK {our_batches(data)}"


def test_damaged_record_batches_are_read_as_by_kafka(oracles: list[Oracle]):
    # Kafka ends at a cut batch without a word, so it may read fewer records than stand there; never other ones.
    rng = random.Random(6)
    for data in batch_samples() * 20:
        changed = mutated(rng, data)
        answer, ours = oracles[0].ask("batches", changed), outcome(our_batches, changed)
        if isinstance(ours, str):
            assert answer == f"OK {ours}", changed.hex()
