"""Writer of schemas/answers/, the published JSON Schemas of the answers: part of `make docs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from kafkactl.bundle.api.create import BundleResult
from kafkactl.bundle.api.gather import BundleVersions
from kafkactl.bundle.manifest import Manifest
from kafkactl.cluster.api.list import NodeList
from kafkactl.cluster.api.registration import UnregisterResult
from kafkactl.cluster.api.settings import SettingsVerification
from kafkactl.commands.completion import Completion
from kafkactl.commands.demo.answers import SceneList, ShownDemo
from kafkactl.commands.schema import Schema, SchemaList
from kafkactl.commands.storage.random_uuid import NewUuid
from kafkactl.commands.tiered.leftovers import LeftoverList
from kafkactl.commands.tiered.page_blocks import WithFiles
from kafkactl.core.errors import ErrorAnswer
from kafkactl.core.explanations import Explained, ExplainedIds
from kafkactl.core.findings import Finding
from kafkactl.dryrun.answer import Answer as Prediction
from kafkactl.dryrun.answer import PredictionsDict, ReportDict, ReportsDict
from kafkactl.features.api.cluster import FeatureChange, LevelProof
from kafkactl.features.api.description import FeatureDescription
from kafkactl.features.api.levels import FeatureDependencies, VersionMapping
from kafkactl.kafka.api.contexts import ContextChange, ContextsDict
from kafkactl.metadata.api.difference import ImageDifference
from kafkactl.metadata.api.image import ImageSummary, LintResult
from kafkactl.metadata.api.tree import BrowsedPath
from kafkactl.metadata.api.verify import LogVerification
from kafkactl.metadata.dump.answer import LogDump, LogHistory
from kafkactl.migration.api.answers import MigrateCheck, MigrateCompare, MigrateObserve, MigratePlan, MigrateRender
from kafkactl.migration.api.driving import DriveResult
from kafkactl.migration.api.position import MigrationStatus
from kafkactl.quorum.api.change import QuorumChange
from kafkactl.quorum.api.observation import QuorumDescription
from kafkactl.quorum.api.recover.collect import RecoveryCopy
from kafkactl.quorum.recover.published_answers import QuorumRecover, QuorumRecoverVerify
from kafkactl.roll.api.observing import SavedRoll
from kafkactl.roll.checks.run import RollCheck
from kafkactl.roll.driver.answer import RollRun
from kafkactl.roll.planning import RollPlan
from kafkactl.roll.position import RollStatus
from kafkactl.simulator.api.simulation import Simulation
from kafkactl.spark.api import LogExport
from kafkactl.status.answer import ClusterStatus
from kafkactl.storage.api.fleet_apply import FleetApplyResult
from kafkactl.storage.api.fleet_plan import FleetPlanResult
from kafkactl.storage.api.format import FormatResult
from kafkactl.storage.api.reading import DumpResult, InfoResult, NodeVerification
from kafkactl.storage.api.unformat import UnformatResult
from kafkactl.tiered.answers import RemoteHistory, RemoteSegments
from kafkactl.tiered.api.pages import TieredReport
from kafkactl.tiered.api.verbs import Audit, Forecast, Saved
from scripts.answers.schema import SchemaMaker

FOLDER: Final = Path(__file__).resolve().parents[1] / "schemas" / "answers"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
COMMAND: Final = "python -m scripts.make_answers"
ANSWERS: Final[dict[str, type | tuple[type, type]]] = {
    "bundle": BundleResult,
    "bundle.manifest": Manifest,
    "bundle.versions": BundleVersions,
    "completion": Completion,
    "config.change": ContextChange,
    "config.view": ContextsDict,
    "demo": ShownDemo,
    "demo.list": SceneList,
    "dryrun.prediction": Prediction,
    "dryrun.predictions": PredictionsDict,
    "dryrun.report": ReportDict,
    "dryrun.reports": ReportsDict,
    "error": ErrorAnswer,
    "explain": Explained,
    "explain.list": ExplainedIds,
    "features.change": FeatureChange,
    "features.describe": FeatureDescription,
    "features.feature-dependencies": FeatureDependencies,
    "features.verify": LevelProof,
    "features.version-mapping": VersionMapping,
    "log.browse": BrowsedPath,
    "log.diff": ImageDifference,
    "log.dump": LogDump,
    "log.history": LogHistory,
    "log.image": ImageSummary,
    "log.export": LogExport,
    "log.lint": LintResult,
    "log.verify": LogVerification,
    "migrate.check": MigrateCheck,
    "migrate.compare": MigrateCompare,
    "migrate.finalize": DriveResult,
    "migrate.observe": MigrateObserve,
    "migrate.plan": MigratePlan,
    "migrate.render": MigrateRender,
    "migrate.rollback": DriveResult,
    "migrate.run": DriveResult,
    "migrate.status": MigrationStatus,
    "roll.check": RollCheck,
    "roll.observe": SavedRoll,
    "roll.rollback": RollRun,
    "roll.run": RollRun,
    "roll.plan": RollPlan,
    "roll.status": RollStatus,
    "nodes.list": NodeList,
    "nodes.unregister": UnregisterResult,
    "nodes.verify": SettingsVerification,
    "quorum.change": QuorumChange,
    "quorum.describe": QuorumDescription,
    "quorum.recover": QuorumRecover,
    "quorum.recover-collect": RecoveryCopy,
    "quorum.recover-verify": QuorumRecoverVerify,
    "schema": Schema,
    "schema.list": SchemaList,
    "simulate": Simulation,
    "status": ClusterStatus,
    "storage.apply": FleetApplyResult,
    "storage.dump": DumpResult,
    "storage.ensure": FormatResult,
    "storage.feature-dependencies": FeatureDependencies,
    "storage.format": FormatResult,
    "storage.info": InfoResult,
    "storage.plan": FleetPlanResult,
    "storage.random-uuid": NewUuid,
    "storage.unformat": UnformatResult,
    "storage.verify": NodeVerification,
    "storage.version-mapping": VersionMapping,
    "tiered.audit": (WithFiles, Audit),
    "tiered.forecast": Forecast,
    "tiered.history": RemoteHistory,
    "tiered.leftovers": LeftoverList,
    "tiered.observe": Saved,
    "tiered.report": (WithFiles, TieredReport),
    "tiered.segments": RemoteSegments,
}
"""The class of each answer, if need be with the class of a part whose fields are among those of the answer."""
# Descriptions of schemas that say more than the command.
ABOUT: Final = {
    "quorum.recover": "`quorum recover`; next to the new directory it is kept as `DIR.recovery.json`.",
    "quorum.recover-collect": "`quorum recover collect`.",
    "quorum.recover-verify": "`quorum recover verify`. Null and empty where the cluster was not asked.",
    "dryrun.prediction": "Every scenario of `dryrun`.",
    "dryrun.predictions": "A scenario on the logs of several clusters: one answer each (with -o jsonl one a line, and"
    " nothing else).",
    "dryrun.report": "`dryrun report`: every scenario that needs no argument, simulated on one log.",
    "dryrun.reports": "`dryrun report` on the logs of several clusters.",
    "tiered.report": "`tiered report`: an audit with a forecast and what is drawn.",
    "error": "The one object on stderr where a command has no answer (`-o json`).",
    "bundle.manifest": "`manifest.json` in a bundle.",
    "bundle.versions": "`answers/versions.json` in a bundle.",
    "completion": "`completion SHELL`.",
    "config.change": "`config use`, `set`, `unset` and `delete`.",
    "demo": "`demo`: the scenes with the commands that ran, and what is left of it.",
    "demo.list": "`demo --list`.",
    "explain": "`explain ID`.",
    "explain.list": "`explain --list`, and `explain NUMBER` of a check with several findings.",
    "features.change": "`features upgrade`, `downgrade`, `disable`, `plan` and `apply`.",
    "quorum.change": "`quorum add-controller`, `remove-controller`, `reassign`, `apply` and `convert`.",
    "schema": "`schema KIND`: a JSON Schema (draft 2020-12) with `kind` and `schema_version` next to its own keywords.",
    "schema.list": "`schema --list`.",
    "simulate": "Runs of a script or a profile in numbers, and one of them with its timeline.",
    "storage.plan": "`storage plan`: the fleet's plan as it is shown; the plan file also holds the contents of the"
    " files.",
}
# Fields that an answer has or leaves out: only a bundle without its log has the levels apart from the image.
OPTIONAL: Final = {"log.image": {"features"}}
_HEAD: Final = {
    "schema_version": {
        "description": "Rises when a field goes or changes its meaning.",
        "const": 1,
        "type": "integer",
    }
}


def documents() -> dict[str, str]:
    """Return the text of each file by its name."""
    every = {*ANSWERS, "finding"}
    return {f"{kind}.json": f"{_text(schema(kind))}\n" for kind in sorted(every)}


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of one kind of answer."""
    maker = SchemaMaker()
    if kind == "finding":  # one line of -o jsonl, whose kind is that of the answer
        return {"$schema": DIALECT, "title": kind, **maker.of_class(Finding)}
    answer = ANSWERS[kind]
    found = maker.of_class(*answer) if isinstance(answer, tuple) else maker.of_class(answer)
    found["description"] = ABOUT.get(kind, f"`{kind.replace('.', ' ')}`.")
    head = {"kind": {"const": kind, "type": "string"}, **_HEAD}
    found["properties"] = {**head, **found["properties"], **head}
    optional = OPTIONAL.get(kind, set())
    found["required"] = [name for name in found["properties"] if name not in optional]
    defs = {"$defs": dict(sorted(maker.defs.items()))} if maker.defs else {}
    return {"$schema": DIALECT, "title": kind, **found, **defs}


def _text(part: Any, indent: str = "") -> str:
    """Return JSON with one line a field, so that a changed answer is a small diff."""
    if not isinstance(part, dict) or not {"properties", "$defs"} & set(part):
        return json.dumps(part, ensure_ascii=False)
    below = f"{indent} "
    lines = []
    for name, value in part.items():
        text = _text(value, below)
        if name in ("properties", "$defs"):
            items = (f"{below} {json.dumps(key)}: {_text(item, f'{below} ')}" for key, item in value.items())
            text = "{\n" + ",\n".join(items) + f"\n{below}}}"
        lines.append(f"{below}{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def main() -> None:
    """Write the files, and remove those that are no longer made."""
    FOLDER.mkdir(exist_ok=True)
    made = documents()
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.json"):
        if path.name not in made:
            path.unlink()


if __name__ == "__main__":
    main()
