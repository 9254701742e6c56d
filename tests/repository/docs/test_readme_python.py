"""The Python of the README is run; what needs a live cluster is run as far as opening the client."""

from __future__ import annotations

import re

import pytest

import kafkactl
from tests.repository.tree import ROOT

BLOCKS = re.findall(r"(?s)```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"))
CONFIG = """process.roles=controller
node.id=1
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT
listeners=CONTROLLER://127.0.0.1:9093
controller.quorum.bootstrap.servers=127.0.0.1:9093
log.dirs=data
"""


def test_first_example_verifies_formats_and_reads_a_node(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.properties").write_text(CONFIG)
    exec(BLOCKS[0], {})
    verified, formatted, read = capsys.readouterr().out.splitlines()
    assert verified.startswith("False [")
    assert formatted == "done"
    assert read == "{}"  # a log that no node has written to
    assert (tmp_path / "data" / "meta.properties").is_file()


def test_second_example_asks_the_cluster_that_is_named(monkeypatch):
    asked = {}

    def connect(**given):
        asked.update(given)
        raise ConnectionRefusedError

    monkeypatch.setattr(kafkactl, "connect", connect, raising=False)
    with pytest.raises(ConnectionRefusedError):
        exec(BLOCKS[1], {"kafkactl": kafkactl})
    assert asked == {"bootstrap_controller": "controller-1:9093"}
    assert kafkactl.features.describe and kafkactl.quorum.describe
