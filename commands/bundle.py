"""`kafkactl bundle`: everything that helps to judge a cluster from afar, without its secrets, in one archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import (
    ConnectionArguments,
    connection_options,
    find_cluster,
    open_client,
    title_of_cluster,
)
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, kafka_version_option
from kafkactl.commands.rendering.output import detail, emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.wording import size_text

if TYPE_CHECKING:
    from kafkactl.bundle.api.create import BundleResult
    from kafkactl.bundle.api.sources import Sources

_TONES = {"done": "good", "partial": "warn", "unknown": "bad"}


@leaf_command(
    "bundle",
    examples=(
        "kafkactl bundle",
        "kafkactl bundle --out support.zip -c /etc/kafka/server.properties",
        "kafkactl bundle --out support.zip --bootstrap-controller c1:9093 --command-config admin.properties",
        "kafkactl bundle --out support.zip --log-dir /mnt/c1 --log-dir /mnt/c2 --include-log",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.PARTLY_DONE,
        exit_codes.UNKNOWN,
    ),
    timeout="1h",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", type=PATH,
    help="The archive to write. [default: kafkactl-bundle-TIME.zip, here]",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option(
    "-c", "--config", "configs", multiple=True, metavar="FILE", type=PATH,
    help="The configuration of a node on this host: its directories and its metadata log are read.",
)  # fmt: skip
@click.option(
    "--log-dir", "log_dirs", multiple=True, metavar="DIR", type=PATH,
    help="Also read this metadata log directory.",
)  # fmt: skip
@click.option("--inventory", metavar="FILE", type=PATH, help="The inventory of a migration to observe.")
@click.option("--observation", metavar="DIR", type=PATH, help="A saved observation of a migration.")
@click.option(
    "--tiered", multiple=True, metavar="DIR", type=PATH,
    help="A log directory of a broker with tiered storage, for its audit.",
)  # fmt: skip
@click.option(
    "--include-log", is_flag=True,
    help="Add the metadata logs themselves, with SCRAM keys, token ids and secret settings replaced.",
)  # fmt: skip
@kafka_version_option
@connection_options
def command(*, out: str | None, force: bool, include_log: bool, connection: ConnectionArguments, **named: Any) -> None:
    """Write a support bundle: one archive with what helps to judge a cluster from afar, without secrets.

    It contains versions, configurations without secrets and comments, the state of log directories, counts and
    anomalies of metadata logs, the answers of a live cluster, and an index page (index.html). A part that cannot
    be gathered is listed with the reason, and the exit code is 5; it is 6 if no part could be gathered, and no file
    is written. Without an address only files are read, unless nothing else is named: then the current context is used,
    or else the nodes of this host and their cluster.
    """
    from kafkactl.bundle.api.create import create_bundle
    from kafkactl.commands.framework.deadline import stop_clock
    from kafkactl.commands.framework.settings import current_settings

    if named["inventory"] is not None and named["observation"] is not None:
        raise click.UsageError("--inventory and --observation exclude each other.")
    with _sources(connection, named) as sources:
        result = create_bundle(
            out or f"kafkactl-bundle-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip",
            sources,
            include_log=include_log,
            force=force,
            timeout_ms=current_settings().timeout_ms,
            on_note=lambda text: detail(f"gathering {text}"),
            on_gathered=stop_clock,
        )
    emit("bundle", result, render=_show, exit_code=result.outcome.exit_code)


@contextmanager
def _sources(connection: ConnectionArguments, named: Mapping[str, Any]) -> Iterator[Sources]:
    """Yield the named sources; a cluster if an address or a context is named, or if nothing else is.

    If nothing is named at all, these are the nodes of this host and their cluster.
    """
    from kafkactl.bundle.api.sources import Sources
    from kafkactl.core.frozen import changed

    sources = Sources(
        configs=named["configs"],
        logs=named["log_dirs"],
        inventory=_inventory(named["inventory"]),
        observation=named["observation"],
        tiered=_tiered(named["tiered"], named["log_dirs"]),
        kafka_version=named["kafka_version"],
    )
    if not (connection.names_cluster or sources.wanted.is_nothing):
        yield sources
        return
    found = None
    if not connection.names_cluster:
        found = find_cluster(connection)
        sources = changed(sources, configs=tuple(file.path for file in found.files))
    with open_client(connection, found=found) as client:
        yield changed(sources, client=client, client_name=title_of_cluster(client))


def _inventory(path: str | None) -> Any:
    from kafkactl.commands.migrate.options import read_inventory

    return None if path is None else read_inventory(path)


def _tiered(folders: tuple[str, ...], logs: tuple[str, ...]) -> Any:
    from kafkactl.tiered.api.verbs import Request

    return Request(sources=folders, metadata=logs[0] if logs else None) if folders else None


def _show(page: Page, made: BundleResult) -> None:
    manifest = made.manifest
    gathered = [part for part in manifest.parts if part.is_gathered]
    nothing = "Nothing was gathered, and no file was written"
    page.heading(nothing if made.file is None else f"{made.file}: {size_text(made.size or 0)}", _TONES[made.outcome])
    page.fields(
        (
            ("cluster", manifest.cluster_id),
            ("parts", f"{len(gathered)} of {len(manifest.parts)} gathered"),
            ("metadata logs", "included, secrets replaced" if manifest.logs else "not included"),
            ("sha256", made.sha256),
        )
    )
    page.table(
        ("part", "state", "about"),
        ((part.name, Word(part.state, "good" if part.is_gathered else "bad"), part.about) for part in manifest.parts),
    )
    page.findings(made.findings)
