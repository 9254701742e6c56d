"""`kafkactl log image`: the whole state of a cluster by its metadata log."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import (
    check_point,
    code_of,
    code_of_answer,
    from_cluster_option,
    log_place,
    past_damage_option,
    point_options,
    show_secrets_option,
    stored_without_log,
)
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.rendering.progress import shown_progress
from kafkactl.shown import escaped, json_text

if TYPE_CHECKING:
    from kafkactl.adapters.logs.image import LoadedImage
    from kafkactl.operations.log.image import CountsDict


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
@bundle_option
@point_options
@past_damage_option
@show_secrets_option
@connection_options
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
    from kafkactl.operations.log.image import image_to_dict, load_image, without_image

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

    counts = without_image(loaded)
    answer: dict[str, Any] = {**counts}
    if output == "yaml":
        answer["image"] = image_to_dict(loaded.image, show_secrets=show_secrets)
        del answer["features"]
    emit("log.image", answer, render=lambda page, _: _show(page, counts), exit_code=code)


def _emit_stored(path: str) -> None:
    """Print the counts that a bundle without its log has; nothing where the log is there."""
    answer = stored_without_log(path, "log.image")
    if answer is not None:
        from kafkactl.commands.rendering.output import emit

        emit("log.image", cast("CountsDict", answer), render=_show, exit_code=code_of_answer(answer))


def _stream(loaded: LoadedImage, code: int, *, show_secrets: bool) -> NoReturn:
    """The answer in pieces: the image of a large cluster has hundreds of megabytes as text."""
    from kafkactl.commands.framework.deadline import stop_clock
    from kafkactl.commands.framework.settings import SCHEMA_VERSION
    from kafkactl.commands.rendering import output
    from kafkactl.operations.log.image import image_pieces, image_summary

    stop_clock()
    before = json_text({"kind": "log.image", "schema_version": SCHEMA_VERSION, **image_summary(loaded)})
    after = json_text({"findings": [finding.to_dict() for finding in loaded.findings]})
    image = image_pieces(loaded.image, show_secrets=show_secrets)
    for piece in chain([f'{before[:-1]}, "image": '], image, [f", {after[1:]}\n"]):
        if not output.write_data(escaped(piece)):
            break
    raise click.exceptions.Exit(code)


def _show(page: Page, answer: CountsDict) -> None:
    from kafkactl.commands.rendering.stream import time_text

    if answer["offset"] is None or answer["timestamp_ms"] is None:
        is_damaged = any(finding["severity"] == "blocker" for finding in answer["findings"])
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
