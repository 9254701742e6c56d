"""Source of a predicted copy, a live ZooKeeper or a saved tree, and the predicted records as a log on disk."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Final

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.values import Role
from kafkactl.files.input_files import InputKind, read_input, read_whole
from kafkactl.metadata.io.source import LogSource, open_source
from kafkactl.migration.io.saved_observation import OBSERVATION, ZNODES
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.observed.raw_observation import RawObservation, parse_observation
from kafkactl.migration.observed.reading import chroot_seen, node_seen
from kafkactl.migration.steps.m5 import shown_secrets
from kafkactl.migration.zktree.tree import Tree, tree_of
from kafkactl.migration.zktree.znode import decode_znodes
from kafkactl.protocol.log.frame import MetadataRecord, encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import message

_NO_ZOOKEEPER: Final = (4,)
_PLAIN: Final = re.compile(r"\d+\.\d+(\.\d+)?").fullmatch
_MOST_IN_A_BATCH: Final = 10_000


@frozen
class CopySource:
    """ZooKeeper tree, and the findings about its file. `name` is the source as it was named; `release`
    the oldest one of the controllers of an observation, or of its brokers, None if it does not tell. `secrets` are
    the encoder secrets in the controllers' files that the observation shows; None if it shows none of the files.
    """

    name: str
    tree: Tree
    findings: tuple[Finding, ...] = ()
    release: str | None = None
    secrets: tuple[str, ...] | None = field(default=None, repr=False)


def read_copy_source(source: str, *, chroot: str | None, config: str | None, timeout_ms: float) -> CopySource:
    """Read the tree of a SOURCE: a saved tree, a folder with one (an observation), or `host:port/chroot`.

    `config` is the file of a node, for TLS and SASL. Raises InputError, and UnreachableError for a live one.
    """
    path = Path(source)
    release = secrets = raw = None
    if path.is_dir():
        raw = _observed(path)
        seen = () if raw is None else tuple(node_seen(node)[0] for node in raw.nodes)
        release = _release(seen)
        secrets = shown_secrets(node for node in seen if node.role is Role.CONTROLLER)
        path = next((path / name for name in ZNODES if (path / name).exists()), path / ZNODES[0])
    if path.exists() or not _is_connect(source):
        saved = decode_znodes(read_input(path, "saved ZooKeeper tree", InputKind.SAVED_TREE), file=str(path))
        if chroot is None and raw is not None:
            chroot = chroot_seen(raw, (znode.path for znode in saved.znodes))
        tree = tree_of(saved.znodes, chroot)
        return CopySource(name=source, tree=tree, findings=saved.findings, release=release, secrets=secrets)
    return CopySource(name=source, tree=_live(source, chroot, config, timeout_ms))


def _observed(folder: Path) -> RawObservation | None:
    """Return the content of observation.json; None if it cannot be read."""
    try:
        content = read_whole(folder / OBSERVATION, InputKind.MIGRATION_OBSERVATION)
        return parse_observation(content, file=str(folder / OBSERVATION))[0]
    except (OSError, InputError):
        return None


def _release(nodes: tuple[NodeSeen, ...]) -> str | None:
    """Return the release that the nodes run."""
    for role in (Role.CONTROLLER, Role.BROKER):
        texts = (node.kafka_version or "" for node in nodes if node.role is role)
        versions = [tuple(map(int, text.split("."))) for text in texts if _PLAIN(text)]
        if versions:
            oldest = min(versions)
            return ".".join(map(str, oldest)) if oldest < _NO_ZOOKEEPER else None
    return None


def _is_connect(source: str) -> bool:
    """Return True for servers of ZooKeeper, right or wrong; False for the path of a file that is missing."""
    return any(mark in source.partition("/")[0] for mark in ":,;")


def _live(source: str, chroot: str | None, config: str | None, timeout_ms: float) -> Tree:
    from kafkactl.migration.io.zookeeper.client import open_zookeeper
    from kafkactl.migration.io.zookeeper.settings import load_zookeeper_settings, parse_connect, zookeeper_settings

    connect = parse_connect(source)
    if chroot is not None and connect.chroot and chroot.strip("/") != connect.chroot.strip("/"):
        raise InputError(
            f"the chroot is named twice: {connect.chroot} and {chroot}",
            id="invalid-chroot",
            next_step="Name it once, behind the servers or by --chroot.",
        )
    if chroot:
        connect = changed(connect, chroot="/" + chroot.strip("/") if chroot.strip("/") else "")
    if config is None:
        settings = zookeeper_settings({}, read_only=True)
    else:
        settings = load_zookeeper_settings(Path(config), read_only=True)
    with open_zookeeper(connect, settings=settings, timeout_ms=timeout_ms) as zookeeper:
        return zookeeper.read_tree(acls=False)


@contextmanager
def predicted_log(batches: Sequence[Sequence[MetadataRecord]]) -> Iterator[LogSource]:
    """Yield the records as the log of a quorum that has nothing else, in a folder that lasts as long as the block."""
    with tempfile.TemporaryDirectory(prefix="kafkactl-copy-") as folder:
        log = Path(folder, METADATA_LOG)
        log.mkdir()
        offset = 0
        with Path(log, f"{0:020}.log").open("wb") as file:
            for batch in batches:
                for at in range(0, len(batch), _MOST_IN_A_BATCH):
                    part = batch[at : at + _MOST_IN_A_BATCH]
                    framed = [
                        (None, encode_record(message(record.type), record.version, record.data)) for record in part
                    ]
                    file.write(encode_batch(framed, base_offset=offset, timestamp_ms=0, partition_leader_epoch=1))
                    offset += len(part)
        yield open_source(str(log))
