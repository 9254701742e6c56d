"""Nodes that are about to be formatted or unformatted, on real directories: what the crash campaign runs through."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafkactl.core.findings import Outcome
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.protocol.catalog.releases import Release, find_release
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import FormatPlan, FormatRequest, Owner, Source, VoterMode
from tests.storage.nodes import CLUSTER_ID, FixedSource, a_config

OWN_ID = "JEXY6aqzQY-32P5TStzaFg"
Prepare = Callable[[Path], None]


@dataclass(frozen=True)
class Scenario:
    """Node. `prepare` makes what is on its disks beforehand; `settings` go to its configuration."""

    name: str
    release: str
    log_dirs: tuple[str, ...] = ("d1",)
    metadata: str | None = None
    roles: str = "broker,controller"
    static: bool = False
    mode: VoterMode = VoterMode.UNSPECIFIED
    scram: tuple[str, ...] = ()
    prepare: Prepare = lambda _root: None
    owner: Owner | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def config(self, root: Path) -> NodeConfig:
        """Return the configuration as the release reads it."""
        return a_config(
            self.found,
            roles=self.roles,
            static=self.static,
            log_dirs=[str(root / name) for name in self.log_dirs],
            metadata_log_dir=str(root / self.metadata) if self.metadata else None,
        )

    @property
    def found(self) -> Release:
        return find_release(self.release)

    def plan(self, root: Path, source: Source | None = None, *, again: bool = True) -> FormatPlan:
        """Return a plan for what is on the disks now; `again` allows what is formatted already."""
        config = self.config(root)
        request = FormatRequest(
            cluster_id=CLUSTER_ID,
            scram=self.scram,
            voter_mode=self.mode,
            initial_controllers=f"1@h:9093:{OWN_ID},2@i:9093:MvDxzVmcRsaTz33bUuRU6A"
            if self.mode is VoterMode.INITIAL_CONTROLLERS
            else "",
            ignore_formatted=again,
            owner=self.owner,
        )
        return plan_format(request, config, observe_node(config), self.found, source or FixedSource())

    def build(self, root: Path) -> None:
        """Make fresh disks."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        self.prepare(root)


def folders(*names: str) -> Prepare:
    """Return empty directories, with the lost+found of a disk's root."""

    def prepare(root: Path) -> None:
        for name in names:
            (root / name / "lost+found").mkdir(parents=True)

    return prepare


def half_done(root: Path) -> None:
    """Leave the files of an interrupted run of ours and of one of Kafka's."""
    log = root / "d1" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / "00000000000000000000-0000000000.checkpoint").write_bytes(b"old")
    (log / "00000000000000000000-0000000000-kafkactl.checkpoint.part").write_bytes(b"old")
    for name in ("bootstrap.checkpoint", "meta.properties.kafkactl.tmp", "meta.properties.tmp", ".kafkactl.lock"):
        (root / "d1" / name).write_bytes(b"old")


def new_disk(scenario: Scenario, name: str) -> Prepare:
    """Return a node that is formatted but for one new data directory."""

    def prepare(root: Path) -> None:
        assert apply_plan(scenario.plan(root, again=False), OsFilesystem()).outcome is Outcome.DONE
        shutil.rmtree(root / name)

    return prepare


def formatted(scenario: Scenario) -> Prepare:
    """Return a node that is formatted, and has never started."""

    def prepare(root: Path) -> None:
        scenario.prepare(root)
        assert apply_plan(scenario.plan(root, again=False), OsFilesystem()).outcome is Outcome.DONE

    return prepare


def _with_owner() -> tuple[Scenario, ...]:
    """Return the scenarios with an owner if this user is root: only root can give files away."""
    if os.geteuid() != 0:
        return ()
    owner = Owner(text="12345:12345", uid=12345, gid=12345)
    dynamic = VoterMode.STANDALONE
    return (Scenario("owner", "4.3", ("d1", "deep/er/d2"), mode=dynamic, owner=owner, prepare=folders("d1")),)


_TWO = ("d1", "d2")
_JBOD = Scenario("jbod", "4.3", ("d1", "d2", "d3"), mode=VoterMode.STANDALONE)

SCENARIOS = (
    Scenario("layout 1", "3.6", _TWO, static=True),
    Scenario("layout 1, with users", "3.5", static=True, scram=("SCRAM-SHA-256=[name=a,password=hunter2]",)),
    Scenario("layout 2", "3.8", _TWO, static=True, prepare=folders("d2")),
    Scenario("layout 3, static", "3.9", _TWO, static=True),
    Scenario("layout 3, standalone", "4.3", _TWO, mode=VoterMode.STANDALONE),
    Scenario("layout 3, voters", "4.0", ("a/b/d1", "a/c/d2"), metadata="m", mode=VoterMode.INITIAL_CONTROLLERS),
    Scenario("layout 3, joining", "4.2", mode=VoterMode.NO_INITIAL_CONTROLLERS, roles="controller"),
    Scenario("layout 3, over leftovers", "4.1", mode=VoterMode.STANDALONE, prepare=half_done),
    Scenario("layout 4, standalone", "4.4", ("d1", "d2", "d3"), metadata="d2", mode=VoterMode.STANDALONE),
    Scenario("layout 4, broker", "4.4", _TWO, roles="broker"),
    Scenario("layout 4, static", "4.4", metadata="m", static=True, prepare=folders("d1", "m")),
    Scenario("new disk", "4.3", _JBOD.log_dirs, mode=_JBOD.mode, prepare=new_disk(_JBOD, "d2")),
    *_with_owner(),
)
