"""A line of every command, with names for its input, for tests about all commands.

`{NAME}` is replaced with a file or value of the test. A command that needs a live cluster gets an address that does not
answer, and client properties: it prints its error. Its answers are tested in its own package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

LIVE = "--bootstrap-controller 127.0.0.1:1 --command-config {client} --timeout 300ms"
BROKERS = "--bootstrap-server 127.0.0.1:1 --command-config {client} --timeout 300ms"
SEEN = "--observation {observation}"
FOLDER = "--inventory {inventory} --timeout 600ms"

LINES: Mapping[str, Sequence[str]] = {
    "status": (BROKERS, f"-c {{config}} {BROKERS}"),
    "storage format": ("-c {config} -t {id} --dry-run", "-c {config} -t {text} --standalone --dry-run"),
    "storage ensure": ("-c {config} -t {id} --dry-run",),
    "storage info": ("-c {config}",),
    "storage verify": ("-c {config}",),
    "storage plan": ("{fleet} --out {new}", "{config} --out {new}"),
    "storage apply": ("{config} --node 1 --dry-run", "{fleet-plan} --node 1 --dry-run"),
    "storage dump": ("{segment}", "{meta}", "{config}"),
    "storage unformat": ("-c {config} --dry-run",),
    "storage random-uuid": ("",),
    "storage version-mapping": ("--release-version {text}", ""),
    "storage feature-dependencies": ("--feature {text}=1",),
    "quorum describe": ("--log-dir {log}", LIVE, "--bundle {bundle}"),
    "quorum add-controller": (f"{LIVE} --dry-run",),
    "quorum remove-controller": (f"-i 1 -d {{id}} {LIVE} --dry-run", f"-i 1 -d {{text}} {LIVE}"),
    "quorum reassign": (f"--target 1,2,3 {LIVE} --dry-run", f"--target {{text}} {LIVE}"),
    "quorum apply": (f"{{config}} {LIVE}", f"{{text}} {LIVE}"),
    "quorum convert": (f"{LIVE} --dry-run",),
    "quorum recover": ("--log-dir {log} --out {new} --plan", "--log-dir {text} --out {new} --plan"),
    "quorum recover collect": ("{text} --to {new}",),
    "quorum recover verify": ("{config}",),
    "tiered audit": ("{log}", "{log} --bucket {text}"),
    "tiered report": ("{log} --html {report}", "{log} --topic {text}"),
    "tiered segments": ("{log} --topic {text}",),
    "tiered history": ("{log} --topic {text}",),
    "tiered forecast": ("{text}",),
    "tiered observe": ("{log} --out {new}", "{text} --out {new}"),
    "tiered leftovers": ("{log} --bucket {config}",),
    "nodes list": (BROKERS,),
    "nodes unregister": (f"--id 1 {BROKERS} --dry-run",),
    "nodes verify": (f"--config {{config}} {BROKERS}",),
    "features describe": (BROKERS,),
    "features plan": (f"upgrade --feature {{text}}=1 {BROKERS}", f"upgrade --metadata 4.3 {BROKERS}"),
    "features apply": (f"{{config}} {BROKERS}", f"{{text}} {BROKERS}"),
    "features upgrade": (f"--metadata {{text}} {BROKERS} --dry-run",),
    "features downgrade": (f"--metadata {{text}} {BROKERS} --dry-run",),
    "features disable": (f"--feature {{text}} {BROKERS} --dry-run",),
    "features verify": (f"--metadata {{text}} {BROKERS}",),
    "features version-mapping": ("--release-version {text}",),
    "features feature-dependencies": ("--feature {text}=1",),
    "config view": ("", "{text}"),
    "config set": ("{text} --bootstrap-server h:1", "prod --bootstrap-server {text}"),
    "config use": ("{text}",),
    "config unset": ("{text} cluster_id",),
    "config delete": ("{text}",),
    "log dump": ("{log}", "{log} --key {text}", "--bundle {bundle}"),
    "log verify": ("{log}", "--bundle {bundle}", "--bundle {text}"),
    "log image": ("{log}", "{log} --full", "--bundle {bundle}"),
    "log diff": ("{log}@2 {log}",),
    "log history": ("{log}", "{log} --topic {text}", "{log} --config broker:1"),
    "log browse": ("{log} /image/configs", "{log} /{text}", "{log} /image/configs/BROKER:1"),
    "log export": ("{log} --out {new}", "{text} --out {new}"),
    "log lint": ("{log}",),
    "dryrun broker-loss": ("{log} --brokers 1 --html {report}",),
    "dryrun broker-return": ("{log} --brokers 1",),
    "dryrun rolling-restart": ("{log} --order auto",),
    "dryrun unregister-broker": ("{log} --broker 1",),
    "dryrun elect-leaders": ("{log} --type preferred", "{log} --topic {text}"),
    "dryrun alter-config": ("{log} --entity broker:1 --set my.pwd={text} --records", "{log} --entity {text} --set a=b"),
    "dryrun reassignment": ("{log} --plan {config}",),
    "dryrun features": ("{log} --release-version 4.0 --config {config}", "{log} --upgrade {text}=1"),
    "dryrun controllers": ("{log} --lose 1",),
    "dryrun replay": ("{log} --details {details}", "{log} --records"),
    "dryrun restart": ("{log}", "--bundle {bundle}"),
    "dryrun growth": ("{log} --days 30",),
    "dryrun zk-migration": ("{tree} --config {config} --records --kafka-version 3.9.2", "{observation} --records"),
    "dryrun report": ("{log} --html {report}",),
    "demo": ("--scene mount --out {text}", "--list", "--scene mount --kafka {text}"),
    "simulate": ("--profile rolling-restart --duration 1s --html {report}", "--script {text}"),
    "migrate check": (SEEN, "--bundle {bundle}", f"{SEEN} --accept {{text}}"),
    "migrate compare": (SEEN, f"{SEEN} --before {{tree}}"),
    "migrate plan": (SEEN, FOLDER),
    "migrate rollback": (f"{SEEN} --dry-run", f"{FOLDER} --dry-run"),
    "migrate status": (SEEN, FOLDER, f"{SEEN} --journal {{config}}"),
    "migrate render": (f"{SEEN} --dry-run", f"{SEEN} --out {{rendered}}", "--inventory {inventory} --dry-run"),
    "migrate observe": (f"{FOLDER} --out {{new}}",),
    "migrate run": (f"{FOLDER} --dry-run",),
    "migrate finalize": (f"{FOLDER} --dry-run",),
    "roll check": ("--observation {roll-seen} --to 4.3.1", "--inventory {inventory}"),
    "roll plan": ("--observation {roll-seen} --to 4.3.1", "--inventory {text} --out {new}-plan"),
    "roll status": ("--observation {roll-seen}", "--inventory {text} --to {text}"),
    "roll run": ("--inventory {inventory} --dry-run", "--inventory {text}"),
    "roll rollback": (
        "--inventory {inventory} --to {text} --dry-run",
        "--observation {observation} --to 4.3 --dry-run",
    ),
    "roll observe": ("--inventory {inventory} --out {new}-roll", "--inventory {text} --out {new}-roll"),
    "bundle": (
        "--out {new} -c {config} --log-dir {log} --include-log --observation {observation} --tiered {text}",
        f"--out {{new}}-live {LIVE}",
    ),
    "explain": ("{text}", "crc-mismatch"),
    "schema": ("{text}", "--list"),
    "completion": ("{text}", "bash"),
}


def lines_with(known: Mapping[str, str]) -> list[list[str]]:
    """Return the words of all lines. A name of `known` is a part of a word or all of it, and splits none."""
    return [
        [*command.split(), *(re.sub(r"\{([\w-]+)\}", lambda match: known[match[1]], word) for word in line.split())]
        for command, lines in LINES.items()
        for line in lines
    ]
