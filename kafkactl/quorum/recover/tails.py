"""Findings about disks that are not of the source's history, and whether the old voters may be started."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.wording import counted, first_few
from kafkactl.metadata.verify.histories import Verdict
from kafkactl.quorum.recover.histories import founded_twice
from kafkactl.quorum.recover.observed_disks import DiskSeen
from kafkactl.quorum.recover.request import Tail

_ONE_FOUNDING: Final = "Give --lost for the voters whose disks are then not shown."


def check_tails(
    tails: Sequence[Tail], source: DiskSeen, disks: Sequence[DiskSeen], *, accept_loss: bool
) -> Iterator[Finding]:
    """Yield the findings about disks that differ from the source; a blocker for a log that must not be left out."""
    founded = founded_twice(disks, source)
    if founded is not None:
        yield replace(founded, next_step=f"{founded.next_step} {_ONE_FOUNDING}")
    for tail in tails:
        if tail.parting.verdict is not Verdict.FOUNDED_TWICE:
            yield _tail(tail, source, accept_loss=accept_loss)


def start_step(tails: Sequence[Tail], source: DiskSeen) -> str:
    """Return the next step with a majority of sound disks: start them, unless that cuts the log of one of them."""
    parted = [tail for tail in tails if not tail.is_harmless]
    paths = first_few([tail.path for tail in parted])
    if any(tail.is_fatal or tail.parting.verdict is Verdict.DOUBTFUL for tail in parted):
        return (
            f"Start none of these controllers yet: {paths} and {source.path} are not of one history, and a controller"
            " that follows another one cuts its log."
        )
    if parted:
        return (
            f"Start these controllers: they elect a leader, and only the tail of {paths} is lost, which was not"
            " committed. A recovery would only lose voters."
        )
    return "Start these controllers: they elect a leader, and nothing is lost. A recovery would only lose voters."


def _tail(tail: Tail, source: DiskSeen, *, accept_loss: bool) -> Finding:
    parted = tail.parting.parted
    evidence: dict[str, Any] = {
        "offset": None if parted is None else parted.offset,
        "epoch": None if parted is None else parted.epoch,
        "source_epoch": None if parted is None else parted.other_epoch,
        "changes": tail.change_count,
    }
    subject, text = f"directory {tail.path}", _text(tail, source)
    if tail.is_harmless:
        return note("disks-diverge", subject, text, **evidence)
    step = f"Nothing is merged. {_choice(tail, source)}"
    report = warning if accept_loss and not tail.is_fatal else blocker
    return report("disks-diverge", subject, text, step, **evidence)


def _choice(tail: Tail, source: DiskSeen) -> str:
    """Return the next step for a choice between the tail and the source."""
    compared = f"`kafkactl log diff {shlex.quote(tail.path)} {shlex.quote(source.path)}`"
    alone = "show its directories alone, with --lost for the other voters"
    if tail.is_fatal:
        return f"{compared} shows what only one of them has. Find out which history is the cluster's, and {alone}."
    if tail.parting.verdict is Verdict.DOUBTFUL:
        return (
            f"{compared} shows what only one of them has. If something that only {tail.path} has is missed, {alone}."
            " Otherwise repeat the command with --accept-loss to leave the tail out."
        )
    return (
        "The tail was not committed, unless disks of controllers were wiped. Repeat the command with --accept-loss to"
        " leave it out."
    )


def _text(tail: Tail, source: DiskSeen) -> str:
    parted, verdict = tail.parting.parted, tail.parting.verdict
    if parted is None:
        text = f"{tail.path} has other records than {source.path}"
    else:
        text = (
            f"from offset {parted.offset} on, {tail.path}{_of_epoch(parted.epoch)} has other records than"
            f" {source.path}{_of_epoch(parted.other_epoch)}"
        )
    text += (
        f". {tail.parting.reason}"
        if verdict is not Verdict.UNCOMMITTED
        else ": an uncommitted tail of an earlier leader."
    )
    if tail.change_count:
        return f"{text} Its records there make {counted(tail.change_count, 'change')} that would be lost"
    return f"{text} They change no metadata, and are left out" if tail.is_harmless else text.rstrip(".")


def _of_epoch(epoch: int | None) -> str:
    return " (no batch begins there)" if epoch is None else f" (epoch {epoch})"
