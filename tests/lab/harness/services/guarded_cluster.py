"""A cluster whose listeners all take TLS and a login, with Kafka's own authorizer.

::

    with GuardedCluster("4.3.1", tmp_path, controllers=3, brokers=2) as cluster:
        cluster.start()
        cluster.client_file("ops")

Each node has a certificate of its own in a PEM file, which a test may replace. `admin` is the user of the nodes and may
do everything; `ops` may log in everywhere and do what it is given; `half` is known to brokers alone, `ctl` to
controllers alone, and node `ODD` has another password for `odd`.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from kafkactl.core.values import Role
from kafkactl.kafka.client import Client, Limits
from kafkactl.kafka.client_config import load_client_config
from tests.lab.harness import config
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_disks import Disks, Shape
from tests.lab.harness.node import STARTED, KafkaNode
from tests.lab.harness.services.secured import plain
from tests.net.certificates import Authority

ADMIN = "adm1n-s3cret"
SECRETS = {"admin": ADMIN, "ops": "0ps-s3cret", "half": "h4lf-s3cret", "ctl": "c0ntr0l-s3cret", "odd": "0dd-s3cret"}
OTHER_PASSWORD = "4nother-s3cret"
ODD = (2, 12)
"""Nodes that have another password for `odd`."""
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_UNKNOWN = {Role.CONTROLLER: "half", Role.BROKER: "ctl"}


class GuardedNode(KafkaNode):
    """A node without a listener that answers without a login: ready when it says so, and listens."""

    def ready(self) -> bool:
        """Return True after the line that the node has started, if it accepts connections."""
        if STARTED not in self.log_text():
            return False
        try:
            with socket.create_connection(self.address, timeout=1):
                return True
        except OSError:
            return False


class GuardedDisks(Disks):
    """Disks of nodes whose listeners take TLS and a login."""

    def __init__(self, shape: Shape, workdir: Path) -> None:
        super().__init__(shape, workdir)
        workdir.mkdir(parents=True, exist_ok=True)
        self.authority = Authority()
        self.authority.save(workdir)
        Authority("another authority").save(workdir, "strangers")
        for name, password in SECRETS.items():
            self.save_client_file(name, name, password)

    def save_client_file(self, file: str, user: str, password: str, **changed: str) -> Path:
        """Write client properties of a user; return their path."""
        lines = {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.workdir / "authority.pem"),
            **plain(user, password),
            **changed,
        }
        place = self.workdir / f"{file}.properties"
        place.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        return place

    def certificate_file(self, node_id: int) -> Path:
        """Return the node's key and certificate."""
        return self.workdir / f"certificate-{node_id}.pem"

    def node(self, node_id: int, release: str) -> KafkaNode:
        """Return the node as its configuration file stands."""
        return GuardedNode(release, self.config_file(node_id), self.workdir / "logs", name=f"node-{node_id}")

    def own_settings(self, node_id: int) -> config.Config:
        """Return listeners with TLS and a login, the certificate of the node, and the authorizer."""
        if not self.certificate_file(node_id).exists():
            self.authority.identity(f"node-{node_id}").save(self.workdir, f"certificate-{node_id}")
        ports = {"CONTROLLER": self.controller_ports.get(node_id), "CLIENT": self.broker_ports.get(node_id)}
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items() if port is not None)
        inside = {"inter.broker.listener.name": "CLIENT", "sasl.mechanism.inter.broker.protocol": "PLAIN"}
        return super().own_settings(node_id) | (inside if node_id in self.broker_ports else {}) | {
            "listeners": listeners,
            "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SASL_SSL",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": _users(node_id, Role.CONTROLLER),
            "listener.name.client.plain.sasl.jaas.config": _users(node_id, Role.BROKER),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificate_file(node_id)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.workdir / "authority.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin",
        }  # fmt: skip


class GuardedCluster(KafkaCluster):
    """Cluster whose listeners take TLS and a login."""

    DISKS = GuardedDisks
    disks: GuardedDisks

    def client(
        self, role: Role = Role.CONTROLLER, *, timeout_ms: float = 20_000, request_timeout_ms: float = 8_000
    ) -> Client:
        """Return a client of admin that knows all controllers (or all brokers); a context manager."""
        is_controller = role is Role.CONTROLLER
        ids, address = (
            (self.controller_ids, self.controller_address) if is_controller else (self.broker_ids, self.broker_address)
        )
        limits = Limits(timeout_ms=timeout_ms, request_timeout_ms=request_timeout_ms)
        access = load_client_config(str(self.client_file("admin"))).access()
        return Client([address(node_id) for node_id in ids], role, access=access, limits=limits)

    def client_file(self, user: str) -> Path:
        """Return the client properties of a user."""
        return self.disks.workdir / f"{user}.properties"

    def words(self, user: str, role: Role = Role.BROKER) -> list[str]:
        """Return the connection options of a user."""
        option, places = (
            ("--bootstrap-controller", self.bootstrap_controller)
            if role is Role.CONTROLLER
            else ("--bootstrap-server", self.bootstrap_server)
        )
        return [option, places, "--command-config", str(self.client_file(user))]

    def acls(self, tool: Any, *words: str) -> None:
        """Run `kafka-acls.sh` as admin, at a broker."""
        newer = self.shape.release >= "4"
        name = "org.apache.kafka.tools.AclCommand" if newer else "kafka.admin.AclCommand"
        result = tool.run_tool(self.shape.release, name, [*self.words("admin"), *words])
        assert result.exit_code == 0, result


def _users(node_id: int, listener: Role) -> str:
    known = {name: value for name, value in SECRETS.items() if name != _UNKNOWN[listener]}
    if node_id in ODD:
        known["odd"] = OTHER_PASSWORD
    users = " ".join(f'user_{name}="{password}"' for name, password in known.items())
    return f'{_MODULE} username="admin" password="{ADMIN}" {users};'
