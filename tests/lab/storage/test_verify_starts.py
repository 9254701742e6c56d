"""Predictions of `storage verify` against starts of a real node: it starts, exits with the predicted message, or waits.

The campaign runs the whole catalogue and writes docs/proof/verify.md; `make test` runs a representative of each kind.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from kafkactl.metadata.io.metadata_log import scan_metadata_log
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.verify.model import Verification
from kafkactl.storage.verify.node import verify_node
from tests.conftest import Run
from tests.lab.harness.node import KafkaNode, StartOutcome
from tests.lab.harness.pool import Pool
from tests.lab.harness.releases import VERSIONS
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.storage.setting_cases import SETTING_CASES, SETTING_REPRESENTATIVES
from tests.lab.storage.verify_cases import CASES, REPRESENTATIVES, Case
from tests.lab.storage.verify_disks import Disks, lock_held

PROOF = Path(__file__).parents[3] / "docs" / "proof" / "verify.md"
WAITS_S, STARTS_S, SAYS_LATER_S = 15.0, 120.0, 60.0
OTHER_THREAD = "Tried to apply FeatureLevelRecord FeatureLevelRecord(name='metadata.version'"
ALL_CASES = (*CASES, *SETTING_CASES)
RETRIED_BOOTSTRAP = ("the default bootstrap", "the configured bootstrap")


@dataclass(frozen=True)
class CaseRun:
    """Start and what was foretold."""

    case: Case
    release: str
    predicted: Verification
    real: StartOutcome
    kind: str
    levels_after: dict[str, int]

    @property
    def mismatch(self) -> str | None:
        """Return how the two differ; None if they do not."""
        return _differs(self)


@pytest.fixture
def disks(tmp_path: Path, storage_tool: StorageToolServer, free_port: Callable[[], int], lab_pool: Pool) -> Disks:
    return Disks(tmp_path, storage_tool, free_port)


def run_case(case: Case, release: str, disks: Disks) -> CaseRun:
    """Predict, then start."""
    folder = disks.prepare(case, release)
    file = folder / "server.properties"
    with lock_held(folder / case.locked) if case.locked else nullcontext():
        predicted, metadata_log_dir = predict(file, release)
        with KafkaNode(release, file, folder) as node:
            real = _outcome(node, case, predicted)
            node.stop(20)  # a node that waits is killed
    levels = scan_metadata_log(metadata_log_dir).contents.levels
    rmtree(folder, ignore_errors=True)
    waits = predicted.expected_failure is not None and predicted.expected_failure.waits
    kind = {"started": "loses" if predicted.would_lose else "starts", "hangs": "waits"}.get(real.kind, "ends")
    assert not waits or kind in ("waits", "ends", "starts", "loses")
    return CaseRun(case, release, predicted, real, kind, levels)


def predict(file: Path, version: str) -> tuple[Verification, str]:
    """Return the prediction, and where the metadata log lies."""
    release = find_release(version)
    config = read_node_config(file.read_bytes(), file=str(file), release=release)
    observed = observe_node(config)
    return verify_node(config, observed, release, scan_metadata_log(config.metadata_log_dir)), config.metadata_log_dir


def _outcome(node: KafkaNode, case: Case, predicted: Verification) -> StartOutcome:
    """Return the outcome. A node that is to end or to lose something may say first that it has started: controllers
    replay after that."""
    failure = predicted.expected_failure
    outcome = node.outcome(WAITS_S if failure is not None and failure.waits else STARTS_S)
    if outcome.kind != "started":
        return outcome
    deadline = time.monotonic() + SAYS_LATER_S
    while node.alive and time.monotonic() < deadline:
        if failure is None and not _unseen(predicted, case, node.log_text()):
            break
        time.sleep(0.1)
    if node.alive:
        return StartOutcome(kind="started", exit_code=None, log=node.log_text())
    return StartOutcome(kind="exited", exit_code=node.exit_code, log=node.log_text())


def _unseen(predicted: Verification, case: Case, log: str) -> set[str]:
    """Return the foretold losses that leave a trace in a log, and have left none yet."""
    foretold = {loss.what for loss in predicted.would_lose}
    return {what for what, seen in _traces(case, log).items() if what in foretold and not seen}


def _differs(runs: CaseRun) -> str | None:
    predicted, real = runs.predicted, runs.real
    failure = predicted.expected_failure
    if predicted.will_start is not (real.kind == "started"):
        return f"foretold will_start={predicted.will_start}, it {real.kind}: {_last_error(real.log)}"
    if failure is not None and failure.waits is not (real.kind == "hangs"):
        return f"foretold {'waiting' if failure.waits else 'an end'}, it {real.kind}"
    if failure is not None and not failure.waits and not _says(failure.message, real.log):
        return f"the log does not say {failure.message!r} but {_last_error(real.log)!r}"
    if predicted.will_start is False and not _blocked(predicted):
        return "no blocker although the node does not start"
    return None if real.kind != "started" else _wrong_loss(runs)


def _says(foretold: str, log: str) -> bool:
    """Return True if the log has the words. A metadata.version without a name ends the node in the loader's thread or
    in the controller's, whichever meets it first, and on a busy machine that is not always the loader's."""
    nameless = foretold.startswith("No MetadataVersion with")
    return foretold in log or (nameless and OTHER_THREAD in log)


def _blocked(predicted: Verification) -> bool:
    return any(finding.severity.value == "blocker" for finding in predicted.findings)


def _wrong_loss(runs: CaseRun) -> str | None:
    """Check that each foretold loss has a trace in the log or on the disk, and that each trace was foretold."""
    foretold = {loss.what for loss in runs.predicted.would_lose}
    traces = _traces(runs.case, runs.real.log)
    wrong = {
        what: seen for what, seen in traces.items() if seen is not (what in foretold) and not _harmless(what, runs)
    }
    if wrong:
        return f"foretold {sorted(foretold)}, seen {wrong}"
    if "features" in foretold and "metadata-log" not in foretold and set(runs.levels_after) != {"metadata.version"}:
        return f"features were to be lost, the log has {runs.levels_after}"
    return None


def _traces(case: Case, log: str) -> dict[str, bool]:
    """Return which losses a node's log reports."""
    founded = "appears to be empty" in log
    return {
        "metadata-log": founded and case.started_once,
        "release": founded and any(source in log for source in RETRIED_BOOTSTRAP),
        "metadata-records": "truncating to offset" in log and not founded,
        "replicas": any(word in log for word in ("Error while reading", "Failed to read", "Disk error while")),
    }


