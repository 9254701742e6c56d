"""Start-up is a feature: what help loads, and that nothing heavy is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.tree import ROOT

HEAVY = {
    "pydantic", "rich", "yaml", "kazoo", "pyspark", "google_crc32c", "tomli", "tomllib", "jinja2", "numpy", "pyarrow",
    "ssl", "asyncio", "http", "email", "unittest", "subprocess", "secrets", "importlib.metadata", "json",
    "kafkactl.schema", "kafkactl.protocol", "kafkactl.features", "kafkactl.storage", "kafkactl.adapters",
}  # fmt: skip


@pytest.mark.parametrize("words", [["--help"], ["storage", "--help"], ["--version"], ["storage"]])
def test_help_loads_click_and_little_else(words):
    script = f"""
import sys
sys.argv = ["kafkactl", *{words!r}]
from kafkactl.__main__ import run
try:
    run()
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(run.stdout.rpartition("LOADED ")[2].split())
    assert not {name for name in HEAVY if name in loaded}


def test_a_piped_answer_needs_neither_rich_nor_pydantic():
    script = """
import sys
sys.argv = ["kafkactl", "explain", "unknown-id"]
from kafkactl.__main__ import run
try:
    run()
except SystemExit:
    pass
print("LOADED", *sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(run.stdout.rpartition("LOADED ")[2].split())
    assert not loaded & {"rich", "pydantic", "yaml"}
