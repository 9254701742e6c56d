"""An observation as a folder: observation.json, the metadata logs of the controllers, and the journal.

Invariant: a fact that is not in the folder is unknown; a log or journal that cannot be read is a finding. Only a folder
without an observation.json, or one that is not valid, is an error. A folder is written whole or not at all, for its
owner alone, and without secrets unless they are asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final

from kafkactl.change.journal_lines import Entry, entry_line, read_journal
from kafkactl.core.errors import FailedError, InputError, KafkactlError, RefusedError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_LOG, NO_LEADER
from kafkactl.files.input_files import InputKind, read_input, read_whole
from kafkactl.files.whole_file import make_folders, whole_folder
from kafkactl.metadata.io.observed_logs import log_unreadable, observed_logs
from kafkactl.metadata.io.source import LogFile, LogSource
from kafkactl.metadata.log.redact import redact_runs
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.text.redact_config import redact_config
from kafkactl.roll.cluster_log import ClusterLog, read_cluster_log
from kafkactl.roll.observation import RollObservation, parse_observation

OBSERVATION: Final = "observation.json"
LOGS: Final = "metadata"
JOURNAL: Final = "journal.jsonl"
JOURNAL_SUBJECT: Final = "roll"
_FILE_MODE: Final = 0o600


@frozen
class CapturedRoll:
    """An observation as it was captured, live or from a folder: the metadata logs by controller id are not read yet."""

    observation: RollObservation
    logs: Mapping[int, LogSource] = field(default_factory=dict)


def load_observation(folder: str | os.PathLike[str]) -> RollObservation:
    """Return the observation in a folder, with the log of the cluster.

    Raises InputError: `no-observation`, `invalid-observation`, `unsupported-observation-version`,
    `input-file-unreadable`.
    """
    return with_log(load_captured(folder))


def load_captured(folder: str | os.PathLike[str]) -> CapturedRoll:
    """Return the observation in a folder, without reading the logs. Raise InputError as `load_observation`."""
    place = Path(folder)
    names = _names(place)
    if OBSERVATION not in names:
        raise _no_observation(place, f"contains no {OBSERVATION}")
    path = place / OBSERVATION
    observation = parse_observation(read_input(path, "observation", InputKind.DOCUMENT), file=str(path))
    findings: list[Finding] = []
    entries = _journal(place / JOURNAL, observation.cluster_id, findings) if JOURNAL in names else None
    logs = dict(observed_logs(place / LOGS, findings)) if LOGS in names else {}
    return CapturedRoll(
        observation=changed(observation, journal=entries, findings=(*observation.findings, *findings)), logs=logs
    )


def with_log(captured: CapturedRoll) -> RollObservation:
    """Return the observation with the log of the leader if it reaches the leader's end, else the longest of all."""
    observation = captured.observation
    quorum = observation.quorum_view
    leader_id = NO_LEADER if quorum is None else quorum.leader_id
    end = None if quorum is None else quorum.end_of_leader()
    findings: list[Finding] = []
    found: ClusterLog | None = None
    for controller_id in sorted(captured.logs, key=lambda id: (id != leader_id, id)):
        source = captured.logs[controller_id]
        try:
            log = read_cluster_log(controller_id, source.segments, source.checkpoints)
        except KafkactlError as error:
            findings.append(log_unreadable(controller_id, error))
            continue
        if log.is_empty:
            subject = f"metadata log of controller {controller_id}"
            findings.append(warning("observed-log-unreadable", subject, "the log holds no record"))
            continue
        if found is None or _age(log) > _age(found):
            found = log
        if controller_id == leader_id and (end is None or log.end_offset >= end):
            break
    return changed(observation, log=found, findings=(*observation.findings, *findings))


def _age(log: ClusterLog) -> tuple[int, int]:
    """Return epoch and offset of the last record, by which Raft compares two logs."""
    return log.loaded.last_epoch, log.loaded.last_offset


