"""Targets: files of a log directory, and the bytes of Kafka's protocol."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from functools import cache

from bench.fuzz_decoders import goldens, with_right_crcs
from bench.fuzz_log import _read as read_segment_both_ways
from bench.fuzz_log import captures
from kafkactl.cluster.io.fetched_batches import SoundBatches
from kafkactl.cluster.io.fetched_registrations import read_batches
from kafkactl.cluster.registrations import RegistrationLog
from kafkactl.core.errors import DecodeError, UnreachableError
from kafkactl.dryrun.engine.local import load as load_local
from kafkactl.metadata.image.digest import image_sha256
from kafkactl.metadata.image.json import image_json
from kafkactl.metadata.io.image import Point, load_image
from kafkactl.metadata.io.source import CHECKPOINT, SEGMENT, LogFile, LogSource
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from kafkactl.metadata.log.lineage import index_of
from kafkactl.metadata.log.quorum_state import decode_quorum_state
from kafkactl.metadata.log.redact import redact_runs
from kafkactl.metadata.log.scan import Contents, Stop, walk_batches
from kafkactl.metadata.replay.log_replay import replay_runs
from kafkactl.metadata.verify.checkpoint_text import checkpoint_problem
from kafkactl.metadata.verify.folder import parse_snapshot_name
from kafkactl.migration.observed.log_folding import LogFolding
from kafkactl.protocol.batch_scan import Damage, scan_batches
from kafkactl.protocol.codec import decode_message, encode_message
from kafkactl.protocol.compiled import decoder, encoder
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.framing import Framing
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec
from kafkactl.protocol.text.meta_properties import parse_meta_properties
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.quorum.recover.folders import parse_folder_name, parse_largest_epoch
from kafkactl.roll.cluster_log import read_cluster_log
from kafkactl.storage import partition_folders
from kafkactl.storage.dump import dump_file
from kafkactl.storage.epoch_checkpoints import parse_leader_epochs, parse_offsets
from kafkactl.storage.partition_folders import parse_topic_id
from tests.campaigns.fuzz.target import Feed, Target, UndeclaredError
from tests.metadata.log.quorum_state_writer import encode_quorum_state
from tests.metadata.replay.reference_logs import by_the_record
from tests.protocol.batches import batch, gzipped, record
from tests.protocol.outcomes import outcome
from tests.protocol.random_messages import every_version, random_message

Made = tuple[Feed, Sequence[bytes]]
_GZIP = 1
_FAR = 1 << 62


@cache
def _versions() -> list[tuple[MessageSpec, int]]:
    return every_version()


def _messages() -> Made:
    """Read the message and version that the first two bytes choose; both codecs must agree, and what was read is
    written again."""

    def feed(data: bytes) -> object:
        spec, version = _versions()[int.from_bytes(data[:2], "big") % len(_versions())]
        content = data[2:]
        slow, fast = outcome(decode_message, spec, version, content), outcome(decoder(spec, version), content)
        if slow != fast and repr(slow) != repr(fast):
            raise UndeclaredError(f"{spec.name} {version}: {slow} and {fast}")
        if isinstance(slow[0], dict):
            written = encode_message(spec, version, slow[0])
            again, end = decode_message(spec, version, written)
            if encoder(spec, version)(slow[0]) != written or end != len(written) or repr(again) != repr(slow[0]):
                raise UndeclaredError(f"{spec.name} {version} is written otherwise")
            to_json(spec, version, slow[0])
        return slow

    return feed, tuple(
        number.to_bytes(2, "big") + encode_message(spec, version, random_message(random.Random(number), spec, version))
        for number, (spec, version) in enumerate(_versions())
        if version == spec.valid_versions.highest
    )


def _metadata_records() -> Made:
    def feed(data: bytes) -> object:
        return decode_record(data).data

    return feed, [
        b"\x01" + _varint(spec.api_key or 0) + _varint(version)
        + encode_message(spec, version, random_message(random.Random(version), spec, version))
        for spec, version in _versions()
        if spec.kind == "metadata"
    ]  # fmt: skip


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])


def _record_batches() -> Made:
    """Return batches as they come, and with the CRCs put right so that damage gets past them."""

    def feed(data: bytes) -> object:
        found = list(scan_batches(data))
        return found, list(decode_batches(with_right_crcs(data)))

    body = record(b"key", b"value", headers=[(b"h", b"x")]) + record(None, None, delta=1)
    made = [batch(body, count=2, attributes=attributes) for attributes in (0, 0x08, 0x10, 0x20)]
    made += [batch(gzipped(body), count=2, attributes=_GZIP)]
    made += [batch(body, count=2, attributes=attributes) for attributes in (2, 3, 4, 5)]
    return feed, made


def _batch_contents() -> Made:
    """Return what is inside of a batch: attributes, number of records, records, which are compressed if that is
    said."""

    def feed(data: bytes) -> object:
        attributes, count, body = data[0] if data else 0, data[1] if len(data) > 1 else 0, data[2:]
        packed = _gzip(body) if attributes & 7 == _GZIP else body
        return [read.records for read in decode_batches(batch(packed, count=count, attributes=attributes & 0x37))]

    body = record(b"key", b"value", headers=[(b"h", b"x")]) + record(None, None, delta=1)
    return feed, [bytes([attributes, 2]) + body for attributes in (0, 1, 2, 3, 4, 0x10, 0x20, 0x21)]


def _gzip(data: bytes) -> bytes:
    pack = zlib.compressobj(1, wbits=31)
    return pack.compress(data) + pack.flush()


def _control_records() -> Made:
    def feed(data: bytes) -> object:
        return decode_control_record(data[:4], data[4:])

    names = ("EndTxnMarker", "LeaderChangeMessage", "SnapshotHeaderRecord", "SnapshotFooterRecord",
             "KRaftVersionRecord", "VotersRecord")  # fmt: skip
    seeds = []
    for number, name in enumerate(names, 1):
        value = random_message(random.Random(1), message(name), 0)
        seeds.append(b"\0\0" + number.to_bytes(2, "big") + encode_message(message(name), 0, value))
    return feed, seeds


@cache
def _segments(suffix: str = ".log") -> list[bytes]:
    """Return stretches of what running nodes wrote."""
    stretches = {b"".join(batches[at : at + 3])[:4096] for batches in captures(suffix) for at in range(0, 9, 3)}
    return sorted(stretches, key=len)[:24]


def _segment_dump() -> Made:
    """Check that the fast way to text and the careful one give the same, and the replay misses nothing that was not
    read."""
    return lambda data: read_segment_both_ways(None, with_right_crcs(data)), _segments()


def _segment_replay() -> Made:
    """Compare image and findings of the replay of batches with those of the reference."""

    def feed(data: bytes) -> object:
        content = with_right_crcs(data)
        slow = by_the_record([content])
        fast = replay_runs(walk_runs([content[:7], content[7:]]))
        if slow.image != fast.image or slow.findings != fast.findings:
            raise UndeclaredError(f"{slow.findings} and {fast.findings}")
        index_of(walk_runs([content]))
        return image_sha256(slow.image)

    return feed, [*_segments(), *_segments(".checkpoint")]


def _segment_scan() -> Made:
    """Return headers and contents, as a node's log is looked at."""

    def feed(data: bytes) -> object:
        content, contents = with_right_crcs(data), Contents()
        for found in walk_batches([content[:100], content[100:]], len(content), file="f"):
            if not isinstance(found, Stop):
                contents.add(found, file="f")
        return contents.levels

    return feed, _segments()


