"""Docs that cannot go stale: generated pages equal what would be generated, links lead somewhere, commands exist."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kafkactl._version import __version__
from kafkactl.commands.framework.lazy_group import LazyGroup
from kafkactl.commands.framework.leaf import LeafCommand
from scripts import make_checks, make_layers, make_reference, make_rights, make_states
from tests.repository.docs.generated import MOST_LINES, check_page
from tests.repository.tree import PURE_PACKAGES, ROOT, product_files, shown

PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
DOCS = [*PAGES, *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = {ctx.command_path: (ctx, command) for ctx, command in make_reference.every_command()}
LEAVES = [name for name, (_, command) in COMMANDS.items() if isinstance(command, LeafCommand)]
# A package of the library may explain its ids, and a decision may be taken, before the commands are registered.
COMING = {"features", "quorum", "nodes", "log", "dryrun", "migrate", "config"} - {name.split()[-1] for name in COMMANDS}
PLUGINS = {"level-of", "hello", "NAME"}  # the examples of docs/plugins.md, which a test runs
_MIGRATE = ("check", "plan", "status", "run", "rollback", "finalize", "compare", "render")
COMING_VERBS = tuple(line for verb in _MIGRATE if (line := f"kafkactl migrate {verb}") not in COMMANDS)
SHARED = {"change", "core", "protocol", "report"}  # pure packages that are a part of several journeys


GENERATED = {
    **{make_reference.FOLDER / name: (make, make_reference) for name, make in make_reference.PAGES.items()},
    make_layers.PICTURE: (make_layers.picture, make_layers),
    make_layers.PAGE: (make_layers.page, make_layers),
    make_states.PICTURE: (make_states.picture, make_states),
    make_states.PAGE: (make_states.page, make_states),
    make_checks.PAGE: (make_checks.page, make_checks),
    make_rights.PAGE: (make_rights.page, make_rights),
}


@pytest.mark.parametrize("path", GENERATED, ids=shown)
def test_generated_page_equals_what_its_generator_writes(path):
    make, generator = GENERATED[path]
    check_page(path, make(), generator)


def test_stale_page_is_reported_with_its_command_and_a_short_diff(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join(map(str, range(1_000))))
    with pytest.raises(pytest.fail.Exception) as failure:
        check_page(page, "x" * 10_000, make_checks)
    lines = str(failure.value).splitlines()
    assert "Run `make docs` or `python -m scripts.make_checks`" in lines[0]
    assert len(lines) == 1 + MOST_LINES
    assert max(map(len, lines)) < 300
    assert lines[-1] == "… and 985 more lines"


TOUR = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"]
LIVES = sorted((ROOT / "docs" / "contributing").glob("life-of-*.md"))


@pytest.mark.parametrize("path", [*TOUR, *LIVES], ids=shown)
def test_files_that_the_tour_names_are_there(path):
    # Paths are from the root or from `kafkactl/`; words in capitals stand for a name of the reader's own.
    words = re.findall(r"`([\w./-]+/[\w./-]*)`", path.read_text(encoding="utf-8"))
    named = [word for word in words if not re.search(r"[A-Z]{3}", word.replace("CONTRIBUTING", ""))]
    assert len(named) > 10
    assert [each for each in named if not ((ROOT / each).exists() or (ROOT / "kafkactl" / each).exists())] == []


def test_tour_shows_every_journey():
    # Each package that computes an answer for the commands is in the table of journeys.
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| journey |")[2].partition("\n\n")[0]
    assert set(PURE_PACKAGES) - SHARED <= set(re.findall(r"`(\w+)/", table))


def test_table_of_rights_has_no_placeholder():
    assert "| TABLE |" not in make_rights.page()


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda path: path.name)
def test_pictures_are_sound(path):
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("path", DOCS, ids=shown)
def test_links_lead_somewhere(path):
    text = re.sub(r"(?s)```.*?```", "", path.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [target for target in targets if "://" not in target and not (path.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("path", DOCS, ids=shown)
def test_every_command_line_in_the_docs_is_one(path):
    lines = [line for line in _command_lines(path) if line.split()[1] not in COMING | PLUGINS]
    lines = [line for line in lines if not (COMING_VERBS and line.startswith(COMING_VERBS))]
    wrong = [f"{line}: {trouble}" for line in lines if (trouble := trouble_of(line))]
    assert not wrong


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_help_examples_and_its_own_name(name):
    ctx, command = COMMANDS[name]
    assert isinstance(command, LeafCommand)
    assert command.name == ctx.info_name
    assert command.help and command.help.rstrip().endswith(".")
    assert command.examples
    for example in command.examples:
        assert example.startswith(f"{name} ") or example == name
        assert not trouble_of(example), trouble_of(example)
    assert command.codes and command.codes[0] == 0
    for param in command.params:
        assert not isinstance(param, click.Option) or param.hidden or param.help, f"{name} {param.opts}"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in LEAVES])
def test_every_group_lists_what_loads(name):
    ctx, group = COMMANDS[name]
    assert isinstance(group, LazyGroup)
    for entry_name, entry in group.entries.items():
        command = group.get_command(ctx, entry_name)
        assert command is not None and command.name == entry_name
        assert entry.short_help.endswith((".", "?"))
        assert len(entry.short_help) <= 60


def test_guides_speak_of_every_command():
    guides = "".join(path.read_text(encoding="utf-8") for path in DOCS if "reference" not in path.parts)
    missing = [name for name in LEAVES if name.split()[-1] not in guides]
    assert not missing


def test_changelog_begins_with_the_present_version_in_known_groups():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"(?m)^## (.+)$", text)
    assert re.fullmatch(rf"{re.escape(__version__)} - (Unreleased|\d{{4}}-\d\d-\d\d)|Unreleased", versions[0])
    groups = set(re.findall(r"(?m)^### (.+)$", text))
    assert groups <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_no_path_of_somebodys_machine_is_left():
    marks = [re.escape(mark) for mark in ("/ro" + "ot/", "/ho" + "me/", "/wo" + "rk/", ".py" + "env")]
    found = [
        f"{shown(path)}: {match[0]}"
        for path in _tracked()
        if (match := re.search("|".join(marks), path.read_text(encoding="utf-8", errors="ignore")))
    ]
    assert not found


def _command_lines(path: Path) -> Iterator[str]:
    """Yield lines of code blocks, and inline code, that begin with the program's name."""
    text = path.read_text(encoding="utf-8")
    yield from (line.strip().removeprefix("$ ") for line in re.findall(r"(?m)^(?:    |\$ )(?:\$ )?kafkactl .*$", text))
    yield from re.findall(r"`(kafkactl [a-z][^`\n]*)`", text)


