"""Registrations of nodes, read from the metadata log of a live cluster."""

from __future__ import annotations

from struct import Struct

from kafkactl.cluster.io.metadata_fetch import FetchedSnapshot, iterate_metadata_log
from kafkactl.cluster.quorum.observation import QuorumAnswer
from kafkactl.cluster.registrations import READ_KEYS, RegistrationLog, Registrations
from kafkactl.kafka.client import Client
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END, BatchHeader, decode_header, decode_records

# Of all batches that an idle cluster writes: attributes 0 and one record, which is a NoOpRecord of version 0.
_HEADER = Struct(">8xi9xh34xi")  # length, attributes, record count
_NO_OP = bytes.fromhex("14 00 00 00 01 08 01 14 00 00 00")


def fetch_registrations(client: Client, quorum: QuorumAnswer | None = None) -> Registrations:
    """Read brokers, controllers, levels and voters from the committed log, from its snapshot to its end.

    `quorum` is the newest answer of the leader, which saves a request. Raises what `iterate_metadata_log` raises, and
    DecodeError for records that are not metadata records.
    """
    log = RegistrationLog()
    for part in iterate_metadata_log(client, quorum=quorum):
        if isinstance(part, FetchedSnapshot):
            log = RegistrationLog()  # a snapshot replaces everything before it
            read_snapshot(log, part)
        else:
            read_batches(log, part.data)
    return log.registrations()


def read_snapshot(log: RegistrationLog, snapshot: FetchedSnapshot) -> None:
    """Give every record of a snapshot to `log`. Raises DecodeError for bytes that are not a sound batch."""
    for run in walk_runs(snapshot.pieces()):
        if isinstance(run, Damage):
            raise run.error
        for position in run.positions:
            _read_batch(log, run.data, decode_header(run.data, position), is_snapshot=True)


def read_batches(log: RegistrationLog, data: bytes) -> None:
    """Give every record of these whole batches to `log`; of data records only those that it reads are decoded."""
    position = 0
    while position < len(data):
        if len(data) - position >= HEADER_BYTES:
            length, attributes, count = _HEADER.unpack_from(data, position)
            records = data[position + HEADER_BYTES : position + LENGTH_END + length]
            if records == _NO_OP and count == 1 and not attributes:
                position += HEADER_BYTES + len(records)
                continue
        header = decode_header(data, position)
        _read_batch(log, data, header, is_snapshot=False)
        position = header.end


def _read_batch(log: RegistrationLog, data: bytes, header: BatchHeader, *, is_snapshot: bool) -> None:
    for record in decode_records(data, header):
        value = record.value or b""
        if header.is_control:
            control = decode_control_record(record.key, record.value)
            log.add_control(control, None if is_snapshot else record.offset)
        elif len(value) < 2 or value[1] >= 0x80 or value[1] in READ_KEYS:
            log.add(decode_record(value))
