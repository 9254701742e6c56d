"""The commands that write files of their own, as the crash campaign runs them: results, plans, copies, contexts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from kafkactl.bundle.io.writing import StagedMembers, write_bundle
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.words import Verb
from kafkactl.commands.framework import plugins
from kafkactl.core.findings import Outcome
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.values import Uuid
from kafkactl.dryrun.detail_tables import INT, TEXT, Table
from kafkactl.dryrun.io.detail_files import write_details
from kafkactl.files.contexts_edit import change_contexts, with_context, without_context
from kafkactl.files.plan_files import write_plan
from kafkactl.files.report_files import write_report
from kafkactl.migration.io.local_node import run_locally
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.rendered_files import write_rendered
from kafkactl.migration.render.facts import cluster_facts
from kafkactl.migration.render.node import render_cluster
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.quorum.api.recover import plan as recovery_plan
from kafkactl.quorum.api.recover.plan import apply_recovery, recovery_lock
from kafkactl.quorum.io.recover.collect import collect
from kafkactl.tiered.api.verbs import write_keys
from kafkactl.tiered.bucket import StoredObject
from kafkactl.tiered.io.observation import write_observation
from tests.bundle.io.test_archives import MANIFEST
from tests.campaigns.crash.campaign import Command, Mark, Rule, whole
from tests.campaigns.crash.states import Flat
from tests.migration.io.test_observation_writer import captured
from tests.migration.render.files import cluster
from tests.quorum.recover import worlds
from tests.samples.test_recover_crash import planned, request


def _nothing(_root: Path) -> None:
    """Make an empty folder."""


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


def together(folder: str) -> Rule:
    """Return a check that a folder is there as a whole: all as before, or all as after."""

    def rule(flat: Flat, old: Flat, new: Flat) -> str | None:
        inside = [_below(folder, tree) for tree in (flat, old, new)]
        if inside[0] not in inside[1:] and inside[0] != {folder: None}:
            return f"{folder} is neither as before nor as after: {sorted(inside[0])[:5]}"
        return whole(*({path: value for path, value in tree.items() if path not in seen} for tree, seen in
                       zip((flat, old, new), inside, strict=True)))  # fmt: skip

    return rule


def _below(folder: str, tree: Flat) -> Flat:
    return {path: value for path, value in tree.items() if path == folder or path.startswith(folder + "/")}


def _details() -> Iterator[Command]:
    def write(root: Path, text: str) -> None:
        columns = (("name", TEXT), ("count", INT))
        names = ("changes", "topics/partitions")
        write_details(root / "tables", [Table(name, columns, [(text, 1)] * 200) for name in names])

    def run(root: Path, _world: Any, _mark: Mark) -> str:
        write(root, "new")
        return "done"

    yield Command("dryrun --details", "new", _nothing, run, allowed=together("tables"))
    yield Command(
        "dryrun --details", "over earlier tables", lambda root: write(root, "old"), run, allowed=together("tables")
    )


def _observations() -> Iterator[Command]:
    seen = frozenset({"done", "refused:observation-folder-in-use"})

    def prepare(root: Path) -> None:
        captured(root / "log")

    def observe(root: Path, _world: Any, _mark: Mark) -> str:
        save_observation(str(root / "saved" / "out"), captured(root.parent / "log"))
        return "done"

    yield Command("migrate observe", "", prepare, observe, allowed=together("saved/out"), again=seen, sample=90)

    def tiered(root: Path, _world: Any, _mark: Mark) -> str:
        objects = [StoredObject(f"key-{number}", number, None) for number in range(100)]
        write_observation(str(root / "out"), {"kind": "tiered", "topics": list(range(300))}, [], objects)
        return "done"

    full = frozenset({"done", "failed:observation-folder-not-empty"})
    yield Command("tiered observe", "new", _nothing, tiered, allowed=together("out"), again=full)
    empty = _folder("out")
    yield Command("tiered observe", "empty folder", empty, tiered, allowed=together("out"), again=full)


def _folder(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).mkdir(parents=True)


def _bundles() -> Iterator[Command]:
    for force in (False, True):

        def run(root: Path, _world: Any, _mark: Mark, force: bool = force) -> str:
            with closing(StagedMembers()) as staged:
                for name, data in (("index.html", b"<html>"), ("answers/a.json", _BYTES)):
                    staged.add(name, (data,))
                write_bundle(root / "b.zip", staged, MANIFEST, force=force)
            return "done"

        again = frozenset({"done"} if force else {"done", "refused:bundle-file-exists"})
        prepare = _kept("b.zip", b"old") if force else _nothing
        yield Command("bundle", "in place of another" if force else "new", prepare, run, again=again)


def _sources(root: Path) -> None:
    log = worlds.whole_log()
    worlds.disk(root / "sources" / "c2", 2, log)
    worlds.broker_disks(root / "sources", log=log)
    (root / "made").mkdir()


def _recoveries() -> Iterator[Command]:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        with recovery_lock(request(root)):
            with mock.patch.object(recovery_plan, "random_uuid", lambda: Uuid(bytes(range(1, 17)))):
                found = planned(root)
            if found.outcome is Outcome.REFUSED:
                return "refused:" + ",".join(finding.id for finding in found.plan.findings)
            return apply_recovery(found, is_locked=True).outcome.value

    def allowed(flat: Flat, old: Flat, new: Flat) -> str | None:
        mark = f"made/new/{META_PROPERTIES}"
        missing = [path for path in new if path.startswith("made/") and flat.get(path, "gone") != new[path]]
        if mark in flat and missing:
            return f"{mark} is there before {missing}"
        return whole(flat, old, new)

    yield Command("quorum recover", "", _sources, run, allowed=allowed)

    def copy(root: Path, _world: Any, _mark: Mark) -> str:
        collect(str(root / "sources" / "b11"), str(root / "copy.tar"))
        return "done"

    again = frozenset({"done", "failed:collected-file-exists"})
    yield Command("quorum recover collect", "", _sources, copy, again=again)


def _renderings() -> Iterator[Command]:
    def run(root: Path, _world: Any, _mark: Mark) -> str:
        nodes = cluster()
        write_rendered(root / "a" / "out", nodes, render_cluster(nodes, cluster_facts(nodes)), withheld=frozenset())
        return "done"

    def earlier(root: Path) -> None:
        nodes = cluster()[:2]
        write_rendered(root / "a" / "out", nodes, render_cluster(nodes, cluster_facts(nodes)), withheld=frozenset())

    yield Command("migrate render", "new", _nothing, run, sample=90)
    yield Command("migrate render", "over an earlier one", earlier, run, sample=0)


def _leftovers() -> Iterator[Command]:
    found: Any = SimpleNamespace(objects=[SimpleNamespace(found=SimpleNamespace(key=f"k-{n}")) for n in range(300)])

    def run(root: Path, _world: Any, _mark: Mark) -> str:
        write_keys(str(root / "keys"), found)
        return "done"

    yield Command("tiered leftovers", "", _nothing, run, again=frozenset({"done", "failed:output-file-exists"}))


_OLD, _NEW = b"node.id=1\n" * 80, b"node.id=1\n" * 90


def _hooks() -> Iterator[Command]:
    """Yield what the hooks of the template `local` do on the disks of this machine."""
    digests = {"sha_before": hashlib.sha256(_OLD).hexdigest(), "sha_after": hashlib.sha256(_NEW).hexdigest()}

    def prepare(root: Path) -> None:
        _kept("node/server.properties", _OLD)(root)
        _kept(f"disks/m/{META_PROPERTIES}", b"version=1\nnode.id=1\ncluster.id=c\n")(root)
        _kept(f"disks/m/{METADATA_LOG}/00000000000000000000.log", b"log" * 300)(root)

    for verb in (Verb.PUT_CONFIG, Verb.WIPE):

        def run(root: Path, _world: Any, _mark: Mark, verb: Verb = verb) -> str:
            node: Any = SimpleNamespace(id=1, config=str(root / "node" / "server.properties"))
            extra = {**digests, "metadata_dir": str(root / "disks" / "m"), "cluster_id": "c"}
            asked = Request(verb=verb, node=1, phase="kraft", seq=7, instruction="", text=_NEW, extra=extra)
            return run_locally(node, asked).end.value

        yield Command("migrate, local hook", verb.value, prepare, run, failed=frozenset({"failed", "refused"}))


def _plugins() -> Iterator[Command]:
    """Yield a cache: its loss is harmless, half of it is not."""
    place = "cache/kafkactl/plugins"

    def run(root: Path, _world: Any, _mark: Mark) -> str:
        plugins._keep(str(root / place), _BYTES)
        return "done"

    def allowed(flat: Flat, old: Flat, new: Flat) -> str | None:
        known = {path for path in flat if path in new or path.startswith(f"{place}.")}
        if flat.get(place) not in (None, old.get(place), new[place]):
            return f"{place} is half written"
        return f"{flat.keys() - known} are left" if flat.keys() - known else None

    for variant, prepare in (("new", _nothing), ("in place of another", _kept(place, b"old"))):
        yield Command("list of plugins", variant, prepare, run, allowed=allowed, is_done=allowed)


FILE_COMMANDS: tuple[Command, ...] = (
    *_configs(),
    *_plan_files(),
    *_reports(),
    *_details(),
    *_observations(),
    *_bundles(),
    *_recoveries(),
    *_renderings(),
    *_leftovers(),
    *_hooks(),
    *_plugins(),
)
