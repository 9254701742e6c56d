"""Configuration files of a small cluster, as people write them."""

from __future__ import annotations

from kafkactl.core.values import Role
from kafkactl.migration.render.facts import NodeFile, node_file

BROKER_TEXT = """\
# Broker {id} of the orders cluster
broker.id={id}

# Network
listeners = PLAINTEXT://0.0.0.0:9092,\\
    INTERNAL://0.0.0.0:9094
advertised.listeners=PLAINTEXT://kafka-{id}:9092,INTERNAL://kafka-{id}:9094
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT
inter.broker.listener.name=INTERNAL

log.dirs=/data/kafka
# keep me
zookeeper.connect=zk1:2181,zk2:2181/kafka
zookeeper.session.timeout.ms=18000
inter.broker.protocol.version=3.7
authorizer.class.name=kafka.security.authorizer.AclAuthorizer
super.users=User:kafka;User:controller
password.encoder.secret=encoder-hunter2
num.partitions=3
"""
CONTROLLER_TEXT = """\
process.roles=controller
node.id={id}
listeners=CONTROLLER://kc-{id}:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT
controller.quorum.voters=3001@kc-3001:9093,3002@kc-3002:9093
log.dirs=/data/meta
super.users=User:kafka;User:controller
"""


def broker(id: int = 1, text: str = BROKER_TEXT, **changes: str | None) -> NodeFile:
    return _file(id, Role.BROKER, text, changes)


def controller(id: int = 3001, text: str = CONTROLLER_TEXT, **changes: str | None) -> NodeFile:
    return _file(id, Role.CONTROLLER, text, changes)


def _file(id: int, role: Role, text: str, changes: dict[str, str | None]) -> NodeFile:
    """Return a file with lines changed, added or (None) left out; `_` in a name is a dot."""
    lines = text.format(id=id).splitlines(keepends=True)
    for name, value in changes.items():
        key = name.replace("_", ".")
        lines = [line for line in lines if not line.startswith(f"{key}=")]
        lines += [] if value is None else [f"{key}={value}\n"]
    return node_file(id, role, "".join(lines).encode(), file=f"{role}-{id}.properties")


def cluster() -> list[NodeFile]:
    return [broker(1), broker(2), controller(3001), controller(3002)]