def trouble_of(line: str) -> str:
    """Return what is wrong with a command line: no such command, or an option it does not have. Empty if nothing is."""
    words = [word for word in re.split(r"\s[|>;&#]", line)[0].split() if word not in ("[", "]")]
    try:
        words = shlex.split(" ".join(words))
    except ValueError:
        return "cannot be split into words"
    name = words.pop(0)
    while words and f"{name} {words[0]}" in COMMANDS:
        name = f"{name} {words.pop(0)}"
    ctx, command = COMMANDS[name]
    if isinstance(command, LazyGroup) and words and re.fullmatch(r"[a-z][a-z-]+", words[0]):
        return f"no command {words[0]}"
    known = {option for param in command.get_params(ctx) for option in (*param.opts, *param.secondary_opts)}
    given = [word.strip("[]").partition("=")[0] for word in words if re.match(r"\[?--?[a-zA-Z]", word)]
    unknown = [word for word in given if word not in known and not (word[:2] in known and word[1] != "-")]
    return f"no option {', '.join(unknown)}" if unknown else ""


def _tracked() -> Iterator[Path]:
    for folder in ("kafkactl", "commands", "schemas", "tests", "docs", "scripts", "bench", ".ci"):
        for path in sorted((ROOT / folder).rglob("*")):
            inside_link = any(parent.is_symlink() for parent in path.parents)
            if (
                path.is_file()
                and not inside_link
                and path.suffix in (".py", ".md", ".toml", ".sh", ".svg", ".json", "")
            ):
                yield path
    yield from [*PAGES, *(ROOT / name for name in ("Makefile", "pyproject.toml", "setup.cfg"))]


def test_no_advice_installs_a_name_from_an_index():
    # The owner of a name on an index decides what is installed, so the wheel of the release is named instead.
    places = [*product_files(), *ROOT.glob("schemas/**/*.toml"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    advice = re.compile(r"pip install[^\n]*?[ '\"]kafkactl(?:\[|['\"`\s]|$)")
    assert not [str(path.relative_to(ROOT)) for path in places if advice.search(path.read_text(encoding="utf-8"))]
