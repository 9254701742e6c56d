"""Targets: files of kafkactl that others may have changed: plans, journals, receipts, observations, bundles, cache."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kafkactl.bundle.io.reading import open_bundle
from kafkactl.bundle.manifest import parse_manifest
from kafkactl.change.journal_lines import read_journal
from kafkactl.change.plan_document import CHECKSUM, sealed
from kafkactl.cluster.api.completion import harmless
from kafkactl.core.errors import DecodeError, InputError, RefusedError
from kafkactl.features.plan.plan_file import read_plan as read_feature_plan
from kafkactl.files import word_cache
from kafkactl.migration.driver.journal import remembered as remembered_migration
from kafkactl.migration.io.rendered_files import read_manifest as read_rendered
from kafkactl.migration.observed.raw_observation import parse_observation, render_observation
from kafkactl.migration.observed.reading import observation_of
from kafkactl.migration.observed.redact import redact_observation
from kafkactl.quorum.change.journal import open_request
from kafkactl.quorum.change.journal import remembered as remembered_quorum
from kafkactl.quorum.io.recover.partitions import log_ends, read_folders
from kafkactl.quorum.plan_file import read_plan as read_quorum_plan
from kafkactl.quorum.recover.answer import plan_sha256, read_kept_plan
from kafkactl.roll.observation import parse_observation as parse_roll_observation
from kafkactl.storage.fleet.plan_file import node_format_plan, parse_plan, render_plan, shown_plan
from kafkactl.storage.fleet.receipts import parse_receipt, render_receipt
from tests.campaigns.fuzz.target import CORPUS, Feed, Target, UndeclaredError, document_of, scratch
from tests.samples.hostile_inputs import CHANGE, ID, MIGRATION, chained, rechained
from tests.storage.fleet.fleets import FleetBuilder

Made = tuple[Feed, Sequence[bytes]]
PLAN_ERRORS = (InputError, RefusedError)


def _resealed(data: bytes, checksum: Callable[[Any], str] | None = None) -> bytes:
    """Return a document with a checksum that fits; other bytes as they are."""
    document = document_of(data)
    if not isinstance(document, dict):
        return data
    try:
        return json.dumps({**document, CHECKSUM: checksum(document)} if checksum else sealed(document)).encode()
    except (RecursionError, UnicodeEncodeError):
        return data


def _storage_plan() -> Made:
    """Return a plan that is read shows the same when it is written, and each of its nodes can be formatted or
    refused."""

    def feed(data: bytes) -> object:
        plan, _ = parse_plan(_resealed(data), file="f")
        if parse_plan(render_plan(plan), file="f")[0] != plan:
            raise UndeclaredError("a plan is written otherwise")
        shown_plan(plan)
        return [node_format_plan(plan, node) for node in plan.nodes]

    whole = json.loads(render_plan(FleetBuilder(controllers=(1,), brokers=(4,)).plan()))
    return feed, [json.dumps(whole).encode()]


def _feature_plan() -> Made:
    return lambda data: read_feature_plan(_resealed(data), file="f"), _kept("feature-plan")


def _quorum_plan() -> Made:
    return lambda data: read_quorum_plan(_resealed(data), file="f").target_text, _kept("quorum-plan")


def _recovery_plan() -> Made:
    return lambda data: read_kept_plan(_resealed(data, plan_sha256), file="f"), _kept("recovery-plan")


def _kept(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*.json"))]


def _receipt() -> Made:
    seed = {
        "kind": "storage.receipt", "schema_version": 1, "node_id": 1, "cluster_id": ID, "plan_sha256": "ab",
        "applied_ms": 1, "directories": {"/a": ID, "/b": None},
        "reformats": [{"directory": "/a", "time_ms": 1, "reason": "lost"}],
    }  # fmt: skip

    def feed(data: bytes) -> object:
        return render_receipt(parse_receipt(data, file="f"))

    return feed, [json.dumps(seed).encode()]


def _journal(entries: Any, subject: str, fold: Callable[..., object]) -> Made:
    """Return a journal as lines, and as a list of entries whose chain is made to fit."""

    def feed(data: bytes) -> object:
        content = rechained(data)
        if subject == "quorum":
            open_request(content, "f", "c")
        return fold(read_journal(content, file="f", subject=subject, cluster_id="c").entries)

    return feed, [json.dumps(entries).encode(), chained(entries), chained(entries)[:-9]]


def _roll_observation() -> Made:
    """Return an observation.json of a roll: what is read is written alike."""
    seed = {
        "kind": "roll.observation", "schema_version": 1, "time_ms": 1, "cluster_id": ID,
        "nodes": [{"id": 1, "roles": ["broker", "controller"], "alive": True, "release": "4.3.1", "config": "a=b\n",
                   "features": {"metadata.version": {"min": 7, "max": 30}}}],
        "quorum": {"leader_id": 1, "leader_epoch": 2, "voters": [{"id": 1, "alive": None, "lag": 0}], "observers": [],
                   "nodes": [{"id": 1, "leader_epoch": 2}]},
        "nodes_list": {"nodes": [{"id": 1, "answers": True, "features": {"metadata.version": {"min": 7, "max": 30}}}]},
    }  # fmt: skip

    def feed(data: bytes) -> object:
        found = parse_roll_observation(data, file="f")
        if parse_roll_observation(json.dumps(found.to_dict()), file="f") != found:
            raise UndeclaredError("an observation is written otherwise")
        return found.nodes

    return feed, [json.dumps(seed).encode()]


def _observation() -> Made:
    """Return an observation.json: read, taken without secrets, written, and made sense of."""
    seed = {
        "kind": "migrate.observation", "schema_version": 1, "time_ms": 1, "cluster_id": ID,
        "zookeeper": {"connect": "z:2181/kafka", "chroot": "/kafka", "zxid_before": 1, "zxid_after": 2,
                      "members": [{"address": "z:2181", "mode": "leader", "zxid": 2}],
                      "driver_lock": {"held": True, "holder": {"user": "ann", "host": "o", "pid": 7}}},
        "nodes": [{"id": 1, "role": "broker", "address": "h:9092", "config": "broker.id=1\nzookeeper.connect=z\n",
                   "answers": {}, "metrics": {"a": 1.5},
                   "directories": [{"path": "/d", "meta_properties": "version=0\n"}]}],
        "findings": [{"id": "a", "severity": "warning", "subject": "s", "message": "m", "evidence": {},
                      "next_step": ""}],
    }  # fmt: skip

    def feed(data: bytes) -> object:
        raw, _ = parse_observation(data, file="f")
        written = render_observation(raw)
        if render_observation(parse_observation(written, file="f")[0]) != written:
            raise UndeclaredError("an observation is written otherwise")
        render_observation(redact_observation(raw))
        return observation_of(raw, znodes=None, logs={}, findings=[])

    return feed, [json.dumps(seed).encode()]


def _manifest() -> Made:
    return lambda data: parse_manifest(data, file="f").to_dict(), [MANIFEST]


def _bundle() -> Made:
    """Return an archive as it comes (`PK`), and one that is sound around a manifest of any text and an answer of any
    text."""
    file = scratch("bundle", "a.zip")

    def feed(data: bytes) -> object:
        file.write_bytes(data if data.startswith(b"PK") else _archive(*data.partition(b"\0")[::2]))
        with open_bundle(str(file)) as bundle:
            for member in bundle.manifest.members:
                deque(bundle.pieces(member.path), maxlen=0)
            return [bundle.document(member.path) for member in bundle.manifest.members]

    return feed, [_archive(MANIFEST, b'{"kind":"log.verify"}'), MANIFEST + b'\0{"kind":"log.verify"}']


def _archive(manifest: bytes, answer: bytes) -> bytes:
    """Return a bundle of one answer, whose size and SHA-256 the manifest has."""
    document = document_of(manifest)
    if isinstance(document, dict) and isinstance(document.get("members"), list):
        for member in document["members"][:1]:
            if isinstance(member, dict):
                member |= {"size": len(answer), "sha256": hashlib.sha256(answer).hexdigest()}
        manifest = json.dumps(document).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("manifest.json"), manifest)
        archive.writestr(zipfile.ZipInfo("answers/log.verify.json"), answer)
    return target.getvalue()


MANIFEST = json.dumps(
    {
        "kind": "bundle.manifest", "schema_version": 1, "created_ms": 1, "kafkactl_version": "1", "cluster_id": None,
        "parts": [{"name": "log", "about": "a", "exit_code": 0, "error": None, "members": ["answers/log.verify.json"]}],
        "logs": [{"number": 1, "source": "/l", "folder": "logs/1", "cluster_id": None, "replaced": {"scram": 1}}],
        "members": [{"path": "answers/log.verify.json", "size": 1, "sha256": "0" * 64}],
    }
).encode()  # fmt: skip


def _collected() -> Made:
    """Return the manifest of a copy of a log directory, its small files, and the head of a segment."""
    folder = scratch("collected", "log", "orders-0")
    folder.mkdir(exist_ok=True)
    names = ("partition.metadata", "leader-epoch-checkpoint", "0" * 20 + ".log")

    def feed(data: bytes) -> object:
        (folder.parent / "kafkactl-collected.json").write_bytes(data)
        for name in names:
            (folder / name).write_bytes(data)
        log_ends(str(folder))
        return read_folders(str(folder.parent), broker=1, directory_id=None)

    return feed, [
        b'{"folders":{"orders-0":{"log_end_offset":5,"size_bytes":10}}}',
        b"0\n1\n0 0\n",
        b"version: 0\ntopic_id: JEXY6aqzQY-32P5TStzaFg\n",
        bytes(7) + b"\x05\0\0\0\x40" + bytes(80),
    ]


def _rendered() -> Made:
    file = scratch("rendered", "manifest.json")

    def feed(data: bytes) -> object:
        file.write_bytes(data)
        return read_rendered(file.parent)

    return feed, [b'{"kind":"migrate.rendered","files":[{"path":"a","sha256":"b"}],"originals":[]}']


def _word_cache() -> Made:
    """Return what completion kept: read again, or passed over. The words reach a shell."""
    file = scratch("words", "x.json")

    def feed(data: bytes) -> object:
        file.write_bytes(data)
        words, _ = word_cache._read(file)
        return harmless([str(word) for word in words])

    return feed, [b'{"time_s":99999999999,"words":{"topics":["a"]}}', b'{"time_s":1,"words":{}}']


TARGETS = (
    Target(name="storage-plan", make=_storage_plan, declared=PLAN_ERRORS, is_json=True, most_bytes=16384,
           reads=("change.plan_document", "storage.fleet.plan_file")),
    Target(name="feature-plan", make=_feature_plan, declared=PLAN_ERRORS, is_json=True,
           reads=("features.plan.plan_file",)),
    Target(name="quorum-plan", make=_quorum_plan, declared=PLAN_ERRORS, is_json=True, reads=("quorum.plan_file",)),
    Target(name="recovery-plan", make=_recovery_plan, is_json=True, most_bytes=16384, reads=("quorum.recover.answer",)),
    Target(name="receipt", make=_receipt, is_json=True, reads=("storage.fleet.receipts",)),
    Target(name="migration-journal", make=partial(_journal, MIGRATION, "migration", remembered_migration), is_json=True,
           declared=PLAN_ERRORS, reads=("change.journal", "change.journal_lines", "migration.driver.journal")),
    Target(name="quorum-journal", make=partial(_journal, CHANGE, "quorum", remembered_quorum), is_json=True,
           declared=PLAN_ERRORS, reads=("change.journal", "change.journal_lines", "quorum.change.journal")),
    Target(name="migration-observation", make=_observation, is_json=True, declared=(InputError, DecodeError),
           reads=("migration.observed.raw_observation", "migration.observed.fields", "migration.observed.reading")),
    Target(name="roll-observation", make=_roll_observation, is_json=True,
           reads=("roll.observation", "core.json_fields")),
    Target(name="bundle-manifest", make=_manifest, is_json=True, reads=("bundle.manifest",)),
    Target(name="bundle", make=_bundle, reads=("bundle.io.reading",)),
    Target(name="collected-copy", make=_collected, reads=("quorum.io.recover.partitions",)),
    Target(name="rendered-manifest", make=_rendered, is_json=True, reads=("migration.io.rendered_files",)),
    Target(name="word-cache", make=_word_cache, is_json=True, reads=("files.word_cache",)),
)  # fmt: skip
