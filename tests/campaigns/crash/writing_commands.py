"""Commands that write, as the crash campaign runs them: files before the run, the run, the rule for its states."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from kafkactl.core.kafka_names import FIRST_CHECKPOINT
from kafkactl.core.values import Uuid
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.format.ensure import plan_ensure
from kafkactl.storage.format.unformat import plan_unformat
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.apply_unformat import apply_unformat
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import BOOTSTRAP_CHECKPOINT, FormatRequest
from tests.campaigns.crash.campaign import Command, Mark, Rule, is_temporary, whole
from tests.campaigns.crash.scenarios import SCENARIOS, Scenario, formatted
from tests.campaigns.crash.states import Flat
from tests.campaigns.crash.writing_changes import CHANGE_COMMANDS
from tests.campaigns.crash.writing_files import FILE_COMMANDS
from tests.samples.test_fleet_crash import World, planned_world
from tests.storage.nodes import CLUSTER_ID, FixedSource

_OF_A_FORMAT = frozenset({META_PROPERTIES, BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT})


def _metadata_folder(scenario: Scenario) -> str:
    return scenario.metadata or scenario.log_dirs[0]


class SameIds(FixedSource):
    """Ids by path, so that a run again draws the ids that the first one drew."""

    def directory_id(self, path: str) -> Uuid:
        return Uuid(hashlib.sha256(path.encode()).digest()[:16])


def _format(scenario: Scenario) -> Command:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        return apply_plan(scenario.plan(root, SameIds()), OsFilesystem()).outcome.value

    rule = _marked(f"{_metadata_folder(scenario)}/{META_PROPERTIES}")
    return Command("storage format", scenario.name, scenario.prepare, run, allowed=rule)


def _ensure(scenario: Scenario) -> Command:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        config = scenario.config(root)
        request = FormatRequest(cluster_id=CLUSTER_ID, scram=scenario.scram, voter_mode=scenario.mode)
        plan = plan_ensure(request, config, observe_node(config), scenario.found, SameIds())
        return apply_plan(plan, OsFilesystem()).outcome.value

    rule = _marked(f"{_metadata_folder(scenario)}/{META_PROPERTIES}")
    return Command("storage ensure", scenario.name, scenario.prepare, run, allowed=rule)


def _marked(*last: str) -> Rule:
    """Return a check that a meta.properties is there only with all that belongs to it, and those of `last`, one a node,
    after all else."""

    def allowed(flat: Flat, old: Flat, new: Flat) -> str | None:
        """Judge a state: Kafka classifies a directory as formatted by its meta.properties, a node by all of them."""
        shown = {path: content for path, content in flat.items() if Path(path).name not in _OF_A_FORMAT}
        before, after = (
            {path: content for path, content in tree.items() if Path(path).name not in _OF_A_FORMAT}
            for tree in (old, new)
        )
        if (problem := whole(shown, before, after)) is not None:
            return problem
        planned = {path: content for path, content in new.items() if Path(path).name in _OF_A_FORMAT}
        for path, content in planned.items():
            if flat.get(path, content) not in (content, old.get(path, content)):
                return f"{path} is half written"
        for path in (path for path in planned if Path(path).name == META_PROPERTIES and path in flat):
            folder = path.rpartition("/")[0]
            missing = [name for name in planned if name.startswith(folder + "/") and flat.get(name) != planned[name]]
            if missing:
                return f"{path} is there, and {missing} are not"
        for mark in last:
            disks = mark.split("/")[:-2]  # of one node, if there are several
            own = [path for path in planned if path.split("/")[: len(disks)] == disks]
            if mark in flat and mark not in old and any(flat.get(path) != planned[path] for path in own):
                return f"{mark} is there before all else"
        return None

    return allowed


def _apply(kafka_version: str, sample: int) -> Command:
    plans: dict[Path, World] = {}

    def prepare(root: Path) -> None:
        plans[root] = planned_world(root, kafka_version)

    def run(root: Path, _world: Any, _mark: Mark) -> str:
        outcome, ids = plans[root].apply(OsFilesystem())
        return "partial" if "receipt-not-written" in ids else outcome.value  # which is a warning there

    return Command("storage apply", f"three nodes, {kafka_version}", prepare, run, allowed=_marked(), sample=sample)


def _unformat(scenario: Scenario) -> Command:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        config = scenario.config(root)
        return apply_unformat(plan_unformat(config, observe_node(config)), OsFilesystem()).outcome.value

    first = f"{_metadata_folder(scenario)}/{META_PROPERTIES}"

    def allowed(flat: Flat, old: Flat, new: Flat) -> str | None:
        if (problem := whole(flat, old, new)) is not None:
            return problem
        gone = [path for path in old if path not in flat and not is_temporary(path)]
        return f"{gone} are gone while {first} is there" if gone and first in flat else None

    return Command("storage unformat", scenario.name, formatted(scenario), run, allowed=allowed)


_ENSURED = frozenset({"layout 1", "layout 3, standalone", "layout 4, broker", "new disk"})

COMMANDS: tuple[Command, ...] = (
    *(_format(scenario) for scenario in SCENARIOS if scenario.owner is None),
    *(_unformat(scenario) for scenario in SCENARIOS if scenario.owner is None and scenario.name != "new disk"),
    *(_ensure(scenario) for scenario in SCENARIOS if scenario.name in _ENSURED),
    _apply("4.3.1", sample=0),
    _apply("4.4.0", sample=120),
    *FILE_COMMANDS,
    *CHANGE_COMMANDS,
)
