"""A report as one HTML file that needs nothing else: no network, no font, and no script to be read.

jinja2 fills schemas/report/page.html; everything is escaped but the pictures, which escape their own.
A Content-Security-Policy in the page forbids whatever would load or run, except schemas/report/page.js, by its hash:
it sorts and filters tables. Where scripts are switched off the page shows the same.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from typing import TYPE_CHECKING, Any

from kafkactl.core.data_files import read_data
from kafkactl.core.safe_text import visible
from kafkactl.report.model import TONES, Block, Facts, Picture, Report, Table
from kafkactl.report.numbers import numbers_of
from kafkactl.report.svg import draw

if TYPE_CHECKING:
    from jinja2 import Environment, Template

MARK = "<!-- written by kafkactl dryrun -->"
TIERED_MARK = "<!-- written by kafkactl tiered -->"


def render_html(report: Report, mark: str = MARK) -> bytes:
    """Return the page in UTF-8, with `mark` at its head."""
    page = _template()
    environment = page.environment
    script = read_data("report/page.js")
    text = page.render(
        report=report,
        mark=environment.filters["safe"](mark),
        style=environment.filters["safe"](read_data("report/page.css").decode("utf-8")),
        script=environment.filters["safe"](script.decode("utf-8")),
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}",
        tone=TONES.__getitem__,
        block=_Blocks(environment),
    )
    return text.encode("utf-8")


@functools.cache
def _template() -> Template:
    """Return the page, compiled once: that takes longer than a page of one scenario."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_final
    )
    return environment.from_string(read_data("report/page.html").decode("utf-8"))


def _final(value: Any) -> Any:
    """Return a text for a template as on a terminal, without control, hidden or line-breaking characters."""
    return visible(value) if type(value) is str else value


class _Blocks:
    """Functions of the template for a block: its kind, and its picture."""

    def __init__(self, environment: Environment) -> None:
        self._safe = environment.filters["safe"]
        self._drawn = 0

    def kind(self, block: Block) -> str:
        """Return `facts`, `table` or `picture`."""
        return "facts" if isinstance(block, Facts) else "table" if isinstance(block, Table) else "picture"

    def numbers(self, block: Picture) -> Table:
        """Return the numbers of a picture as a table."""
        return numbers_of(block)

    def picture(self, block: Block) -> Any:
        """Return the SVG of a picture."""
        if isinstance(block, Facts | Table):
            raise TypeError(f"{type(block).__name__} is not a picture")
        self._drawn += 1
        return self._safe(draw(block, f"p{self._drawn}"))
