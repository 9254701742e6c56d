"""The replay of a metadata log by the plain path, as a ratio to the CRC pass: headers and CRC of the same file.

python -m bench.replay [RECORDS [PARTITIONS]]. One process, page cache warm, CPU time, rounds interleaved.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.log_generator import LogGenerator, Shape
from bench.log_state import expected_of
from bench.side_by_side import circumstances, record
from kafkactl.metadata.batch_runs import walk_runs
from kafkactl.metadata.image import Image
from kafkactl.metadata.image_json import image_sha256
from kafkactl.metadata.lint import lint
from kafkactl.metadata.replay_batches import replay_runs
from kafkactl.metadata.snapshot_writer import snapshot_batches

ROUNDS = 5
GOAL = 40.0
PIECE_BYTES = 16 * 1024 * 1024


def pieces(file: Path) -> Iterator[bytes]:
    """A file as it is read from a disk."""
    with file.open("rb") as source:
        while piece := source.read(PIECE_BYTES):
            yield piece


def _written(file: Path, shape: Shape) -> LogGenerator:
    generator = LogGenerator(shape)
    with file.open("wb") as out:
        for batch in generator.batches():
            out.write(batch)
    return generator


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _crc_pass(file: Path) -> int:
    return sum(len(run.positions) for run in walk_runs(pieces(file)))  # type: ignore[union-attr]


def _replayed(file: Path) -> Image:
    return replay_runs(walk_runs(pieces(file))).image


def main() -> None:
    """Measure, compare with what the generator says, print and record."""
    records, partitions = ([int(one) for one in sys.argv[1:]] + [1_000_000, 200_000][len(sys.argv) - 1 :])[:2]
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        file = Path(folder) / "generated.log"
        expected = _written(file, Shape(records=records, partitions=partitions, brokers=30)).expected()
        image = _replayed(file)
        peak_mib = _peak_mib(file)
        if expected_of(image) != expected.state:
            raise RuntimeError("the replay does not end where the generator says")
        rounds = [(_timed(lambda: _crc_pass(file)), _timed(lambda: _replayed(file))) for _ in range(ROUNDS)]
    ratio = statistics.median(replay / crc for crc, replay in rounds)  # the replay sums CRCs too
    rows = {
        "CRC pass": statistics.median(crc for crc, _ in rounds),
        "replay to the image": statistics.median(replay for _, replay in rounds),
        "SHA-256 of the canonical JSON": _timed(lambda: image_sha256(image)),
        "lint": _timed(lambda: lint(image)),
        "snapshot": _timed(lambda: sum(map(len, snapshot_batches(image, epoch=1, **_TIMES)))),
    }
    head = f"{expected.records:,} records in {expected.batches:,} batches, {image.partition_count():,} partitions, "
    text = [f"{head}{expected.bytes / 1e6:.0f} MB; CPU time, medians of {ROUNDS} rounds; {circumstances()}.\n"]
    text += ["| work | s | records/s |", "|---|---|---|"]
    text += [f"| {name} | {taken:.2f} | {expected.records / taken:,.0f} |" for name, taken in rows.items()]
    text += [f"\nPeak memory of a process that does nothing but replay: {peak_mib:.0f} MiB."]
    met = "met" if ratio <= GOAL else "missed"
    text += [f"Goal: replay at most {GOAL:.0f} × the CRC pass. Measured: {ratio:.1f} × ({met})."]
    record("Replay, plain path", "\n".join(text))


_TIMES = {"last_contained_log_timestamp_ms": 0, "now_ms": 0}


def _peak_mib(file: Path) -> float:
    """Peak memory of another process that replays the file."""
    code = f"from bench.replay import _replayed; from pathlib import Path; _replayed(Path({str(file)!r}))"
    code += "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


if __name__ == "__main__":
    main()
