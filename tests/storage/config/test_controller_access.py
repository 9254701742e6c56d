"""Client properties for the controllers from a node's own file, as Kafka's channel to them reads it."""

from __future__ import annotations

from kafkactl.storage.config.controller_access import controller_client_properties
from tests.storage.nodes import a_config

MAP = "CONTROLLER:SASL_SSL,PLAINTEXT:PLAINTEXT"
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ctl" password="secret";'


def test_plaintext_listener_needs_nothing() -> None:
    found = controller_client_properties(a_config())
    assert found == {"security.protocol": "PLAINTEXT", "sasl.mechanism": "GSSAPI"}


def test_setting_of_the_listener_overrides_the_general_setting() -> None:
    config = a_config(
        listener_security_protocol_map=MAP,
        ssl_truststore_location="/all.jks",
        ssl_keystore_location="/all-keys.jks",
        sasl_mechanism_controller_protocol=" PLAIN",
        listener_name_controller_ssl_truststore_location="/controllers.jks",
        listener_name_controller_plain_sasl_jaas_config=LOGIN,
    )
    found = controller_client_properties(config)
    assert found["security.protocol"] == "SASL_SSL"
    assert found["ssl.truststore.location"] == "/controllers.jks"
    assert found["ssl.keystore.location"] == "/all-keys.jks"
    assert (found["sasl.mechanism"], found["sasl.jaas.config"]) == ("PLAIN", LOGIN)


def test_login_without_a_mechanism_is_not_a_login_between_nodes() -> None:
    config = a_config(
        listener_security_protocol_map=MAP,
        sasl_mechanism_controller_protocol="PLAIN",
        sasl_jaas_config=LOGIN,
    )
    assert "sasl.jaas.config" not in controller_client_properties(config)


def test_settings_of_the_server_that_clients_have_under_the_same_name_stay_out() -> None:
    assert "request.timeout.ms" not in controller_client_properties(a_config(request_timeout_ms="1"))
