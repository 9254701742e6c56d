"""An observation as a folder: `observation.json`, `zk.jsonl.gz`, and the metadata logs of the controllers.

Invariant: what is not in the folder is unknown; what is there and damaged costs itself alone and is a finding. Only a
folder that holds nothing of an observation, or whose `observation.json` is something else, is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.metadata.io.image import Point, history_files, load_image
from kafkactl.metadata.io.observed_logs import log_unreadable, observed_logs
from kafkactl.metadata.io.source import CHECKPOINT, LogSource
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.migration.io.mirror import mirror_of
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.observed.log_folding import LogFolding
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.observed.raw_observation import RawObservation, parse_observation
from kafkactl.migration.observed.reading import observation_of
from kafkactl.migration.zktree.znode import Znode, decode_znodes
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs

OBSERVATION: Final = "observation.json"
ZNODES: Final = ("zk.jsonl.gz", "zk.jsonl")
LOGS: Final = "metadata"


@frozen
class CapturedMigration:
    """Content of an observation or of its folder: answers, znodes (None: not observed), logs by id.

    `findings` name the unread parts. Nothing has been made of the logs yet.
    """

    raw: RawObservation
    znodes: tuple[Znode, ...] | None = field(default=None, repr=False)
    logs: Mapping[int, LogSource] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def load_observation(folder: str) -> Observation:
    """Read the observation of a folder. Raises InputError as `load_captured` does."""
    return observation_from(load_captured(folder))


def observation_from(captured: CapturedMigration) -> Observation:
    """Return the observation from captured content, live or from a folder: its logs are read now."""
    findings = list(captured.findings)
    logs: dict[int, LogFacts] = {}
    for id, source in captured.logs.items():
        try:
            logs[id] = log_facts_of(source)
        except (InputError, FailedError) as error:
            findings.append(log_unreadable(id, error))
    observation = observation_of(captured.raw, znodes=captured.znodes, logs=logs, findings=findings)
    return changed(observation, mirror=mirror_of(observation, captured.logs))


def load_captured(folder: str) -> CapturedMigration:
    """Read the files of a folder, the logs but for their names.

    Raises InputError: `no-observation` (nothing of one is there), `input-file-unreadable`, `invalid-observation`,
    `unsupported-observation-version`.
    """
    place = Path(folder)
    names = _names(place)
    findings: list[Finding] = []
    znodes_file = next((name for name in ZNODES if name in names), None)
    if OBSERVATION not in names and znodes_file is None and LOGS not in names:
        raise _nothing(folder, "holds neither observation.json nor zk.jsonl.gz nor metadata/")
    raw = RawObservation()
    if OBSERVATION in names:
        path = place / OBSERVATION
        raw, unreadable = parse_observation(
            read_input(path, "observation", InputKind.MIGRATION_OBSERVATION), file=str(path)
        )
        findings += unreadable
    else:
        text = "the file does not exist, so the nodes' own information is missing"
        findings.append(warning("observation-without-nodes", str(place / OBSERVATION), text))
    znodes = None
    if znodes_file is not None:
        path = place / znodes_file
        saved = decode_znodes(read_input(path, "saved tree", InputKind.SAVED_TREE), file=str(path))
        # A missing znode (/migration, a broker's) has a meaning, which in a part of a tree would be a guess.
        znodes = saved.znodes if saved.is_whole else None
        findings += saved.findings
    logs = dict(observed_logs(place / LOGS, findings)) if LOGS in names else {}
    return CapturedMigration(raw=raw, znodes=znodes, logs=logs, findings=tuple(findings))


def _names(place: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(place))  # noqa: PTH208  # names, not paths
    except NotADirectoryError:
        raise _nothing(str(place), "is a file, not the folder of an observation") from None
    except (OSError, ValueError) as error:
        raise _nothing(str(place), f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _nothing(folder: str, why: str) -> InputError:
    step = "Give the folder that `kafkactl migrate observe --out` made."
    return InputError(f"{folder} {why}", id="no-observation", next_step=step)


def log_facts_of(source: LogSource) -> LogFacts:
    """Return the facts of a log for a migration. The log is read twice: once for its image, once for its history.

    Raises InputError, FailedError as `load_image` does: `offset-not-in-log`, `input-file-unreadable`.
    """
    loaded = load_image(source, Point())
    folding = LogFolding()
    with no_collection():
        for file in history_files(source):
            if file.kind == CHECKPOINT:
                end_offset, epoch = file.base_offset or 0, -1 if file.epoch is None else file.epoch
                runs = (found for found in walk_runs(file.pieces(), file=file.name) if isinstance(found, BatchRun))
                folding.take_snapshot(runs, end_offset=end_offset, epoch=epoch)
                continue
            for found in walk_runs(file.pieces(), file=file.name):
                if isinstance(found, BatchRun):
                    folding.take_run(found)
    for file in source.checkpoints:
        if file.base_offset:
            folding.note_snapshot(end_offset=file.base_offset, epoch=-1 if file.epoch is None else file.epoch)
    last_ms = None if loaded.position is None else loaded.position.timestamp_ms
    return folding.facts(loaded.image, last_ms=last_ms, findings=loaded.findings)
