"""`kafkactl storage verify`: will this node start on its disks, and what would it lose?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.features.catalog.releases import Release
    from kafkactl.storage.verify.model import Verification

_VERDICTS: dict[bool | None, tuple[str, str]] = {
    True: ("starts", "good"),
    False: ("does not start", "bad"),
    None: ("may or may not start", "warn"),
}


@leaf_command(
    "verify",
    examples=(
        "kafkactl storage verify -c server.properties",
        "kafkactl storage verify -c server.properties --kafka-version 3.9.2 -o json",
    ),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.PROBLEMS_FOUND),
    timeout="10m",
)
@click.option("-c", "--config", required=True, metavar="FILE", help="The node's configuration (server.properties).")
@kafka_version_option
def command(config: str, kafka_version: str | None) -> None:
    """Predict the start of a node from its configuration and its disks. Nothing is written.

    Three kinds of trouble are told: the node ends with an error (which one), it waits for ever without
    one, or it starts and silently loses something: features, users, replicas, the whole metadata log.
    The exit code is 7 for each of them. Run it as the user that runs Kafka, or permissions are judged
    for another. Other nodes of the cluster are taken to be up and healthy.
    """
    from pathlib import Path

    from kafkactl.adapters.files.config_providers import resolve
    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.features.catalog.releases import find_release, newest_release
    from kafkactl.findings import blockers
    from kafkactl.storage.config.node_config import ConfigError, read_node_config
    from kafkactl.storage.verify.node import verify_refused_config

    release = find_release(kafka_version) if kafka_version else newest_release()
    data = read_input(Path(config), "the configuration", InputKind.NODE_CONFIG)
    try:
        node = read_node_config(data, file=config, release=release, resolve=resolve)
    except ConfigError as error:
        verification, node_id, others = verify_refused_config(error.findings), None, None
    else:
        verification, others = _verify(node, release)
        node_id = node.node_id
    problems = bool(blockers(verification.findings))
    emit(
        "storage.verify",
        {
            "kafka_version": release.version_text,
            "node_id": node_id,
            "cluster_id": _cluster_id(verification),
            "will_start": verification.will_start,
            "expected_failure": verification.expected_failure,
            "would_lose": verification.would_lose,
            "starts_with": others,
            "directories": verification.directories,
            "findings": verification.findings,
        },
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if problems else exit_codes.DONE,
    )


def _verify(node: Any, release: Release) -> tuple[Verification, list[str]]:
    """The prediction, and the releases that would start on these disks without losing anything."""
    from kafkactl.adapters.disks.directories import observe_node
    from kafkactl.adapters.logs.metadata_log import scan_metadata_log
    from kafkactl.storage.verify.node import releases_that_start, verify_node

    observed, log = observe_node(node), scan_metadata_log(node.metadata_log_dir)
    return verify_node(node, observed, release, log), releases_that_start(node, observed, log)


def _cluster_id(verification: Verification) -> str | None:
    ids = (directory["cluster_id"] for directory in verification.directories)
    return next((cluster_id for cluster_id in ids if cluster_id is not None), None)


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    verdict, tone = _VERDICTS[answer["will_start"]]
    who = "The node" if answer["node_id"] is None else f"Node {answer['node_id']}"
    loses = " and loses something" if answer["will_start"] is not False and answer["would_lose"] else ""
    page.heading(f"{who} {verdict} with Kafka {answer['kafka_version']}{loses}", "warn" if loses else tone)
    failure = answer["expected_failure"]
    page.fields(
        (
            ("phase", failure["phase"] if failure else None),
            ("in its log", failure["message"] if failure else None),
            ("starts with", ", ".join(answer["starts_with"] or ()) or None),
        )
    )
    page.table(
        ("lost", "of", "what happens"),
        ((Word(loss["what"], "bad"), loss["subject"], loss["message"]) for loss in answer["would_lose"]),
    )
    page.table(
        ("directory", "role", "state", "cluster", "node", "directory id"),
        (
            (one["path"], one["role"], one["state"], one["cluster_id"], one["node_id"], one["directory_id"])
            for one in answer["directories"]
        ),
    )
    page.findings(answer["findings"])
