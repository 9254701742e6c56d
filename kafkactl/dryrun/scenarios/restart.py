"""Scenario `restart`: the state of a node that replays this log, compared with the state of the active controller.

The two may differ (see `loader`): SCRAM users can be lost, configurations of removed topics and records of aborted
transactions can come back. A node with such a state keeps it until the next change of the same entry, and writes it
into its own snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import first_few
from kafkactl.dryrun.answer import DifferenceDict
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.dryrun.engine.loader import Started
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import Needs, Option, ReportPart, Scenario, ScenarioContext
from kafkactl.metadata.image.diff import Difference, diff
from kafkactl.metadata.image.model import Image
from kafkactl.protocol.redact import redacted_key

NAME: Final = "restart"

SHOWN = 1_000


def restart(
    image: Image, facts: Facts, found: Sequence[Started], node: int | None = None, voters: Sequence[int] = ()
) -> Prediction:
    """Return the differences between the state and that of a node which starts from each of these points.

    Every node builds the same state from the log. `node` is only named in the answer: one that neither is registered
    nor votes (`voters`) is reported.
    """
    is_known = node is None or node in image.brokers or node in image.controllers or node in voters
    by_start = {started.from_offset: (started, diff(image, started.image)) for started in found}
    differences = [
        _shown(difference, offset)
        for offset, (_, differing) in sorted(by_start.items())
        for difference in differing[:SHOWN]
    ]
    return Prediction(
        scenario=NAME,
        input={"node": node},
        verdict=Verdict.DEGRADED if differences else Verdict.OK,
        facts=facts,
        findings=(
            *(() if is_known else (_stranger(node),)),
            *(
                finding
                for offset, (started, differing) in sorted(by_start.items())
                for finding in _findings(offset, started, differing)
            ),
        ),
        effects={"differences": differences, "starts": sorted(by_start)},
        assumptions=(
            "a starting node reads the log 8 MiB at a time, from the newest checkpoint that it has",
            "the active controller's own replay is right: it applies records one by one",
        ),
    )


def _stranger(node: int | None) -> Finding:
    return warning(
        "node-not-in-log",
        f"node {node}",
        f"this log has no registration of node {node}, and node {node} is not a voter; the prediction applies to"
        " any node"
        " that replays the log",
    )


def _shown(difference: Difference, offset: int) -> DifferenceDict:
    """Return the kind and the key of a difference without its content, which may be a secret."""
    return {
        "from_offset": offset,
        "part": difference.part,
        "key": redacted_key(difference.part, difference.key),
        "change": difference.change.value,
        "record": difference.record,
    }


def _findings(offset: int, started: Started, differences: Sequence[Difference]) -> Iterator[Finding]:
    where = "from offset 0" if offset == 0 else f"from the checkpoint at offset {offset}"
    parts: dict[str, list[str]] = {}
    for difference in differences:
        parts.setdefault(difference.part, []).append(redacted_key(difference.part, difference.key))
    users = parts.pop("scram", [])
    if users:
        yield warning(
            "scram-users-lost-on-restart",
            f"{len(users)} credentials",
            f"a node that starts {where} does not know these SCRAM credentials, for additions and a removal are "
            f"replayed in one go: {first_few(users)}",
            users=users[:20],
        )
    if started.phantoms:
        yield warning(
            "aborted-records-take-effect",
            "metadata log",
            f"a node that starts {where} applies {started.phantoms} records of transactions that were aborted",
            records=started.phantoms,
        )
    topics = parts.pop("configs", [])
    if topics:
        yield warning(
            "orphan-topic-configs-on-restart",
            f"{len(topics)} resources",
            f"a node that starts {where} has configurations that the controller does not have: {first_few(topics)}; a "
            "topic of that name that is made later has them on that node",
            resources=topics[:20],
        )
    rest = [f"{part} {key}" for part, keys in parts.items() for key in keys]
    if rest and not started.phantoms:
        yield warning(
            "restart-differs", f"{len(rest)} things", f"a node that starts {where} differs: {first_few(rest)}"
        )


@frozen
class Input:
    """The node whose files these are."""

    node: int | None = None


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Predict the state of a node from each point at which it may start."""
    return restart(context.image, context.facts, context.started, asked.node, context.voters)


def _title(asked: Mapping[str, Any]) -> str:
    return "Start of a node from this log" if asked.get("node") is None else f"Start of node {asked['node']}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="""What a node that starts on this log will believe, where it is not what the controller knows.

    A starting node replays the log in large reads, and three defects of Kafka show there: SCRAM users
    can be lost, configurations of removed topics and records of aborted transactions can come back.
    """,
    about="What a node that starts on this log would believe, where it is not what the controller knows.",
    input=Input,
    simulate=simulate,
    examples=("kafkactl dryrun restart /disk1/__cluster_metadata-0",),
    options=(Option("node", "The node whose files these are; for the record.", metavar="ID"),),
    effects=("differences", "starts"),
    report=ReportPart(place=2, inputs=lambda _: [Input()]),
    needs=Needs.STARTS,
)
