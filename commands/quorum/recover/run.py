"""`kafkactl quorum recover`: one new directory from which a quorum that lost its majority starts again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf_group import LeafGroup
from kafkactl.commands.framework.options import common_options, confirm_option
from kafkactl.commands.quorum.recover import VERBS
from kafkactl.commands.rendering.progress import shown_progress

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding, Outcome
    from kafkactl.quorum.api.recover.plan import PlannedRecovery, RecoveryRequest

KIND = "quorum.recover"
Function = TypeVar("Function", bound=Callable[..., Any])
CODES = (
    exit_codes.DONE,
    exit_codes.FAILED,
    exit_codes.USAGE,
    exit_codes.REFUSED,
    exit_codes.PARTLY_DONE,
    exit_codes.UNKNOWN,
)
FLAGS = {
    "--adopt": "Add partitions to the image that only folders on brokers' disks show.",
    "--return-strays": "With --adopt: also folders that a broker renamed to -stray; the steps rename them back.",
    "--drop-empty": "Leave out topics without a folder on any disk: they were deleted after the image.",
    "--brokers-run": "Let brokers keep running, where their folders prove that nothing is missing.",
    "--without-broker-disks": "Continue although directories of registered brokers are not shown.",
    "--accept-loss": "Leave out records of better, damaged or diverging disks; needs --confirm-loss.",
    "--accept-strays": "Let partition folders become stray; needs --confirm-loss.",
    "--accept-empty": "Let deleted topics come back empty.",
    "--accept-retention": "Continue although the image's retention would delete data that is on disk now.",
}


def _flags(function: Function) -> Function:
    """Add one flag for each row of FLAGS."""
    for name, text in reversed(FLAGS.items()):
        function = click.option(name, is_flag=True, help=text)(function)
    return function


@click.command(
    "recover",
    cls=LeafGroup,
    entries=VERBS,
    examples=(
        "kafkactl quorum recover --log-dir /mnt/c2 --log-dir /mnt/b11 --lost 1 --lost 3 --out /disk/recovered --plan",
        "kafkactl quorum recover --log-dir /mnt/c2 --log-dir /mnt/b11 --lost 1 --lost 3 --out /disk/recovered"
        " --confirm CLUSTER_ID",
        "kafkactl quorum recover verify /disk/recovered.recovery.json --bootstrap-controller c2:9093",
    ),
    codes=CODES,
)
@click.option(
    "--log-dir", "log_dirs", multiple=True, metavar="DIR",
    help="A log directory of a controller or broker, or a copy of one; show every one that is left.",
)  # fmt: skip
@click.option(
    "--broker-log-dir", "broker_log_dirs", multiple=True, metavar="DIR",
    help="A broker's log directory without a metadata log: only its partition folders count.",
)  # fmt: skip
@click.option("--out", metavar="DIR", help="The new directory; nothing is ever written into an existing one.")
@click.option("--from", "source", metavar="DIR", help="Recover from this one of the directories. [default: the best]")
@click.option("--node-id", type=click.IntRange(min=0), metavar="N", help="The id of the recovered controller.")
@click.option("--listener", metavar="NAME://HOST:PORT", help="Where the recovered controller listens.")
@click.option(
    "--config",
    metavar="FILE",
    help="The recovered controller's server.properties: node id, listener, static voters.",
)
@click.option("--lost", multiple=True, metavar="ID", help="A voter whose disk is gone, or 1,3.")
@click.option(
    "--new-address", "new_addresses", multiple=True, metavar="ID=HOST:PORT",
    help="Where a voter listens now that lost its address in the voter set; once for each such voter.",
)  # fmt: skip
@_flags
@click.option(
    "--raise-epoch", type=click.IntRange(1, 2**30), metavar="N", default=1_000_000, show_default=True,
    help="How far the epoch is raised above every epoch seen.",
)  # fmt: skip
@click.option(
    "--raise-offset", type=click.IntRange(1, 2**40), metavar="N", default=1_000_000, show_default=True,
    help="How far the offset is raised above every offset seen.",
)  # fmt: skip
@click.option("--plan", "--dry-run", "dry_run", is_flag=True, help="Show the plan, and write nothing.")
@click.option(
    "--confirm-loss", type=click.IntRange(min=0), metavar="N",
    help="The number of losses that you accept, as the plan counts them.",
)  # fmt: skip
@click.option("--yes", is_flag=True, expose_value=False, help="No effect: --confirm is required.")
@click.option(
    "--bootstrap-controller", metavar="HOST:PORT,…",
    help="Also ask here whether an old controller answers; the addresses of the old voters are always asked.",
)  # fmt: skip
@click.option("--command-config", metavar="FILE", help="Client properties for these connections: security, login.")
@confirm_option
@common_options("1h", "table")
def command(
    *,
    dry_run: bool,
    confirm: str | None,
    confirm_loss: int | None,
    bootstrap_controller: str | None,
    command_config: str | None,
    **given: Any,
) -> None:
    """Recover a metadata quorum that lost its majority, into one new directory.

    Every directory is read and none is written into. The best copy of the metadata log, a
    controller's or a broker's, becomes one snapshot above everything that any disk has seen, whose
    only voter is the recovered controller. Every loss is listed before anything is written; a
    loss that is not accepted stops the command. Start with --plan; docs/quorum-recovery.md is the runbook.
    """
    from contextlib import ExitStack

    from kafkactl.commands.quorum.recover.arguments import probe_asked, request_of
    from kafkactl.core.findings import Outcome
    from kafkactl.quorum.api.recover.plan import apply_recovery, plan_recovery, recovery_lock

    request = request_of(**given)
    probe = probe_asked(bootstrap_controller, command_config)
    with ExitStack() as stack:
        if not dry_run:
            stack.enter_context(recovery_lock(request))
        with shown_progress("Reading the disks"):
            planned = plan_recovery(request, probe=probe)
        outcome, findings = planned.outcome, []
        if outcome is Outcome.PLANNED and not dry_run:
            no = _confirmed(request, planned, confirm, confirm_loss)
            if no is not None:
                outcome, findings = Outcome.REFUSED, [no]
        if outcome in (Outcome.PLANNED, Outcome.NOTHING_TO_DO) and not dry_run:
            with shown_progress("Reading and writing"):
                written = apply_recovery(planned, is_locked=True)
            outcome, findings = written.outcome, [*written.findings]
    _emit(planned, outcome, findings)


def _confirmed(
    request: RecoveryRequest, planned: PlannedRecovery, confirm: str | None, confirm_loss: int | None
) -> Finding | None:
    """Ask for the cluster id and, if data is given up, for the count. The plan is shown before a question."""
    from kafkactl.commands.framework.confirmation import confirm_cluster_id, confirm_count
    from kafkactl.commands.quorum.recover.page import tell_plan

    accepts = request.overrides.accept_loss or request.overrides.accept_strays
    if confirm is None or (accepts and confirm_loss is None):
        tell_plan(planned.answer())
    where = planned.plan.request.target.directory
    question = f"The quorum is recovered into {where}; the old voters must never start again."
    no = confirm_cluster_id(question, str(planned.plan.cluster_id), confirm=confirm, subject="quorum")
    if no is None and accepts:
        losses = planned.plan.losses
        what = "partitions" if losses.partition_count else "records"
        no = confirm_count(what, losses.count, given=confirm_loss, option="--confirm-loss", subject="quorum")
    return no


def _emit(planned: PlannedRecovery, outcome: Outcome, more: Sequence[Finding] = ()) -> NoReturn:
    from kafkactl.commands.quorum.recover.page import show
    from kafkactl.commands.rendering.output import emit

    emit(KIND, planned.answer(outcome, more), render=show, exit_code=outcome.exit_code)
