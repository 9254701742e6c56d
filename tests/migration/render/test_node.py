"""Configuration files for every phase: what table 1.2 of the procedure asks for, and the operator's file around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.migration.render.facts import ConfigPhase, cluster_facts, node_file
from kafkactl.migration.render.node import Rendered, phase_diff, render, render_cluster
from kafkactl.protocol.text.properties import parse_properties
from tests.migration.render.files import broker, cluster, controller

ORIGINAL, MIGRATION, KRAFT, FINAL = ConfigPhase
QUORUM = "3001@kc-3001:9093,3002@kc-3002:9093"


def _made(node, phase, *others) -> Rendered:
    nodes = [node, *(others or [file for file in cluster() if file.id != node.id])]
    facts = cluster_facts(nodes)
    made = render(node, phase, facts)
    return Rendered(
        node=made.node, role=made.role, phase=made.phase, content=made.content, set=made.set, removed=made.removed,
        findings=(*facts.findings, *made.findings),
    )  # fmt: skip


def _read(made):
    return dict(parse_properties(made.content).mapping)


def _ids(made):
    return [finding.id for finding in made.findings]


def test_file_of_a_broker_in_migration_mode_is_rendered():
    made = _made(broker(1), MIGRATION)
    before = dict(broker(1).given)
    assert made.findings == ()
    assert _read(made) == before | {
        "zookeeper.metadata.migration.enable": "true",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": QUORUM,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    assert made.removed == ()


def test_file_of_a_broker_on_kraft_is_rendered():
    made = _made(broker(1), KRAFT)
    assert made.findings == ()
    found = _read(made)
    assert made.removed == (
        "broker.id",
        "inter.broker.protocol.version",
        "zookeeper.connect",
        "zookeeper.session.timeout.ms",
    )
    assert (found["process.roles"], found["node.id"]) == ("broker", "1")
    assert found["authorizer.class.name"] == "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert found["password.encoder.secret"] == "encoder-hunter2"
    assert found["controller.quorum.voters"] == QUORUM
    assert not [key for key in found if key.startswith("zookeeper.")]


def test_files_of_a_controller_are_rendered_with_and_without_the_flag():
    first = _made(controller(3001), MIGRATION)
    assert first.findings == ()
    found = _read(first)
    assert found["zookeeper.metadata.migration.enable"] == "true"
    assert found["zookeeper.connect"] == "zk1:2181,zk2:2181/kafka"
    assert found["zookeeper.session.timeout.ms"] == "18000"
    assert found["inter.broker.listener.name"] == "INTERNAL"
    assert found["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT"
    assert found["authorizer.class.name"] == "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    assert found["password.encoder.secret"] == "encoder-hunter2"
    file = node_file(3001, first.role, first.content, file="x")
    last = _made(file, FINAL)
    assert {key for key in found if key not in _read(last)} == {
        "zookeeper.metadata.migration.enable",
        "zookeeper.connect",
        "zookeeper.session.timeout.ms",
    }


def test_rollback_is_the_original_to_the_byte():
    for node in cluster():
        assert _made(node, ORIGINAL).content == node.content


@pytest.mark.parametrize("node", cluster(), ids=lambda node: node.name)
def test_rendering_what_is_rendered_changes_nothing(node):
    for phase in (MIGRATION, KRAFT if node.role == "broker" else FINAL):
        made = _made(node, phase)
        again = _made(node_file(node.id, node.role, made.content, file="x"), phase)
        assert again.content == made.content
        assert again.set == ()
    # The file of the phase before leads to the same.
    last = KRAFT if node.role == "broker" else FINAL
    between = node_file(node.id, node.role, _made(node, MIGRATION).content, file="x")
    assert _read(_made(between, last)) == _read(_made(node, last))


def test_comments_and_order_stay_and_the_diff_is_small():
    node = broker(1)
    made = _made(node, MIGRATION)
    text = made.content.decode()
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Broker 1 of the orders cluster",
        "# Network",
        "# keep me",
    ]
    assert "listeners = PLAINTEXT://0.0.0.0:9092,\\\n    INTERNAL://0.0.0.0:9094\n" in text
    diff = phase_diff(node.content, made.content, name="broker 1", phases=(ORIGINAL, MIGRATION))
    changed = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert len(changed) == 5
    assert "hunter" not in diff


@pytest.mark.slow
@given(
    st.lists(
        st.sampled_from(["# c", "", "a.b=1", "zookeeper.set.acl: true", "key = v\\", "process.roles="]), max_size=6
    )
)
def test_rendered_file_is_rendered_again_unchanged(lines):
    text = "\n".join([*lines, ""])
    node = node_file(1, broker().role, broker(1).content + text.encode(), file="x")
    for phase in (MIGRATION, KRAFT):
        made = _made(node, phase)
        if made.content is not None:
            again = _made(node_file(1, node.role, made.content, file="x"), phase)
            assert again.content == made.content


def test_generated_id_is_written_down_and_let_through():
    node = broker(1001, broker_id=None)
    made = _made(node, MIGRATION)
    assert (_read(made)["broker.id"], _read(made)["broker.id.generation.enable"]) == ("1001", "false")
    assert _ids(made) == ["render-broker-id-written"]
    kraft = _read(_made(node, KRAFT))
    assert kraft["node.id"] == "1001"
    assert "broker.id.generation.enable" not in kraft


def test_broker_without_a_protocol_map_gets_kafkas_default_and_the_controllers():
    node = broker(1, listener_security_protocol_map=None, inter_broker_listener_name=None).content.replace(
        b"INTERNAL://", b"SSL://"
    )
    node = node_file(1, broker().role, node, file="x")
    made = _made(node, MIGRATION, controller(3001), controller(3002))
    assert _read(made)["listener.security.protocol.map"] == (
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT"
    )


def test_control_plane_listener_goes_with_zookeeper():
    node = broker(1, control_plane_listener_name="INTERNAL", inter_broker_listener_name="PLAINTEXT")
    other = broker(2, inter_broker_listener_name="PLAINTEXT")
    others = (other, controller(3001), controller(3002))
    assert _read(_made(node, MIGRATION, *others))["control.plane.listener.name"] == "INTERNAL"
    assert "control.plane.listener.name" in _made(node, KRAFT, *others).removed


def test_secured_controller_listener_is_rendered():
    secured = {"listener_security_protocol_map": "CONTROLLER:SASL_SSL", "sasl_mechanism_controller_protocol": "PLAIN"}
    others = (broker(2), controller(3001, **secured), controller(3002, **secured))
    made = _made(broker(1), MIGRATION, *others)
    assert _read(made)["sasl.mechanism.controller.protocol"] == "PLAIN"
    assert _read(made)["listener.security.protocol.map"].endswith(",CONTROLLER:SASL_SSL")
    assert _ids(made) == ["render-credentials-unknown"] * 2
    jaas = {
        "listener.name.controller.plain.sasl.jaas.config": "x",
        "listener.name.controller.ssl.truststore.location": "/t",
    }
    node = broker(1, **{key.replace(".", "_"): value for key, value in jaas.items()})
    assert _ids(_made(node, MIGRATION, *others)) == []


def test_credentials_for_the_controllers_are_rendered():
    secured = {
        "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,INTERNAL:SASL_SSL",
        "sasl_mechanism_inter_broker_protocol": "PLAIN",
        "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-256",
    }
    others = (broker(1, **secured), broker(2, **secured), controller(3002))
    made = _made(controller(3001), MIGRATION, *others)
    assert _read(made)["sasl.mechanism.inter.broker.protocol"] == "PLAIN"
    assert _read(made)["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT,INTERNAL:SASL_SSL"
    assert _read(made)["listener.name.internal.sasl.enabled.mechanisms"] == "PLAIN,SCRAM-SHA-256"
    assert _ids(made) == ["render-credentials-unknown"] * 2
    own = controller(3001, sasl_jaas_config="x", ssl_truststore_location="/t")
    assert _ids(_made(own, MIGRATION, *others)) == []


@pytest.mark.parametrize(
    ("nodes", "id"),
    [
        ([broker(1), controller(3001, controller_quorum_voters=None)], "render-setting-missing"),
        ([broker(1), controller(3001, controller_listener_names=None)], "render-setting-missing"),
        ([broker(1), controller(3001, listener_security_protocol_map="OTHER:PLAINTEXT")], "render-listener-not-mapped"),
        ([broker(1), controller(3001), controller(3002, controller_listener_names="CTRL")], "render-nodes-disagree"),
        ([broker(1), broker(2, inter_broker_listener_name="PLAINTEXT"), controller(3001)], "render-nodes-disagree"),
        ([broker(1), broker(2, zookeeper_connect="zk1:2181/other"), controller(3001)], "render-nodes-disagree"),
        ([broker(1), broker(2, password_encoder_secret="x"), controller(3001)], "render-nodes-disagree"),
        ([broker(1, password_encoder_secret="<redacted>"), controller(3001)], "render-secret-not-shown"),
        ([broker(1, password_encoder_secret="${file:/s:x}"), controller(3001)], "render-secret-not-shown"),
    ],
)
def test_conflicting_files_are_reported_without_their_values(nodes, id):
    facts = cluster_facts(nodes)
    assert id in [finding.id for finding in facts.findings]
    assert "hunter2" not in str([finding.to_dict() for finding in facts.findings])


@pytest.mark.parametrize(
    ("node", "phase", "id"),
    [
        (broker(1, broker_id="2"), MIGRATION, "render-file-of-another-node"),
        (broker(1, process_roles="broker,controller"), KRAFT, "render-combined-node"),
        (broker(1, process_roles="broker", zookeeper_connect=None), MIGRATION, "render-original-needed"),
        (controller(3001, process_roles="broker,controller"), MIGRATION, "render-combined-node"),
        (controller(3001, node_id="5"), MIGRATION, "render-file-of-another-node"),
        (controller(2, node_id="2"), MIGRATION, "render-controller-id-taken"),
    ],
)
def test_no_file_is_made_of_what_does_not_fit(node, phase, id):
    others = (broker(2), controller(3002)) if node.role == "broker" else (broker(1), broker(2), controller(3002))
    made = render(node, phase, cluster_facts([node, *others]))
    assert made.content is None
    assert [finding.id for finding in made.findings] == [id]


@pytest.mark.parametrize(
    ("node", "phase", "id"),
    [
        (controller(3001, super_users=None), MIGRATION, "render-super-users-unknown"),
        (controller(3001, password_encoder_secret="another"), MIGRATION, "render-secret-differs"),
        (controller(3001, zookeeper_connect="zk1:2181"), MIGRATION, "render-another-chroot"),
        (controller(3001, listeners=None), MIGRATION, "rendered-file-refused"),
        (broker(1, super_users=None), KRAFT, "render-super-users-unknown"),
        (broker(1, authorizer_class_name="com.example.Own"), KRAFT, "render-custom-authorizer"),
        (broker(1, ssl_key_password="<redacted>"), KRAFT, "render-file-redacted"),
        (broker(1, log_segment_bytes="many"), KRAFT, "rendered-file-refused"),
    ],
)
def test_rendered_file_has_findings_for_the_operator(node, phase, id):
    made = _made(node, phase)
    assert id in _ids(made)
    assert "hunter2" not in str([finding.to_dict() for finding in made.findings])


def test_controller_gets_what_the_brokers_decided():
    shared = {
        "min_insync_replicas": "2", "default_replication_factor": "3", "log_retention_hours": "24",
        "unclean_leader_election_enable": "false", "message_max_bytes": "5000000",
    }  # fmt: skip
    own = {"auto_create_topics_enable": "false", "broker_session_timeout_ms": "1", "num_io_threads": "9"}
    brokers = (broker(1, **shared, **own), broker(2, **shared, **own))
    for phase in (MIGRATION, FINAL):
        made = _made(controller(3001), phase, *brokers, controller(3002))
        held = _read(made)
        assert {key: held[key.replace("_", ".")] for key in shared} == shared
        assert held["num.partitions"] == "3"
        assert not {key.replace("_", ".") for key in own} & set(held)
        assert _ids(made) == []


def test_setting_of_a_controllers_file_is_kept_and_reported():
    made = _made(controller(3001, num_partitions="1"), MIGRATION, broker(1), broker(2), controller(3002))
    assert _read(made)["num.partitions"] == "1"
    assert _ids(made) == ["render-setting-kept"]
    assert _ids(_made(controller(3001, num_partitions="3"), MIGRATION, broker(1), broker(2), controller(3002))) == []


def test_policy_is_taken_over_with_a_word_on_its_class():
    policy = {"create_topic_policy_class_name": "com.example.Policy"}
    made = _made(controller(3001), MIGRATION, broker(1, **policy), broker(2, **policy), controller(3002))
    assert _read(made)["create.topic.policy.class.name"] == "com.example.Policy"
    assert _ids(made) == ["render-class-needed"]


@pytest.mark.parametrize(
    ("other", "id"),
    [
        ({"num_partitions": "4"}, "render-settings-differ"),
        ({"num_partitions": None}, "render-settings-differ"),
        ({"num_partitions": "${file:/s:x}"}, "render-setting-not-shown"),
        ({"num_partitions": "<redacted>"}, "render-setting-not-shown"),
    ],
)
def test_brokers_that_differ_give_no_value(other, id):
    nodes = [broker(1), broker(2, **other), controller(3001)]
    facts = cluster_facts(nodes)
    assert [(finding.id, finding.severity.value) for finding in facts.findings] == [(id, "warning")]
    assert "num.partitions" not in _read(render(nodes[2], MIGRATION, facts))


def test_broker_with_the_controllers_listener_is_refused():
    node = broker(1).content.replace(b"INTERNAL", b"CONTROLLER")
    made = _made(node_file(1, broker().role, node, file="x"), MIGRATION, controller(3001))
    assert "render-listener-name-taken" in _ids(made)


def _with_control_plane(id: int, name: str):
    listeners = f"PLAINTEXT://:9092,INTERNAL://:9094,{name}://:9090"
    named = f"PLAINTEXT://kafka-{id}:9092,INTERNAL://kafka-{id}:9094,{name}://kafka-{id}:9090"
    protocols = f"PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,{name}:PLAINTEXT"
    text = broker(id).content.replace(b"listeners = PLAINTEXT://0.0.0.0:9092,\\\n    INTERNAL://0.0.0.0:9094\n", b"")
    plain = node_file(id, broker().role, text, file="x").content.decode()
    return broker(
        id, plain.replace("{", "{{").replace("}", "}}"), listeners=listeners, advertised_listeners=named,
        listener_security_protocol_map=protocols, control_plane_listener_name=name,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["CONTROLLER", "controller"])
def test_control_plane_listener_of_the_controllers_name_stays_in_migration_mode_and_goes_on_kraft(name: str):
    node = _with_control_plane(1, name)
    entering = _made(node, MIGRATION, broker(2), controller(3001))
    assert "render-listener-name-taken" not in _ids(entering)
    assert _read(entering)["control.plane.listener.name"] == name
    assert f"{name}://:9090" in _read(entering)["listeners"]
    found = _read(_made(node, KRAFT, broker(2), controller(3001)))
    assert found["listeners"] == "PLAINTEXT://:9092,INTERNAL://:9094"
    assert found["advertised.listeners"] == "PLAINTEXT://kafka-1:9092,INTERNAL://kafka-1:9094"
    assert f"{name}:PLAINTEXT" in found["listener.security.protocol.map"]
    assert "control.plane.listener.name" not in found


def test_control_plane_listener_of_another_name_stays_a_listener_on_kraft():
    found = _read(_made(_with_control_plane(1, "PLANE"), KRAFT, broker(2), controller(3001)))
    assert "PLANE://:9090" in found["listeners"]


@pytest.mark.parametrize("key", ["ssl_principal_mapping_rules", "sasl_kerberos_principal_to_local_rules"])
def test_rules_for_principals_are_carried_over_to_controllers(key: str):
    rule = "RULE:^CN=(.*?),.*$/$1/,DEFAULT"
    brokers = [broker(1, **{key: rule}), broker(2, **{key: rule})]
    name = key.replace("_", ".")
    for phase in (MIGRATION, FINAL):
        assert _read(_made(controller(3001), phase, *brokers))[name] == rule
    own = _read(_made(controller(3001, **{key: "DEFAULT"}), MIGRATION, *brokers))
    assert own[name] == "DEFAULT"
    assert name not in _read(_made(controller(3001), MIGRATION, brokers[0], broker(2)))


def test_keystores_for_zookeeper_are_needed_on_the_controllers_too():
    stores = {"zookeeper_ssl_keystore_location": "/etc/zk.jks", "zookeeper_ssl_keystore_password": "hunter3"}
    made = _made(controller(3001), MIGRATION, broker(1, **stores), broker(2, **stores), controller(3002))
    assert _read(made)["zookeeper.ssl.keystore.password"] == "hunter3"
    assert _ids(made) == ["render-file-needed"]


def test_all_files_of_a_cluster_are_rendered():
    nodes = cluster()
    made = render_cluster(nodes, cluster_facts(nodes))
    assert [(rendered.node, rendered.phase.value) for rendered in made[:4]] == [
        (1, "original"), (1, "migration"), (1, "kraft"), (2, "original"),
    ]  # fmt: skip
    assert len(made) == 12
    with pytest.raises(ValueError, match="a broker has no phase"):
        render(nodes[0], FINAL, cluster_facts(nodes))
