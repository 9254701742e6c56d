"""The release that will start on the disks: the one that is named, else the one of this host, else the newest known."""

from __future__ import annotations

import os

from kafkactl.core.findings import Finding, Severity, blocker
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.protocol.catalog.releases import Release, find_release, newest_release
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.io.host_release import HostRelease, releases_on_host
from kafkactl.storage.io.node_files import FilePath

_ASSUMED = "kafka-release-assumed"
_NAME_IT = "Name the release that will start on these disks with --kafka-version{more}."


@frozen
class ChosenRelease:
    """Release, a flag for one that the operator named, and the findings about the choice."""

    release: Release
    is_named: bool
    findings: tuple[Finding, ...] = ()


def choose_release(
    kafka_version: str | None, config: FilePath, *, creates_users: bool = False, more: str = ""
) -> ChosenRelease:
    """Return the release for the node with this configuration, the first of `config` if it is an inventory.

    `creates_users`: SCRAM users are written, which a release of another layout would not read. `more` adds to the next
    step. Raises InputError `unknown-kafka-version`.
    """
    if kafka_version:
        return ChosenRelease(release=find_release(kafka_version), is_named=True)
    found = releases_on_host(os.fspath(config))
    if len(found) == 1:
        return ChosenRelease(release=find_release(found[0].version), is_named=False, findings=(_on_host(found[0]),))
    newest = newest_release()
    return ChosenRelease(
        release=newest, is_named=False, findings=(_assumed(newest, found, creates_users=creates_users, more=more),)
    )


def _on_host(found: HostRelease) -> Finding:
    return Finding(
        id="kafka-release-found",
        severity=Severity.INFO,
        subject="--kafka-version",
        message=f"Kafka {found.version} is used, which was found on this host ({found.place})",
        evidence={"version": found.version, "place": found.place},
    )


def _assumed(newest: Release, found: tuple[HostRelease, ...], *, creates_users: bool, more: str) -> Finding:
    why = "no Kafka was found on this host"
    if found:
        why = f"several releases were found on this host ({', '.join(release.version for release in found)})"
    text = f"no release was named and {why}: Kafka {newest.version_text} is assumed, the newest that kafkactl knows"
    if creates_users:
        text += "; an older release starts on its layout without the SCRAM users and feature levels"
    return Finding(
        id=_ASSUMED,
        severity=Severity.BLOCKER if creates_users else Severity.WARNING,
        subject="--kafka-version",
        message=text,
        evidence={"assumed": newest.version_text, "found": [release.version for release in found]},
        next_step=_NAME_IT.format(more=more),
    )


def without_zookeeper_warnings(node: NodeConfig) -> NodeConfig:
    """Return the configuration without the advice to remove keys of ZooKeeper: the release is wrong, not the file."""
    return changed(node, warnings=tuple(found for found in node.warnings if "zookeeper." not in found.message))


def check_zookeeper(chosen: ChosenRelease, node: NodeConfig) -> tuple[Finding, ...]:
    """Return the refusal of a layout without ZooKeeper for a file that belongs to a release with it.

    The flag of the migration is in no release from 4.0 on. Other keys of ZooKeeper may be left over in a file of 4.0 or
    later: they only count if the release was not named.
    """
    if chosen.release.zookeeper_mode:
        return ()
    keys = sorted(key for key in node.properties if key.startswith("zookeeper."))
    migrates = (node.properties.get(MIGRATION_ENABLE) or "").strip().lower() == "true"
    if not migrates and (chosen.is_named or not keys):
        return ()
    return (
        blocker(
            "release-without-zookeeper",
            f"file {node.file}",
            f"the file has {', '.join(keys)}, which no release from 4.0 on knows: it belongs to a release below 4.0,"
            f" and the disks would be laid out for Kafka {chosen.release.version_text}",
            keys=keys,
            release=chosen.release.version_text,
        ),
    )
