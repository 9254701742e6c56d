"""Commands of others: listed without being imported, loaded when they are named, and never in place of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repository.tree import ROOT
from tests.sampling import one_in

Kafkactl = Callable[..., subprocess.CompletedProcess[str]]
GOOD = """
import click
print("imported")
@click.command()
@click.option("--count", type=int, default=1)
def command(count):
    "A command."
    click.echo(f"ran {count}")
"""


class Place:
    """Environment in which a test installs packages and programs, and a user who has them."""

    def __init__(self, folder: Path) -> None:
        self.packages, self.programs = folder / "packages", folder / "programs"
        self.packages.mkdir()
        (folder / "cache").mkdir()
        self.programs.mkdir()

    def package(self, name: str, entry_points: str, code: str = GOOD) -> None:
        """Install one module, and metadata as pip writes them."""
        (self.packages / f"{name}.py").write_text(code)
        metadata = self.packages / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "entry_points.txt").write_text(f"[console_scripts]\nother = x:y\n\n{entry_points}")

    def program(self, name: str, text: str = '#!/bin/sh\necho "program $0 $*"\nexit 5\n', mode: int = 0o755) -> None:
        """Put a program on the path."""
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(mode)

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `kafkactl` as that user."""
        path = {"PYTHONPATH": f"{ROOT}:{self.packages}", "PATH": f"{self.programs}:{os.environ['PATH']}"}
        path["XDG_CACHE_HOME"] = str(self.packages.parent / "cache")
        return subprocess.run(
            [sys.executable, "-m", "kafkactl", *words],
            capture_output=True,
            text=True,
            cwd=self.packages.parent,
            env={**os.environ, **path, **environment},
            timeout=120,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def group(*lines: str) -> str:
    return "\n".join(["[kafkactl.commands]", *lines, ""])


def test_help_lists_names_and_imports_nothing(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command", "# a remark", "", "BAD NAME = acme:command"))
    place.program("kafkactl-hello")
    place.program("kafkactl-not-for-us", mode=0o644)
    run = place.run("--help")
    plugins = run.stdout.partition("Plugins:\n")[2].partition("\n\n")[0]
    assert "".join(plugins.split()) == f"acme-checkfromacme-1.0hellofrom{place.programs / 'kafkactl-hello'}"
    assert "imported" not in run.stdout + run.stderr


@pytest.mark.slow
def test_command_of_a_package_is_run(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"))
    run = place.run("acme-check", "--count", "3")
    assert (run.returncode, run.stdout) == (0, "imported\nran 3\n")
    assert "A command." in place.run("acme-check", "--help").stdout
    wrong = place.run("acme-check", "--count", "x")
    assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)


def test_executable_gets_all_words_and_gives_its_exit_code(place: Place) -> None:
    place.program("kafkactl-hello")
    run = place.run("hello", "--help", "-o", "json", "@x", "--", "-v")
    assert run.returncode == 5
    assert run.stdout == f"program {place.programs / 'kafkactl-hello'} --help -o json @x -- -v\n"


@pytest.mark.slow
def test_our_own_commands_stay_ours(place: Place) -> None:
    place.package("evil", group("explain = evil:command", "storage = evil:command"))
    place.program("kafkactl-explain")
    run = place.run("explain", "unknown-id", "-o", "json")
    assert (run.returncode, json.loads(run.stdout)["id"]) == (0, "unknown-id")
    assert "Plugins" not in place.run("--help").stdout


@pytest.mark.parametrize(
    ("code", "expected"),
    one_in(
        3,
        [
            ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
            ("raise SystemExit(0)", "SystemExit"),
            ("def broken(:", "SyntaxError"),
            ("command = 7", "is int, expected is a click command"),
            ("other = 7", "AttributeError"),
        ],
    ),
)
def test_plugin_that_is_broken_is_a_typed_error_and_breaks_nothing_else(place: Place, code: str, expected: str) -> None:
    place.package("acme", group("acme-check = acme:command"), code)
    run = place.run("acme-check", KAFKACTL_OUTPUT="json")
    error = json.loads(run.stderr)
    assert (run.returncode, error["id"]) == (1, "plugin-not-loaded")
    assert "acme-check" in error["message"] and "acme-1.0" in error["message"] and expected in error["message"]
    assert place.run("--help").returncode == 0
    assert place.run("explain", "unknown-id").returncode == 0


def test_two_plugins_of_one_name_are_an_error_that_names_both(place: Place) -> None:
    place.package("acme", group("check = acme:command"))
    place.package("other", group("check = other:command"))
    run = place.run("check", KAFKACTL_OUTPUT="json")
    message = json.loads(run.stderr)["message"]
    assert run.returncode == 1
    assert "acme-1.0" in message and "other-1.0" in message


def test_program_without_an_interpreter_is_reported(place: Place) -> None:
    place.program("kafkactl-hello", "#!/no/such/shell\n")
    run = place.run("hello", KAFKACTL_OUTPUT="json")
    assert (run.returncode, json.loads(run.stderr)["id"]) == (1, "plugin-not-loaded")


def test_programs_of_the_working_directory_are_not_run(place: Place) -> None:
    place.program("kafkactl-hello")
    run = place.run("hello", PATH=f"programs::.:{os.environ['PATH']}")
    assert (run.returncode, "No such command" in run.stderr) == (2, True)


def test_packages_of_the_working_directory_are_not_loaded(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"))
    run = subprocess.run(
        [sys.executable, "-m", "kafkactl", "acme-check"],
        capture_output=True, text=True, cwd=place.packages, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert (run.returncode, "No such command" in run.stderr, "imported" in run.stdout) == (2, True, False)


def test_damaged_package_metadata_is_ignored(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"))
    (place.packages / "bad-1.0.dist-info").mkdir()
    (place.packages / "bad-1.0.dist-info" / "entry_points.txt").write_bytes(b"[kafkactl.commands]\nx = \xff\xfe")
    (place.packages / "file-1.0.dist-info").write_text("")
    assert place.run("acme-check").returncode == 0


def test_names_are_completed(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"))
    run = place.run(COMP_WORDS="kafkactl acme", COMP_CWORD="1", _KAFKACTL_COMPLETE="bash_complete")
    assert run.stdout == "plain,acme-check\n"


@pytest.mark.slow
def test_listed_plugins_are_cached_until_a_folder_changes(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"))
    kept = place.packages.parent / "cache" / "kafkactl" / "plugins"
    assert "acme-check" in place.run("--help").stdout
    first = kept.read_bytes()
    assert (b"acme-check\tacme-1.0" in first, kept.stat().st_mode & 0o777) == (True, 0o600)
    kept.write_bytes(first.replace(b"acme-1.0", b"what was kept"))
    assert "what was kept" in place.run("--help").stdout
    place.package("later", group("later-check = later:command"))
    listed = place.run("--help").stdout
    assert "later-check" in listed and "what was kept" not in listed


@pytest.mark.parametrize("kept", [b"", b"\xff\xfe", b"x\n\x1b[2J\tevil", bytes(2 << 20)])
def test_damaged_list_is_made_again(place: Place, kept: bytes) -> None:
    place.package("acme", group("acme-check = acme:command"))
    file = place.packages.parent / "cache" / "kafkactl" / "plugins"
    file.parent.mkdir(parents=True)
    file.write_bytes(kept)
    assert "acme-check  from acme-1.0" in place.run("--help").stdout


@pytest.mark.parametrize("left", ["cut", "blank at the end"])
def test_list_that_a_power_failure_tore_is_made_again(place: Place, left: str) -> None:
    place.package("acme", group("acme-check = acme:command"))
    file = place.packages.parent / "cache" / "kafkactl" / "plugins"
    place.run("--help")
    whole = file.read_bytes()
    state = whole[: whole.index(b"\n")]
    file.write_bytes(state if left == "cut" else state + b"\n" + bytes(len(whole) - len(state) - 1))
    assert "acme-check  from acme-1.0" in place.run("--help").stdout
    assert file.read_bytes() == whole


def test_without_a_place_to_keep_it_help_works(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"))
    (place.packages.parent / "cache").rmdir()
    (place.packages.parent / "cache").write_text("a file")
    assert "acme-check" in place.run("--help").stdout


FAILING = """
import click
@click.group()
def command():
    "A group."
@command.command()
def sub():
    raise ValueError("no such thing, password=hunter2")
@command.command()
def usage():
    raise click.UsageError("wrong words")
"""


def test_exception_of_a_plugin_names_the_plugin(place: Place) -> None:
    place.package("acme", group("acme-check = acme:command"), FAILING)
    run = place.run("acme-check", "sub")
    assert run.returncode == 1
    assert "the plugin acme-check (acme:command of acme-1.0) failed: ValueError: no such thing" in run.stderr
    assert "hunter2" not in run.stderr and "bug in kafkactl" not in run.stderr
    assert "kafkactl explain plugin-failed" in run.stderr
    run = place.run("acme-check", "usage")
    assert run.returncode == 2 and "wrong words" in run.stderr and "failed" not in run.stderr


def test_missing_module_of_a_plugin_is_not_imported_from_the_working_directory(place: Place) -> None:
    place.package("acme", group("acme-check = missing:command", "acme-late = acme:command"), LATE)
    (place.packages.parent / "missing.py").write_text("open('written', 'w')\n" + GOOD)
    run = place.run("acme-check")
    assert run.returncode == 1 and "ModuleNotFoundError" in run.stderr
    run = place.run("acme-late")
    assert run.returncode == 1 and "ModuleNotFoundError" in run.stderr
    assert not (place.packages.parent / "written").exists()


LATE = """
import click
@click.command()
def command():
    import missing
"""


@pytest.mark.parametrize("module", ["click", "numpy", "kazoo"])
def test_module_in_the_working_directory_is_not_imported_by_python_m(place: Place, module: str) -> None:
    folder = place.packages.parent
    (folder / f"{module}.py").write_text("open('written', 'w')\n")
    place.run("--help")
    place.run("log", "image", ".")
    place.run("migrate", "check", "--inventory", "x.toml")
    assert not (folder / "written").exists()
