"""`kafkactl demo`: real commands on a playground, scene by scene."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, Choice
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.commands.demo.answers import DemoScene, DemoStep
    from kafkactl.commands.demo.run import Demo
    from kafkactl.commands.demo.stage import Run

SCENES = ("wedge", "fleet", "mount", "dryrun", "report")
_NARROWEST = 20
_GLUE = "\0"
_INTERRUPTED = 130  # exit code, as after any Ctrl-C
_WIDTH = 96  # of paragraphs, if the terminal is wider


@leaf_command(
    "demo",
    examples=(
        "kafkactl demo",
        "kafkactl demo --scene wedge --no-wait",
        "kafkactl demo --scene report --out report.html",
        "kafkactl demo --kafka /opt/kafka",
    ),
    codes=(0, 1, 2, 3, 6),
    timeout="10m",
)
@click.option("--scene", "scenes", type=Choice(SCENES), multiple=True, help="Only this scene.")
@click.option("--list", "lists", is_flag=True, help="List the scenes, and run none.")
@click.option("--no-wait", is_flag=True, help="Do not wait for Enter before each command.")
@click.option("--kafka", metavar="DIR", type=PATH, help="Use released Kafka, unpacked in DIR.")
@click.option("--out", metavar="FILE", type=PATH, help="Where the scene report writes its HTML page.")
@click.option("--keep", is_flag=True, help="Keep the temporary folder.")
def command(
    *, scenes: tuple[str, ...], lists: bool, no_wait: bool, kafka: str | None, out: str | None, keep: bool
) -> None:
    """Try kafkactl on a playground: real commands on a fake quorum in a temporary folder.

    Each scene says what has happened, shows a command and its real output, and on a terminal waits for
    Enter before each command: a change of voters that is refused, a fleet that is formatted, a disk
    that is not mounted, a dry run, an HTML report. The fake quorum listens on loopback. Nothing outside
    the temporary folder is read or changed, and the folder is removed at the end, also after Ctrl-C.

    With --kafka six Java processes of released Kafka are the cluster instead.
    """
    from kafkactl.commands.demo.answers import ShownDemo
    from kafkactl.commands.demo.run import DemoRequest, run_demo

    chosen = tuple(name for name in SCENES if name in (scenes or SCENES))
    if lists:
        _list(chosen)
    if out is not None:
        _check_out(out, chosen)
    settings = current_settings()
    audience: _Reader | _Viewer = _Viewer(waits=not no_wait) if settings.output == "table" else _Reader()
    request = DemoRequest(
        scenes=chosen,
        kafka=None if kafka is None else Path(kafka),
        keeps=keep,
        report=None if out is None else str(Path.cwd() / out),
        color=settings.color,
    )
    try:
        demo = run_demo(request, audience)
    except (KeyboardInterrupt, click.Abort):
        if isinstance(audience, _Reader):
            raise
        _show_early_end(keep=keep)
    answer = ShownDemo(demo=demo, scenes=audience.scenes)
    output.emit("demo", answer, render=lambda page, _: _show_end(page, demo), listing="scenes")


def _check_out(out: str, chosen: tuple[str, ...]) -> None:
    """Refuse before the first scene what the scene report could not write."""
    from kafkactl.simulator.api.simulation import check_page

    if "report" not in chosen:
        raise click.UsageError("--out is for the scene report, which is not among those of --scene.")
    check_page(out)


def _list(chosen: tuple[str, ...]) -> NoReturn:
    from kafkactl.commands.demo import scenes

    rows = [(name, scenes.SCENES[name].title) for name in chosen]
    output.emit(
        "demo.list",
        {"scenes": [{"name": name, "title": title} for name, title in rows]},
        render=lambda page, _: page.table(("scene", "what it shows"), rows),
        listing="scenes",
    )


def _show_end(page: Page, demo: Demo) -> None:
    page.heading("The demo is over.", "good")
    page.fields([("report", demo.report), ("folder", demo.folder)])
    if demo.folder is None:
        page.line(Word("The temporary folder is removed, and nothing is left running.", "dim"))


def _show_early_end(*, keep: bool) -> NoReturn:
    page = Page()
    page.line()
    page.line(Word("The demo was ended.", "strong"))
    what = "The folder stays" if keep else "The temporary folder is removed"
    page.line(Word(f"{what}, and nothing is left running.", "dim"))
    output.show_part(page)
    raise click.exceptions.Exit(_INTERRUPTED)


class _Reader:
    """The audience of an answer in JSON or YAML: everything is kept, and nothing shown."""

    captures = True

    def __init__(self) -> None:
        self.scenes: list[DemoScene] = []

    def open(self, folder: Path, *, keeps: bool) -> None:
        pass

    def close(self) -> None:
        pass

    def begin(self, name: str, title: str) -> None:
        self.scenes.append(cast("DemoScene", {"name": name, "title": title, "steps": []}))

    def say(self, text: str) -> None:
        self._add(text=text)

    def will_run(self, line: str) -> None:
        pass

    def ran(self, run: Run) -> None:
        self._add(command=run.line, exit_code=run.exit_code, stdout=run.stdout, stderr=run.stderr)

    def _add(self, **step: Any) -> None:
        nothing: DemoStep = {"text": None, "command": None, "exit_code": None, "stdout": None, "stderr": None}
        self.scenes[-1]["steps"].append(cast("DemoStep", nothing | step))


class _Viewer:
    """A person who reads along; commands print to the same terminal, file or pipe."""

    captures = False

    def __init__(self, *, waits: bool) -> None:
        self.scenes: list[DemoScene] = []
        self._waits = waits and sys.stdin.isatty() and sys.stdout.isatty()

    def open(self, folder: Path, *, keeps: bool) -> None:
        after = "It stays when the demo is over." if keeps else "It is removed when the demo is over."
        self.say(f"All commands run in the temporary folder {folder}. {after}")

    def close(self) -> None:
        if self._waits:
            output.wait_for_enter("Enter ends the demo ")

    def begin(self, name: str, title: str) -> None:
        self.scenes.append(cast("DemoScene", {"name": name, "title": title, "steps": []}))
        page = Page()
        page.line(Word(f"Scene {name}: {title}", "good"))
        page.line()
        output.show_part(page)

    def say(self, text: str) -> None:
        self._show(*_wrapped(text, _width()), "")

    def will_run(self, line: str) -> None:
        # Broken so that it can be copied, and an option stays on one line with its value.
        glued = re.sub(r"( --?[\w-]+) (?!-)", rf"\1{_GLUE}", f"$ {line}")
        *parts, last = _wrapped(glued, _width() - 6)
        lines = [*(f"{part} \\" for part in parts), last]
        page = Page()
        for number, text in enumerate(lines):
            page.line(Word(f"{'    ' if number else ''}{text.replace(_GLUE, ' ')}", "strong"))
        output.show_part(page)
        if self._waits:
            output.wait_for_enter("Enter runs it, Ctrl-C ends the demo ")

    def ran(self, run: Run) -> None:
        page = Page()
        page.line(Word(f"(exit code {run.exit_code})", "dim"))
        page.line()
        output.show_part(page)

    def _show(self, *lines: str) -> None:
        page = Page()
        for line in lines:
            page.line(line)
        output.show_part(page)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _width() -> int:
    return max(_NARROWEST, min(_WIDTH, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else _WIDTH
