"""Rendered files of clusters of many kinds, compared with `KafkaConfig` of the releases that can migrate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkactl.core.findings import Severity
from kafkactl.migration.render.facts import NodeFile, cluster_facts, node_file
from kafkactl.migration.render.node import render_cluster
from tests.lab.oracles.inputs import InputOracle
from tests.migration.render.files import broker, controller

_TLS = {
    "zookeeper_ssl_client_enable": "true",
    "zookeeper_clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
}
_STORE = {"zookeeper_ssl_keystore_location": "/etc/zk.jks", "zookeeper_ssl_keystore_password": "hunter2"}
_SECURED = {"listener_security_protocol_map": "CONTROLLER:SASL_SSL", "sasl_mechanism_controller_protocol": "PLAIN"}
_JAAS = {"listener_name_controller_plain_sasl_jaas_config": "x", "ssl_truststore_location": "/etc/trust.jks"}
_PLAIN = {"listener_security_protocol_map": None, "inter_broker_listener_name": None}
_DYNAMIC = {"controller_quorum_voters": None, "controller_quorum_bootstrap_servers": "kc-3001:9093,kc-3002:9093"}


def _cluster(
    brokers: dict[str, str | None], controllers: dict[str, str | None], ids: tuple[int, ...] = (1, 2)
) -> list[NodeFile]:
    made = [broker(id, **brokers) for id in ids]
    return [*made, *(controller(id, **controllers) for id in (3001, 3002))]


def _without_internal(nodes: list[NodeFile]) -> list[NodeFile]:
    """Return the case with Kafka's own map of listeners: a second listener named after its protocol."""
    return [
        node_file(node.id, node.role, node.content.replace(b"INTERNAL", b"SASL_PLAINTEXT"), file=node.file)
        for node in nodes
    ]


CLUSTERS = {
    "small": _cluster({}, {}),
    "generated ids": _cluster({"broker_id": None}, {}, ids=(1001, 1002)),
    "tls to zookeeper": _cluster({**_TLS, **_STORE}, {}),
    "secured controllers": _cluster(_JAAS, _SECURED),
    "several disks": _cluster({"log_dirs": "/a,/b"}, {}),
    "dynamic quorum": _cluster({}, _DYNAMIC),
    "no authorizer": _cluster({"authorizer_class_name": None}, {}),
    "kafkas own map": _without_internal(_cluster(_PLAIN, {})),
    "kafkas own map on both": _without_internal(_cluster(_PLAIN, {"listener_security_protocol_map": None})),
    "by protocol": _without_internal(_cluster({**_PLAIN, "security_inter_broker_protocol": "SASL_PLAINTEXT"}, {})),
    "control plane": _cluster(
        {"control_plane_listener_name": "INTERNAL", "inter_broker_listener_name": "PLAINTEXT"}, {}
    ),
    "secured brokers": _cluster(
        {
            "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL",
            "sasl_mechanism_inter_broker_protocol": "PLAIN",
            "listener_name_internal_sasl_enabled_mechanisms": "PLAIN",
        },
        {},
    ),
    "one controller": [broker(1), controller(3001, controller_quorum_voters="3001@kc-3001:9093")],
}  # fmt: skip
RELEASES = ("3.7.2", "3.8.1", "3.9.2")
_FIRST_DYNAMIC = "3.9.2"


@pytest.fixture(scope="module", params=RELEASES)
def kafka(request: pytest.FixtureRequest) -> Iterator[InputOracle]:
    with InputOracle(request.param) as oracle:
        yield oracle


@pytest.mark.parametrize("name", CLUSTERS)
def test_kafka_takes_every_rendered_file(kafka: InputOracle, name: str):
    if name == "dynamic quorum" and kafka.release != _FIRST_DYNAMIC:
        pytest.skip("controller.quorum.bootstrap.servers came with 3.9")
    nodes = CLUSTERS[name]
    facts = cluster_facts(nodes)
    made = render_cluster(nodes, facts)
    assert [finding.id for finding in facts.findings] == []
    for file in made:
        assert [found.id for found in file.findings if found.severity is Severity.BLOCKER] == []
        assert file.content is not None
        if (file.role, file.phase) != ("controller", "original"):
            assert kafka.said("kafka-config", file.content).startswith("OK "), (file.node, file.phase)


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (b"controller.listener.names=CONTROLLER\n", "controller.listener.names must not be empty"),
        (b"controller.quorum.voters=", "controller.quorum"),
    ],
)
def test_it_refuses_what_lacks_a_rendered_key(kafka: InputOracle, cut: bytes, words: str):
    # The oracle can say no.
    nodes = CLUSTERS["small"]
    made = next(file for file in render_cluster(nodes, cluster_facts(nodes)) if file.phase == "migration")
    assert made.content is not None
    lines = [line for line in made.content.splitlines(keepends=True) if not line.startswith(cut)]
    said = kafka.said("kafka-config", b"".join(lines))
    assert said.startswith("ERROR")
    assert words in said
