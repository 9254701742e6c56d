"""docs/proof/load.md: what clients noticed of our changes, a section a course, written by the campaign itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.campaigns.load.faulted_changes import HURT_S, LATEST_BLOW_S, Run

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "load.md"
HEAD = f"""\
# Changes under load, while nodes fail

Written by the run of `make lab` (tests/campaigns/load/test_load.py), a section a release and kind of change.

Three or four controllers and three brokers of released Kafka on one machine of two shared cores, heaps of 256 MB. A
producer with acks=all writes 50 messages a second to six partitions (three replicas, two in sync), a consumer group
reads them. One change after the other is made by `kafkactl`, each in a process of its own; 0.3 to {LATEST_BLOW_S:g} s
after its start a node, or `kafkactl` itself, is killed (SIGKILL) or paused (SIGSTOP), and a node is back {HURT_S:g} s
later. Then the same command is run again until the target is reached. A run is right if

- the nodes show the target, and no command claimed what they contradict;
- no message was refused, and all that were acknowledged came to the consumer group.

At the end of a section the topic is read from its start: `lost` are acknowledged messages that are not there. The
longest acknowledgement and the longest time from there to the group's reading include the elections that the blow
causes by itself; Kafka's time-outs are its defaults, but for the brokers' session of 3 s.
"""


def write_section(title: str, runs: Sequence[Run], whole: Mapping[str, int]) -> None:
    """Put the runs of a course in place of those that are there."""
    right, during = sum(run.is_right for run in runs), sum(run.during for run in runs)
    lines = [
        "",
        f"{right} of {len(runs)} right, {during} struck while the command ran; {whole['acked']} messages acknowledged, "
        f"{whole['errors']} refused, {whole['lost']} lost. Longest acknowledgement: median of the runs "
        f"{median(run.counts['longest_ack_ms'] for run in runs):.0f} ms, at most "
        f"{max(run.counts['longest_ack_ms'] for run in runs)} ms.",
        "",
        "| change | blow | at, s | commands | acked | refused | unread | longest ack, ms | longest read, ms |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(run) for run in runs),
    ]
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text))
    sections[title] = "\n".join(lines) + "\n"
    bodies = [f"## {name}\n{body.rstrip()}\n" for name, body in sorted(sections.items())]
    PAGE.write_text("\n".join([HEAD, *bodies]), encoding="utf-8")


def _row(run: Run) -> str:
    said = ", ".join(run.outcomes) + (f"; **{run.untrue}**" if run.untrue else "")
    said += "" if run.reached else "; **target not reached**"
    counts = run.counts
    late = "" if run.during else ", after the end"
    moment = "-" if run.blow == "none" else f"{run.moment_s:.1f}{late}"
    return (
        f"| {run.change} | {run.blow} | {moment} | {said} "
        f"| {counts['acked']} | {counts['errors']} | {counts['unread']} | {counts['longest_ack_ms']} "
        f"| {counts['longest_read_ms']} |"
    )
