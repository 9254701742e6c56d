"""`kafkactl dryrun report`: every scenario that needs no argument, in one answer and one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.commands.dryrun.answers import give
from kafkactl.commands.dryrun.options import CODES, Common, scenario_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.report.model import TONES

if TYPE_CHECKING:
    from kafkactl.dryrun.answer import PredictionDict, ReportDict


@leaf_command(
    "report",
    examples=(
        "kafkactl dryrun report /disk1/__cluster_metadata-0 --html report.html",
        "kafkactl dryrun report /disk1/__cluster_metadata-0 --config controller.properties -o json",
    ),
    codes=CODES,
    timeout="1h",
)
@scenario_options
def report(*, common: Common) -> None:
    """Run every scenario that needs no argument.

    These are the content of the log, the state of a starting node, growth, the quorum, a rolling
    restart, preferred elections, and the worst loss of one and of two brokers. The exit code is that
    of the worst verdict.
    """
    from kafkactl.dryrun.api.answering import Question

    give(common, "dryrun.report", Question(), _show)


def _show(page: Page, answer: ReportDict) -> None:
    from kafkactl.dryrun.page.build import heaviest, today_and_worst, worst_first
    from kafkactl.dryrun.page.titles import title_of

    verdict, source = answer["verdict"], answer["source"]
    state = today_and_worst(answer["predictions"])
    if state is None:
        page.heading(f"report: {verdict}", TONES[verdict])
    else:
        page.line(Word(f"today: {state[0]}", "good" if state[0] == "healthy" else "warn"))
        page.line(Word(f"worst case: {state[1]}", TONES[state[1]]))
    page.fields(
        [
            ("log", f"offset {source['last_offset']} of {', '.join(source['paths'])}"),
            ("page", answer["html"]),
        ]
    )
    page.table(
        ("scenario", "verdict", "blockers", "warnings", "first of them"),
        [
            (
                title_of(prediction),
                Word(prediction["verdict"], TONES[prediction["verdict"]]),
                _count(prediction, "blocker"),
                _count(prediction, "warning"),
                heaviest(prediction["findings"]),
            )
            for prediction in worst_first(answer["predictions"])
        ],
    )
    blockers = [
        {**finding, "subject": f"{title_of(prediction)}: {finding['subject']}"}
        for prediction in answer["predictions"]
        for finding in prediction["findings"]
        if finding["severity"] == "blocker"
    ]
    page.findings(blockers[:_SHOWN])
    if len(blockers) > _SHOWN:
        page.line(Word(f"and {len(blockers) - _SHOWN} more blockers (all with -o json)", "dim"))
    if answer["html"] is None:
        page.line(Word("--html FILE writes it all as one page with pictures", "dim"))


_SHOWN = 8


def _count(prediction: PredictionDict, severity: str) -> int:
    return sum(finding["severity"] == severity for finding in prediction["findings"])
