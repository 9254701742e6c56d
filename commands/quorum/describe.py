"""`kafkactl quorum describe`: the quorum from its leader, from every controller, and from disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, open_client
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.rendering.output import Render, emit

if TYPE_CHECKING:
    from kafkactl.adapters.disks.quorum_disks import DiskReading
    from kafkactl.adapters.kafka.quorum_view import QuorumObserver
    from kafkactl.adapters.kafka.quorum_visit import Visit
    from kafkactl.findings import Finding
    from kafkactl.quorum.state import QuorumState

KIND = "quorum.describe"
_LEAST_PATIENCE_MS = 3_000.0
_APART_S = 0.7  # an idle leader writes a no-op every half second


@leaf_command(
    "describe",
    examples=(
        "kafkactl quorum describe --bootstrap-controller c1:9093,c2:9093,c3:9093",
        "kafkactl quorum describe --bootstrap-server b1:9092 --replication",
        "kafkactl quorum describe --log-dir /mnt/c1 --log-dir /mnt/c2 -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN, exit_codes.PROBLEMS_FOUND,
        exit_codes.INTERRUPTED,
    ),
)  # fmt: skip
@click.option("--status", is_flag=True, help="The status as kafka-metadata-quorum.sh prints it.")
@click.option("--replication", is_flag=True, help="The replicas as kafka-metadata-quorum.sh prints them.")
@click.option("--human-readable", is_flag=True, help="With --replication: ages in place of times.")
@click.option(
    "--log-dir", "log_dirs", multiple=True, metavar="DIR",
    help="Also read this metadata log directory; several are those of several nodes. Without an address only these.",
)  # fmt: skip
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C or --timeout.")
@click.option(
    "--interval", "interval_ms", type=Duration(), default="2s", show_default=True, metavar="TIME",
    help="With --watch: the time between two looks.",
)  # fmt: skip
@connection_options
def command(
    *,
    status: bool,
    replication: bool,
    human_readable: bool,
    log_dirs: tuple[str, ...],
    watch: bool,
    interval_ms: int,
    connection: ConnectionArguments,
) -> None:
    """Show who leads the quorum, who votes, who only follows, and how many failures it still survives.

    Every controller is asked, and the endpoints in the voter set are tried. Where nobody leads,
    the answer is made of what the controllers and the directories of --log-dir say, and the exit
    code is 7; it is 7, too, where nothing can be committed.
    """
    if status and replication:
        raise click.UsageError("--status and --replication exclude each other.")
    if human_readable and not replication:
        raise click.UsageError("--human-readable goes with --replication.")
    render = _render(status=status, replication=replication, human_readable=human_readable)
    with _Sight(connection, log_dirs, patience_ms=_patience_ms(watch=watch)) as sight:
        if watch:
            from kafkactl.commands.rendering.watch import watch as watch_on

            watch_on(KIND, sight.answer, render=render, interval_ms=interval_ms)
        payload, code = sight.answer()
        emit(KIND, payload, render=render, exit_code=code)


class _Sight:
    """What can be looked at again and again: an observer of the live cluster, directories, or both."""

    def __init__(self, connection: ConnectionArguments, log_dirs: Sequence[str], *, patience_ms: float) -> None:
        self._log_dirs = tuple(log_dirs)
        self._earlier: tuple[float, QuorumState] | None = None
        self._client = self._observer = None
        if any(connection[:2]) or connection.context or not log_dirs:
            from kafkactl.adapters.kafka.quorum_view import QuorumObserver

            self._client = open_client(connection)
            self._observer = QuorumObserver(self._client, patience_ms=patience_ms)

    def __enter__(self) -> _Sight:
        return self

    def __exit__(self, *_: object) -> None:
        for opened in (self._observer, self._client):
            if opened is not None:
                opened.close()

    def answer(self) -> tuple[dict[str, Any], int]:
        """The payload of one look, and the exit code that it means."""
        from kafkactl.quorum.health import check_health, is_broken

        readings = self._readings()
        disks = [reading.seen for reading in readings]
        visits: Sequence[Visit] = ()
        if self._observer is None:
            from kafkactl.adapters.kafka.quorum_view import assembled

            state = assembled((), disks=disks)
        else:
            state = watched(self._observer, self._observer.look(disks=disks))
            visits = self._observer.visits
        findings = check_health(state, self._look_before(state)) if self._observer else (*state.findings, _only_disks())
        payload = answer_of(state, visits, readings)
        payload["findings"] = [*findings, *(one for reading in readings for one in reading.findings)]
        return payload, exit_codes.PROBLEMS_FOUND if is_broken(state, findings) else exit_codes.DONE

    def _look_before(self, state: QuorumState) -> QuorumState | None:
        """The last look that is old enough to tell whether commits go on since then (`--watch`)."""
        import time

        now = time.monotonic()
        at, earlier = self._earlier or (now, state)
        if self._earlier is None or now - at >= _APART_S:
            self._earlier = (now, state)
            return earlier
        return None

    def _readings(self) -> tuple[DiskReading, ...]:
        if not self._log_dirs:
            return ()
        from kafkactl.adapters.disks.quorum_disks import read_disks

        return read_disks(self._log_dirs)


def watched(observer: QuorumObserver, state: QuorumState) -> QuorumState:
    """The state; where a single look leaves it open who is alive, with what about half a second more shows."""
    from kafkactl.quorum.liveness import is_same_quorum, watch, with_lives

    if not state.has_leader or all(voter.alive is not None for voter in state.voters):
        return state
    found = watch(observer, state.nodes)
    if found is None or not is_same_quorum(state, found.last.state):
        return state
    return with_lives(state, found)


def answer_of(state: QuorumState, visits: Sequence[Visit], readings: Sequence[DiskReading]) -> dict[str, Any]:
    """The payload of `quorum.describe` (cli.md 4): the state, and beside it what each node and disk said."""
    import time

    return {
        **state.to_dict(),
        "time_ms": int(time.time() * 1000),
        "nodes": [_node(one) for one in sorted(visits, key=lambda one: (one.id is None, one.id or 0, one.address))],
        "disks": [_disk(reading) for reading in readings],
    }


def _only_disks() -> Finding:
    from kafkactl.findings import Finding, Severity

    return Finding(
        id="only-disks-read",
        severity=Severity.INFO,
        subject="quorum",
        message="no node was asked: who leads and who is alive is not known",
        next_step="Add --bootstrap-controller HOST:PORT to ask those that run.",
    )


def _node(one: Visit) -> dict[str, Any]:
    return {
        "id": one.id,
        "address": str(one.address),
        "role": None if one.role is None else one.role.word,
        "answers": one.answers,
        "leader_id": one.leader_id,
        "leader_epoch": one.leader_epoch,
        "error": None if one.error is None else one.error.message,
    }


def _disk(reading: DiskReading) -> dict[str, Any]:
    seen = reading.seen
    return {
        "path": seen.path,
        "cluster_id": seen.cluster_id,
        "node_id": seen.node_id,
        "directory_id": None if seen.directory_id is None else str(seen.directory_id),
        "leader_id": seen.leader_id,
        "leader_epoch": seen.leader_epoch,
        "last_epoch": None if seen.last_epoch < 0 else seen.last_epoch,
        "log_end_offset": seen.log_end_offset,
        "kraft_version": seen.kraft_version,
    }


def _patience_ms(*, watch: bool) -> float:
    """How long to wait for a node: a tenth of the time there is, at least 3 s, and never more than a sixth.

    Who watches gives the time of all looks together, which says nothing of one: there it is 3 s.
    """
    if watch:
        return _LEAST_PATIENCE_MS
    from kafkactl.commands.framework.settings import current_settings

    timeout_ms = current_settings().timeout_ms
    return min(max(_LEAST_PATIENCE_MS, timeout_ms / 10), timeout_ms / 6)


def _render(*, status: bool, replication: bool, human_readable: bool) -> Render:
    def show(page: Any, answer: Mapping[str, Any]) -> None:
        from kafkactl.commands.quorum.page import kafka_page, quorum_page

        if status or replication:
            kafka_page(page, answer, replication=replication, human_readable=human_readable)
        else:
            quorum_page(page, answer)

    return show
