"""`kafkactl dryrun report`: every scenario that needs no argument, in one answer and one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafkactl.commands.dryrun.answers import Opened, give, tagged
from kafkactl.commands.dryrun.details import write_html, write_tables
from kafkactl.commands.dryrun.run import CODES, Common, payload_of, scenario_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.report.model import TONES
from kafkactl.shown import plain_values

if TYPE_CHECKING:
    from kafkactl.dryrun.detail_tables import Table
    from kafkactl.dryrun.prediction import Verdict
    from kafkactl.operations.dryrun import ScenarioContext


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
    from kafkactl.operations.dryrun import heaviest, run
    from kafkactl.operations.dryrun.outputs import detail_tables, page_part

    def play(opened: Opened) -> tuple[dict[str, Any], Verdict]:
        verdicts: list[Verdict] = []
        tables: list[Table] = []
        predictions, parts = [], []
        html = tagged(common.html, opened.tag)
        for scenario, asked in _scenarios(opened.context):  # a prediction can be large, and is let go before the next
            found = run(scenario, opened.context, asked)
            payload = payload_of(common, found, opened)
            verdicts.append(found.verdict)
            predictions.append({name: part for name, part in payload.items() if name not in opened.frame})
            if common.details is not None:
                tables += detail_tables(found, opened.context, f"{len(verdicts)}-{scenario}/")
            if html is not None:
                parts.append(page_part(plain_values(payload), found, opened.context))
        if html is not None:
            write_html(html, parts, opened)
        verdict = heaviest(verdicts)
        details = write_tables(common.details, opened, tables)
        answer = {**opened.frame, "verdict": verdict, "html": html, "details": details, "predictions": predictions}
        return answer, verdict

    give(common, "dryrun.report", play, _show, restarts=True)


def _scenarios(context: ScenarioContext) -> Iterator[tuple[str, Any]]:
    """The scenarios that need no argument, each with its inputs, in the order of the page."""
    from kafkactl.operations.dryrun import every_scenario

    parts = [(scenario.report, scenario.name) for scenario in every_scenario() if scenario.report is not None]
    for part, name in sorted(parts, key=lambda row: row[0].place):
        yield from ((name, asked) for asked in part.inputs(context.image))


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    from kafkactl.report.build import heaviest, title_of

    verdict, source = answer["verdict"], answer["source"]
    page.heading(f"report: {verdict}", TONES[verdict])
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
            for prediction in answer["predictions"]
        ],
    )
    told = [
        {**finding, "subject": f"{title_of(played)}: {finding['subject']}"}
        for played in answer["predictions"]
        for finding in played["findings"]
        if finding["severity"] == "blocker"
    ]
    page.findings(told[:_SHOWN])
    if len(told) > _SHOWN:
        page.line(Word(f"and {len(told) - _SHOWN} more blockers (all with -o json)", "dim"))
    if answer["html"] is None:
        page.line(Word("--html FILE writes it all as one page with pictures", "dim"))


_SHOWN = 8


def _count(played: Mapping[str, Any], severity: str) -> int:
    return sum(finding["severity"] == severity for finding in played["findings"])
