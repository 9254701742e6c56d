"""A cluster as its operators have it before they know of a migration, and a person who does what the driver asks for.

Brokers with two log directories each below a chroot, clients over TLS, controllers with SASL/PLAIN among them. The
controllers' files are ordinary: nothing in them is of a migration. `ByHand` reads what `migrate run` prints with the
template `manual`, and does it: the printed commands are carried out as they stand.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.adapters.certificates import Authority
from tests.lab.config import Config
from tests.lab.migration_cluster import MigrationCluster
from tests.lab.migration_configs import Plan
from tests.lab.pool import shared_pool
from tests.lab.ports import HOST

_PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ctl" password="ctl-s3cret"'
CREDENTIALS = "listener.name.controller.plain.sasl.jaas.config"
_ROLES = {"process.roles", "node.id", "listeners", "log.dirs", "controller.quorum.voters", "controller.listener.names"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlan(Plan):
    """Its files; those of later phases are the driver's affair."""

    folder: Path

    def log_dirs(self, node_id: int) -> str:
        """Two of a broker, one of a controller."""
        first = self.log_dir(node_id)
        return str(first) if node_id in self.controllers else f"{first},{first}-b"

    def config(self, node_id: int, phase: str) -> Config:
        """The only file that the operator writes."""
        found = dict(Plan.config(self, node_id, phase)) | {"log.dirs": self.log_dirs(node_id)}
        if node_id not in self.controllers:
            plain, tls = self.brokers[node_id]
            return {
                **{key: value for key, value in found.items() if not key.startswith("listener.name.sasl_plaintext")},
                "listeners": f"PLAINTEXT://{HOST}:{plain},SSL://{HOST}:{tls}",
                "super.users": "User:ANONYMOUS;User:ctl",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(self.folder / "node.pem"),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.folder / "authority.pem"),
            }
        kept = {key: value for key, value in found.items() if key in _ROLES}
        return {
            **kept,
            "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            CREDENTIALS: f'{_PLAIN} user_ctl="ctl-s3cret";',
            "super.users": "User:ANONYMOUS;User:ctl",
        }


class FirstCluster(MigrationCluster):
    """See the module."""

    def __init__(self, release: str, workdir: Path, *, brokers: int = 3, controllers: int = 3) -> None:
        super().__init__(release, workdir, brokers=brokers, controllers=controllers, chroot="/kafka/prod", ibp="3.8")
        authority = Authority()
        authority.save(workdir)
        authority.identity("node").save(workdir, "node")
        known = {name: getattr(self.plan, name) for name in Plan.__dataclass_fields__}
        self.plan = FirstPlan(**known, folder=workdir)
        for node_id in (*self.broker_ids, *self.controller_ids):
            self.write(node_id, self.plan.phases(node_id)[0])
        write = "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={}\n"
        (workdir / "client.properties").write_text(write.format(workdir / "authority.pem"))
        (workdir / "controllers.properties").write_text(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={_PLAIN};\n"
        )

    def add_credentials(self) -> None:
        """What the operator is asked for: a login for the controllers' listener in the brokers' own files."""
        for node_id in self.broker_ids:
            with self.config_file(node_id).open("a") as file:
                file.write(f"{CREDENTIALS}={_PLAIN};\n")

    def inventory(self, template: str) -> Path:
        """An inventory with `manual` hooks, whose files can be read from here."""
        lines = [
            'command_config = "client.properties"',
            'controller_command_config = "controllers.properties"',
            f'[zookeeper]\nconnect = "{self.connect}"\n[hooks]\ntemplate = "{template}"',
        ]
        ports = {id: tls for id, (_, tls) in self.plan.brokers.items()} | dict(self.plan.controllers)
        for id, port in ports.items():
            role = "controller" if id in self.plan.controllers else "broker"
            file = json.dumps(str(self.config_file(id)))
            lines += ["[[nodes]]", f'id = {id}\nrole = "{role}"\naddress = "{HOST}:{port}"', f"config = {file}"]
            lines += [f'copy = {file}\nkafka_version = "{self.release}"']
            if role == "controller":
                lines.append(f"log = {json.dumps(str(self.plan.log_dir(id)))}")
        path = self.workdir / "migration.toml"
        path.write_text("\n".join(lines) + "\n")
        return path


class ByHand:
    """`migrate run` with somebody who reads its lines. `lines` is what was printed, `did` the commands."""

    def __init__(self, cluster: FirstCluster) -> None:
        self.cluster = cluster
        self.inventory = cluster.inventory("manual")
        self.lines: list[str] = []
        self.did: list[str] = []
        self._owner = threading.get_ident()

    def kafkactl(self, verb: str, *words: str, code: int | None = 0, output: str = "json") -> Any:
        """Run a verb of `migrate`; its answer, or its text for the output `table`."""
        command = [sys.executable, "-m", "kafkactl", "migrate", verb, "--inventory", str(self.inventory), *words]
        process = subprocess.Popen(
            [*command, "-o", output],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert process.stderr is not None and process.stdout is not None
        reader = threading.Thread(target=self._obey, args=(process.stderr,), daemon=True)
        reader.start()
        out = process.stdout.read()
        ended = process.wait(timeout=600)
        reader.join(10)
        assert code is None or ended == code, (ended, out, self.lines[-30:])
        return json.loads(out) if output == "json" else out

    def _obey(self, stream: Any) -> None:
        shared_pool().act_for(self._owner)  # the nodes are those of the test, which has room for them
        for line in stream:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("    "):
                self._do(line.strip())

    def _do(self, text: str) -> None:
        self.did.append(text)
        words = shlex.split(text.partition("    #")[0])
        match words[0]:
            case "cp":
                shutil.copyfile(words[1], words[2])
            case "kafka-storage.sh":
                # As that release does it: a first snapshot of 4.x keeps a quorum from migrating.
                tool = [
                    sys.executable,
                    "-m",
                    "kafkactl",
                    "storage",
                    *words[1:],
                    "--kafka-version",
                    self.cluster.release,
                ]
                subprocess.run(tool, check=True, capture_output=True)
            case "kafka-server-stop.sh":
                found = re.search(r"of (?:broker|controller) (\d+)", text)
                assert found is not None, text
                self.cluster.stop(int(found[1]))
            case "kafka-server-start.sh":
                named = Path(words[-1])
                node_id = next(
                    one
                    for one in (*self.cluster.broker_ids, *self.cluster.controller_ids)
                    if self.cluster.config_file(one) == named
                )
                self.cluster.start(node_id, wait=False)
            case _:
                raise AssertionError(text)
