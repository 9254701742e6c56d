"""The whole way of a migration and what follows it, walked line by line, with what is to be written down of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.net.transport import parse_addresses
from tests.lab.migration.driving.by_hand import PROGRAM, Operator
from tests.lab.migration.driving.driven import ROOT
from tests.lab.migration.driving.first import FirstCluster

_ACCEPT = re.compile(r"--accept ([\w.@,-]*\w)")


class Walk:
    """`notes` is what the proof says, `accepted` what `run` was given with `--accept` on the way."""

    def __init__(self, cluster: FirstCluster, hand: Operator) -> None:
        self.cluster = cluster
        self.hand = hand
        build = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True, cwd=ROOT
        )
        self.notes = [f"{time.strftime('%Y-%m-%d')}, build {build.stdout.strip()}"]
        self.accepted: list[str] = []

    def says(self, sentence: str) -> None:
        """Add one line to the proof."""
        self.notes.append(sentence)
        self.hand.lines.append(f"# {sentence}")

    @property
    def accepts(self) -> list[str]:
        """Return what was accepted so far, as options."""
        return [word for name in self.accepted for word in ("--accept", name)]

    def check(self, state: str) -> Any:
        """Run `check`, and save an observation for looks at screens later."""
        checked = self.hand.kafkactl("check", code=None)
        assert checked["state"] == state, checked["headline"]
        return checked

    def forward(self, until: str, *words: str) -> None:
        """Run `run` to a state. What it stops at is accepted where it names a way to accept it."""
        began, stops = time.monotonic(), []
        while True:
            answer = self.hand.kafkactl("run", "--yes", "--until", until, *words, *self.accepts, code=None)
            if answer["outcome"] in ("done", "nothing-to-do"):
                break
            asked = dict.fromkeys(_ACCEPT.findall(json.dumps(answer["findings"])))
            named = [name for name in asked if name not in self.accepted]
            assert named and answer["outcome"] in ("refused", "partial"), (answer["outcome"], answer["findings"])
            self.accepted += named
            stops.append(f"{answer['state']}: {', '.join(named)}")
        assert answer["state"] == until, answer["state"]
        self.hand.kafkactl("observe", "--out", f"{self.cluster.workdir}/seen-{until}")
        accepted = f"; accepted on the way at {'; '.join(stops)}" if stops else ""
        self.says(f"{until} after {time.monotonic() - began:.0f} s{accepted}")

    def finalize(self) -> None:
        """Finalize, with the cluster's id typed."""
        began = time.monotonic()
        answer = self.hand.kafkactl("finalize", "--confirm", self.cluster.cluster_id(), *self.accepts)
        assert (answer["outcome"], answer["state"]) == ("done", "M11"), answer["findings"]
        status = self.hand.kafkactl("status")
        self.hand.kafkactl("observe", "--out", f"{self.cluster.workdir}/seen-M11")
        left = [finding["id"] for finding in status["findings"]]
        assert {"binaries-can-be-upgraded", "zookeeper-no-longer-used"} <= set(left)
        self.says(f"M11 after {time.monotonic() - began:.0f} s; left to do: {', '.join(dict.fromkeys(left))}")
        self.cluster.zookeeper.stop(10)

    def roll(self, release: str) -> None:
        """Roll every node to another release, one by one, and wait for each until all partitions are in sync."""
        if release == self.cluster.release:
            return
        began = time.monotonic()
        self.cluster.release = release
        for node_id in (*self.cluster.controller_ids, *self.cluster.broker_ids):
            self.cluster.restart(node_id)
            self.cluster.wait_for(self._in_sync, "all replicas in sync")
        self.says(f"all nodes on {release} after {time.monotonic() - began:.0f} s")

    def _in_sync(self) -> bool:
        with Client(parse_addresses(self.cluster.bootstrap_server), Role.BROKER) as client:
            topics = client.ask_any("Metadata", {"Topics": None, "AllowAutoTopicCreation": False}).body["Topics"]
        partitions = [partition for topic in topics for partition in topic["Partitions"]]
        return bool(partitions) and all(
            len(partition["IsrNodes"]) == len(partition["ReplicaNodes"]) for partition in partitions
        )

    def raise_levels(self, level: str) -> None:
        """Run `features upgrade` as docs/migration.md has it; a setting that its user may not read is accepted by
        value."""
        words = ["features", "upgrade", "--release-version", level, "--yes"]
        answer = self.plain(*words, code=None)
        if "elr-min-insync-unknown" in {finding["id"] for finding in answer["findings"]}:
            assert answer["outcome"] == "refused", answer
            self.says(
                f"`{' '.join(words)}` refused: elr-min-insync-unknown, the client has no login for the controllers"
            )
            words += ["--accept-min-insync-replicas", self.cluster.plan.broker_settings["min.insync.replicas"]]
            answer = self.plain(*words)
        assert answer["outcome"] == "done", answer
        self.says(f"`{' '.join(words)}` done")

    def settings_agree(self) -> None:
        """Check that no controller decides differently from what the brokers' files said before the migration."""
        answer = self.plain("nodes", "verify", code=None)
        found = [
            finding for finding in answer["findings"] if finding["id"].endswith(("-differ", "-differs", "-overridden"))
        ]
        assert not found, found

    def plain(self, group: str, verb: str, *words: str, code: int | None = 0) -> Any:
        """Return a command that is not of `migrate`; its answer."""
        command = [*PROGRAM, group, "--bootstrap-server", self.cluster.bootstrap_server, verb, *words, "-o", "json"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.hand.lines += [f"$ kafkactl {group} {verb} {' '.join(words)}", *ended.stderr.splitlines()]
        assert code is None or ended.returncode == code, ended.stdout + ended.stderr
        return json.loads(ended.stdout)


def colleague_takes_over(walk: Walk) -> None:
    """Kill a driver with -9 in the middle of a broker's restart, and resume as a colleague with a copied journal.

    While the killed driver's session lives in ZooKeeper, and before that, the colleague is refused.
    """
    hand, workdir = walk.hand, walk.cluster.workdir
    other = workdir / "colleague.toml"
    other.write_text('journal = "journal-of-a-colleague"\n' + hand.inventory.read_text())
    copy = workdir / "journal-of-a-colleague"
    words = ("run", "--yes", "--until", "M4L", *walk.accepts)
    with (workdir / "killed.txt").open("w") as out:
        first = subprocess.Popen(hand.command(*words), stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        try:
            walk.cluster.wait_for(
                lambda: "restart-node broker" in (workdir / "killed.txt").read_text(), "begun a broker's restart"
            )
            shutil.copytree(workdir / "journal", copy)
            _is_refused(hand, words, other)
        finally:
            first.kill()
            first.wait()
    killed = time.monotonic()
    shutil.rmtree(copy)
    shutil.copytree(workdir / "journal", copy)
    hand.inventory = other
    tries = 0
    for answer in _tries(hand, words):
        tries += 1
        if answer["kind"] != "error":
            break
        assert answer["id"] == "concurrent-migration-run", answer
        waited = time.monotonic() - killed
    assert tries > 1
    assert (answer["outcome"], answer["state"]) == ("done", "M4L"), answer
    walk.says(
        "a second driver with a copied journal: refused (`concurrent-migration-run`) while the first one worked,"
        f" and for {waited:.0f} s after it was killed with -9 in the restart of a broker; then it went on to M4L"
    )


def _is_refused(hand: Operator, words: Sequence[str], other: Path) -> None:
    mine, hand.inventory = hand.inventory, other
    try:
        refused = hand.kafkactl(*words, code=3)
    finally:
        hand.inventory = mine
    assert refused["id"] == "concurrent-migration-run", refused


def _tries(hand: Operator, words: Sequence[str]) -> Iterator[Any]:
    """Try the same line again and again, for a minute."""
    until = time.monotonic() + 180
    while time.monotonic() < until:
        yield hand.kafkactl(*words, code=None)
        time.sleep(1)
