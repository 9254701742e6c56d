"""`kafkactl log export`: tables of metadata logs as files for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.engine_options import ENGINE_OPTIONS, EngineArguments, check_master
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import check_point, point_options
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import PLACE
from kafkactl.commands.rendering.output import detail, emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.rendering.progress import shown_progress

if TYPE_CHECKING:
    from kafkactl.spark.api import LogExport


@leaf_command(
    "export",
    examples=(
        "kafkactl log export /backup/prod/__cluster_metadata-0 --out /lake/kafka",
        "kafkactl log export /backup --out /lake/kafka --table records --mode append",
        "kafkactl log export s3a://backup/2026-11-28 --out s3a://lake/kafka --mode append",
    ),
    codes=(
        exit_codes.DONE,
        exit_codes.FAILED,
        exit_codes.USAGE,
        exit_codes.REFUSED,
        exit_codes.UNREACHABLE,
        exit_codes.PARTLY_DONE,
        exit_codes.UNKNOWN,
    ),
    timeout="1h",
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=PLACE)
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=PLACE,
    help="The folder of the tables: a path, or a URI that Spark opens.",
)
@click.option("--table", "tables", multiple=True, metavar="T", help="A table; can be repeated. [default: the state]")
@click.option(
    "--format",
    "form",
    type=click.Choice(("parquet", "jsonl", "csv")),
    default="parquet",
    show_default=True,
    help="The format of the files.",
)
@point_options
@click.option(
    "--mode",
    type=click.Choice(("error", "overwrite", "append")),
    default="error",
    show_default=True,
    help="What happens to a table that exists.",
)
@click.option("--cluster-of", metavar="PATTERN", help="A regular expression that gives each path its cluster.")
@option_group("where", EngineArguments, *ENGINE_OPTIONS)
def command(
    *,
    sources: tuple[str, ...],
    out: str,
    tables: tuple[str, ...],
    form: str,
    at: int | None,
    at_time: int | None,
    mode: str,
    cluster_of: str | None,
    where: EngineArguments,
) -> None:
    """Write tables of metadata logs: records, changes, findings, and the state.

    A SOURCE is a __cluster_metadata-0 folder, a folder above some, a single file or a support
    bundle. Files are written to TABLE/cluster=NAME/date=DAY below DIR, the day being that of the
    last record. The mode append replaces a day of a cluster and keeps all others. Secrets are
    left out. Paths are read and written in process, other URIs (hdfs:, s3a: ...) by Spark.
    """
    from kafkactl.spark.api import export_tables

    check_point(at, at_time)
    check_master(where.engine, where.master)
    with shown_progress("Reading the logs"):
        found = export_tables(
            sources,
            out,
            tables=tables,
            form=form,
            at=at,
            at_time_ms=at_time,
            mode=mode,
            cluster_of=cluster_of,
            engine=where.engine,
            master=where.master,
            chosen=lambda engine: detail(engine.why),
        )
    code = exit_codes.PARTLY_DONE if found.is_partial else exit_codes.DONE
    emit("log.export", found, render=_show, exit_code=code, listing="tables")


def _show(page: Page, found: LogExport) -> None:
    count, unread = len(found.clusters), sum(cluster.as_of_offset is None for cluster in found.clusters)
    what = "1 cluster" if count == 1 else f"{count} clusters"
    page.heading(f"{count - unread} of {what} exported" if unread else f"{what} exported")
    page.table(
        ("table", "rows", "files", "path"),
        [(table.name, table.rows, table.files, table.path) for table in found.tables],
    )
    page.findings(found.findings)
