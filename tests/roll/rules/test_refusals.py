"""Settings and classes that stop a node under another release (kafkactl.roll.rules.refusals)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkactl.protocol.catalog.releases import find_release, release_names
from kafkactl.roll.rules.refusals import (
    MissingClass,
    RefusedSetting,
    missing_classes,
    refused_broker_settings,
    refused_settings,
    refused_topic_settings,
    unread_settings,
)
from tests.roll.rules.refusal_rows import BROKER, COMBINATIONS, FILE_REFUSALS, TOPIC_REFUSALS, since

AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"


def refusing(key: str, value: str, file: Mapping[str, str] = BROKER) -> list[str]:
    """Return the releases that refuse the setting, by the key alone."""
    names = []
    for name in release_names():
        if any(refused.key == key for refused in refused_settings(find_release(name), {**file, key: value})):
            names.append(name)
    return names


@pytest.mark.parametrize(("key", "value", "releases"), FILE_REFUSALS)
def test_setting_is_refused_by_these_releases(key: str, value: str, releases: tuple[str, ...]) -> None:
    assert refusing(key, value) == list(releases)


def test_file_of_a_broker_is_taken_by_every_release() -> None:
    for name in release_names():
        assert refused_settings(find_release(name), BROKER) == []


def test_every_refused_setting_of_a_file_is_returned() -> None:
    found = refused_settings(find_release("4.2"), {**BROKER, "log.segment.bytes": "100000", "log.dirs": "/a,"})
    assert [(refused.key, refused.value) for refused in found] == [("log.dirs", "/a,"), ("log.segment.bytes", "100000")]
    assert "Value must be at least 1048576" in found[1].error


def test_missing_key_has_no_value() -> None:
    file = {key: value for key, value in BROKER.items() if key != "controller.listener.names"}
    found = refused_settings(find_release("4.3"), file)
    assert [(refused.key, refused.value) for refused in found] == [("controller.listener.names", None)]


@pytest.mark.parametrize(("settings", "releases"), COMBINATIONS)
def test_settings_that_do_not_fit_are_refused_by_these_releases(
    settings: Mapping[str, str], releases: tuple[str, ...]
) -> None:
    refused = [name for name in release_names() if refused_settings(find_release(name), {**BROKER, **settings})]
    assert refused == list(releases)


def test_bootstrap_servers_alone_are_refused_by_old_releases() -> None:
    file = {key: value for key, value in BROKER.items() if key != "controller.quorum.voters"}
    assert refusing("controller.quorum.bootstrap.servers", "localhost:9093", file) == []
    file["controller.quorum.bootstrap.servers"] = "localhost:9093"
    refused = [name for name in release_names() if refused_settings(find_release(name), file)]
    assert refused == list(since("3.3", "3.7"))


def test_value_of_a_password_is_not_returned() -> None:
    file = {**BROKER, "num.network.threads": "password=hunter2"}
    assert "hunter2" not in repr(refused_settings(find_release("4.3"), file))


HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
OAUTH = {
    **BROKER,
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.name.plaintext.oauthbearer.sasl.server.callback.handler.class": HANDLER,
}
KEYS, AUDIENCE, ISSUER = (
    f"sasl.oauthbearer.{name}" for name in ("jwks.endpoint.url", "expected.audience", "expected.issuer")
)
ALLOWED = {f"sasl.oauthbearer.allow.unverified.{name}": "true" for name in ("audience", "issuer")}


@pytest.mark.parametrize(
    ("settings", "releases"),
    [
        ({KEYS: "https://idp.example", AUDIENCE: "kafka", ISSUER: "https://idp.example"}, ()),
        ({KEYS: "https://idp.example", AUDIENCE: "kafka"}, since("4.4")),
        ({KEYS: "https://idp.example", ISSUER: "https://idp.example"}, since("4.4")),
        ({KEYS: "https://idp.example", **ALLOWED}, ()),
        ({AUDIENCE: "kafka", ISSUER: "https://idp.example"}, since("4.3")),
        ({"sasl.oauthbearer.jwt.validator.class": "org.example.Validator"}, ()),
    ],
)
def test_validator_of_oauth_requires_settings(settings: Mapping[str, str], releases: tuple[str, ...]) -> None:
    for prefix in ("", "listener.name.plaintext.", "listener.name.plaintext.oauthbearer."):
        file = {**OAUTH, **{f"{prefix}{key}": value for key, value in settings.items()}}
        refused = {name: refused_settings(find_release(name), file) for name in release_names()}
        assert [name for name, found in refused.items() if found] == list(releases)
        assert all("requires" in found.error for settings in refused.values() for found in settings)


def test_validator_of_a_listener_that_is_not_open_requires_nothing() -> None:
    key = "listener.name.other.oauthbearer.sasl.server.callback.handler.class"
    assert refused_settings(find_release("4.4"), {**BROKER, key: HANDLER}) == []


TIERED = {
    **BROKER,
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "org.example.Store",
    "remote.log.metadata.manager.class.name": (
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"
    ),
}
LISTENER = "remote.log.metadata.manager.listener.name"


@pytest.mark.parametrize(
    ("settings", "releases"),
    [({LISTENER: "PLAINTEXT"}, ()), ({}, since("4.2")), ({LISTENER: "OTHER"}, since("3.3"))],
)
def test_tiered_storage_needs_a_listener(settings: Mapping[str, str], releases: tuple[str, ...]) -> None:
    refused = {name: refused_settings(find_release(name), {**TIERED, **settings}) for name in release_names()}
    assert [name for name, found in refused.items() if found] == list(releases)
    assert {found.key for settings in refused.values() for found in settings} <= {LISTENER}


def test_redacted_value_is_unknown_and_not_refused() -> None:
    file = {**BROKER, "num.replica.fetchers": "<redacted>", "ssl.keystore.password": "<redacted>"}
    assert refused_settings(find_release("4.3"), file) == []
    assert unread_settings(find_release("4.3"), file) == ["num.replica.fetchers"]


def test_value_of_a_config_provider_is_unknown_and_not_refused() -> None:
    provider = {"config.providers": "env", "config.providers.env.class": "org.example.Vault"}
    file = {**BROKER, **provider, "log.segment.bytes": "${env:SIZE}"}
    assert refused_settings(find_release("4.3"), file) == []
    assert unread_settings(find_release("4.3"), file) == ["log.segment.bytes"]


def test_removed_class_is_missing_and_not_refused_twice() -> None:
    file = {**BROKER, "authorizer.class.name": AUTHORIZER}
    assert missing_classes(find_release("3.9"), file) == []
    assert missing_classes(find_release("4.0"), file) == [
        MissingClass("authorizer.class.name", AUTHORIZER, known_from="3.3", known_to="3.9")
    ]
    secured = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
    file = {**BROKER, "sasl.login.callback.handler.class": secured}
    assert [missing.class_name for missing in missing_classes(find_release("4.0"), file)] == [secured]
    assert refused_settings(find_release("4.0"), file) == []


def test_missing_class_of_a_listener_is_found() -> None:
    secured = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
    key = "listener.name.external.oauthbearer.sasl.server.callback.handler.class"
    assert [missing.key for missing in missing_classes(find_release("4.1"), {key: secured})] == [key]


def test_class_in_a_setting_of_a_plugin_is_not_looked_at() -> None:
    assert missing_classes(find_release("4.0"), {"my.plugin.delegate": AUTHORIZER}) == []


@pytest.mark.parametrize(("key", "value", "releases"), TOPIC_REFUSALS)
def test_topic_setting_is_refused_by_these_releases(key: str, value: str, releases: tuple[str, ...]) -> None:
    names = [name for name in release_names() if refused_topic_settings(find_release(name), {key: value})]
    assert names == list(releases)


def test_stored_setting_of_a_broker_out_of_bounds_is_returned() -> None:
    found = refused_broker_settings(find_release("4.0"), {"log.segment.bytes": "100000", "zookeeper.connect": "a"})
    assert found == [
        RefusedSetting(
            "log.segment.bytes",
            "100000",
            "Invalid value 100000 for configuration log.segment.bytes: Value must be at least 1048576",
        )
    ]


def test_voter_at_any_address_ends_every_release_from_3_8_on() -> None:
    file = {**BROKER, "controller.quorum.voters": "3001@0.0.0.0:9093"}
    refused = {name: refused_settings(find_release(name), file) for name in release_names()}
    assert [name for name, found in refused.items() if found] == list(since("3.8"))
    assert {found.error for settings in refused.values() for found in settings} == {
        "Host string (0.0.0.0) is not routeable"
    }
