"""Hooks of a roll that fail, hang, print garbage or secrets: their facts are unknown, and no secret is reported."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd
from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import FailedError
from kafkactl.roll.inventory import RollInventory, parse_roll_inventory
from kafkactl.roll.io.live import LiveRoll
from kafkactl.roll.io.observe import RollObserver

LEAKS = "sys.stderr.write('login failed: password=hunter2 sasl.jaas.config=required password=\"hunter2\";'); "
GARBAGE = {
    "nothing": "pass",
    "no release": "print('Kafka is fine')",
    "two releases": "print('kafka_2.13-4.3.1.jar kafka_2.13-4.4.0.jar')",
    "not text": "sys.stdout.buffer.write(bytes(range(128, 256)) * 99)",
    "an error page": "print('<html>' * 9999)",
    "a failure": "print('4.3.1'); sys.exit(1)",
    "a failure with secrets": LEAKS + "print('4.3.1'); sys.exit(3)",
    "an end by a signal": "import os; os.kill(os.getpid(), 9)",
    "an endless wait": "import time; time.sleep(600)",
}


def inventory(folder: Path, **hooks: str) -> RollInventory:
    """Return a broker that answers nowhere, with hooks that are Python."""
    lines = [f"{verb} = {json.dumps([sys.executable, '-c', f'import sys; {code}'])}" for verb, code in hooks.items()]
    node = "[[nodes]]\nid = 11\nroles = ['broker']\naddress = '127.0.0.1:1'\nconfig = '/etc/kafka/server.properties'"
    return parse_roll_inventory("\n".join(["[hooks]", "timeout_s = 2", *lines, node]), file=str(folder / "roll.toml"))


def ask(port: LiveRoll, verb: Verb) -> tuple[HookEnd, str]:
    run = port.ask([Request(verb=verb, node=11, phase="brokers", seq=1, instruction="")])[11]
    return run.end, str(run.message)


@pytest.mark.slow
@pytest.mark.parametrize("code", GARBAGE.values(), ids=GARBAGE)
def test_output_of_a_bad_hook_is_unknown(tmp_path: Path, code: str) -> None:
    made = inventory(tmp_path, running=code, installed=code, java="print('openjdk version \"17.0.9\"')")
    seen = RollObserver(made, timeout_ms=4_000).observe().observation
    (node,) = seen.nodes
    assert (node.release, node.installed) == (None, None)
    assert "17.0.9" in str(node.java)
    assert "hunter2" not in json.dumps(seen.to_dict())
    failed = [finding for finding in seen.findings if finding.id == "node-place-unreadable"]
    assert len(failed) == (2 if code.startswith(("print('4.3.1');", LEAKS, "import")) else 0)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("sys.exit(1)", HookEnd.FAILED),
        (LEAKS + "sys.exit(1)", HookEnd.FAILED),
        ("import os; os.kill(os.getpid(), 9)", HookEnd.FAILED),
        ("import time; time.sleep(600)", HookEnd.TIMED_OUT),
        ("print('stopped')", HookEnd.DONE),
    ],
)
def test_bad_hook_of_a_step_ends_in_time_and_without_secrets(tmp_path: Path, code: str, end: HookEnd) -> None:
    port = LiveRoll(inventory(tmp_path, stop=code), observe_ms=1_000, stop_ms=1_500, tell=lambda _: None)
    found, message = ask(port, Verb.STOP)
    assert found is end
    assert "hunter2" not in message


@pytest.mark.parametrize(
    ("code", "running"),
    [
        ("print('active')", True),
        ("print('inactive')", False),
        ("pass", False),
        ("print('<html>')", True),  # so a stop is not done, and no node is started twice
        ("sys.exit(1)", None),
        ("print('inactive'); sys.exit(3)", None),
    ],
)
def test_process_is_gone_only_if_the_hook_shows_it(tmp_path: Path, code: str, running: bool | None) -> None:
    port = LiveRoll(inventory(tmp_path, is_running=code), observe_ms=1_000, stop_ms=1_500, tell=lambda _: None)
    assert port.is_running(11) is running


def test_kept_file_with_another_content_is_replaced(tmp_path: Path) -> None:
    port = LiveRoll(inventory(tmp_path), observe_ms=1_000, stop_ms=1_000, tell=lambda _: None)
    port.kept = tmp_path / "roll.jsonl.kept"
    port.kept.mkdir()
    place = port.kept / hashlib.sha256(b"node.id=11\n").hexdigest()
    for planted in ("", "node.id=12\n"):
        place.write_text(planted)
        assert port.keep(b"node.id=11\n", folder=None, node_id=11) == place.name
        assert place.read_bytes() == b"node.id=11\n"
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(FailedError, match="a FIFO, expected was a regular file"):
        port.keep(b"node.id=11\n", folder=None, node_id=11)