def _fetched_log() -> Made:
    """Return an answer to a Fetch: what follows each other in it, and the registrations that it has."""

    def feed(data: bytes) -> object:
        fetched = SoundBatches(0, last_epoch=None)
        piece = fetched.take(with_right_crcs(data), end=_FAR, committed=_FAR, leader_epoch=_FAR)
        log = RegistrationLog()
        read_batches(log, b"" if piece is None else piece.data)
        return log.registrations()

    return feed, _segments()


def _log_source() -> Made:
    """Return a log as the commands that need its state read it, from the beginning and from a snapshot, past damage or
    not."""
    checkpoint = goldens("snapshot-4.4.0-standalone.checkpoint.bin")[0]

    def feed(data: bytes) -> object:
        content = with_right_crcs(data)
        first = int.from_bytes(content[:8], "big", signed=True)
        segment = LogFile(name="s", kind=SEGMENT, base_offset=first, pieces=lambda: [content])
        snapshot = LogFile(name="c", kind=CHECKPOINT, base_offset=5, epoch=1, pieces=lambda: [checkpoint])
        source = LogSource(name="l", segments=(segment,), checkpoints=(snapshot,), is_folder=True, cluster_id=None)
        folding = LogFolding()
        for run in walk_runs([b"".join(redact_runs(walk_runs([content])))]):
            if not isinstance(run, Damage):
                folding.take_run(run)
        whole = load_image(source, Point(), whole=True, past_damage=True)
        image_json(whole.image)
        load_local((segment,), (snapshot,), past_damage=True)
        read_cluster_log(1, (segment,), (snapshot,))
        return load_image(source, Point()).image

    return feed, _segments()


