"""Every command that writes, as the crash campaign plays it: what is there before, the run, the rule for its states."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kafkactl.adapters.disks.apply_format import apply_plan
from kafkactl.adapters.disks.apply_unformat import apply_unformat
from kafkactl.adapters.disks.directories import observe_node
from kafkactl.adapters.files.contexts_edit import change_contexts, with_context, without_context
from kafkactl.adapters.files.filesystem import OsFilesystem
from kafkactl.adapters.files.plan_files import write_plan
from kafkactl.adapters.files.report_files import write_report
from kafkactl.storage.format.unformat import plan_unformat
from kafkactl.storage.model import BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT, META_PROPERTIES
from kafkactl.values import Uuid
from tests.crash.campaign import Command, Mark, is_temporary, whole
from tests.crash.scenarios import SCENARIOS, Scenario, formatted
from tests.crash.states import Flat
from tests.storage.nodes import FixedSource

_OF_A_FORMAT = frozenset({META_PROPERTIES, BOOTSTRAP_CHECKPOINT, FIRST_CHECKPOINT})


# --- disks ------------------------------------------------------------------------------------------------------------


def _metadata_folder(scenario: Scenario) -> str:
    return scenario.metadata or scenario.log_dirs[0]


class SameIds(FixedSource):
    """Ids by path, so that a run again draws the ids that the first one drew."""

    def directory_id(self, path: str) -> Uuid:
        return Uuid(hashlib.sha256(path.encode()).digest()[:16])


def _format(scenario: Scenario) -> Command:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        return apply_plan(scenario.plan(root, SameIds()), OsFilesystem()).outcome.value

    last = f"{_metadata_folder(scenario)}/{META_PROPERTIES}"

    def allowed(flat: Flat, old: Flat, new: Flat) -> str | None:
        """Kafka takes a directory with meta.properties for formatted, and a node with one in all of them."""
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
        if last in flat and last not in old and any(flat.get(path) != planned[path] for path in planned):
            return f"{last} is there before all else"
        return None

    return Command("storage format", scenario.name, scenario.prepare, run, allowed=allowed)


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


# --- files ------------------------------------------------------------------------------------------------------------


def _nothing(_root: Path) -> None:
    """An empty folder."""


def _kept(name: str, content: bytes) -> Callable[[Path], None]:
    def prepare(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)

    return prepare


_CONTEXTS = b'# mine\ncurrent = "prod"\n\n[contexts.prod]\nbootstrap_server = "b1:9092"  # kept\n'


def _config(variant: str, prepare: Callable[[Path], None], change: Any) -> Command:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        before, after = change_contexts(root / "home" / "kafkactl" / "config.toml", change)
        return "nothing-to-do" if before == after else "done"

    def repair(root: Path) -> None:
        (root / "home" / "kafkactl" / ".config.toml.new").unlink()

    busy = frozenset({"refused:contexts-file-busy"})
    return Command("config", variant, prepare, run, repair=repair, refused=busy)


def _configs() -> Iterator[Command]:
    file = "home/kafkactl/config.toml"
    yield _config("first context", _nothing, lambda found: with_context(found, "a", {"bootstrap_server": "b:9092"}))
    there = _kept(file, _CONTEXTS)
    yield _config("another context", there, lambda found: with_context(found, "a", {"bootstrap_server": "b:9092"}))
    yield _config(
        "removed context", there, lambda found: without_context(found, "prod") if "prod" in found.by_name else found
    )


_BYTES = bytes(range(256)) * 12


def _plan_files() -> Iterator[Command]:
    for command in ("storage plan", "features plan", "quorum reassign --out"):
        for overwrite in (False, True):

            def run(root: Path, _world: Any, _mark: Mark, overwrite: bool = overwrite) -> str:
                write_plan(root / "plan.json", _BYTES, overwrite=overwrite)
                return "done"

            prepare = _kept("plan.json", b"old") if overwrite else _nothing
            yield Command(
                command, "in place of another" if overwrite else "new", prepare, run,
                again=frozenset({"done"}) if overwrite else frozenset({"done", "refused:plan-file-exists"}),
            )  # fmt: skip


def _reports() -> Iterator[Command]:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        write_report(root / "report.html", b"<!-- mark -->" + _BYTES, "mark")
        return "done"

    yield Command("dryrun report", "new", _nothing, run)
    yield Command("dryrun report", "again", _kept("report.html", b"<!-- mark --> old"), run)


COMMANDS: tuple[Command, ...] = (
    *(_format(scenario) for scenario in SCENARIOS if scenario.owner is None),
    *(_unformat(scenario) for scenario in SCENARIOS if scenario.owner is None and scenario.name != "new disk"),
    *_configs(),
    *_plan_files(),
    *_reports(),
)
