"""Path options that lead to a device, a FIFO or a file of 200 GB: a typed error, soon, in 512 MB.

The lines of one kind run in one process of their own, whose address space is limited.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from kafkactl.commands.framework.leaf import LeafCommand
from scripts import make_reference
from tests.commands.every_command import file_for
from tests.commands.path_rows import KINDS, OTHERS, PATHS, Reader, Reason, Row, path_rows
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.commands.test_bounded_inputs import CODE, MOST_BYTES, READERS, SEGMENT, planted
from tests.metadata.goldens import golden
from tests.migration.zk_trees import small, znodes
from tests.roll.rolls import Roll, save_roll
from tests.samples.test_hostile_inputs import STATE, _inventory
from tests.storage.fleet.fleets import FleetBuilder
from tests.tiered.logs import TIERED, LogOf, Topic, observed, partition_seen, save_observation

ID = "q1Sh-9_ISia_zwGINzRvyQ"
SECONDS = 30
_PLACE = re.compile(r"\{([^{}]*)\}")


def text_parameters() -> Iterator[tuple[str, click.Parameter]]:
    """Yield every option and argument of every command whose value is a text of some kind."""
    for ctx, command in make_reference.every_command():
        if isinstance(command, LeafCommand):
            for parameter in command.params:
                is_flag = isinstance(parameter, click.Option) and parameter.is_flag
                if not is_flag and isinstance(parameter.type, click.types.StringParamType | click.Path | click.File):
                    yield " ".join(ctx.command_path.split()[1:]), parameter


def words_of(parameter: click.Parameter) -> str:
    """Return the metavar, or the name of an argument without one."""
    return parameter.metavar or str(parameter.name)


def takes_a_path(parameter: click.Parameter) -> bool:
    return not isinstance(parameter.type, click.types.StringParamType) or words_of(parameter) in PATHS


def named(parameter: click.Parameter) -> str:
    return parameter.opts[-1] if isinstance(parameter, click.Option) else str(parameter.name)


def test_every_text_parameter_is_classified_as_path_or_not() -> None:
    assert not PATHS & OTHERS
    unknown = {
        (command, named(parameter), words_of(parameter))
        for command, parameter in text_parameters()
        if not takes_a_path(parameter) and words_of(parameter) not in OTHERS
    }
    assert not unknown, "add the metavar to PATHS or OTHERS in tests/commands/path_rows.py"


def test_every_path_has_a_row_or_a_reason() -> None:
    paths = [(command, named(parameter)) for command, parameter in text_parameters() if takes_a_path(parameter)]
    assert len(paths) > 150
    without = [
        (command, option)
        for command, option in paths
        if not any(row.option == option and fnmatch.fnmatch(command, row.commands) for row in path_rows())
    ]
    missing = [f"{option} of `{command}` to {file_for(command)}" for command, option in without]
    assert not missing, f"add a row of HOSTILE_PATHS, what the option does with a hostile file: {missing}"


def test_no_row_is_of_an_option_that_is_gone() -> None:
    paths = {(command, named(parameter)) for command, parameter in text_parameters()}
    stale = [
        row
        for row in path_rows()
        if row.option.startswith("--")
        and not any(row.option == option and fnmatch.fnmatch(command, row.commands) for command, option in paths)
    ]
    assert stale == []
    assert [row for row in path_rows() if isinstance(row, Reader) and row.reader not in READERS] == []
    assert all(row.why for row in path_rows() if isinstance(row, Reason))


class Things:
    """Targets of the lines: sound things of all commands, made once, and files that name the hostile one."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        self.kind = kind
        folder.mkdir(exist_ok=True)
        self.hostile = planted(folder / "hostile", kind)
        log = folder / "log" / "__cluster_metadata-0"
        log.mkdir(parents=True)
        (log / SEGMENT).write_bytes(golden("segment-4.4.0-standalone.log.bin"))
        with tarfile.open(STATE) as archive:
            archive.extractall(folder / "seen", filter="data")
        (folder / "nodes").mkdir()
        made = FleetOnDisk(folder / "nodes", FleetBuilder())
        (folder / "zk.jsonl.gz").write_bytes(_tree())
        (folder / "migration").mkdir()
        migration = folder / "migration" / "migration.toml"
        migration.write_bytes(_inventory(migration.parent))
        roll = folder / "migration" / "roll.toml"
        roll.write_text('[[nodes]]\nid = 1\nroles = ["broker"]\naddress = "127.0.0.1:1"\nconfig = "/c"\n')
        self.migration = migration.read_text().replace("zk1:2181", "127.0.0.1:1")
        migration.write_text(self.migration)
        self.fleet = made.inventory.read_text()
        self.config = made.config(1).read_text()
        self.known = {
            "": str(self.hostile), "log": str(log), "id": ID, "tree": str(folder / "zk.jsonl.gz"),
            "observation": str(next((folder / "seen").rglob("observation.json")).parent),
            "fleet": str(made.inventory), "config": str(made.config(1)), "plan": str(made.plan),
            "migration": str(migration), "roll": str(roll), "roll-seen": str(save_roll(Roll(), folder / "roll-seen")),
            "new": str(folder / "new"),
            "remote": _remote(folder / "remote"),
        }  # fmt: skip

    def line(self, number: int, row: Row) -> list[str]:
        """Return the words of a row."""
        return [_PLACE.sub(lambda match: self._place(number, match[1]), word) for word in row.line.split()]

    def _place(self, number: int, name: str) -> str:
        if name.startswith("@"):
            folder = self.folder / f"held-{number}"
            planted(folder / name[1:], self.kind)
            return str(folder)
        return str(NAMING[name](self, number)) if name in NAMING else self.known[name]

    def written(self, name: str, text: str) -> Path:
        """Return a file next to those of the fleet, because their paths are relative."""
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
        return file