def _checkpoint() -> Made:
    def feed(data: bytes) -> object:
        content = with_right_crcs(data)
        decode_checkpoint(data)
        dump_file("bootstrap.checkpoint", content)
        found = decode_checkpoint(content)
        if found.problems:
            raise found.problems[0]
        return found

    return feed, [data for data in goldens("*.checkpoint.bin") if len(data) < 4096]


def _quorum_state() -> Made:
    def feed(data: bytes) -> object:
        dump_file("quorum-state", data)
        decode_quorum_state(data, any_version=True)
        read = decode_quorum_state(data)
        if decode_quorum_state(encode_quorum_state(read)) != read:
            raise UndeclaredError(f"{read} is written otherwise")
        return read

    return feed, goldens("quorum-state-*.json")


_PROPERTIES = (
    b"#\n#Fri Nov 20 10:27:37 UTC 2026\nnode.id=0\ndirectory.id=JEXY6aqzQY-32P5TStzaFg\nversion=1\n"
    b"cluster.id=XgM8cvG1S-mQ3k4wGhkVpQ\n",
    b"version=0\nbroker.id=3\ncluster.id=a\\u00e9\\tb\\\n  c\n! note\nkey : value\n\\ x\\=y=z",
)


def _meta_properties() -> Made:
    def feed(data: bytes) -> object:
        dump_file("meta.properties", data)
        return parse_meta_properties(data)

    return feed, _PROPERTIES


def _properties() -> Made:
    return lambda data: parse_properties(data).mapping, _PROPERTIES


def _small_checkpoints() -> Made:
    """Return leader-epoch-checkpoint, the offset checkpoints, partition.metadata, and the names of folders and
    snapshots."""

    def feed(data: bytes) -> object:
        for parts in (2, 3):
            checkpoint_problem(data, parts=parts)
        parse_largest_epoch(data)
        parse_topic_id(data)
        name = data.decode("utf-8", "replace")
        parse_folder_name(name)
        partition_folders.live_partition(name), partition_folders.stray_partition(name)
        parse_snapshot_name(name)
        try:
            parse_offsets(data, file="f")
        except DecodeError:
            return parse_leader_epochs(data, file="f")

    return feed, [
        b"0\n2\n0 0\n5 17\n", b"0\n1\norders 0 12\n", b"version: 0\ntopic_id: JEXY6aqzQY-32P5TStzaFg\n", b"orders-3",
        b"a.b-0.0123456789abcdef0123456789abcdef-stray", b"00000000000000000012-0000000003.checkpoint",
    ]  # fmt: skip


_ASKED = ("ApiVersions", "DescribeCluster", "DescribeQuorum", "DescribeConfigs", "Fetch", "FetchSnapshot", "Metadata",
          "ListOffsets", "OffsetForLeaderEpoch", "UpdateFeatures", "AddRaftVoter", "RemoveRaftVoter", "SaslHandshake",
          "SaslAuthenticate", "UnregisterBroker", "CreateTopics")  # fmt: skip


