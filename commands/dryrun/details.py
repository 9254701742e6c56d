"""Says where tables and reports were written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kafkactl.commands.rendering.output import say

if TYPE_CHECKING:
    from kafkactl.commands.dryrun.answers import Opened
    from kafkactl.dryrun.detail_tables import Table
    from kafkactl.dryrun.page.build import SimulatedScenario


def write_tables(path: str | None, opened: Opened, tables: Iterable[Table]) -> str | None:
    """Write the tables, of several clusters into a folder each, and say where they are; the folder."""
    if path is None:
        return None
    from kafkactl.dryrun.api.outputs import write_details

    folder = write_details(path, tables, opened.tag)
    say(f"The tables are in {folder}.")
    return folder


def write_html(path: str, simulated: Sequence[SimulatedScenario], opened: Opened) -> None:
    """Write the report of what was simulated on a cluster, and say where it is."""
    from kafkactl.dryrun.api.outputs import write_log_report

    write_log_report(path, simulated, opened.context, opened.chosen.log)
    say(f"The report is in {path}.")
