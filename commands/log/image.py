"""`kafkactl log image`: the whole state of a cluster by its metadata log."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import (
    check_point,
    code_of,
    from_cluster_option,
    log_place,
    past_damage_option,
    point_options,
    show_secrets_option,
    stored_without_log,
)
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.rendering.progress import shown_progress
from kafkactl.core.safe_text import escaped, json_text

if TYPE_CHECKING:
    from kafkactl.metadata.api.image import ImageSummary
    from kafkactl.metadata.io.image import LoadedImage


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
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PATH)
@from_cluster_option
@bundle_option
@point_options
@past_damage_option
@show_secrets_option
@reading_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    bundle: str | None,
    at: int | None,
    at_time: int | None,
    past_damage: bool,
    show_secrets: bool,
    connection: ConnectionArguments,
) -> None:
    """Replay a metadata log and print the state of the cluster at its end, or at an earlier point.

    The newest snapshot before that point is loaded, and the records after it are applied. With -o
    json everything is sorted: equal states give equal bytes, and the SHA-256 (of the state with its
    secrets) shows whether two nodes have the same state. A damaged batch ends the log, as it does for a
    starting Kafka node (--past-damage continues after it). The exit code is 7 if a record could not be
    read or is inconsistent, so that the state is unreliable. A bundle without its log has only the counts.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.metadata.api.image import image_summary, image_to_dict, load_image

    check_point(at, at_time)
    if bundle is not None and not sources and at is None and at_time is None:
        _emit_stored(bundle)
    with (
        shown_progress("Replaying the log"),
        log_place(sources, connection, from_cluster=from_cluster, bundle=bundle) as place,
    ):
        loaded = load_image(place, at=at, at_time_ms=at_time, past_damage=past_damage)
    code = code_of(loaded.findings)
    output = current_settings().output
    if output in ("json", "jsonl"):
        _stream(loaded, code, show_secrets=show_secrets)
    from kafkactl.commands.rendering.output import emit

    summary = image_summary(loaded)
    answer = (
        summary
        if output == "table"
        else {
            **_head(summary),
            "image": image_to_dict(loaded.image, show_secrets=show_secrets),
            "findings": summary.findings,
        }
    )
    emit("log.image", answer, render=lambda page, _: _show(page, summary), exit_code=code)


def _emit_stored(path: str) -> None:
    """Print the counts that a bundle without its log has; nothing if the log is there."""
    answer = stored_without_log(path, "log.image")
    if answer is not None:
        from kafkactl.commands.rendering.output import emit
        from kafkactl.metadata.api.image import ImageSummary

        summary = ImageSummary.of_answer(answer)
        emit("log.image", answer, render=lambda page, _: _show(page, summary), exit_code=code_of(summary.findings))


def _head(summary: ImageSummary) -> dict[str, Any]:
    """Return the fields of the answer before the image; its features are in the image."""
    return {name: value for name, value in summary.to_dict().items() if name not in ("features", "image", "findings")}


def _stream(loaded: LoadedImage, code: int, *, show_secrets: bool) -> NoReturn:
    """Return the answer in pieces: the image of a large cluster has hundreds of megabytes as text."""
    from kafkactl._version import SCHEMA_VERSION
    from kafkactl.commands.framework.deadline import stop_clock
    from kafkactl.commands.rendering import output
    from kafkactl.metadata.api.image import image_pieces, image_summary

    stop_clock()
    before = json_text({"kind": "log.image", "schema_version": SCHEMA_VERSION, **_head(image_summary(loaded))})
    after = json_text({"findings": [finding.to_dict() for finding in loaded.findings]})
    image = image_pieces(loaded.image, show_secrets=show_secrets)
    for piece in chain([f'{before[:-1]}, "image": '], image, [f", {after[1:]}\n"]):
        if not output.write_data(escaped(piece)):
            break
    raise click.exceptions.Exit(code)


def _show(page: Page, summary: ImageSummary) -> None:
    from kafkactl.commands.rendering.stream import time_text
    from kafkactl.core.findings import blockers

    place = summary.provenance
    if place.offset is None or place.timestamp_ms is None:
        is_damaged = blockers(summary.findings)
        if place.snapshot is not None and not is_damaged:
            page.heading("The state of a snapshot whose file name does not have its offset", "warn")
        else:
            page.heading("Nothing of the log could be read" if is_damaged else "The log is empty", "warn")
    else:
        page.heading(f"The state after offset {place.offset}, {time_text(place.timestamp_ms)} UTC")
    page.fields(
        (
            ("epoch", place.epoch),
            ("snapshot", place.snapshot),
            ("sha256", summary.sha256),
            *((name.replace("_", " "), count) for name, count in summary.counts.items()),
        )
    )
    page.table(("feature", "level"), sorted(summary.features.items()))
    page.findings(summary.findings)
