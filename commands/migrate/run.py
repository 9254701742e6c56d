"""`kafkactl migrate run`: forward, step by step, up to the point of no return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.drive import CODES, DriveArguments, answer, drive_options, prepared
from kafkactl.commands.migrate.options import accept_option, inventory_option
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.progress_lines import ProgressLines

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.migration.api.driving import Question

KIND = "migrate.run"
STATES = ("M2", "M3", "M4", "M4L", "M5", "M6", "M7", "M8")


@leaf_command(
    "run",
    examples=(
        "kafkactl migrate run --inventory migration.toml --until M4L",
        "kafkactl migrate run --inventory migration.toml --until M8 --yes",
    ),
    codes=CODES,
    timeout="24h",
)
@inventory_option
@click.option(
    "--until",
    type=click.Choice(STATES),
    default="M8",
    show_default=True,
    help="Stop when this state is observed.",
)
@accept_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation, not even before the last broker.")
@click.option("--dry-run", is_flag=True, help="Show the steps and what would stop them, without changing anything.")
@drive_options
def command(
    *, inventory: str | None, until: str, accepted: tuple[str, ...], yes: bool, dry_run: bool, arguments: DriveArguments
) -> None:
    """Migrate the cluster from ZooKeeper to KRaft, one confirmed step at a time.

    Each step is: observe, check, execute, and confirm its exit condition in two consecutive observations.

    If interrupted, the next run resumes from the observed state. The command asks for confirmation before
    the first step, and again before the last broker enters, because then the copy begins automatically. It
    ends at M8 without finalizing: a rollback remains possible until `kafkactl migrate finalize`.
    """
    from kafkactl.migration.api.forward import plan_run, run

    found, options = prepared(inventory, accepted, arguments)
    if dry_run:
        answer(KIND, plan_run(found, until=until, options=options, on_request=output.say))
    lines = ProgressLines()
    ended = run(found, until=until, options=options, ask=_Questions(yes=yes), on_event=lines, on_request=lines.by_hand)
    answer(KIND, ended)


class _Questions:
    """Confirmations: one before anything is done, and one before the copy can begin."""

    def __init__(self, *, yes: bool) -> None:
        self._yes = yes
        self._asked: set[str] = set()

    def __call__(self, asked: Question) -> Finding | None:
        """Ask for a confirmation; return a refusal, or None."""
        from kafkactl.commands.framework.confirmation import confirm

        step = asked.step
        key = "start" if step.barrier is None else step.barrier.value
        if key in self._asked:
            return None
        question = f"The first step is {step.action} {step.target}. Begin?"
        if step.barrier is not None:
            question = (
                f"{step.target} is the last broker: once it has entered, the copy begins automatically and KRaft takes "
                "/controller. Continue?"
            )
        refusal = confirm(question, yes=self._yes, subject=f"state {asked.route.state}")
        if refusal is None:
            self._asked |= {key, "start"}
        return refusal
