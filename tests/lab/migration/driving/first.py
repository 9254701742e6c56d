"""A cluster as its operators have it before they know of a migration.

Brokers with two log directories each below a chroot, clients over TLS, controllers with SASL/PLAIN among them. The
controllers' files are ordinary: nothing in them is of a migration. Who drives it is in `by_hand.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.harness.config import Config
from tests.lab.harness.ports import HOST
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.configs import Plan
from tests.net.certificates import Authority

_PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ctl" password="ctl-s3cret"'
IBP = {"3.9.2": "3.8"}
"""Releases that the brokers were brought to without a new inter.broker.protocol.version."""
CREDENTIALS = "listener.name.controller.plain.sasl.jaas.config"
_ROLES = {"process.roles", "node.id", "listeners", "log.dirs", "controller.quorum.voters", "controller.listener.names"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlan(Plan):
    """Files of the first plan; those of later phases are the driver's affair."""

    folder: Path

    def log_dirs(self, node_id: int) -> str:
        """Return two of a broker, one of a controller."""
        first = self.log_dir(node_id)
        return str(first) if node_id in self.controllers else f"{first},{first}-b"

    def config(self, node_id: int, phase: str) -> Config:
        """Return the only file that the operator writes."""
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


def _settings(brokers: int) -> Mapping[str, str]:
    """Return what keeps data on as many brokers as there are: brokers decide it here, controllers from the copy on."""
    return {
        "default.replication.factor": str(brokers),
        "min.insync.replicas": str(max(1, brokers - 1)),
        "offsets.topic.replication.factor": str(brokers),
    }


class FirstCluster(MigrationCluster):
    """Cluster before its operators have prepared a migration."""

    def __init__(self, release: str, workdir: Path, *, brokers: int = 3, controllers: int = 3) -> None:
        super().__init__(
            release, workdir, brokers=brokers, controllers=controllers, chroot="/kafka/prod",
            ibp=IBP.get(release), broker_settings=_settings(brokers),
        )  # fmt: skip
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
        """Add what the operator is asked for: a login for the controllers' listener in the brokers' own files."""
        for node_id in self.broker_ids:
            with self.config_file(node_id).open("a") as file:
                file.write(f"{CREDENTIALS}={_PLAIN};\n")

    def administrator(self) -> dict[str, str]:
        """See MigrationCluster; no client logs in at these brokers."""
        return {"bootstrap.servers": self.bootstrap_server}

    def inventory(self, template: str, hooks: Mapping[str, Sequence[str]] | None = None) -> Path:
        """Return the inventory as docs/first-migration.md has it; with `manual` the files can be read from here."""
        lines = [
            'command_config = "client.properties"',
            'controller_command_config = "controllers.properties"',
            f'[zookeeper]\nconnect = "{self.connect}"\n[hooks]\ntemplate = "{template}"',
            *(f"{verb} = {json.dumps(list(words))}" for verb, words in (hooks or {}).items()),
        ]
        ports = {id: tls for id, (_, tls) in self.plan.brokers.items()} | dict(self.plan.controllers)
        for id, port in ports.items():
            role = "controller" if id in self.plan.controllers else "broker"
            file = json.dumps(str(self.config_file(id)))
            lines += ["[[nodes]]", f'id = {id}\nrole = "{role}"\naddress = "{HOST}:{port}"', f"config = {file}"]
            lines.append(f'kafka_version = "{self.release}"')
            if template == "manual":
                lines.append(f"copy = {file}")
            if template == "manual" and role == "controller":
                lines.append(f"log = {json.dumps(str(self.plan.log_dir(id)))}")
        path = self.workdir / "migration.toml"
        path.write_text("\n".join(lines) + "\n")
        return path
