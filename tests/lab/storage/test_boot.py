"""Real nodes start from disks that we formatted, answer, and have the levels that we planned.

Four kinds of nodes: a static quorum, the standalone first controller of a dynamic one, the initial controllers of
one, and nodes that join it. The campaign starts each kind in every release that has it; `make test` one of each layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.lab.harness import config as configs
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.pool import Pool
from tests.lab.harness.ports import HOST
from tests.lab.harness.releases import VERSIONS, release
from tests.lab.oracles.features_of_node import wait_for_features

CLUSTER_ID = "XgM8cvG1S-mQ3k4wGhkVpQ"
VOTERS = {1: "JEXY6aqzQY-32P5TStzaFg", 2: "MvDxzVmcRsaTz33bUuRU6A"}
SCRAM = "SCRAM-SHA-256=[name=alice-of-the-lab,password=alice-secret]"
DYNAMIC = tuple(version for version in VERSIONS if release(version).number >= (3, 9))
PROOF = Path(__file__).parents[3] / "docs" / "proof" / "boot.md"

Format = Callable[..., Any]
Port = Callable[[], int]


@pytest.fixture
def format_node(tmp_path: Path, kafkactl: Callable[..., Run]) -> Format:
    """Format a node by the command, and return the node, not yet started, with the answer of the command."""

    def format_(version: str, config: configs.Config, *arguments: str, scram: str = "") -> tuple[KafkaNode, Any]:
        node = KafkaNode(version, config, tmp_path)
        write_config(node.config_file, config)
        words = ["-t", CLUSTER_ID, "-c", str(node.config_file), "--kafka-version", version, "-o", "json", *arguments]
        if scram:
            words += ["--scram-file", "-"]
        run = kafkactl("storage", "format", *words, input=scram)
        assert run.code == 0, run.stderr or run.stdout
        assert run.json["outcome"] == "done"
        assert "alice-secret" not in run.stdout + run.stderr
        return node, run.json

    return format_


def directories(root: Path, node_id: int) -> list[Path]:
    return [root / f"node{node_id}-{name}" for name in ("d1", "d2")]


def one_directory(root: Path, node_id: int) -> list[Path]:
    """Return one directory for brokers up to 3.6 (JBOD came to KRaft with 3.7)."""
    return directories(root, node_id)[:1]


def dirs_for(version: str, root: Path, node_id: int) -> list[Path]:
    return (directories if release(version).number >= (3, 7) else one_directory)(root, node_id)


def planned_levels(answer: Any) -> dict[str, int]:
    """Return what the cluster must have when it runs: 3.3 to 3.8 know metadata.version only."""
    levels = {"metadata.version": answer["metadata_version"]["level"], **answer["features"]}
    return levels | ({"kraft.version": answer["kraft_version"]} if answer["kraft_version"] else {})


def check_levels(node: KafkaNode, answer: Any) -> None:
    levels = planned_levels(answer)
    assert wait_for_features(*node.address, levels) == levels


def boot_static(version: str, root: Path, format_node: Format, port: Port) -> None:
    broker, controller = port(), port()
    quorum = configs.static_quorum({1: controller})
    config = configs.combined(
        node_id=1, log_dirs=dirs_for(version, root, 1), broker_port=broker, controller_port=controller, quorum=quorum
    )
    scram = SCRAM if release(version).number >= (3, 5) else ""
    node, answer = format_node(version, config, scram=scram)
    with node:
        node.start().wait_ready()
        check_levels(node, answer)
    log = b"".join(file.read_bytes() for file in (dirs_for(version, root, 1)[0] / "__cluster_metadata-0").iterdir())
    assert (b"alice-of-the-lab" in log) == bool(scram)


def boot_standalone(version: str, root: Path, format_node: Format, port: Port) -> None:
    broker, controller = port(), port()
    quorum = configs.dynamic_quorum([controller])
    config = configs.combined(
        node_id=1, log_dirs=directories(root, 1), broker_port=broker, controller_port=controller, quorum=quorum
    )
    node, answer = format_node(version, config, "--standalone", scram=SCRAM)
    assert answer["kraft_version"] == 1
    with node:
        node.start().wait_ready()
        check_levels(node, answer)


def boot_initial_controllers(version: str, root: Path, format_node: Format, port: Port) -> None:
    ports = {node_id: (port(), port()) for node_id in VOTERS}
    quorum = configs.dynamic_quorum([controller for _, controller in ports.values()])
    voters = ",".join(f"{id_}@{HOST}:{ports[id_][1]}:{directory_id}" for id_, directory_id in VOTERS.items())
    formatted = []
    for node_id, (broker, controller) in ports.items():
        dirs = directories(root, node_id)
        config = configs.combined(
            node_id=node_id, log_dirs=dirs, broker_port=broker, controller_port=controller, quorum=quorum
        ) | {"metadata.log.dir": str(dirs[1])}
        node, answer = format_node(version, config, "-I", voters)
        metadata = next(directory for directory in answer["directories"] if directory["role"] == "metadata")
        assert (metadata["path"], metadata["directory_id"]) == (str(dirs[1]), VOTERS[node_id])
        formatted.append((node, answer))
    with ExitStack() as running:
        # Neither has a majority alone: that both answer shows that they found each other.
        for node, _ in formatted:
            running.enter_context(node).start()
        for node, answer in formatted:
            node.wait_ready()
            check_levels(node, answer)


def boot_joining(version: str, root: Path, format_node: Format, port: Port) -> None:
    controller, broker, second = port(), port(), port()
    quorum = configs.dynamic_quorum([controller])
    first, answer = format_node(
        version, configs.controller(node_id=1, log_dirs=one_directory(root, 1), port=controller, quorum=quorum), "-s"
    )
    joining = [
        configs.broker(node_id=2, log_dirs=directories(root, 2), port=broker, quorum=quorum),
        configs.controller(node_id=3, log_dirs=one_directory(root, 3), port=second, quorum=quorum),
    ]
    with first:
        first.start().wait_ready()
        for config in joining:
            node, _ = format_node(version, config, "-N")
            with node:
                node.start().wait_ready()
                check_levels(node, answer)


KINDS: dict[str, tuple[Callable[..., None], Sequence[str]]] = {
    "static": (boot_static, VERSIONS),
    "standalone": (boot_standalone, DYNAMIC),
    "initial-controllers": (boot_initial_controllers, DYNAMIC),
    "joining": (boot_joining, DYNAMIC),
}
SAMPLE = (
    ("static", "3.6.2"),
    ("standalone", "3.9.2"),
    ("static", "4.4.0"),
    ("initial-controllers", "4.4.0"),
    ("joining", "4.4.0"),
)


@pytest.mark.parametrize(("kind", "version"), SAMPLE)
def test_node_boots_from_what_we_format(
    kind: str, version: str, tmp_path: Path, format_node: Format, free_port: Port, lab_pool: Pool
) -> None:
    boot, _ = KINDS[kind]
    boot(version, tmp_path, format_node, free_port)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_nodes_of_every_release_boot_from_what_we_format(
    tmp_path: Path, format_node: Format, free_port: Port, lab_pool: Pool
) -> None:
    booted = []
    for kind, (boot, versions) in KINDS.items():
        for version in versions:
            root = tmp_path / f"{kind}-{version}"
            root.mkdir()
            boot(version, root, format_node, free_port)
            booted.append((kind, version))
    PROOF.write_text(_proof(booted), encoding="utf-8")


def _proof(booted: list[tuple[str, str]]) -> str:
    rows = [
        f"| {version} | {' | '.join('boots' if (kind, version) in booted else '-' for kind in KINDS)} |"
        for version in VERSIONS
    ]
    return "\n".join(
        [
            "# Real nodes boot from our disks",
            "",
            "Written by the run of `make lab` (tests/lab/storage/test_boot.py).",
            "",
            f"{len(booted)} kinds of clusters on {datetime.now(UTC):%Y-%m-%d}. Each node answers, and the cluster has"
            " the feature levels that were planned. `-`: the release has no dynamic quorum.",
            "",
            f"| release | {' | '.join(KINDS)} |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )
