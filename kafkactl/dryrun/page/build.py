"""Report from answers of `kafkactl dryrun`: findings first, then pictures and tables.

An answer is the JSON object of a `dryrun.prediction`; what it does not hold (load of the brokers before and after)
comes as `Cluster`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted, plural
from kafkactl.dryrun.page.cluster import Cluster
from kafkactl.dryrun.page.pictures import loads, now, pictures
from kafkactl.dryrun.page.tables import tables
from kafkactl.dryrun.page.titles import title_of
from kafkactl.report.model import MEANINGS, TONES, Block, Cell, Facts, Report, Section, Table, Timeline

if TYPE_CHECKING:
    from kafkactl.dryrun.answer import PredictionDict

WEIGHTS: Final = ("ok", "degraded", "refused", "unknown", "unavailable", "wedged")
_SEVERITIES: Final = ("blocker", "warning", "info")
SHOWN_FINDINGS: Final = 50


@frozen
class SimulatedScenario:
    """An answer, the cluster when its event has happened (None: nothing changes), and what the scenario is about."""

    answer: Mapping[str, Any]
    after: Cluster | None = None
    about: str = ""


def report_of(
    simulated: Sequence[SimulatedScenario],
    before: Cluster,
    *,
    timeline: Timeline | None = None,
    written_by: str = "kafkactl",
) -> Report:
    """Return one report of one or several scenarios, all of one log."""
    first = simulated[0].answer
    shared = [
        text for text in first["assumptions"] if all(text in scenario.answer["assumptions"] for scenario in simulated)
    ]
    several = len(simulated) > 1
    verdict = max((scenario.answer["verdict"] for scenario in simulated), key=WEIGHTS.index)
    sections = tuple(_section(scenario, number, before, shared) for number, scenario in enumerate(simulated))
    sections = tuple(sorted(sections, key=lambda section: -WEIGHTS.index(section.verdict)))  # what is bad comes first
    return Report(
        title="Dry-run report" if several else f"Dry run: {title_of(first)}",
        verdict=verdict,
        meaning=" ".join([MEANINGS[verdict], *(_decided_by(sections, verdict) if several else ())]),
        source=_source(first, before),
        sections=sections,
        cluster=tuple(block for block in (*now(before), timeline) if block is not None),
        assumptions=tuple(shared),
        written_by=written_by,
        overview=overview(sections) if several else None,
        closing="Predicted from a copy of the metadata log; no cluster was asked.",
        cluster_title="The cluster as the log has it",
        headline=_headline([scenario.answer for scenario in simulated]),
    )


def _headline(answers: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    """Return the state of the cluster and the worst case apart: a forecast states nothing of the cluster as it is."""
    found = today_and_worst(answers)
    if found is None:
        return ()
    today, worst = found
    return (
        Cell(f"today: {today}", "good" if today == "healthy" else "warn"),
        Cell(f"worst case: {worst}", TONES[worst]),
    )


def today_and_worst(answers: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """Return the present state of the cluster in the log, and the heaviest verdict of the scenarios.

    None unless the replay of the log and another scenario are among the answers.
    """
    today = next((answer for answer in answers if answer["scenario"] == "replay"), None)
    others = [answer["verdict"] for answer in answers if answer["scenario"] != "replay"]
    if today is None or not others:
        return None
    found = [finding for finding in today["findings"] if finding["severity"] != "info"]
    return _state(found), max(others, key=WEIGHTS.index)


def _state(found: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(finding["severity"] for finding in found)
    what = [counted(counts[severity], severity) for severity in ("blocker", "warning") if counts[severity]]
    return f"not healthy, {' and '.join(what)}" if what else "healthy"


def _decided_by(sections: Iterable[Section], verdict: str) -> Iterator[str]:
    """Yield the scenarios that decide the verdict, unless it is a good one."""
    heavy = [section.title for section in sections if section.verdict == verdict != WEIGHTS[0]]
    if heavy:
        yield f"Decided by: {'; '.join(heavy)}."


def _section(simulated: SimulatedScenario, number: int, before: Cluster, shared: Sequence[str]) -> Section:
    answer = simulated.answer
    findings = sorted_findings(answer["findings"])
    blocks: list[Block] = [*pictures(answer["effects"])]
    if simulated.after is not None:
        blocks += loads(before, simulated.after)
    return Section(
        anchor=f"scenario-{number + 1}",
        title=title_of(answer),
        about=simulated.about,
        verdict=answer["verdict"],
        findings=tuple(findings[:SHOWN_FINDINGS]) + rest_of(findings[SHOWN_FINDINGS:]),
        blocks=(*_facts(answer["effects"]), *blocks, *tables(answer["effects"])),
        assumptions=tuple(text for text in answer["assumptions"] if text not in shared),
    )


def sorted_findings(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return findings in the order of their severity, the gravest first."""
    return sorted(findings, key=lambda found: _SEVERITIES.index(found["severity"]))


def rest_of(findings: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Return one line for findings that are not shown, with the number of each id."""
    if not findings:
        return ()
    counts = Counter(found["id"] for found in findings)
    by_severity = ", ".join(f"{count} {name}" for name, count in counts.most_common(10))
    text = f"{len(findings)} more findings are not shown: {by_severity}"
    severity = findings[0]["severity"]
    return ({"id": "", "severity": severity, "subject": "", "message": text, "next_step": "All of them: -o json."},)


def _source(answer: Mapping[str, Any], before: Cluster) -> Facts:
    source = answer["source"]
    rows = [
        ("log", ", ".join(source["paths"])),
        ("cluster id", source["cluster_id"]),
        ("read", f"{source['records']:,} records, offsets {source['first_offset']} to {source['last_offset']}"),
        ("cluster", ", ".join(_counted(before))),
        ("brokers that are down", _down(before)),
        ("without a leader now", f"{before.without_leader:,} partitions" if before.without_leader else None),
        ("engine", answer["engine"]),
        (
            "played before",
            "; ".join(f"{earlier['scenario']} ({earlier['verdict']})" for earlier in answer["after"]) or None,
        ),
    ]
    return Facts(rows=tuple((name, Cell(text)) for name, text in rows if text is not None))


def _counted(cluster: Cluster) -> Iterable[str]:
    registered = sum(broker.known for broker in cluster.brokers)
    counts = {"broker": registered, "topic": cluster.topics, "partition": cluster.partitions}
    return (f"{count:,} {plural(name, count)}" for name, count in counts.items())


def _down(cluster: Cluster) -> str | None:
    """Return brokers that are fenced, and ids that hold replicas and are not registered."""
    fenced = [f"{broker.id}" for broker in cluster.brokers if broker.known and broker.fenced]
    strange = [f"{broker.id} (not registered)" for broker in cluster.brokers if not broker.known]
    return _text([*fenced, *strange]).replace(",", ", ") or None


def _facts(effects: Mapping[str, Any]) -> Iterable[Facts]:
    rows: list[tuple[str, Cell]] = []
    counts, appended, error = effects["partitions"], effects["records_appended"], effects["server_error"]
    if error is not None:
        rows.append(("Kafka answers", Cell(f"{error['code']} {error['name']}: {error['message']}", "bad")))
    if counts is not None:
        rows.append(("partitions that change", Cell(f"{effects['changes_total']:,} of {counts['total']:,}")))
        rows.append(("leaders that change", Cell(f"{counts['leader_changes']:,}")))
        rows.append(("without a leader then", Cell(f"{counts['offline']:,}", "bad" if counts["offline"] else "plain")))
    if appended is not None:
        rows.append(("records appended", Cell(f"{appended['count']:,}, {appended['bytes']:,} bytes")))
    if effects.get("image_sha256") is not None:
        rows.append(("image SHA-256", Cell(effects["image_sha256"])))
    if rows:
        yield Facts(rows=tuple(rows))


def overview(sections: Iterable[Section]) -> Table:
    """Return the scenarios of a report and their verdicts, for its first screen."""
    rows = (
        (
            Cell(section.title),
            Cell(section.verdict, TONES[section.verdict]),
            Cell(findings_in_short(section.findings)),
        )
        for section in sections
    )
    return Table(title="Scenarios", columns=("scenario", "verdict", "findings"), rows=tuple(rows))


def findings_in_short(findings: Iterable[Mapping[str, Any]]) -> str:
    """Return the number of findings by severity, and the first: "2 warnings, first leaderless-partition: partition
    a-0"."""
    counts = Counter(finding["severity"] for finding in findings)
    counted_by_severity = [
        counted(counts[severity], severity) for severity in ("blocker", "warning") if counts[severity]
    ]
    return f"{', '.join(counted_by_severity)}, first {heaviest(findings)}" if counted_by_severity else "none"


def worst_first(answers: Iterable[PredictionDict]) -> list[PredictionDict]:
    """Return answers of a report in the order in which they are shown: the heaviest verdict first."""
    return sorted(answers, key=lambda answer: -WEIGHTS.index(answer["verdict"]))


def heaviest(findings: Iterable[Mapping[str, Any]]) -> str:
    """Return the first of the gravest findings in a few words; "" if there is nothing but remarks.

    >>> heaviest([{"severity": "warning", "id": "restart-differs", "subject": "11 things"}])
    'restart-differs: 11 things'
    """
    heavy = sorted(
        (finding for finding in findings if finding["severity"] != "info"),
        key=lambda finding: _SEVERITIES.index(finding["severity"]),
    )
    return f"{heavy[0]['id']}: {heavy[0]['subject']}" if heavy else ""


def _text(value: Any) -> str:
    if isinstance(value, list):
        shown = ",".join(_text(item) for item in value[:8])
        return f"{shown},… ({len(value)})" if len(value) > 8 else shown
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_text(item)}" for name, item in value.items() if item is not None)
    return str(value).lower() if isinstance(value, bool) else str(value)
