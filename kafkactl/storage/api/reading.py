"""Content of a node's disks: their files, what is in them, and whether the node would start."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.storage.api.release import ChosenRelease, check_zookeeper, choose_release
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.io.host_overrides import HostOverrides, overrides_on_host
from kafkactl.storage.io.node_files import FilePath, read_node

if TYPE_CHECKING:
    from kafkactl.storage.config.node_config import NodeConfig
    from kafkactl.storage.dump import DumpedFile
    from kafkactl.storage.info import NodeInfo
    from kafkactl.storage.model import ClassPathFacts
    from kafkactl.storage.verify.model import Verification


@frozen
class InfoResult:
    """Report of a release's tool on a node's directories; `lines` is its output."""

    kafka_version: str
    info: NodeInfo
    lines: tuple[str, ...]

    @property
    def has_problems(self) -> bool:
        """Return True if Kafka's tool names a problem."""
        return bool(self.info.problems)

    to_dict = json_of(
        "kafka_version", "cluster_id=info.cluster_id", "node_id=info.node_id", "directories=info.directories",
        "problems=info.problems", "findings=info.findings", kind="storage.info",
    )  # fmt: skip


def node_info(config: FilePath, *, kafka_version: str | None = None) -> InfoResult:
    """Return the content of the directories of the node that the server.properties `config` describes.

    Lines and problems are those of kafka-storage.sh of `kafka_version` (default: as in `verify_node`).

    Raises InputError.
    """
    from kafkactl.storage.info import describe_node, render_info

    release = choose_release(kafka_version, config).release
    node = read_node(config, release, "the configuration", overrides=_overrides(overrides_on_host(os.fspath(config))))
    info = describe_node(node, observe_node(node), release)
    lines = render_info(info)
    while lines and not lines[-1]:
        lines.pop()
    return InfoResult(kafka_version=release.version_text, info=info, lines=tuple(lines))


@frozen
class NodeVerification:
    """The predicted start of a node. `starts_with` are the releases that would start on these disks without losing
    anything, None if the configuration itself stops the node; `node_id` is then None, too.
    """

    kafka_version: str
    node_id: int | None
    verification: Verification
    starts_with: tuple[str, ...] | None = None
    """Known releases that start on these disks and lose nothing."""

    @property
    def will_start(self) -> bool | None:
        """Return True if the node starts, None if unknown; a node that would wait indefinitely does not start."""
        return self.verification.will_start

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return all findings; a blocker is a failed start, a start that waits indefinitely, or a loss."""
        return self.verification.findings

    @property
    def has_problems(self) -> bool:
        """Return True if a finding is a blocker."""
        return bool(blockers(self.findings))

    @property
    def cluster_id(self) -> str | None:
        """Return the id of the cluster, from the first directory that has it."""
        ids = (directory["cluster_id"] for directory in self.verification.directories)
        return next((cluster_id for cluster_id in ids if cluster_id is not None), None)

    to_dict = json_of(
        "kafka_version", "node_id", "cluster_id", "will_start", "expected_failure=verification.expected_failure",
        "would_lose=verification.would_lose", "starts_with", "directories=verification.directories", "findings",
        kind="storage.verify",
    )  # fmt: skip


def verify_node(config: FilePath, *, kafka_version: str | None = None) -> NodeVerification:
    """Predict the start of a node from its server.properties `config` and its disks. Nothing is written.

    `kafka_version` is the release that is to start (default: the one of this host, else the newest known). The other
    nodes of the cluster are taken to be healthy. A configuration that the node itself would refuse is an answer, too;
    InputError is raised for a file that cannot be read, and for a release that is not known. Settings that the node's
    process got with --override count before the file.
    """
    from kafkactl.metadata.io.metadata_log import scan_metadata_log
    from kafkactl.storage.config.node_config import ConfigError
    from kafkactl.storage.io.partition_ids import read_partition_ids
    from kafkactl.storage.verify import node as verify

    chosen = choose_release(kafka_version, config)
    release = chosen.release
    host = overrides_on_host(os.fspath(config))
    overridden = () if host is None else (host.finding(os.fspath(config)),)
    try:
        node = read_node(config, release, "the configuration", overrides=_overrides(host))
    except ConfigError as error:
        refused = verify.verify_refused_config((*error.findings, *chosen.findings, *overridden))
        return NodeVerification(kafka_version=release.version_text, node_id=None, verification=refused)
    observed = changed(observe_node(node), class_paths=_class_paths(node))
    log = scan_metadata_log(node.metadata_log_dir)
    ids = read_partition_ids(dict.fromkeys(node.log_dirs)) if "broker" in node.roles else None
    return NodeVerification(
        kafka_version=release.version_text,
        node_id=node.node_id,
        verification=_noted(verify.verify_node(node, observed, release, log, ids), chosen, node, overridden),
        starts_with=tuple(verify.releases_that_start(node, observed, log, ids)),
    )


def _noted(
    verification: Verification, chosen: ChosenRelease, node: NodeConfig, overridden: tuple[Finding, ...]
) -> Verification:
    """Return the answer with the findings about an assumed release, and about the command line."""
    notes = () if chosen.is_named else (*chosen.findings, *check_zookeeper(chosen, node))
    return changed(verification, findings=(*verification.findings, *notes, *overridden))


def _overrides(host: HostOverrides | None) -> Mapping[str, str] | None:
    return None if host is None else host.values


def _class_paths(node: NodeConfig) -> dict[str, ClassPathFacts]:
    """Inspect the class paths that the file gives plugins of tiered storage."""
    from kafkactl.storage.io.class_paths import look_for_class
    from kafkactl.storage.verify.classes import classes_with_path

    return {key: look_for_class(path, name) for key, name, path in classes_with_path(node)}


@frozen
class DumpResult:
    """Files of a log directory, decoded."""

    files: tuple[DumpedFile, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the damage in all of them."""
        return tuple(finding for file in self.files for finding in file.findings)

    to_dict = json_of("files", "findings", kind="storage.dump")


def dump_files(paths: Iterable[FilePath], *, show_secrets: bool = False) -> DumpResult:
    """Decode meta.properties, checkpoints and quorum-state files; each path once, in this order.

    A damaged file is decoded as far as possible, and findings have the place of each damage. Keys of SCRAM users are
    in the result only with `show_secrets`. Raises InputError for a file that cannot be read or is none of these.
    """
    from kafkactl.storage.dump import dump_file

    names = dict.fromkeys(os.fspath(path) for path in paths)
    return DumpResult(
        files=tuple(
            dump_file(name, read_input(Path(name), "the file", InputKind.DUMPED), show_secrets=show_secrets)
            for name in names
        )
    )