def _harmless(what: str, runs: CaseRun) -> bool:
    """Return True for a loss without harm: what is cut off the log may be no record; 3.3 to 3.7 log an error for a
    quorum-state that they throw away; and the default that is taken where a newer release's records are ignored may be
    the level that was asked for."""
    found = {finding.id: finding for finding in runs.predicted.findings}
    ignored = found.get("newer-checkpoint-ignored")
    damaged = found.get("metadata-log-damaged")
    # Neither a lost segment nor a cut snapshot leaves a trace in a node's log.
    gone = (damaged is not None and "known_until" in damaged.evidence) or "checkpoint-truncated" in found
    harmless = {
        "metadata-log": "first-start-unfinished" in found,
        "metadata-records": gone or bool({"metadata-log-zero-tail", "snapshot-beyond-log"} & found.keys()),
        "replicas": "quorum-state-discarded" in found,
        "release": ignored is not None and _same_level(ignored.evidence),
    }
    return harmless.get(what, False)


def _same_level(evidence: Mapping[str, Any]) -> bool:
    return evidence["formatted"]["metadata.version"] == evidence["would_be"]["metadata.version"]


def _last_error(log: str) -> str:
    lines = [line for line in log.splitlines() if "Exception" in line or " ERROR " in line or " FATAL " in line]
    return lines[-1][:200] if lines else "no error in the log"