def _names(place: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(place))  # noqa: PTH208  # names, not paths
    except NotADirectoryError:
        raise _no_observation(place, "is a file, expected the folder of an observation") from None
    except (OSError, ValueError) as error:
        raise _no_observation(place, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _no_observation(place: Path, why: str) -> InputError:
    step = "Give the folder that `kafkactl roll observe --out DIR` wrote."
    return InputError(f"{place} {why}", id="no-observation", next_step=step)


def _journal(path: Path, cluster_id: str | None, findings: list[Finding]) -> tuple[Entry, ...] | None:
    try:
        content = read_whole(path, InputKind.JOURNAL)
        return read_journal(content, file=str(path), subject=JOURNAL_SUBJECT, cluster_id=cluster_id).entries
    except OSError as error:
        reason = error.strerror or str(error)
        findings.append(warning("observed-journal-unreadable", str(path), f"the journal cannot be read: {reason}"))
    except InputError as error:
        findings.append(warning("observed-journal-unreadable", str(path), error.message, reason=error.id))
    return None


def save_observation(folder: str | os.PathLike[str], captured: CapturedRoll, *, include_secrets: bool = False) -> None:
    """Write an observation into a folder that does not exist or is empty; nothing is left of it after an error.

    Raises RefusedError `observation-folder-in-use`, FailedError `observation-not-written`, and what reading the logs
    raises.
    """
    place = Path(folder)
    check_free(place)
    try:
        make_folders(place.absolute().parent)
        with whole_folder(place.absolute()) as work:
            _write(work, captured, include_secrets=include_secrets)
    except (OSError, ValueError) as error:
        raise _not_written(place, error) from error


def check_free(place: Path) -> None:
    """Refuse a folder that is in use, before an observation is made that could not be saved in it.

    Raises RefusedError `observation-folder-in-use`, FailedError `observation-not-written`.
    """
    try:
        is_used = bool(os.listdir(place))  # noqa: PTH208  # names, not paths
    except FileNotFoundError:
        return
    except NotADirectoryError:
        is_used = True
    except (OSError, ValueError) as error:
        raise _not_written(place, error) from error
    if is_used:
        raise RefusedError(f"{place} exists and is not empty", id="observation-folder-in-use")


def _not_written(place: Path, error: OSError | ValueError) -> FailedError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return FailedError(f"the observation cannot be written to {place}: {reason}", id="observation-not-written")


def _write(work: Path, captured: CapturedRoll, *, include_secrets: bool) -> None:
    observation = captured.observation if include_secrets else redacted(captured.observation)
    text = json.dumps(observation.to_dict(), ensure_ascii=True, indent=1)
    _write_file(work / OBSERVATION, [text.encode("ascii"), b"\n"])
    if observation.journal is not None:
        _write_file(work / JOURNAL, map(entry_line, observation.journal))
    for controller_id, source in captured.logs.items():
        place = work / LOGS / str(controller_id) / METADATA_LOG
        place.mkdir(parents=True, mode=0o700)
        for file in _files(source):
            _write_file(place / file.name.rsplit("/", 1)[-1], _log_bytes(file, include_secrets=include_secrets))


def redacted(observation: RollObservation) -> RollObservation:
    """Return the observation without the passwords in the configurations of its nodes."""
    nodes = tuple(
        node if node.config is None else changed(node, config=redact_config(node.config)) for node in observation.nodes
    )
    return changed(observation, nodes=nodes)


def _files(source: LogSource) -> Sequence[LogFile]:
    return source.files(checkpoints=True)


def _log_bytes(file: LogFile, *, include_secrets: bool) -> Iterable[bytes]:
    return file.pieces() if include_secrets else redact_runs(walk_runs(file.pieces(), file=file.name))


def _write_file(path: Path, pieces: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)
        os.fchmod(file.fileno(), _FILE_MODE)
