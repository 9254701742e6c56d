"""Hooks of the template `local`: the files and disks of nodes on this machine, touched by kafkactl itself."""

from __future__ import annotations

from pathlib import Path

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.config_providers import resolve
from kafkactl.files.entropy import SystemSource
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.local_hooks import done_locally, failed_locally, get_config, put_config, timed_locally
from kafkactl.files.whole_file import sync_folder
from kafkactl.migration.inventory import InventoryNode
from kafkactl.protocol.catalog.releases import find_release, newest_with_zookeeper
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.format.ensure import plan_ensure
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import FormatRequest, VoterMode

_PUT_ASIDE = ".before-"
_OF_LOG_DIRECTORY = (META_PROPERTIES, METADATA_LOG)


def run_locally(node: InventoryNode, request: Request) -> HookRun:
    """Carry out the verb on this machine's own disks. Raise nothing for what the disks do."""
    return timed_locally(lambda: _VERBS[request.verb](node, request), node)


def _format(node: InventoryNode, request: Request) -> HookRun:
    """Format as `kafkactl storage ensure` does: an equal format is kept, another one is refused."""
    named = node.kafka_version or request.extra.get("kafka_version")
    release = find_release(str(named)) if named else newest_with_zookeeper()
    flags = tuple(request.extra["format_flags"])
    text = read_whole(node.config, InputKind.NODE_CONFIG)
    config = read_node_config(text, file=node.config, release=release, resolve=resolve)
    asked = FormatRequest(
        cluster_id=str(request.extra["cluster_id"]),
        release_version=str(request.extra["release"]),
        voter_mode=_mode(flags),
        initial_controllers=flags[flags.index("--initial-controllers") + 1] if "--initial-controllers" in flags else "",
    )
    plan = plan_ensure(asked, config, observe_node(config), release, SystemSource())
    if plan.outcome not in (Outcome.PLANNED, Outcome.NOTHING_TO_DO):
        return failed_locally("; ".join(finding.message for finding in blockers(plan.findings)))
    applied = apply_plan(plan, OsFilesystem())
    if applied.outcome not in (Outcome.DONE, Outcome.NOTHING_TO_DO):
        return failed_locally("; ".join(finding.message for finding in applied.findings))
    return done_locally()


def _mode(flags: tuple[str, ...]) -> VoterMode:
    if "--standalone" in flags:
        return VoterMode.STANDALONE
    if "--initial-controllers" in flags:
        return VoterMode.INITIAL_CONTROLLERS
    return VoterMode.NO_INITIAL_CONTROLLERS if "--no-initial-controllers" in flags else VoterMode.UNSPECIFIED


def _wipe(node: InventoryNode, request: Request) -> HookRun:
    """Move the directory aside instead of deleting it: under its own name with the number of the journal's entry.

    The node's own file names it, so only a log directory of Kafka is moved, and none of another cluster or node.
    """
    path = Path(str(request.extra["metadata_dir"]))
    if path.exists() and any(path.iterdir()) and not any((path / name).exists() for name in _OF_LOG_DIRECTORY):
        return failed_locally(
            f"{path} is not a log directory of Kafka: it holds neither {' nor '.join(_OF_LOG_DIRECTORY)}"
        )
    if other := _whose_else(path, node, str(request.extra.get("cluster_id") or "")):
        return failed_locally(
            f"{path} is that of {other}: the inventory names another cluster's or another node's disk"
        )
    if path.exists():
        path.rename(path.with_name(f"{path.name}{_PUT_ASIDE}{request.seq}"))
    if path.parent.is_dir():
        sync_folder(path.parent)  # also if a run that was killed has put it aside
    return done_locally()


def _whose_else(path: Path, node: InventoryNode, cluster_id: str) -> str | None:
    """Return the other cluster or node that the directory's meta.properties names.

    None if it names this one, or none.
    """
    file = path / META_PROPERTIES
    if not file.exists():
        return None
    known = parse_properties(read_whole(file, InputKind.META_PROPERTIES), file=str(file)).mapping
    cluster, id = (known.get("cluster.id") or "").strip(), (known.get("node.id") or "").strip()
    if cluster and cluster_id and cluster != cluster_id:
        return f"the cluster {cluster}"
    return f"node {id}" if id.isdecimal() and int(id) != node.id else None


def _probe(_node: InventoryNode, request: Request) -> HookRun:
    folders = request.extra["log_dirs"]
    lines = [
        str(path) for folder in ((folders,) if isinstance(folders, str) else folders) for path in Path(folder).iterdir()
    ]  # fmt: skip
    return done_locally(("\n".join(sorted(lines)) + "\n").encode("utf-8", "surrogateescape"))


_VERBS = {
    Verb.GET_CONFIG: get_config,
    Verb.PUT_CONFIG: put_config,
    Verb.FORMAT: _format,
    Verb.WIPE: _wipe,
    Verb.FS_PROBE: _probe,
}
