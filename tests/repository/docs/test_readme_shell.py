"""The README's shell: its story is what the demo prints, and its blocks install kafkactl when they are pasted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.docs.console_pages import pattern, squeezed, user_environment
from tests.repository.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```bash\n(.*?)^```$", README)
BUILT = ("kafkactl", "commands", "schemas", "docs/man")
FILES = ("pyproject.toml", "README.md", "LICENSE")


@pytest.mark.slow
def test_story_at_the_head_is_what_the_demo_prints(tmp_path: Path) -> None:
    (story,) = re.findall(r"(?ms)^```text\n(.*?)^```$", README)
    words = ["kafkactl", "demo", "--scene", "wedge", "--no-wait"]
    run = subprocess.run(words, env=user_environment(tmp_path), capture_output=True, text=True, check=True)
    assert re.search(pattern(story), squeezed(run.stdout), re.DOTALL), run.stdout
    assert README.index(story) < README.index("## Install")


def test_each_block_is_known_to_a_test_and_has_no_prompt_and_no_placeholder() -> None:
    assert [block.splitlines()[0].split(" -", 1)[0] for block in BLOCKS] == [
        "make demo",  # test_demo_script
        "python3", "pip install",  # below
        "pip install",  # the tests of requirements/
    ]  # fmt: skip
    assert not re.search(r"(?m)^[$>] |[A-Z]{4,}|…", "".join(BLOCKS))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_blocks_install_kafkactl_and_then_its_locked_dependencies(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in BUILT:
        shutil.copytree(ROOT / name, checkout / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "requirements", checkout / "requirements")
    environment = user_environment(tmp_path) | {"PIP_COMPILE": "0"}  # compiling what is not imported takes longest
    for program, text in {"python3": f'exec "{sys.executable}" "$@"', "kafkactl": "exit 9"}.items():
        (tmp_path / "bin" / program).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / "bin" / program).chmod(0o755)
    script = "set -e\n" + BLOCKS[1] + BLOCKS[2] + "kafkactl explain cluster-id-mismatch\n"
    run = subprocess.run(
        ["bash", "-c", script], cwd=checkout, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert re.search(r"(?m)^kafkactl \d", run.stdout) and "consequence" in run.stdout
    assert (tmp_path / ".kafkactl-venv" / "bin" / "kafkactl").is_file()
