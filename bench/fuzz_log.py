"""Throws damaged segments and checkpoints at the dump and the replay: `python -m bench.fuzz_log [INPUTS [PROCESSES]]`.

What must hold of each input, in addition to what `fuzz_decoders` asks (a value or a declared error, memory in
proportion): the fast way to text and the reference codec give the same lines and the same problems, in whatever pieces
the bytes come; every line is JSON; every record of every sound batch has its line; and a replay of the same bytes
reports everything that could not be read, so that no state is wrong in silence.
The figures of a million inputs or more go to docs/proof/fuzz.md.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any

from bench.fuzz_decoders import (
    GOLDEN,
    INPUTS,
    PROOF,
    Campaign,
    Tally,
    Target,
    UndeclaredError,
    damaged,
    goldens,
    run,
)
from bench.side_by_side import circumstances
from kafkactl.core.errors import DecodeError
from kafkactl.metadata.dump.lines import LineMaker, RecordFilter
from kafkactl.metadata.dump.records import log_records
from kafkactl.metadata.replay.reference import replay
from kafkactl.protocol.batch_scan import Damage, scan_batches
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import decode_batches, decode_records, encode_batch
from kafkactl.protocol.schema.definitions import message, metadata_record_names
from tests.protocol.random_messages import random_message

SECTION = "## Segments and checkpoints through the dump and the replay"


class _Careful(LineMaker):
    """Lines as `commands` prints them, made record by record."""

    def __init__(self, wanted: RecordFilter, *, hide: bool) -> None:
        super().__init__(wanted, hide=hide)
        self._columns = None


def _sound_segment(rng: random.Random) -> tuple[Any, bytes]:
    """Return a few batches of any records, as a controller would write them."""
    offset, out = rng.choice((0, 5, 2**40)), []
    for _ in range(rng.randrange(1, 4)):
        if rng.randrange(5) == 0:
            records = [encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": rng.randrange(4)})]
            is_control = True
        else:
            records, is_control = [(None, _any_record(rng)) for _ in range(rng.randrange(1, 6))], False
        out.append(
            encode_batch(
                records, base_offset=offset, timestamp_ms=rng.randrange(2**40), partition_leader_epoch=3,
                is_control=is_control,
            )
        )  # fmt: skip
        offset += len(records)
    return None, b"".join(out)


def _any_record(rng: random.Random) -> bytes:
    spec = message(rng.choice(metadata_record_names()))
    version = rng.choice(list(spec.valid_versions))
    return encode_record(spec, version, random_message(rng, spec, version))


@cache
def captures(suffix: str) -> list[list[bytes]]:
    """Return the batches of what running nodes wrote, file by file."""
    found = [*goldens(f"*{suffix}.bin"), *(gzip.decompress(path.read_bytes()) for path in _zipped(suffix))]
    return [_batches(data) for data in found]


def _zipped(suffix: str) -> Iterator[Any]:
    return (path for path in sorted(GOLDEN.glob("images/*/*.gz")) if path.name.endswith(f"{suffix}.gz"))


def _batches(data: bytes) -> list[bytes]:
    spans = [(batch.header.position, batch.header.end) for batch in decode_batches(data)]
    return [data[start:end] for start, end in spans if end - start < 4096]


def _captured(suffix: str) -> Any:
    def make(rng: random.Random) -> tuple[Any, bytes]:
        batches = rng.choice(captures(suffix))
        at = rng.randrange(len(batches))
        return None, b"".join(batches[at : at + rng.randrange(1, 5)])

    return make


def _read(_: object, data: bytes) -> object:
    pieces = [data[: len(data) // 3], data[len(data) // 3 :]]
    fast, careful = LineMaker(RecordFilter(), hide=True), _Careful(RecordFilter(), hide=True)
    lines = "".join(fast.lines(pieces, file="f"))
    others = "".join(careful.lines([data], file="f"))
    if lines != others or _reported(fast.problems) != _reported(careful.problems):
        raise UndeclaredError(f"fast: {lines} {fast.problems}; careful: {others} {careful.problems}")
    shown = [json.loads(line) for line in lines.splitlines()]
    if len(shown) != _records(data):
        raise UndeclaredError(f"{len(shown)} lines for {_records(data)} records")
    _replay(data)
    if fast.problems:
        raise fast.problems[0]
    return shown


def _reported(problems: Sequence[DecodeError]) -> list[tuple[str, int]]:
    return [(error.id, error.offset) for error in problems]


def _records(data: bytes) -> int:
    """Return the records of all sound batches whose framing can be read."""
    count = 0
    for found in scan_batches(data):
        if not isinstance(found, Damage):
            try:
                count += len(decode_records(data, found))
            except DecodeError:
                continue
    return count


def _replay(data: bytes) -> None:
    records = list(log_records([data], file="f"))
    unread = sum(isinstance(record.record, DecodeError) for record in records)
    found = replay(records)
    if bool(unread) != ("undecodable-record" in {finding.id for finding in found.findings}):
        raise UndeclaredError(f"{unread} records were not read, and the replay found {found.findings}")
    if found.counts.get("undecodable", 0) != unread:
        raise UndeclaredError(f"{unread} records were not read, the replay counts {found.counts}")


def targets() -> list[Target]:
    """Return segments of any records, and pieces of what running nodes wrote."""
    return [
        Target("segments of any records", 40, damaged(_sound_segment, batches=True), _read),
        Target("captured segments", 40, damaged(_captured(".log"), batches=True), _read),
        Target("captured checkpoints", 20, damaged(_captured(".checkpoint"), batches=True), _read),
    ]


def section(campaign: Campaign) -> str:
    """Return the figures as a section of docs/proof/fuzz.md."""
    rows = [
        f"| {name} | {tally.inputs:,} | {tally.values:,} | {sum(tally.errors.values()):,} | {len(tally.errors)} | 0 |"
        f" {tally.worst_ratio:.0f} |"
        for name, tally in campaign.tallies.items()
    ]
    total = [sum(getattr(tally, name) for tally in campaign.tallies.values()) for name in ("inputs", "values")]
    return "\n".join(
        [
            SECTION,
            "",
            "Written by `python -m bench.fuzz_log`, which says what is checked of each input.",
            "",
            f"{circumstances()}; seeds 1 to {campaign.seed}; {campaign.seconds:.0f} s of processes; each grew by"
            f" {campaign.growth_bytes / 1e6:.0f} MB at most.",
            "",
            "| input | inputs | all of it read | findings | ids of these | undeclared | memory |",
            "|---|---|---|---|---|---|---|",
            *rows,
            f"| all | {total[0]:,} | {total[1]:,} | {total[0] - total[1]:,} | | 0 | |",
            "",
        ]
    )


def write_section(title: str, text: str) -> None:
    """Put a section of the page in place of the old one."""
    old = PROOF.read_text(encoding="utf-8")
    head, *sections = re.split(r"(?m)^(?=## )", old)
    titles = [section.partition("\n")[0] for section in sections]
    at = titles.index(title) if title in titles else len(sections)
    sections[at : at + 1] = [text]
    PROOF.write_text("\n\n".join(part.rstrip() for part in (head, *sections)) + "\n", encoding="utf-8")


def campaign(inputs: int = INPUTS, processes: int = 1) -> Campaign:
    """Throw `inputs` inputs, shared out to processes, each with a seed of its own. Raises UndeclaredError."""
    if processes == 1:
        return run(inputs, 1, targets())
    with ProcessPoolExecutor(processes) as pool:
        return _merged(list(pool.map(_part, [inputs // processes + 1] * processes, range(1, processes + 1))))


def _part(inputs: int, seed: int) -> Campaign:
    return run(inputs, seed, targets())


def _merged(parts: Sequence[Campaign]) -> Campaign:
    tallies: dict[str, Tally] = {}
    for part in parts:
        for name, tally in part.tallies.items():
            whole = tallies.setdefault(name, Tally())
            whole.inputs += tally.inputs
            whole.values += tally.values
            whole.errors += tally.errors
            whole.worst_ratio = max(whole.worst_ratio, tally.worst_ratio)
    inputs, seconds = sum(part.inputs for part in parts), sum(part.seconds for part in parts)
    return Campaign(inputs, len(parts), tallies, seconds, max(part.growth_bytes for part in parts))


def main(arguments: Sequence[str]) -> None:
    """Run, print and record."""
    inputs = int(arguments[0]) if arguments else INPUTS
    text = section(campaign(inputs, int(arguments[1]) if len(arguments) > 1 else 1))
    if inputs >= INPUTS:
        write_section(SECTION, text)
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