def case_named(name: str) -> Case:
    """Return the row with this name."""
    return next(case for case in ALL_CASES if case.name == name)


@pytest.mark.parametrize(("name", "release"), (*REPRESENTATIVES, *SETTING_REPRESENTATIVES))
def test_real_start_is_as_predicted(name: str, release: str, disks: Disks) -> None:
    runs = run_case(case_named(name), release, disks)
    assert runs.mismatch is None, runs.mismatch


def test_command_foretells_the_loss_of_a_cluster(disks: Disks, kafkactl: Callable[..., Run]) -> None:
    folder = disks.prepare(case_named("metadata.log.dir dropped"), "4.3.1")
    run = kafkactl("storage", "verify", "-c", folder / "server.properties", "--kafka-version", "4.3.1", "-o", "json")
    assert run.code == 7
    assert run.json["will_start"] is True
    assert [loss["what"] for loss in run.json["would_lose"]] == ["metadata-log"]
    assert "metadata-log-missing" in {finding["id"] for finding in run.json["findings"]}


@pytest.mark.campaign
@pytest.mark.timeout(4 * 3600)
def test_whole_catalogue_is_foretold(disks: Disks) -> None:
    # An unexpected start is run once more, because the machine may have been too slow; the page reports it.
    runs: list[CaseRun] = []
    notes: list[str] = []
    started = time.monotonic()
    for case, release in _every_start():
        case_run = run_case(case, release, disks)
        if case_run.mismatch is not None:
            again = run_case(case, release, disks)
            word = "PLAYED AGAIN, as foretold then" if again.mismatch is None else "MISMATCH"
            notes.append(f"{word}: {case.name} under {release}: {case_run.mismatch}")
            case_run = again
        runs.append(case_run)
        print(f"{len(runs):5} {release} {case.name}: {case_run.kind} {case_run.mismatch or ''}", flush=True)
    PROOF.write_text(_proof(runs, notes, time.monotonic() - started), encoding="utf-8")
    mismatches = [note for note in notes if note.startswith("MISMATCH")]
    assert not mismatches, "\n".join(mismatches)


def _every_start() -> Iterator[tuple[Case, str]]:
    for case in ALL_CASES:
        for release in case.releases:
            yield case, release


def _proof(runs: list[CaseRun], notes: list[str], seconds: float) -> str:
    kinds = ("starts", "loses", "waits", "ends")
    wrong = sum(start.mismatch is not None for start in runs)
    count: Counter[tuple[str, str]] = Counter((start.release, start.kind) for start in runs)
    rows = [f"| {version} | {' | '.join(str(count[version, kind]) for kind in kinds)} |" for version in VERSIONS]
    phases: Counter[Any] = Counter(
        start.predicted.expected_failure.phase.word for start in runs if start.predicted.expected_failure is not None
    )
    return "\n".join(
        [
            "# Verify against real starts",
            "",
            "Written by the run of `make lab` (tests/lab/storage/test_verify_starts.py); the catalogue is"
            " tests/lab/storage/verify_cases.py.",
            "",
            f"{len({start.case.name for start in runs})} kinds of disks, {len(runs)} starts of released Kafka in"
            f" {seconds / 60:.0f} minutes on {datetime.now(UTC):%Y-%m-%d}, {wrong} mismatches.",
            "For each start: will it start, does it end or wait, are the words foretold in its log, and is what it"
            " loses what was foretold (the controller's words at activation, the levels in the log afterwards).",
            "",
            "| release | starts | starts and loses | waits for ever | ends |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "Where the nodes that did not start were stopped, as foretold:",
            "",
            "| phase | starts |",
            "|---|---|",
            *(f"| {phase} | {number} |" for phase, number in sorted(phases.items())),
            "",
            *(f"- {note}" for note in notes),
            *([""] if notes else []),
        ]
    )
