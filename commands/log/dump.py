"""`kafkactl log dump`: the records of a metadata log, one line each."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import code_of, from_cluster_option, log_place, show_secrets_option
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.progress import shown_progress

if TYPE_CHECKING:
    from kafkactl.commands.rendering.stream import RecordStream
    from kafkactl.metadata.api.records import RecordDump


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
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PATH)
@from_cluster_option
@bundle_option
@click.option("--type", "types", multiple=True, metavar="T", help="Only records of this type, such as TopicRecord.")
@click.option("--key", metavar="K", help="Only records about this topic, id, broker, user … (by its bare name).")
@click.option("--from", "from_offset", type=click.IntRange(min=0), metavar="OFFSET", help="From this offset on.")
@click.option("--to", "to_offset", type=click.IntRange(min=0), metavar="OFFSET", help="Up to this offset, included.")
@click.option("--checkpoints", is_flag=True, help="The checkpoints of a folder, too, before its segments.")
@show_secrets_option
@reading_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    bundle: str | None,
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
    checkpoints only with --checkpoints or when they are named. Damage is reported on stderr, and
    records after it are still read; the exit code is then 7. Offsets in a checkpoint are its own:
    --from and --to do not apply to them, and a table shows them in parentheses. A live cluster
    returns all records that its log still has; --checkpoints adds its newest snapshot.
    """
    from kafkactl.commands.rendering import output
    from kafkactl.commands.rendering.stream import RecordStream
    from kafkactl.metadata.api.records import dump_records

    with (
        shown_progress("Reading the log", writes=True),
        log_place(sources, connection, from_cluster=from_cluster, bundle=bundle) as place,
    ):
        dump = dump_records(
            place,
            types=types,
            key=key,
            from_offset=from_offset,
            to_offset=to_offset,
            checkpoints=checkpoints,
            show_secrets=show_secrets,
        )
        stream = RecordStream("log.dump")
        is_read, is_empty = _print_all(stream, dump)
        findings = dump.findings if is_read else []
    if is_empty and not findings:
        output.say("No record matches these options.")
    stream.end(findings, code_of(findings))


def _print_all(stream: RecordStream, dump: RecordDump) -> tuple[bool, bool]:
    """Print all records. Whether the reader is still there, and whether there was none to print."""
    is_empty = True
    if stream.takes_text:
        with closing(dump.encoded()) as parts:  # its processes end with it, however it ends
            for lines in parts:
                is_empty = is_empty and not lines
                if not stream.write_bytes(lines):
                    return False, is_empty
        return True, is_empty
    for record in dump.records():
        is_empty = False
        if not stream.write_record(record):
            return False, is_empty
    return True, is_empty
