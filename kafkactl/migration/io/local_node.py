"""Hooks of the template `local`: the files and disks of nodes on this machine, touched by kafkactl itself."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import CHANGED_MEANWHILE, Verb
from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Outcome, blockers
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.features.catalog.releases import find_release, newest_with_zookeeper
from kafkactl.files.clock import SystemClock
from kafkactl.files.config_providers import resolve
from kafkactl.files.entropy import SystemSource
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.files.found import sync_found_file, sync_found_name
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.whole_file import sync_folder, write_whole
from kafkactl.migration.driver.ports import Request
from kafkactl.migration.inventory import InventoryNode
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.config.node_config import read_node_config
from kafkactl.storage.format.ensure import plan_ensure
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import FormatRequest, VoterMode

_PUT_ASIDE = ".before-"
_NEW_FILE_MODE = 0o640
_OF_LOG_DIRECTORY = (META_PROPERTIES, METADATA_LOG)


def run_locally(node: InventoryNode, request: Request) -> HookRun:
    """Do what the verb says on this machine's own disks. Nothing is raised for what the disks do."""
    began_ms = SystemClock().now_ms()
    try:
        run = _VERBS[request.verb](node, request)
    except OSError as error:
        run = _failed(f"{error.filename or node.config}: {error.strerror or error}")
    except KafkactlError as error:
        run = _failed(error.message)
    took_ms = int(SystemClock().now_ms() - began_ms)
    return HookRun(end=run.end, exit_code=run.exit_code, stdout=run.stdout, message=run.message, elapsed_ms=took_ms)


def _get(node: InventoryNode, _request: Request) -> HookRun:
    return _done(read_whole(node.config, InputKind.NODE_CONFIG))


def _put(node: InventoryNode, request: Request) -> HookRun:
    path = Path(node.config)
    there = read_whole(path, InputKind.NODE_CONFIG) if path.exists() else None
    now = "absent" if there is None else hashlib.sha256(there).hexdigest()
    if now == request.extra["sha_after"]:
        if there is not None:  # an earlier run that was killed may have put it there
            sync_found_file(path.resolve())
            sync_found_name(path.resolve())
        return _done()
    if now != request.extra["sha_before"]:
        return HookRun(end=HookEnd.CHANGED_MEANWHILE, exit_code=CHANGED_MEANWHILE)
    found = path.lstat() if there is not None else None
    if found is not None and not stat.S_ISREG(found.st_mode):
        return _failed(f"{path} is not a regular file: name the file itself as config in the inventory")
    mode = _NEW_FILE_MODE if found is None else stat.S_IMODE(found.st_mode) & 0o777
    write_whole(path, request.text, mode=mode, owner=None if found is None else (found.st_uid, found.st_gid))
    return _done()


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
        return _failed("; ".join(finding.message for finding in blockers(plan.findings)))
    applied = apply_plan(plan, OsFilesystem())
    if applied.outcome not in (Outcome.DONE, Outcome.NOTHING_TO_DO):
        return _failed("; ".join(finding.message for finding in applied.findings))
    return _done()


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
        return _failed(f"{path} is not a log directory of Kafka: it holds neither {' nor '.join(_OF_LOG_DIRECTORY)}")
    if other := _whose_else(path, node, str(request.extra.get("cluster_id") or "")):
        return _failed(f"{path} is that of {other}: the inventory names another cluster's or another node's disk")
    if path.exists():
        path.rename(path.with_name(f"{path.name}{_PUT_ASIDE}{request.seq}"))
    if path.parent.is_dir():
        sync_folder(path.parent)  # also where a run that was killed has put it aside
    return _done()


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
    return _done(("\n".join(sorted(lines)) + "\n").encode("utf-8", "surrogateescape"))


def _done(stdout: bytes = b"") -> HookRun:
    return HookRun(end=HookEnd.DONE, exit_code=0, stdout=stdout)


def _failed(reason: str) -> HookRun:
    return HookRun(end=HookEnd.FAILED, exit_code=1, message=f"local: {reason}")


_VERBS = {
    Verb.GET_CONFIG: _get,
    Verb.PUT_CONFIG: _put,
    Verb.FORMAT: _format,
    Verb.WIPE: _wipe,
    Verb.FS_PROBE: _probe,
}
