"""The page docs/proof/load.md, written by the campaign: what clients noticed of changes, a row a course."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.campaigns.load.faulted_changes import HURT_S, LATEST_BLOW_S, Run
from tests.proof_page import record_part

PAGE = Path(__file__).parents[3] / "docs" / "proof" / "load.md"
HEAD = f"""\
# Changes under load, while nodes fail

Repeat with `make lab` (tests/campaigns/load/test_load.py), which writes this page: a row a release and kind of
change.

Three or four controllers and three brokers of released Kafka on one machine of two shared cores, heaps of 256 MB. A
producer with acks=all writes 50 messages a second to six partitions (three replicas, two in sync), a consumer group
reads them. One change after the other is made by `kafkactl`, each in a process of its own; 0.3 to {LATEST_BLOW_S:g} s
after its start a node, or `kafkactl` itself, is killed (SIGKILL) or paused (SIGSTOP), and a node is back {HURT_S:g} s
later. Then the same command is run again until the target is reached. A run is right if

- the nodes show the target, and no command claimed what they contradict;
- no message was refused, and all acknowledged messages arrived at the consumer group.

At the end of a course the topic is read from its start: `lost` are acknowledged messages that are missing. The longest
acknowledgement includes the elections that the fault causes; Kafka's timeouts are its defaults, except for the brokers'
session of 3 s.
"""


def write_section(title: str, runs: Sequence[Run], whole: Mapping[str, int]) -> None:
    """Put the row of a course in place of its last run."""
    right, during = sum(run.is_right for run in runs), sum(run.during for run in runs)
    longest = [run.counts["longest_ack_ms"] for run in runs]
    record_part(
        PAGE,
        HEAD,
        title,
        f"{right} of {len(runs)} right, {during} struck while the command ran; {whole['acked']} messages acknowledged, "
        f"{whole['errors']} refused, {whole['lost']} lost; longest acknowledgement {median(longest):.0f} ms (median of "
        f"the runs), at most {max(longest)} ms",
        [_shown(run) for run in runs if not run.is_right],
    )


def _shown(run: Run) -> str:
    reached = "" if run.reached else "; target not reached"
    untrue = f"; {run.untrue}" if run.untrue else ""
    counts = f"{run.counts['errors']} refused, {run.counts['unread']} unread"
    return f"{run.change}, {run.blow} at {run.moment_s:.1f} s: {', '.join(run.outcomes)}{untrue}{reached}; {counts}"
