"""`kafkactl storage format` against Kafka's own StorageTool: same acceptance, same bytes, same first reason.

Every generated case is run twice on disks of its own. Where ours refuses on purpose what Kafka accepts, the case says
so beforehand (`Case.differences`), and DELIBERATE names the reason: anything else is a failure.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.lab.harness import java
from tests.lab.harness.node import write_config
from tests.lab.harness.releases import VERSIONS
from tests.lab.harness.storage_tool import StorageToolServer, ToolResult
from tests.lab.oracles import normalise
from tests.lab.storage.format_cases import CLUSTER, RESERVED_ID, VOTER_IDS, Case, make_case

SAMPLE = 40
CAMPAIGN = 1000
PROOF = Path(__file__).parents[3] / "docs" / "proof" / "differential.md"

# What we refuse although Kafka accepts it: the blocker's id and the reason, as the proof states it.
DELIBERATE = {
    "directory-not-blank": "a directory without meta.properties that holds data is not blank (guard)",
    "metadata-disk-lost": "a blank metadata directory beside formatted ones is a lost disk (guard)",
    "metadata-directory-unreadable": "Kafka formats the rest and exits 0; the node could not start",
    "log-directory-unreadable": "Kafka formats the rest and exits 0; the operator must allow it by name",
}

# Our first blocker or error -> what Kafka says in that case.
PHRASES = {
    "already-formatted": "is already formatted",
    "cluster-id-mismatch": "Invalid cluster.id in",
    "node-id-mismatch": "Stored node id 7 doesn't match previous node id 1",
    "reserved-directory-id": "(resrved|reserved) directory ID",
    "duplicate-directory-id": "Duplicate directory ID",
    "static-voters-with-voter-flag": "You cannot specify controller.quorum.voters and format",
    "standalone-without-controller": "You can only use --standalone on a controller",
    "voter-flag-missing": "you must specify one of the following: --standalone",
    "unsupported-feature": "Unsupported feature: ",
    "unknown-feature-level": "No (MetadataVersion with feature level|feature:)",
    "feature-dependency-not-met": "could not be set to .* because it depends on",
    "kraft-version-contradicts-quorum": "Cannot set kraft.version to",
    "release-version-and-feature": "Use --release-version instead of|Only one of the two flags",
    "unstable-release-version": "not yet stable|not ready for production|Unknown metadata.version",
    "release-version-too-old": "before 3.3-IV0|not a valid version|Unknown metadata.version|No MetadataVersion",
    "unknown-release-version": "not a valid version|Unknown metadata.version",
    "scram-needs-newer-metadata-version": "SCRAM is only supported in",
    "cluster-id-not-a-uuid": "does not appear to be a valid UUID",
    "option-not-in-release": "unrecognized arguments",
    "several-directories-need-newer-metadata-version": "Multiple log directories",
}


@dataclass(frozen=True)
class Outcome:
    """Outcome of a case: accepted, refused, or a deliberate difference by its id."""

    release: str
    kind: str


@dataclass
class Bench:
    """Case on two sets of disks."""

    case: Case
    root: Path

    def arguments(self, tool: str) -> list[str]:
        """Return the arguments, with the configuration of that tool's disks."""
        place = self.root / tool
        place.mkdir(parents=True)
        for name, makers in self.case.disks.items():
            for make in makers:
                make(place / name)
        file = self.root / f"{tool}.properties"
        write_config(file, {key: value.replace("{root}", str(place)) for key, value in self.case.config.items()})
        return ["format", *self.case.arguments, "-c", str(file)]

    def written(self, tool: str) -> dict[str, tuple[str, bytes]]:
        """Return what is on that tool's disks, comparable."""
        prepared = {f"{position}{21 * 'A'}" for position in range(4)}
        found = normalise.tree(self.root / tool, {*VOTER_IDS, RESERVED_ID, *prepared})
        # A temporary file that an interrupted run of Kafka's tool left: Kafka uses the name again, we leave it.
        return {name: what for name, what in found.items() if not name.endswith("/meta.properties.tmp")}


def run_case(case: Case, root: Path, storage_tool: StorageToolServer, kafkactl: Callable[..., Run]) -> Outcome:
    """Run both tools and compare them."""
    bench = Bench(case, root)
    theirs = storage_tool.run(case.release, bench.arguments("kafka"))
    before = bench.arguments("ours")
    untouched = bench.written("ours")
    ours = kafkactl("storage", *before, "--kafka-version", case.release, "-o", "json")
    context = f"seed {case.seed}, {case.release}: {' '.join(case.arguments)}\n{case.config}\n{theirs}\n{ours}"
    assert ours.code in {0, 2, 3}, context
    if ours.code:
        assert bench.written("ours") == untouched, context
    if theirs.exit_code == 0 and ours.code:
        return _deliberate(case, ours, context)
    assert (theirs.exit_code == 0) == (ours.code == 0), context
    if ours.code:
        _same_reason(ours, theirs, context)
        return Outcome(case.release, "refused by both")
    assert bench.written("ours") == bench.written("kafka"), context
    _same_level(ours, theirs, context)
    return Outcome(case.release, "same bytes")