def _remote(folder: Path) -> str:
    """Return a saved observation of tiered storage."""
    topic = Topic("orders", 1)
    log = LogOf(0).add(topic.copied(0, "a", 0, 9))
    seen = partition_seen(earliest=0, local=10, latest=20, bases=(10,))
    return str(save_observation(folder, observed([(topic, TIERED, [seen])]), log))


def _tree() -> bytes:
    from kafkactl.migration.zktree.znode import encode_znodes

    return encode_znodes(znodes(small(), "/kafka"))


def _store(kind: str, name: str) -> Callable[[Things, int], Path]:
    return lambda things, number: things.written(
        f"client-{number}.properties",
        f"security.protocol=SSL\nssl.{name}.type={kind}\nssl.{name}.location={things.hostile}\n"
        f"ssl.{name}.password=passw0rd\n",
    )


def _in_migration(old: str, new: str) -> Callable[[Things, int], Path]:
    def made(things: Things, number: int) -> Path:
        assert old in things.migration
        text = things.migration.replace(old, new.replace("HOSTILE", str(things.hostile)), 1)
        return things.written(f"migration/{number}.toml", text)

    return made


# Files that name the hostile one.
NAMING: dict[str, Callable[[Things, int], Path]] = {
    **{f"of:{kind}": _store(kind, "truststore") for kind in ("PEM", "JKS", "PKCS12")},
    "of:keystore": _store("PEM", "keystore"),
    "of:copy": lambda things, number: things.written(
        f"migration/{number}.toml", re.sub(r'copy = "[^"]*"', f'copy = "{things.hostile}"', things.migration)
    ),
    "of:zookeeper": _in_migration("[zookeeper]", '[zookeeper]\nconfig = "HOSTILE"'),
    "of:command_config": _in_migration("[zookeeper]", 'command_config = "HOSTILE"\n[zookeeper]'),
    "of:scram_file": lambda things, number: things.written(
        f"nodes/{number}.toml", f'scram_file = "{things.hostile}"\n{things.fleet}'
    ),
    "of:config": lambda things, number: things.written(
        f"nodes/{number}.toml", things.fleet.replace('"1.properties"', f'"{things.hostile}"')
    ),
    "of:provider": lambda things, number: things.written(
        f"nodes/{number}.properties",
        things.config.replace("node.id=1", "node.id=${file:" + f"{things.hostile}" + ":id}")
        + "config.providers=file\nconfig.providers.file.class="
        "org.apache.kafka.common.config.provider.FileConfigProvider\n",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_path_option_with_a_hostile_file_is_bounded(kind: str, kafkactl: Callable[..., object], tmp_path: Path) -> None:
    things = Things(tmp_path, kind)
    kafkactl("storage", "plan", things.known["fleet"], "--out", things.known["plan"])
    contexts = planted(tmp_path / "contexts" / "config.toml", kind)
    contexts.parent.chmod(0o700)
    rows = [row for row in path_rows() if isinstance(row, Row) and kind in row.kinds]
    assert len(rows) > 40
    for named_by_environment in (False, True):
        chosen = [row for row in rows if (row.option == "KAFKACTL_CONFIG") == named_by_environment]
        lines = [things.line(number, row) for number, row in enumerate(chosen)]
        run = subprocess.run(
            [sys.executable, "-c", CODE], input=json.dumps(lines), capture_output=True, text=True, timeout=280,
            cwd=tmp_path, check=False,
            env=os.environ | ({"KAFKACTL_CONFIG": str(contexts)} if named_by_environment else {"HOME": str(tmp_path)}),
        )  # fmt: skip
        found = [json.loads(line) for line in run.stdout.splitlines()]
        assert len(found) == len(lines), (lines[len(found)], run.stderr)
        ended = {
            " ".join(line): (item["code"], item["seconds"], item["bytes"], item["stderr"])
            for row, line, item in zip(chosen, lines, found, strict=True)
            if item["code"] not in row.codes
            or "internal-error" in item["stderr"]
            or item["seconds"] > SECONDS
            or item["bytes"] > MOST_BYTES
        }
        assert ended == {}, json.dumps(ended, indent=1)
