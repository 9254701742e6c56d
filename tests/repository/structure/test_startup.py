"""Start-up is a feature: what help loads, and that nothing heavy is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkactl.commands.demo.cluster import FakeCluster
from tests.repository.tree import ROOT, product_files, shown

HEAVY = {
    "pydantic", "rich", "yaml", "kazoo", "pyspark", "google_crc32c", "tomli", "tomllib", "jinja2", "numpy", "pyarrow",
    "ssl", "asyncio", "http", "email", "unittest", "subprocess", "secrets", "importlib.metadata", "json",
    "inspect", "ast", "dis", "platform", "shutil", "pathlib", "urllib.parse",
    "kafkactl.core.data_files", "kafkactl.protocol.schema", "kafkactl.protocol.codec", "kafkactl.features",
    "kafkactl.storage", "kafkactl.files", "kafkactl.kafka",
}  # fmt: skip
# What an editable installation loads with the interpreter to find the package is forgotten first.
FORGET = """import sys
for name in [name for name in sys.modules if name == "urllib.parse" or name.partition(".")[0] == "pathlib"]:
    del sys.modules[name]
"""
GROUPS = [[name, "--help"] for name in ("storage", "features", "quorum", "nodes", "config", "log", "dryrun")]


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["storage"], *GROUPS])
def test_help_loads_click_and_little_else(words):
    script = f"""
{FORGET}
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
    assert sorted(HEAVY & loaded) == []


def test_piped_answer_needs_neither_rich_nor_pydantic():
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


UNUSED_BY_DESCRIBE = {
    "pydantic", "rich", "yaml", "ssl", "hashlib", "tempfile", "random", "stringprep", "kafkactl.protocol.text.jaas",
    "inspect", "ast", "dis", "platform", "shutil", "pathlib", "urllib.parse",
    "kafkactl.change.engine", "kafkactl.change.journal", "kafkactl.features.plan.plan", "kafkactl.metadata.image.model",
}  # fmt: skip


@pytest.mark.parametrize("group", ["features", "quorum"])
def test_looking_at_a_cluster_loads_nothing_that_only_a_change_uses(group):
    script = f"""
{FORGET}
sys.argv = ["kafkactl", "{group}", "describe", "--bootstrap-controller", sys.argv[1]]
from kafkactl.__main__ import run
try:
    run()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sys.modules)
"""
    with FakeCluster() as cluster:
        words = [sys.executable, "-c", script, cluster.address]
        run = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = set(run.stdout.rpartition("LOADED ")[2].split())
    assert sorted(loaded & UNUSED_BY_DESCRIBE) == []


UNUSED_BY_FORMAT = {
    "pydantic", "rich", "yaml", "difflib", "subprocess", "asyncio", "ssl", "http", "email", "secrets", "tempfile",
    "hashlib", "hmac", "google_crc32c", "importlib.metadata", "importlib.resources",
    "kafkactl.commands.rendering.terminal", "kafkactl.commands.framework.failure", "kafkactl.storage.io.owner",
    "kafkactl.kafka.connection", "kafkactl.storage.api.fleet", "kafkactl.protocol.compiled",
    "kafkactl.metadata.log.scan", "kafkactl.storage.format.ensure", "kafkactl.storage.fleet.plan",
    "kafkactl.storage.fleet.plan_file",
    "kafkactl.storage.verify.node", "kafkactl.storage.dump",
}  # fmt: skip


def test_formatting_a_node_loads_nothing_that_it_does_not_use(tmp_path):
    # A node that joins: before a blank controller of a first quorum is formatted, that quorum is asked.
    disk = tmp_path / "disk"
    config = tmp_path / "controller.properties"
    config.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT\nlisteners=CONTROLLER://127.0.0.1:9093\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:9093\nlog.dirs={disk}\n"
    )
    words = ["format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(config), "-N", "--kafka-version", "4.3.1"]
    loaded = _loaded_by(["storage", *words])
    assert (disk / "meta.properties").is_file()
    assert sorted(loaded & UNUSED_BY_FORMAT) == []


def test_values_on_the_way_of_a_format_are_frozen_and_not_dataclasses():
    # Each dataclass that a format declares costs it 0.4 ms; kafkactl/core/frozen.py has the same for nothing.
    packages = ("values.py", "findings.py", "features", "metadata", "protocol", "quorum", "schema", "storage")
    found = [
        shown(path)
        for path in product_files()
        if path.relative_to(ROOT).parts[1] in packages and "@dataclass(frozen=True, slots=True" in path.read_text()
    ]
    assert not found


def _loaded_by(words):
    script = f"""
{FORGET}
sys.argv = ["kafkactl", *{words!r}]
from kafkactl.__main__ import run
try:
    run()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(run.stdout.rpartition("LOADED ")[2].split())
