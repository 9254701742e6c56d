"""The server.properties of a cluster that migrates, by node and phase.

Brokers are `zk`, then `migration`, then `kraft`; controllers are `migration`, then `final`. What a rollback puts back
is `migration` and `zk` again. Clients come in by PLAINTEXT as ANONYMOUS, a super user, or by SASL as `admin`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.harness.config import _SMALL, Config
from tests.lab.harness.ports import HOST

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="s3cret-admin"'
ENCODER_SECRET = "lab-encoder-secret"
TOKEN_SECRET = "lab-token-secret"
BROKER_PHASES = ("zk", "migration", "kraft")
CONTROLLER_PHASES = ("migration", "final")
_FLAG = {"zookeeper.metadata.migration.enable": "true"}
_COMMON: Config = {
    "super.users": "User:ANONYMOUS;User:admin",
    "password.encoder.secret": ENCODER_SECRET,
    "delegation.token.secret.key": TOKEN_SECRET,
    "auto.leader.rebalance.enable": "false",  # decided by brokers on ZooKeeper, by controllers on KRaft
    "auto.create.topics.enable": "false",
}
_BROKER: Config = {
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{LOGIN} user_admin="s3cret-admin";',
    "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "controlled.shutdown.retry.backoff.ms": "500",
    "replica.fetch.max.bytes": "65536",  # a throttled reassignment stays under way
    "broker.heartbeat.interval.ms": "500",
    "zookeeper.session.timeout.ms": "4000",
}
_ACL_AUTHORIZER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}
_STANDARD_AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Values that the files are made from: ports by node id, folders, ZooKeeper, and keys that every file gets in
    addition."""

    connect: str
    workdir: Path
    ibp: str
    brokers: Mapping[int, tuple[int, int]]  # PLAINTEXT and SASL_PLAINTEXT
    controllers: Mapping[int, int]
    broker_settings: Mapping[str, str] = field(default_factory=dict)
    controller_settings: Mapping[str, str] = field(default_factory=dict)

    def log_dir(self, node_id: int) -> Path:
        """Return the only log directory of a node."""
        return self.workdir / "disks" / str(node_id)

    def config(self, node_id: int, phase: str) -> Config:
        """Return one file. Raises KeyError for a phase that the node does not have."""
        if node_id in self.controllers:
            return self._controller(node_id) | _CONTROLLER_PARTS[phase](self) | dict(self.controller_settings)
        return self._broker(node_id) | _BROKER_PARTS[phase](self, node_id) | dict(self.broker_settings)

    def phases(self, node_id: int) -> tuple[str, ...]:
        """Return the phases of this node, in their order."""
        return CONTROLLER_PHASES if node_id in self.controllers else BROKER_PHASES

    def _broker(self, node_id: int) -> Config:
        plain, sasl = self.brokers[node_id]
        listeners = f"PLAINTEXT://{HOST}:{plain},SASL_PLAINTEXT://{HOST}:{sasl}"
        return {"listeners": listeners, "log.dirs": str(self.log_dir(node_id))} | _SMALL | _BROKER | _COMMON

    def _controller(self, node_id: int) -> Config:
        return {
            "process.roles": "controller",
            "node.id": str(node_id),
            "listeners": f"CONTROLLER://{HOST}:{self.controllers[node_id]}",
            "log.dirs": str(self.log_dir(node_id)),
            "inter.broker.listener.name": "PLAINTEXT",
            **_quorum(self),
            **_STANDARD_AUTHORIZER,
            **_COMMON,
        }


def _quorum(plan: Plan) -> Config:
    voters = ",".join(f"{controller}@{HOST}:{port}" for controller, port in plan.controllers.items())
    return {
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


def _zk(plan: Plan, node_id: int) -> Config:
    lines = {"broker.id": str(node_id), "zookeeper.connect": plan.connect, "inter.broker.protocol.version": plan.ibp}
    return lines | _ACL_AUTHORIZER


def _migration(plan: Plan, node_id: int) -> Config:
    return _zk(plan, node_id) | _FLAG | _quorum(plan)


def _kraft(plan: Plan, node_id: int) -> Config:
    return {"process.roles": "broker", "node.id": str(node_id)} | _quorum(plan) | _STANDARD_AUTHORIZER


_BROKER_PARTS = {"zk": _zk, "migration": _migration, "kraft": _kraft}
_CONTROLLER_PARTS = {
    "migration": lambda plan: {"zookeeper.connect": plan.connect} | _FLAG,
    "final": lambda plan: {},
}
