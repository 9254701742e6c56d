"""Common part of the four commands that change a quorum: options, one run from plan to answer, and its page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, guard_cluster, open_client
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.rendering import output
from kafkactl.core.errors import UnknownOutcomeError
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.commands.rendering.page import Page
    from kafkactl.core.findings import Finding
    from kafkactl.quorum.api.change import QuorumChange
    from kafkactl.quorum.change.ports import ChangeResult, Event, Goal

Function = TypeVar("Function", bound=Callable[..., Any])
Ask = Callable[["ChangeResult"], "Finding | None"]
Complete = Callable[["QuorumChange"], "QuorumChange"]
Render = Callable[["Page", "QuorumChange"], None]

KIND = "quorum.change"
_NOTHING_SENT = (
    "No request was sent by this run, which changed no voter. Run the same command again, with a longer --timeout: the"
    " wait for a new voter alone may take as long as --catch-up-timeout."
)
CODES = (
    exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
    exit_codes.PARTLY_DONE, exit_codes.UNKNOWN, exit_codes.INTERRUPTED,
)  # fmt: skip


class ChangeArguments(NamedTuple):
    """The options of `change_options`."""

    journal: str | None
    step_timeout_ms: int
    catch_up_timeout_ms: int | None = None
    max_lag: int = 1_000


def change_options(*, adds: bool) -> Callable[[Function], Function]:
    """Add `--journal` and the time to wait; with `adds` also the gate of a node that is to become a voter.

    The command gets the parameter `arguments`, a ChangeArguments.
    """

    return option_group("arguments", ChangeArguments, *_options(adds=adds))


def _options(*, adds: bool) -> tuple[Callable[[Any], Any], ...]:
    gate = (
        click.option(
            "--catch-up-timeout", "catch_up_timeout_ms", type=Duration(), default="10m", show_default=True,
            metavar="TIME", help="How long to wait until a new voter has caught up with the leader.",
        ),
        click.option(
            "--max-lag", type=click.IntRange(min=0), default=1_000, show_default=True, metavar="RECORDS",
            help="The maximum lag of a voter.",
        ),
    )  # fmt: skip
    return (
        click.option(
            "--step-timeout", "step_timeout_ms", type=Duration(), default="60s", show_default=True, metavar="TIME",
            help="How long to wait for the outcome of a request before it is unknown.",
        ),
        *(gate if adds else ()),
        click.option(
            "--journal", metavar="FILE",
            help="Journal file. [default: one per cluster, in ~/.local/state/kafkactl]",
        ),
    )  # fmt: skip


def override_options(*flags: str) -> Callable[[Function], Function]:
    """Add flags with which a change continues that would be refused; the parameters are named after them."""

    def decorate(function: Function) -> Function:
        for flag in reversed(flags):
            function = click.option(flag, is_flag=True, help=_OVERRIDE_HELP[flag])(function)
        return function

    return decorate


_OVERRIDE_HELP = {
    "--accept-zero-tolerance": "Continue although the quorum would tolerate no failure for a while.",
    "--allow-size": "Allow an even number of voters, a reduction to one or two, or more than 7.",
    "--allow-unstable": "Continue although leaders change often, or a voter lags.",
    "--node-will-be-stopped": "The removed node, which would join again, is about to be stopped.",
}


def overrides_in(parameters: Mapping[str, bool]) -> frozenset[str]:
    """Return the flags that were given, from the parameters of `override_options`."""
    return frozenset(f"--{name.replace('_', '-')}" for name, given in parameters.items() if given)


def perform(
    goal: Goal,
    connection: ConnectionArguments,
    arguments: ChangeArguments,
    *,
    render: Render,
    dry_run: bool,
    ask: Ask | None = None,
    watch: bool = False,
    cluster_id: str | None = None,
    complete: Complete = lambda found: found,
) -> NoReturn:
    """Plan; ask if the command asks; carry out; answer.

    `complete` is given the change before it is shown, and gives it back with the plan file that belongs to it and
    with what to expect of it. `watch` shows every observation. `cluster_id`: of which cluster it must be.
    """
    from kafkactl.core.findings import change_exit_code
    from kafkactl.quorum.api.change import CALL_MS, change_voters, plan_change, wait_policy

    policy = wait_policy(
        step_ms=arguments.step_timeout_ms, catch_up_ms=arguments.catch_up_timeout_ms, max_lag=arguments.max_lag
    )
    with open_client(connection, timeout_ms=CALL_MS, is_node_config=bool(goal.endpoints)) as client:
        guard_cluster(client, connection)
        if dry_run:
            found = plan_change(client, goal, policy=policy, journal=arguments.journal, cluster_id=cluster_id)
        else:
            talk = _Talk(watch=watch)
            try:
                found = change_voters(
                    client,
                    goal,
                    policy=policy,
                    journal=arguments.journal,
                    cluster_id=cluster_id,
                    confirm=ask,
                    on_event=talk,
                )
            except UnknownOutcomeError as error:
                if error.id == "timed-out":  # raised only if this run had sent nothing
                    error.next_step = _NOTHING_SENT
                raise
            finally:
                talk.clear()
    code = change_exit_code(found.outcome, found.findings)
    exit_code = exit_codes.INTERRUPTED if found.result.interrupted else code
    output.emit(KIND, complete(found), render=render, exit_code=exit_code)


_TONES = {"done": "good", "failed": "bad", "unknown": "warn"}


class _Talk:
    """Progress of a change on stderr: a line for each thing done; what is looked at and waited for only on a
    terminal, in one line that is written over, or with `--watch` as lines of their own."""

    def __init__(self, *, watch: bool) -> None:
        self._watch = watch
        self._is_live = sys.stderr.isatty() and not watch
        self._drawn = False

    def __call__(self, event: Event) -> None:
        step, text, tone = event.step, event.text, "plain"
        if event.kind in ("look", "wait"):
            self._passing(f"waiting: {text}" if event.kind == "wait" else text)
        if event.kind in ("plan", "look", "wait"):
            return
        if event.kind == "done" and step is not None:
            text, tone = f"{text}: {step.state.value}", _TONES.get(step.state.value, "plain")
        elif event.kind == "send" and step is not None:
            ids = ",".join(str(key.node_id) for key in sorted(step.voters_after))
            text = f"{text}: sent; once committed, the voters are {ids} and survive {_failures(step.tolerates_after)}"
        self.clear()
        output.say(text, tone)

    def clear(self) -> None:
        """Wipe the line that is written over."""
        if self._drawn:
            output.wipe_passing()
            self._drawn = False

    def _passing(self, text: str) -> None:
        from kafkactl.commands.framework.settings import current_settings

        if self._watch:
            output.say(text, "dim")
        elif self._is_live and not current_settings().quiet:
            output.write_passing(text)
            self._drawn = True
        else:
            output.detail(text)


def _failures(number: int) -> str:
    return "no failure" if number == 0 else counted(number, "failure")


def show_plan(render: Render, found: QuorumChange) -> None:
    """Show the plan on stderr before the confirmation."""
    output.talk_page(output.drawn(KIND, found, render))
