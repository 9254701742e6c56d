"""`kafkactl log history`: every record that made a key what it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.log.options import (
    check_sources,
    code_of,
    from_cluster_option,
    log_files,
    opened_sources,
    show_secrets_option,
)
from kafkactl.commands.rendering import output

if TYPE_CHECKING:
    from kafkactl.adapters.logs.source import LogFile
    from kafkactl.metadata.dump.history import Event, History
    from kafkactl.metadata.log.keys import Key

# Options by the sorts of key that they name (metadata/log/keys.py).
_SORTS = {
    "topic": ("topic", "topic-id"),
    "broker": ("broker",),
    "controller": ("controller",),
    "config": ("config",),
    "user": ("user",),
    "feature": ("feature",),
    "acl": ("acl",),
}


@leaf_command(
    "history",
    examples=(
        "kafkactl log history /disk1/__cluster_metadata-0 --topic orders --partition 3 -o table",
        "kafkactl log history /disk1/__cluster_metadata-0 --config topic:orders:retention.ms",
        "kafkactl log history --from-cluster --bootstrap-controller host:9093 --broker 4",
    ),
    codes=exit_codes.READING,
    timeout="1h",
    output="jsonl",
)  # fmt: skip
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=click.Path())
@from_cluster_option
@click.option("--topic", metavar="T", help="A topic, by name or id: itself, its partitions, its configuration.")
@click.option("--partition", type=click.IntRange(min=0), metavar="P", help="Only this partition of the topic.")
@click.option(
    "--broker", type=click.IntRange(min=0), metavar="N", help="A broker: its registrations and its configuration."
)
@click.option("--controller", type=click.IntRange(min=0), metavar="N", help="A controller's registrations.")
@click.option("--config", metavar="KEY", help="topic:NAME, broker:ID, group:NAME …, or one of its keys (topic:NAME:K).")
@click.option("--user", metavar="U", help="A user: SCRAM credentials, quotas, ACLs, tokens.")
@click.option("--feature", metavar="F", help="A feature, such as metadata.version.")
@click.option("--acl", metavar="ID", help="An ACL, by its id.")
@show_secrets_option
@connection_options
def command(
    *,
    sources: tuple[str, ...],
    from_cluster: bool,
    partition: int | None,
    show_secrets: bool,
    connection: ConnectionArguments,
    **keys: str | int | None,
) -> None:
    """Print every record that made a topic, broker, configuration or user what it is.

    Each is a line as `log dump` prints it; `applied` says whether it counts, for a transaction may
    have been aborted. Where the log does not begin at offset 0, the snapshot that stands for what
    was before is searched first; what came before that nobody knows any more.
    """
    from kafkactl.commands.log.stream import RecordStream
    from kafkactl.metadata.dump.findings import dump_findings, empty_log, gap_finding
    from kafkactl.metadata.dump.history import History
    from kafkactl.metadata.log.keys import KeyFilter

    history = History(KeyFilter(_key(keys, partition)))
    stream = RecordStream("log.history")
    found, read = False, list[str]()
    with _files(sources, connection, from_cluster) as files:
        for event in _events(history, _noted(files, read)):
            found = True
            if not stream.write_record(event.to_dict(hide=not show_secrets)):
                break
    if not found:
        output.say("No record in what was read is about that.")
    findings = dump_findings(history.problems, history.problem_count, history.tail)
    findings += [gap_finding(*one, then="what they said of it is not here") for one in history.gaps]
    if not history.records:
        findings.append(empty_log(", ".join(read)))
    stream.end(findings, code_of(findings))


def _noted(files: Iterable[LogFile], names: list[str]) -> Iterator[LogFile]:
    for file in files:
        names.append(file.name)
        yield file


def _events(history: History, files: Iterable[LogFile]) -> Iterator[Event]:
    from kafkactl.metadata.dump.records import log_records

    for file in files:
        yield from history.events(
            log_records(file.pieces(), file=file.name), file=file.name, is_segment=file.kind == "segment"
        )
    yield from history.rest()


@contextlib.contextmanager
def _files(
    sources: tuple[str, ...], connection: ConnectionArguments, from_cluster: bool
) -> Iterator[Iterable[LogFile]]:
    """All that can say something of the past: see `log_image.history_files`."""
    from kafkactl.adapters.logs.image import history_files, joined, without_needless

    check_sources(sources, from_cluster)
    if not from_cluster:
        yield history_files(joined(opened_sources(sources)))
        return
    with log_files((), connection, from_cluster=True, checkpoints=True, whole=True) as files:
        yield without_needless(files)


def _key(keys: dict[str, str | int | None], partition: int | None) -> Key:
    from kafkactl.metadata.log.keys import RESOURCE_WORDS, Key

    named = {option: value for option, value in keys.items() if value is not None}
    if len(named) != 1:
        options = ", ".join(f"--{option}" for option in _SORTS)
        raise click.UsageError(f"Give exactly one of {options}.")
    if partition is not None and "topic" not in named:
        raise click.UsageError("--partition goes with --topic.")
    ((option, name),) = named.items()
    word, colon, _ = str(name).partition(":")
    if option == "config" and not (colon and (word in RESOURCE_WORDS.values() or word.isdigit())):
        known = ", ".join(f"{one}:NAME" for one in RESOURCE_WORDS.values())
        raise click.BadParameter(
            f"{name!r} names no configuration: write {known}, or broker: for that of all brokers.",
            param_hint="--config",
        )
    return Key(sorts=frozenset(_SORTS[option]), name=str(name), partition=partition)