def _frames() -> Made:
    """Return answers of every API that the client asks, with sizes and correlation ids; the first two bytes choose."""

    def feed(data: bytes) -> object:
        name, versions = _chosen(data)
        version = versions[data[1] % len(versions)] if len(data) > 1 else versions[0]
        framing = Framing(client_id="a", peer="h:1")
        spec = message(f"{name}Request")
        framing.send(name, version, random_message(random.Random(1), spec, version))
        content = data[2:]
        framing.receive(content[:5])
        return framing.receive(content[5:])

    return feed, [
        bytes([number, 0]) + _framed(name, next(iter(message(f"{name}Request").valid_versions)))
        for number, name in enumerate(_ASKED)
        if name != "CreateTopics"
    ]


def _chosen(data: bytes) -> tuple[str, list[int]]:
    name = _ASKED[(data[0] if data else 0) % (len(_ASKED) - 1)]
    return name, list(message(f"{name}Request").valid_versions)


def _framed(name: str, version: int) -> bytes:
    spec = message(f"{name}Response")
    tags = b"\0" if spec.is_flexible(version) and name != "ApiVersions" else b""
    content = bytes(4) + tags + encode_message(spec, version, random_message(random.Random(2), spec, version))
    return len(content).to_bytes(4, "big") + content


TARGETS = (
    Target(name="messages", make=_messages, declared=(DecodeError,),
           reads=("protocol.decode", "protocol.compiled", "protocol.compiled_runtime", "protocol.primitives",
                  "protocol.json_form")),
    Target(name="metadata-records", make=_metadata_records, declared=(DecodeError,), reads=("protocol.log.frame",)),
    Target(name="record-batches", make=_record_batches, declared=(DecodeError,),
           reads=("protocol.record_batch", "protocol.batch_scan", "protocol.compression")),
    Target(name="batch-contents", make=_batch_contents, declared=(DecodeError,),
           reads=("protocol.record_batch", "protocol.compression")),
    Target(name="control-records", make=_control_records, declared=(DecodeError,), reads=("protocol.control_records",)),
    Target(name="segment-dump", make=_segment_dump, declared=(DecodeError,),
           reads=("metadata.dump.lines", "metadata.dump.text", "metadata.dump.records", "metadata.replay.reference")),
    Target(name="segment-replay", make=_segment_replay, declared=(DecodeError,),
           reads=("protocol.log.batch_runs", "metadata.log.lineage", "metadata.replay.log_replay",
                  "metadata.replay.columns.fold", "metadata.image.digest")),
    Target(name="segment-scan", make=_segment_scan, declared=(DecodeError,), reads=("metadata.log.scan",)),
    Target(name="fetched-log", make=_fetched_log, declared=(DecodeError, UnreachableError),
           reads=("cluster.io.fetched_batches", "cluster.io.fetched_registrations")),
    Target(name="log-source", make=_log_source,
           reads=("metadata.io.image", "metadata.io.log_end", "dryrun.engine.local", "metadata.image.json",
                  "migration.observed.log_folding", "metadata.log.redact", "roll.cluster_log")),
    Target(name="checkpoint", make=_checkpoint, declared=(DecodeError,),
           reads=("metadata.log.checkpoint", "storage.dump")),
    Target(name="quorum-state", make=_quorum_state, declared=(DecodeError,), reads=("metadata.log.quorum_state",)),
    Target(name="meta-properties", make=_meta_properties, reads=("protocol.text.meta_properties",)),
    Target(name="properties", make=_properties, reads=("protocol.text.properties",)),
    Target(name="small-checkpoints", make=_small_checkpoints, declared=(DecodeError,),
           reads=("quorum.recover.folders", "storage.partition_folders", "metadata.verify.checkpoint_text",
                  "metadata.verify.folder", "storage.epoch_checkpoints")),
    Target(name="frames", make=_frames, declared=(DecodeError,), reads=("protocol.framing", "protocol.headers")),
)  # fmt: skip
