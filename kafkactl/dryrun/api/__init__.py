"""Predictions: what an event would do to a cluster, from its metadata log, before it happens.

    context = kafkactl.dryrun.read_context("/disk1/__cluster_metadata-0", restarts=True)
    found = kafkactl.dryrun.predict(context, "broker-loss", brokers=[3])
    found.verdict, found.changes
    kafkactl.dryrun.report(context).verdict

`scenario_names` lists all scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafkactl.core.errors import InputError
from kafkactl.core.lazy import lazy_names
from kafkactl.dryrun.answer import Answer, Effects
from kafkactl.dryrun.api.reporting import Report, report
from kafkactl.dryrun.by_name import chain, check_reading, find_scenario, run, scenario_names
from kafkactl.dryrun.fields import Form, fields_of
from kafkactl.dryrun.prediction import Change, Prediction, Verdict, heaviest
from kafkactl.dryrun.scenario import Document, Needs, Observed, Option, OptionsError, Scenario, ScenarioContext
from kafkactl.metadata.image.model import Image

if TYPE_CHECKING:
    from kafkactl.dryrun.api.answering import Answered, Opened, Question, answer_question, read_state
    from kafkactl.dryrun.api.copy import PredictedCopy, predict_copy
    from kafkactl.dryrun.api.on_spark import answers_on_spark
    from kafkactl.protocol.catalog.releases import Release
else:
    __getattr__ = lazy_names(
        __name__,
        {
            f"{__name__}.answering": (
                "Answered",
                "Opened",
                "Question",
                "answer_question",
                "read_state",
            ),
            f"{__name__}.copy": ("PredictedCopy", "predict_copy"),
            f"{__name__}.on_spark": ("answers_on_spark",),
        },
    )

__all__ = [
    "Answer",
    "Answered",
    "Change",
    "Document",
    "Effects",
    "Form",
    "Needs",
    "Observed",
    "Opened",
    "Option",
    "OptionsError",
    "PredictedCopy",
    "Prediction",
    "Question",
    "Report",
    "Scenario",
    "ScenarioContext",
    "Verdict",
    "answer_question",
    "answers_on_spark",
    "chain",
    "context_of",
    "every_scenario",
    "fields_of",
    "find_scenario",
    "heaviest",
    "input_of_options",
    "predict",
    "predict_copy",
    "read_context",
    "read_state",
    "report",
    "run",
    "scenario_names",
]


def predict(context: ScenarioContext, scenario: str, /, **inputs: Any) -> Prediction:
    """Predict the effect of an event on a cluster in this state: the answer of `kafkactl dryrun`.

    `context` is what `read_context` gives of a log, or `context_of` of an image that no log was read for. An image
    alone is refused: voters, replicas and settings are not in it, so that the answer would be another one.
    `scenario` is a name as in `kafkactl dryrun NAME`; `inputs` are the fields of `input` in the answer of that command:
    `brokers=[3]`, `order="auto"`, `set={"min.insync.replicas": "2"}`. Nothing is read and nothing is written.

    Raises InputError: `scenario-needs-context` for an image; `unknown-scenario`; `invalid-scenario-input` for a field
    that is unknown, missing, or holds something else; `scenario-needs-log` if the scenario is about the log and the
    context is of an image alone; and what the scenario raises of the state (`unknown-broker`, `unknown-entity`).
    """
    if not isinstance(context, ScenarioContext):
        raise InputError(
            f"predict needs the context of a log, and was given {type(context).__name__}",
            id="scenario-needs-context",
        )
    if context.loaded.last_offset < 0:
        check_reading(find_scenario(scenario), None)
    return run(scenario, context, inputs)


def input_of_options(scenario: Scenario, given: Mapping[str, Any]) -> Any:
    """Return the `Input` of the options of a command line, by the names of their parameters; None means "not given".

    Raises OptionsError for options that do not go together, and InputError for what cannot be read.
    """
    fields = fields_of(scenario.input)
    values: dict[str, Any] = {}
    for option in scenario.options:
        field = fields.get(option.field or option.name)
        value = given[option.name]
        if option.document is not None:
            value = _document(value, option.document)
        elif field is not None and value is not None and field.kind.form is not Form.TEXT:
            value = field.kind.read(value)
        values[option.name] = value
    if scenario.from_options is not None:
        return scenario.from_options(**values)
    kind: Any = scenario.input
    named = {option.field or option.name: values[option.name] for option in scenario.options}
    return kind(**{name: value for name, value in named.items() if value is not None})


def _document(path: str, what: str) -> Document:
    from pathlib import Path

    from kafkactl.files.input_files import InputKind, read_input

    return Document(path, read_input(Path(path), what, InputKind.DOCUMENT).decode("utf-8", "replace"))


def context_of(
    image: Image,
    *,
    release: Release | None = None,
    static: Mapping[str, str] | None = None,
    cluster_id: str | None = None,
) -> ScenarioContext:
    """Return the context of a state that was not read from a log. `release` is that of the controllers (default: the
    registered one), `static` the settings of a controller's properties file."""
    from kafkactl.dryrun.controller.facts import facts_of
    from kafkactl.dryrun.engine.local import Loaded

    loaded = Loaded(
        image=image,
        leader=None,
        voters=(),
        first_offset=-1,
        last_offset=-1,
        last_epoch=-1,
        first_timestamp_ms=-1,
        last_timestamp_ms=-1,
        committed_offset=None,
        snapshot_offset=None,
        records=0,
        log_bytes=0,
        counts={},
        findings=(),
    )
    facts = facts_of(image, release=release, static=static)
    return ScenarioContext(loaded=loaded, facts=facts, cluster_id=cluster_id)


def read_context(
    *paths: str,
    release: str | None = None,
    static: Mapping[str, str] | None = None,
    at: int | None = None,
    restarts: bool = False,
) -> ScenarioContext:
    """Read the state at the end of a cluster's metadata log (after offset `at`), and the other input of a
    prediction.

    `paths` are replicas of one log, each a `__cluster_metadata-0` folder, the log directory around it, or single .log
    and .checkpoint files. With `restarts` the state of a node that starts from the log is read, too, for the scenario
    `restart`. `release` and `static` are as in `context_of`. Raises InputError `unknown-kafka-version`, and what
    reading raises.
    """
    from kafkactl.dryrun.api.clusters import open_clusters
    from kafkactl.dryrun.api.logs import choose, read_chosen
    from kafkactl.protocol.catalog.releases import find_release

    named = None if release is None else find_release(release)
    (cluster,) = open_clusters({path: path for path in paths}, same_cluster=True)
    return read_chosen(choose(cluster), release=named, static=static, at=at, restarts=restarts)


def every_scenario() -> Iterable[Scenario]:
    """Return all scenarios, by name."""
    return map(find_scenario, scenario_names())
