"""The replay of a metadata log as a ratio to the CRC pass: headers and CRC of the same file.

python -m bench.replay [RECORDS [PARTITIONS]]. On two shapes of logs: the reference shape, and one of a larger cluster
whose partitions have few lists in common (with three quarters of the partitions). Page cache warm, CPU time, rounds
interleaved. Commands are measured whole: the start of Python, numpy, the replay, the SHA-256 of the image and what is
printed; `dryrun replay` also looks for what does not fit together in the image.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.installed import installed_bin
from bench.log_shape import Shape, described, diverse_shape, reference_shape
from bench.log_state import expected_of
from bench.make_metadata_log import write_log
from bench.side_by_side import circumstances, measure, record
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.image.model import Image
from kafkactl.metadata.image.snapshot_writer import snapshot_batches
from kafkactl.metadata.io.source import piece_bytes
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.metadata.replay.reference import Replay
from kafkactl.protocol.log.batch_runs import walk_runs

GOALS = {"replay": 8.0, "command": 12.0, "dry run": 12.0}
GOALS_OF_TEN_MILLION = {"replay": 6.0, "command": 8.0, "dry run": 8.0}
MIB_OF_MILLION_PARTITIONS, MIB_ON_TOP = 350, 150
MANY = 5_000_000


def pieces(file: Path) -> Iterator[bytes]:
    """Yield a file as the commands read it from a disk."""
    with file.open("rb") as source:
        yield from iter(lambda: source.read(piece_bytes(source.tell())), b"")


def _timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def crc_pass(file: Path) -> int:
    return sum(len(run.positions) for run in walk_runs(pieces(file)))  # type: ignore[union-attr]


def replayed(file: Path) -> Replay:
    return replay_runs(walk_runs(pieces(file)))


def main() -> None:
    """Measure both shapes."""
    records, partitions = ([int(item) for item in sys.argv[1:]] + [1_000_000, 200_000][len(sys.argv) - 1 :])[:2]
    size = f"Replay of {round(records / 1_000_000) or 1} M records"
    measured(size, reference_shape(records, partitions))
    measured(f"{size}, diverse", diverse_shape(records, partitions * 3 // 4))


def measured(section: str, shape: Shape) -> None:
    """Measure a log of this shape, compare with what the generator says and with each other, print and record."""
    is_short = shape.records < MANY
    rounds = 5 if is_short else 3
    with tempfile.TemporaryDirectory(prefix="kafkactl-bench-") as folder:
        expected = write_log(Path(folder), shape)
        (file,) = (Path(folder) / "__cluster_metadata-0").glob("*.log")
        image = replayed(file).image
        if expected_of(image) != expected.state:
            raise RuntimeError("the replay does not end where the generator says")
        image = replayed(file).image  # the comparison made tuples of the first one
        program = str(installed_bin() / "kafkactl")
        command, dry_run = ([program, *words, str(file)] for words in (("log", "image"), ("dryrun", "replay")))
        works: dict[str, Callable[[], float]] = {
            "CRC pass": lambda: _timed(lambda: crc_pass(file)),
            "replay": lambda: _timed(lambda: replayed(file)),
            "command": lambda: measure(command).cpu_ms / 1000,
            "dry run": lambda: measure(dry_run).cpu_ms / 1000,
        }
        taken = [{name: work() for name, work in works.items()} for _ in range(rounds)]
        peak = _peak_mib(file)
    ratios = {name: [entry[name] / entry["CRC pass"] for entry in taken] for name in works}
    head = f"{described(expected)}, {image.partition_count():,} partitions; "
    text = [f"{head}CPU time, medians of {rounds} rounds; {circumstances()}.\n"]
    text += ["| work | s | records/s | × CRC pass | least to most | goal |", "|---|---|---|---|---|---|"]
    goals = GOALS if is_short else GOALS_OF_TEN_MILLION
    for name, title in ((name, _TITLES[name]) for name in works):
        median, spread = statistics.median(entry[name] for entry in taken), ratios[name]
        figures = f"{median:.2f} | {expected.records / median:,.0f} | {statistics.median(spread):.1f}"
        goal = _goal(statistics.median(spread), goals[name]) if name in goals else ""
        text.append(f"| {title} | {figures} | {min(spread):.1f} to {max(spread):.1f} | {goal} |")
    after = ", ".join(f"{name} {_timed(work):.2f} s" for name, work in _after(image).items())
    goal_of_memory = _goal_of_memory(peak, image)
    text.append(f"\nAfterwards: {after}. Peak memory of a process that only replays: {peak:.0f} MiB. {goal_of_memory}")
    record(section, "\n".join(text))


_TITLES = {
    "CRC pass": "CRC pass",
    "replay": "replay to the image",
    "command": "`kafkactl log image`, whole command",
    "dry run": "`kafkactl dryrun replay`, whole command",
}


def _after(image: Image) -> dict[str, Callable[[], object]]:
    return {
        "SHA-256 of the canonical JSON": lambda: image_sha256(image),
        "partitions as tuples, where they are asked for": lambda: len(image.topics.values()),
        "lint": lambda: lint(image),
        "snapshot": lambda: sum(
            map(len, snapshot_batches(image, epoch=1, last_contained_log_timestamp_ms=0, now_ms=0))
        ),
    }


def _goal(ratio: float, goal: float) -> str:
    return f"{goal:.0f} × ({'met' if ratio <= goal else 'missed'})"


def _goal_of_memory(peak: float, image: Image) -> str:
    most = MIB_ON_TOP + MIB_OF_MILLION_PARTITIONS * image.partition_count() / 1_000_000
    return f"Goal: at most {most:.0f} MiB ({'met' if peak <= most else 'missed'})."


def _peak_mib(file: Path) -> float:
    """Return the peak memory of another process that replays the file."""
    code = f"from bench import replay; from pathlib import Path; replay.replayed(Path({str(file)!r}))"
    code += "; print(open('/proc/self/status').read())"  # ru_maxrss would count what this process had before exec
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
