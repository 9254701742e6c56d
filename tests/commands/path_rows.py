"""Command lines that are given a hostile path, for every option and argument that takes a path.

The rows of one command are the constant `HOSTILE_PATHS` of its test file: the option, and the arguments of a line as in
a `Row`, with `{connect}` for an address that does not answer. Rows that several commands share are here.
tests/commands/test_path_options.py walks the commands and fails if an option has no row, so a new option is either
tested with a device, a FIFO and a sparse file of 200 GB, or has a reason why it opens nothing.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from tests.commands.every_command import TEST_FILES
from tests.constants import merged_constant

# Metavars and names of parameters that take a path, and of those that take another text. Every one is in one of them.
PATHS = frozenset(
    {"FILE", "DIR", "PATH", "PLAN", "SOURCE...", "[SOURCE]...", "[SOURCE] [PATH]", "A", "[B]", "NODE/DIR"}
    | {"FILE.tar", "LISTING", "LOG"}
    | {"ID:DIR[@LISTENER://HOST:PORT]", "ID[:DIR]", "files", "inventory"}
)
OTHERS = frozenset(
    "[ID] FINDING ID HOST:PORT,… PATTERN KEY CLUSTER_ID NAME K NAME=LEVEL ENTITY F V URL VERSION R RELEASE USER:GROUP"
    " TEXT ID=HOST:PORT K=V IDS T T[:P] U ID=ZONE LIST SCRAM id kind name HOST NAME://HOST:PORT LAYOUT NAMES"
    " auto|IDS one|rack|N PHASE ID[@NODE]".split()
)
KINDS = ("device", "fifo", "sparse")
NO_SPARSE = KINDS[:2]  # segments are read in pieces, whatever their size, until --timeout


class Row(NamedTuple):
    """An option or argument of some commands (patterns of `fnmatch`), and the line that uses it: `{}` is the hostile
    path, `{@NAME}` a folder with it under that name, other names are valid files. `codes` are the allowed exit codes.
    """

    option: str
    commands: str
    line: str
    codes: tuple[int, ...] = (2,)
    kinds: tuple[str, ...] = KINDS


class Reader(NamedTuple):
    """Row whose command would need a live cluster first: a reader of tests/commands/test_bounded_inputs.py."""

    option: str
    commands: str
    reader: str


class Reason(NamedTuple):
    """Row in which nothing is opened."""

    option: str
    commands: str
    why: str


DRYRUN = "dryrun broker-loss {log} --brokers 1"
FORMAT = "storage format -c {config} -t {id} --dry-run"
CONNECT = "--bootstrap-controller 127.0.0.1:1 --timeout 5s"
_DIRECTORY_NAMES = "is compared, as text, with the directories of the configuration"
RECOVER = "quorum recover --out {new}"
TIERED = {verb: verb for verb in ("audit", "forecast", "history", "leftovers", "report", "segments")} | {
    "observe": "observe --out {new}"
}
_IDS = "the directory is an id, not a path"

SHARED_ROWS: tuple[Row | Reader | Reason, ...] = (
    Row("--after", "dryrun *", f"{DRYRUN} --after {{}}"),
    Row("--config", "dryrun *", f"{DRYRUN} --config {{}}"),
    Row("--html", "dryrun *", f"{DRYRUN} --html {{}}", (1, 2, 3)),
    Row("--details", "dryrun *", f"{DRYRUN} --details {{}}", (1, 2, 3)),
    Row("sources", "dryrun *", "dryrun replay {}", kinds=NO_SPARSE),
    Row("sources", "dryrun *", "dryrun replay --engine spark {}", kinds=NO_SPARSE),
    Row("sources", "dryrun *", "dryrun replay --engine spark {@__cluster_metadata-0/00000000000000000000.log}",
        kinds=NO_SPARSE),
    *(Row("sources", f"log {verb}", f"log {verb} {{}}", kinds=NO_SPARSE) for verb in
      ("dump", "history", "image", "lint", "verify")),
    Row("--command-config", "*", f"nodes list {CONNECT} --command-config {{}}"),
    Row(
        "--controller-command-config",
        "*",
        f"nodes list {CONNECT} --controller-command-config {{}}",
    ),
    *(Row("--config", f"storage {verb}", f"storage {verb} -c {{}}") for verb in ("info", "verify", "unformat")),
    *(Row("--config", f"storage {verb}", f"storage {verb} -c {{}} -t {{id}} --dry-run") for verb in
      ("format", "ensure")),
    Row("--scram-file", "storage *", f"{FORMAT} --standalone --scram-file {{}}"),
    Row("--expect-mount", "storage *", f"{FORMAT} --expect-mount {{}}", (2, 3)),
    Row("--not-a-mount", "storage *", f"{FORMAT} --not-a-mount {{}}", (2, 3)),
    Row("--allow-failed-dir", "storage *", f"{FORMAT} --allow-failed-dir {{}}", (2, 3)),
    Row("--allow-not-blank", "storage *", f"{FORMAT} --allow-not-blank {{}}", (2, 3)),
    Reason("--reformat", "storage apply", f"NODE/DIR {_DIRECTORY_NAMES}"),
    Reader("--journal", "quorum *", "journal"),
    Reason("--controller-directory-id", "quorum remove-controller", _IDS),
    Reason("--add", "dryrun controllers", _IDS),
    Reason("--remove", "dryrun controllers", _IDS),
    Reason("--chroot", "dryrun zk-migration", "it is a path within ZooKeeper"),
    Row("--log-dir", "quorum recover*", f"{RECOVER} --log-dir {{}} --plan", (2, 3, 7)),
    Row("--log-dir", "quorum recover*", f"{RECOVER} --plan --log-dir {{@__cluster_metadata-0/{0:020}.log}}", (2, 3, 7),
        NO_SPARSE),
    *(Row("sources", f"tiered {verb}", f"tiered {line} {{}}", kinds=NO_SPARSE) for verb, line in TIERED.items()),
    *(Row("--observation", f"tiered {verb}", f"tiered {line} --observation {{@observation.json}}")
      for verb, line in TIERED.items()),
    *(Row("--metadata", f"tiered {verb}", f"tiered {line} --observation {{remote}} --metadata {{}}", kinds=NO_SPARSE)
      for verb, line in TIERED.items()),
    *(Row("--bucket", f"tiered {verb}", f"tiered {TIERED[verb]} --observation {{remote}} --bucket {{}}") for verb in
      ("audit", "leftovers", "observe", "report")),
    *(Row("--html", f"tiered {verb}", f"tiered {verb} --observation {{remote}} --html {{}}", (1, 2, 3)) for verb in
      ("audit", "report")),
    *(Row("--details", f"tiered {verb}", f"tiered {TIERED[verb]} --observation {{remote}} --details {{}}", (1, 2, 3))
      for verb in ("audit", "segments", "report")),
    Row("sources", "tiered *", "tiered audit --engine spark {}", kinds=NO_SPARSE),
    Row("--inventory", "migrate *", "migrate status --inventory {}"),
    Row("--observation", "migrate *", "migrate status --observation {@observation.json}"),
    Row("--observation", "migrate *", "migrate check --observation {@zk.jsonl.gz}"),
    Row("--inventory", "roll *", "roll observe --out {new} --inventory {}"),
    Row("--observation", "roll *", "roll status --observation {@observation.json}"),
    Row("--rendered", "roll *", "roll check --observation {roll-seen} --rendered {@1.properties}"),
    Reader("--rendered", "migrate *", "rendered file"),
    Row("--node-config", "*", "nodes list -c {}"),
    *(Row("--bundle", f"log {verb}", f"log {verb} --bundle {{}}") for verb in ("dump", "image", "lint", "verify")),
    *(Row("--bundle", verb, f"{verb} --bundle {{}}") for verb in
      ("quorum describe", "features describe", "nodes list")),
    Row("--bundle", "dryrun *", "dryrun broker-loss --brokers 1 --bundle {}"),
    Row("--bundle", "dryrun *", "dryrun zk-migration --bundle {}"),
    Row("--bundle", "migrate *", "migrate status --bundle {}"),
    *(Row("--bundle", f"tiered {verb}", f"tiered {line} --bundle {{}}") for verb, line in TIERED.items()),
    # Files that are named elsewhere: in the environment, on the line itself, and in files.
    Row("@FILE", "*", "storage @{}"),
    Row("KAFKACTL_CONFIG", "*", "config view", (2,)),
    Row("copy", "migrate *", "migrate render --dry-run --inventory {of:copy}", (2, 3)),
    Row("zookeeper.config", "migrate *", "migrate status --inventory {of:zookeeper}"),
    Row("command_config", "migrate *", "migrate status --inventory {of:command_config}"),
    *(Row(f"ssl.truststore.location ({kind})", "*", f"nodes list {CONNECT} --command-config {{of:{kind}}}") for kind in
      ("PEM", "JKS", "PKCS12")),
    Row("ssl.keystore.location", "*", f"nodes list {CONNECT} --command-config {{of:keystore}}"),
)  # fmt: skip


@functools.cache
def path_rows() -> tuple[Row | Reader | Reason, ...]:
    """Return all rows: those that commands share, and those in the test files of single commands."""
    own = (
        Row(option, command, f"{command} {arguments.replace('{connect}', CONNECT)}", *more)
        for command, rows in merged_constant("HOSTILE_PATHS", *TEST_FILES).items()
        for option, arguments, *more in rows
    )
    return (*SHARED_ROWS, *own)
