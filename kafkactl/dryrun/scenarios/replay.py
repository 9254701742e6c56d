"""Scenario `replay`: what a log holds, and the state that it leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkactl.core.frozen import frozen
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import Needs, Option, ReportPart, Scenario, ScenarioContext
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.lint import lint
from kafkactl.metadata.image.model import Image

NAME: Final = "replay"


def sizes_of(image: Image) -> dict[str, int]:
    """Return the number of objects of each kind."""
    return {
        "topics": len(image.topics),
        "partitions": image.partition_count(),
        "brokers": len(image.brokers),
        "controllers": len(image.controllers),
        "configs": sum(len(held) for held in image.configs.values()),
        "client_quotas": sum(len(held) for held in image.client_quotas.values()),
        "acls": len(image.acls),
        "scram_credentials": len(image.scram),
        "delegation_tokens": len(image.delegation_tokens),
    }


@frozen
class Input:
    """The last offset that is replayed; the last of the log if it is None."""

    at: int | None = None


def simulate(context: ScenarioContext, asked: Input) -> Prediction:
    """Return the result of the log: record counts, the state in numbers, its SHA-256, and inconsistencies."""
    image = context.image
    return Prediction(
        scenario=NAME,
        input={"at": asked.at},
        verdict=Verdict.OK,
        facts=context.facts,
        findings=lint(image),
        effects={
            "counts": dict(context.loaded.counts),
            "state": sizes_of(image),
            "image_sha256": image_sha256(image),
        },
    )


def _title(asked: Mapping[str, Any]) -> str:
    return "The metadata log" if asked.get("at") is None else f"The metadata log up to offset {asked['at']}"


SCENARIO: Final = Scenario(
    name=NAME,
    title=_title,
    help="What a log holds and leads to: record counts, the state in numbers, its SHA-256.",
    about="What the log holds, and the state it leads to.",
    input=Input,
    simulate=simulate,
    examples=(
        "kafkactl dryrun replay /disk1/__cluster_metadata-0",
        "kafkactl dryrun replay /disk1/__cluster_metadata-0 --at 5000 -o json",
    ),
    options=(Option("at", "The state after this offset.", metavar="OFFSET"),),
    effects=("counts", "state", "image_sha256"),
    report=ReportPart(place=1, inputs=lambda _: [Input()]),
    needs=Needs.LOG,
    at=lambda asked: asked.at,
)
