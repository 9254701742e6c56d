"""`kafkactl log image`: the whole state of a cluster as its metadata log tells it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.log.options import (
    code_of,
    from_cluster_option,
    loaded_image,
    past_damage_option,
    point_of,
    point_options,
    provenance,
    show_secrets_option,
)
from kafkactl.commands.rendering.page import Page
from kafkactl.shown import escaped, json_text

if TYPE_CHECKING:
    from kafkactl.adapters.logs.image import LoadedImage
    from kafkactl.metadata.image.model import Image


@leaf_command(
    "image",
    examples=(
        "kafkactl log image /disk1/__cluster_metadata-0",
        "kafkactl log image /disk1/__cluster_metadata-0 --at 12345 -o json",
        "kafkactl log image --from-cluster --bootstrap-controller host:9093 -o json",
    ),
    codes=exit_codes.READING,
    timeout="1h",
)  # fmt: skip
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=click.Path())
@from_cluster_option
@point_options
@past_damage_option
@show_secrets_option
@connection_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    at: int | None,
    at_time: int | None,
    past_damage: bool,
    show_secrets: bool,
    connection: ConnectionArguments,
) -> None:
    """Replay a metadata log and print the state of the cluster at its end, or at an earlier point.

    The newest snapshot before that point is taken, and the records behind it are applied. Under -o
    json everything is sorted: equal states give equal bytes, and the SHA-256 (of the state with its
    secrets) shows whether two nodes have the same state. A damaged batch ends the log, as it does for a
    node of Kafka that starts (--past-damage goes on after it). The exit code is 7 if some record could
    not be read or does not fit, so that the state is not to be trusted.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.metadata.image.json import image_json, image_sha256
    from kafkactl.metadata.image.redact import redacted_part

    loaded = loaded_image(
        sources, connection, from_cluster=from_cluster, point=point_of(at, at_time), past_damage=past_damage
    )
    code = code_of(loaded.findings)
    head = {**provenance(loaded), "sha256": image_sha256(loaded.image), "counts": counts_of(loaded.image)}
    findings = [finding.to_dict() for finding in loaded.findings]
    match current_settings().output:
        case "json" | "jsonl":
            _stream(head, loaded, findings, code, hide=not show_secrets)
        case "yaml":
            shown = image_json(loaded.image)
            if not show_secrets:
                shown = {part: value if value is None else redacted_part(part, value) for part, value in shown.items()}
            payload = {**head, "image": shown, "findings": findings}
        case _:
            payload = {**head, "features": loaded.image.features, "findings": findings}
    from kafkactl.commands.rendering.output import emit

    emit("log.image", payload, render=_show, exit_code=code)


def _stream(
    head: Mapping[str, Any], loaded: LoadedImage, findings: list[dict[str, Any]], code: int, *, hide: bool
) -> NoReturn:
    """The answer in pieces: the image of a large cluster has hundreds of megabytes as text."""
    from kafkactl.commands.framework.deadline import stop_clock
    from kafkactl.commands.framework.settings import SCHEMA_VERSION
    from kafkactl.commands.rendering import output

    stop_clock()
    before = json_text({"kind": "log.image", "schema_version": SCHEMA_VERSION, **head})
    after = json_text({"findings": findings})
    image = image_pieces(loaded.image, hide=hide)
    for piece in chain([f'{before[:-1]}, "image": '], image, [f", {after[1:]}\n"]):
        if not output.write_data(escaped(piece)):
            break
    raise click.exceptions.Exit(code)


def image_pieces(image: Image, *, hide: bool) -> Iterator[str]:
    """The canonical text of an image, in pieces, with `hide` without secrets."""
    from kafkactl.metadata.image.json import PART_NAMES, image_text
    from kafkactl.metadata.image.redact import SECRET_PARTS, redacted_part

    heads = {f'{"{" if name == PART_NAMES[0] else ","}"{name}":': name for name in PART_NAMES}
    part = ""
    for piece in image_text(image):
        if piece in heads:
            part = heads[piece]
            yield piece
        elif hide and part in SECRET_PARTS and piece != "}":
            yield json_text(redacted_part(part, json.loads(piece)), compact=True)
        else:
            yield piece


def counts_of(image: Image) -> dict[str, int]:
    """How much there is of everything."""
    return {
        "brokers": len(image.brokers),
        "fenced_brokers": sum(one.fenced for one in image.brokers.values()),
        "controllers": len(image.controllers),
        "topics": len(image.topics),
        "partitions": image.partition_count(),
        "leaderless_partitions": image.leaderless_count(),
        "configs": sum(map(len, image.configs.values())),
        "client_quotas": sum(map(len, image.client_quotas.values())),
        "acls": len(image.acls),
        "scram_credentials": len(image.scram),
        "delegation_tokens": len(image.delegation_tokens),
    }


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    from kafkactl.commands.log.stream import time_text

    if answer["offset"] is None:
        is_damaged = any(one["severity"] == "blocker" for one in answer["findings"])
        page.heading("Nothing of the log could be read" if is_damaged else "The log is empty", "warn")
    else:
        page.heading(f"The state after offset {answer['offset']}, {time_text(answer['timestamp_ms'])} UTC")
    page.fields(
        (
            ("epoch", answer["epoch"]),
            ("snapshot", answer["snapshot"]),
            ("sha256", answer["sha256"]),
            *((name.replace("_", " "), count) for name, count in answer["counts"].items()),
        )
    )
    page.table(("feature", "level"), sorted(answer.get("features", {}).items()))
    page.findings(answer["findings"])
