"""`kafkactl log dump`: the records of a metadata log, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.log.options import code_of, from_cluster_option, log_files, show_secrets_option

if TYPE_CHECKING:
    from kafkactl.adapters.logs.source import LogFile
    from kafkactl.commands.log.stream import RecordStream
    from kafkactl.findings import Finding
    from kafkactl.metadata.dump.lines import LineMaker, Wanted


@leaf_command(
    "dump",
    examples=(
        "kafkactl log dump /disk1/__cluster_metadata-0 --type TopicRecord --type RemoveTopicRecord",
        "kafkactl log dump /disk1/__cluster_metadata-0/00000000000000000000.log --from 100 --to 200 -o table",
        "kafkactl log dump --from-cluster --bootstrap-controller host:9093 --key orders",
    ),
    codes=exit_codes.READING,
    timeout="1h",
    output="jsonl",
)  # fmt: skip
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=click.Path())
@from_cluster_option
@click.option("--type", "types", multiple=True, metavar="T", help="Only records of this type, such as TopicRecord.")
@click.option("--key", metavar="K", help="Only records about this topic, id, broker, user … (by its bare name).")
@click.option("--from", "from_offset", type=click.IntRange(min=0), metavar="OFFSET", help="From this offset on.")
@click.option("--to", "to_offset", type=click.IntRange(min=0), metavar="OFFSET", help="Up to this offset, included.")
@click.option("--checkpoints", is_flag=True, help="The checkpoints of a folder, too, before its segments.")
@show_secrets_option
@connection_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    types: tuple[str, ...],
    key: str | None,
    from_offset: int | None,
    to_offset: int | None,
    checkpoints: bool,
    show_secrets: bool,
    connection: ConnectionArguments,
) -> None:
    """Print every record of a metadata log as a line of JSON.

    Fields have the names that kafka-dump-log.sh prints. The segments of a folder are read in order,
    checkpoints only with --checkpoints or when they are named. What is damaged is told on stderr,
    what lies behind it is read all the same; the exit code is then 7. Offsets in a checkpoint are
    its own: --from and --to do not touch them, and a table shows them in parentheses. A live
    cluster gives all that its log still has; --checkpoints adds its newest snapshot.
    """
    from kafkactl.commands.log.stream import RecordStream
    from kafkactl.metadata.dump.lines import LineMaker, Wanted
    from kafkactl.metadata.log.keys import Key, KeyFilter

    wanted = Wanted(
        types=_types(types),
        key=None if key is None else KeyFilter(Key(sorts=None, name=key)),
        from_offset=from_offset,
        to_offset=to_offset,
    )
    first = None if key is not None else from_offset
    with log_files(
        sources,
        connection,
        from_cluster=from_cluster,
        checkpoints=checkpoints,
        from_offset=first,
        to_offset=to_offset,
        whole=True,
    ) as files:
        stream = RecordStream("log.dump")
        findings = _print_all(stream, files, LineMaker(wanted, hide=not show_secrets), wanted)
    stream.end(findings, code_of(findings))


def _print_all(stream: RecordStream, files: Iterable[LogFile], maker: LineMaker, wanted: Wanted) -> list[Finding]:
    """Print what the files hold; what is wrong with them. Each folder is a log of its own."""
    from pathlib import PurePath

    from kafkactl.metadata.dump.findings import dump_findings, empty_log, torn_tail
    from kafkactl.metadata.dump.lines import Wanted

    folder: PurePath | None = None
    read: list[str] = []
    is_empty = wanted == Wanted()
    for file in files:
        read.append(file.name)
        if folder not in (None, PurePath(file.name).parent):
            maker.end_log()
        folder = PurePath(file.name).parent
        if file.kind == "segment" and wanted.none(file.base_offset or 0, 2**63):
            continue
        maker.begin(file.kind, file.base_offset)
        if stream.takes_text:
            for text in maker.lines(file.pieces(), file=file.name):
                is_empty = False
                if not stream.write(text):
                    return []
        else:
            for record in maker.objects(file.pieces(), file=file.name):
                is_empty = False
                if not stream.write_record(record):
                    return []
    maker.end_log()
    findings = [*dump_findings(maker.problems, maker.problem_count), *map(torn_tail, maker.tails)]
    if is_empty:
        findings.append(empty_log(", ".join(read) or "without segments", what="record in what was read"))
    return findings


def _types(names: tuple[str, ...]) -> frozenset[str] | None:
    """The record types that were named, in our words or those of Kafka's tool, `Record` optional. Raises InputError."""
    from kafkactl.commands.framework.lazy_group import did_you_mean
    from kafkactl.errors import InputError
    from kafkactl.metadata.dump.lines import record_type_names

    known = {name.lower(): name for name in record_type_names()}
    found = set()
    for name in names:
        word = name.replace("_", "").lower()  # Kafka's tool prints REGISTER_BROKER_RECORD
        match = known.get(word) or known.get(f"{word}record")
        if match is None:
            raise InputError(
                f"there is no record type {name!r}.{did_you_mean(name, list(known.values()))}",
                id="no-such-record-type",
                next_step="Types are called as in the output: " + ", ".join(known.values()),
            )
        found.add(match)
    return frozenset(found) or None
