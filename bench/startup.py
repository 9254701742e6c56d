"""Benchmark of `kafkactl --help` against an interpreter that does nothing. Goal: at most 4.0 times."""

from __future__ import annotations

from functools import partial

from bench.installed import installed_bin
from bench.side_by_side import SPREAD, circumstances, interleaved, measure, record

RUNS = 25
GOAL = 4.0


def main() -> None:
    """Measure, print and record."""
    folder = installed_bin()
    python, program = str(folder / "python"), str(folder / "kafkactl")
    bare = "python -c pass"
    commands = {
        bare: [python, "-c", "pass"],
        "kafkactl --version": [program, "--version"],
        "kafkactl --help": [program, "--help"],
        "kafkactl storage --help": [program, "storage", "--help"],
        "kafkactl storage random-uuid": [program, "storage", "random-uuid"],
        "kafkactl explain --list": [program, "explain", "--list"],
    }
    figures = interleaved({name: partial(measure, words) for name, words in commands.items()}, RUNS)
    base = figures[bare]
    rows = [
        f"| `{name}` | {figure.cpu_ms:.1f} | {figure.wall_ms:.1f} | {figure.cpu_ms / base.cpu_ms:.2f}"
        f" | {figure.spread()} |"
        for name, figure in figures.items()
    ]
    ratio = figures["kafkactl --help"].cpu_ms / base.cpu_ms
    record(
        "Start-up",
        "\n".join(
            [
                f"Installed wheel, medians of {RUNS} interleaved runs; {circumstances()}.\n",
                f"| command | CPU ms | wall ms | × `python -c pass` (CPU) | {SPREAD} |",
                "|---|---|---|---|---|",
                *rows,
                "",
                f"Goal for `--help`: at most {GOAL} ×. Measured: {ratio:.2f} × ({_verdict(ratio)}).",
            ]
        ),
    )


def _verdict(ratio: float) -> str:
    return "met" if ratio <= GOAL else "missed"


if __name__ == "__main__":
    main()