def _deliberate(case: Case, ours: Run, context: str) -> Outcome:
    assert ours.code == 3, context
    blockers = {finding["id"] for finding in ours.json["findings"] if finding["severity"] == "blocker"}
    assert blockers and blockers <= case.differences & DELIBERATE.keys(), context
    return Outcome(case.release, sorted(blockers)[0])


def _same_reason(ours: Run, theirs: ToolResult, context: str) -> None:
    """Check that our first reason is Kafka's. A mistake in the arguments (exit 2) is found before any rule."""
    if ours.code == 2:
        return
    first = next(finding["id"] for finding in ours.json["findings"] if finding["severity"] == "blocker")
    phrase = PHRASES.get(first)
    if phrase is not None:
        assert re.search(phrase, theirs.stdout + theirs.stderr), f"first is {first}\n{context}"


def _same_level(ours: Run, theirs: ToolResult, context: str) -> None:
    printed = re.findall(r"^Formatting .* with metadata\.version (\S+)\.$", theirs.stdout, re.MULTILINE)
    assert {name.removesuffix(".") for name in printed} <= {ours.json["metadata_version"]["name"]}, context
    assert bool(printed) == (ours.json["outcome"] == "done"), context


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_agrees_with_kafka_on_generated_cases(
    scratch: Path, storage_tool: StorageToolServer, kafkactl: Callable[..., Run]
) -> None:
    outcomes = [run_case(make_case(seed), scratch / str(seed), storage_tool, kafkactl) for seed in range(SAMPLE)]
    assert {outcome.release for outcome in outcomes} == set(VERSIONS)
    assert {"same bytes", "refused by both"} <= {outcome.kind for outcome in outcomes}


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_agrees_with_kafka_on_a_thousand_cases(
    scratch: Path, storage_tool: StorageToolServer, kafkactl: Callable[..., Run]
) -> None:
    outcomes = []
    for seed in range(CAMPAIGN):
        outcomes.append(run_case(make_case(seed), scratch / "case", storage_tool, kafkactl))
        shutil.rmtree(scratch / "case")
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert kinds["same bytes"] >= 300
    assert set(DELIBERATE) <= set(kinds)
    PROOF.write_text(_proof(outcomes), encoding="utf-8")


def _proof(outcomes: list[Outcome]) -> str:
    columns = ["same bytes", "refused by both", "refused by ours alone"]
    rows = []
    for release in VERSIONS:
        counts = Counter(outcome.kind for outcome in outcomes if outcome.release == release)
        alone = sum(counts[kind] for kind in DELIBERATE)
        rows.append(f"| {release} | {counts['same bytes']} | {counts['refused by both']} | {alone} |")
    alone = Counter(outcome.kind for outcome in outcomes if outcome.kind in DELIBERATE)
    reasons = [f"| `{id_}` | {alone[id_]} | {why} |" for id_, why in DELIBERATE.items()]
    python = ".".join(map(str, sys.version_info[:3]))
    return "\n".join(
        [
            "# `storage format` against Kafka's StorageTool",
            "",
            "Written by the run of `make lab` (tests/lab/storage/test_format_differential.py).",
            "",
            f"{len(outcomes)} generated cases (seeds 0 to {len(outcomes) - 1}), {datetime.now(UTC):%Y-%m-%d},"
            f" Python {python}, Java {java.version_of(java.java_home())}.",
            "Compared: exit, the first reason of a refusal, names, modes and bytes of everything written; times,"
            " checksums over times and random ids apart.",
            "",
            f"| release | {' | '.join(columns)} |",
            "|---|---|---|---|",
            *rows,
            "",
            "What ours alone refuses, on purpose:",
            "",
            "| finding | cases | why |",
            "|---|---|---|",
            *reasons,
            "",
        ]
    )


def test_cases_are_made_from_their_seed_alone() -> None:
    first, second = make_case(7), make_case(7)
    assert (first.arguments, first.config, list(first.disks)) == (second.arguments, second.config, list(second.disks))
    assert CLUSTER in {word for seed in range(20) for word in make_case(seed).arguments}
