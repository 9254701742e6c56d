"""The part of the catalogue of verify that is about settings: in the file of the node, and in its metadata log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kafkactl.core.values import Uuid
from tests.lab.harness.releases import VERSIONS
from tests.lab.harness.services.secured import SCRAM_ALICE
from tests.lab.storage.verify_cases import CONTROLLER, ONE, Case
from tests.lab.storage.verify_damage import Damage, stored

_TOPIC, _CONFIG, _REMOVED = 2, 4, 9
_SMALL = Uuid(b"\x12" * 16)
_LISTENER = "remote.log.metadata.manager.listener.name"
_CLIENT_LOGIN = "listener.name.plaintext.plain.sasl.jaas.config"
SINCE_39 = tuple(version for version in VERSIONS if version >= "3.9")


def _topic_with(key: str, value: str, *more: tuple[int, dict[str, object]]) -> Damage:
    """Return the case in which a topic of the cluster, without a replica on this node, has a setting."""
    return stored(
        (_TOPIC, {"Name": "small", "TopicId": _SMALL}),
        (_CONFIG, {"ResourceType": 2, "ResourceName": "small", "Name": key, "Value": value}),
        *more,
    )


def _in_the_log() -> Iterator[Case]:
    small = _topic_with("segment.bytes", "100000")
    yield Case(
        name="topic with a small segment", releases=SINCE_39, formatted_by="3.9.2", started_once=True, damage=small
    )
    yield Case(
        name="controller, topic with a small segment", releases=("4.3.1",), formatted_by="3.9.2", started_once=True,
        damage=small, node=CONTROLLER,
    )  # fmt: skip
    gone = _topic_with("segment.bytes", "100000", (_REMOVED, {"TopicId": _SMALL}))
    yield Case(
        name="deleted topic with a small segment", releases=("4.3.1",), formatted_by="3.9.2", started_once=True,
        damage=gone,
    )  # fmt: skip
    for key, value in (("compression.gzip.level", "15"), ("retention.ms", "-7"), ("message.format.version", "3.0")):
        yield Case(
            name=f"topic with {key}={value}", releases=("3.9.2", "4.3.1"), formatted_by="3.9.2", started_once=True,
            damage=_topic_with(key, value),
        )  # fmt: skip
    yield Case(
        name="tiered topic without tiered storage", releases=("3.9.2", "4.3.1", "4.4.0"), formatted_by="3.9.2",
        started_once=True, damage=_topic_with("remote.storage.enable", "true"),
    )  # fmt: skip
    own = stored(
        (_CONFIG, {"ResourceType": 4, "ResourceName": "1", "Name": "log.segment.bytes", "Value": "100000"}),
    )
    yield Case(
        name="dynamic setting out of range", releases=("3.9.2", "4.3.1"), formatted_by="3.9.2", started_once=True,
        damage=own,
    )  # fmt: skip


_TIERED = {"remote.log.storage.system.enable": "true"}
_STORE = {"remote.log.storage.manager.class.name": "org.example.NoStore"}
_OWN_SASL = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"}
_CLIENT_SASL = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
}
_OPTIONS = f'required username="alice" password="{SCRAM_ALICE}"'
_PLAIN = f'org.apache.kafka.common.security.plain.PlainLoginModule {_OPTIONS} user_alice="{SCRAM_ALICE}";'
_SCRAM = f"org.apache.kafka.common.security.scram.ScramLoginModule {_OPTIONS};"
_BY_SCRAM = {
    **_OWN_SASL,
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
    "listener.name.controller.scram-sha-256.sasl.jaas.config": _SCRAM,
}
_USER = ("--add-scram", f"SCRAM-SHA-256=[name=alice,password={SCRAM_ALICE}]")
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_TWO_RELEASES = ("3.9.2", "4.3.1")


def _in_the_file() -> Iterator[Case]:
    """Yield settings that the storage tool takes and that a start does not survive."""
    files = {
        "tiered storage without a class": _TIERED | {_LISTENER: "PLAINTEXT"},
        "tiered storage with an unknown listener": _TIERED | _STORE | {_LISTENER: "NOPE"},
        "a login that does not end": _CLIENT_SASL | {_CLIENT_LOGIN: _PLAIN.rstrip(";")},
        "two logins in one": _CLIENT_SASL | {_CLIENT_LOGIN: _PLAIN + _PLAIN},
        "a login for clients": _CLIENT_SASL | {_CLIENT_LOGIN: _PLAIN},
        "scram at the own controller without a user": _BY_SCRAM,
        "a mechanism that the own controller does not offer": _OWN_SASL
        | {
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.controller.scram-sha-256.sasl.jaas.config": _SCRAM,
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": _PLAIN,
        },
        "an authorizer of ZooKeeper": {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"},
        "a reporter of another release": {"metric.reporters": "kafka.security.authorizer.AclAuthorizer"},
        "a selector of another release": {"replica.selector.class": "kafka.security.authorizer.AclAuthorizer"},
        "three voters at one address": {"controller.quorum.voters": "1@localhost:1,2@localhost:1,3@localhost:1"},
    }
    for name, more in files.items():
        newer = name.startswith("tiered storage with an") or name.endswith("of another release")
        releases = ("4.3.1",) if newer else _TWO_RELEASES
        yield Case(name=name, releases=releases, node=replace(ONE, more=more))
    yield Case(
        name="scram at the own controller", releases=_TWO_RELEASES, node=replace(ONE, more=_BY_SCRAM, flags=_USER)
    )
    alone = replace(CONTROLLER, more=_BY_SCRAM)
    yield Case(name="controller alone by scram without a user", releases=("4.3.1",), node=alone)
    oauth = {
        **_CLIENT_SASL,
        _CLIENT_LOGIN: _PLAIN,
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "listener.name.plaintext.oauthbearer.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
        "listener.name.plaintext.oauthbearer.sasl.server.callback.handler.class": (
            f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
        ),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "https://idp.example",
    }
    yield Case(name="oauth without the URL of keys", releases=("4.3.1", "4.4.0"), node=replace(ONE, more=oauth))
    migrating = {"zookeeper.metadata.migration.enable": "true", "zookeeper.connect": "localhost:1"}
    yield Case(
        name="migration flag after the founding", releases=("3.6.2", "3.7.2", "3.9.2"), node=CONTROLLER,
        becomes=replace(CONTROLLER, more=migrating), started_once=True,
    )  # fmt: skip


SETTING_CASES: tuple[Case, ...] = (*_in_the_log(), *_in_the_file())
SETTING_REPRESENTATIVES: tuple[tuple[str, str], ...] = (
    ("topic with a small segment", "4.1.2"),
    ("tiered storage with an unknown listener", "4.3.1"),
    ("scram at the own controller without a user", "3.9.2"),
    ("oauth without the URL of keys", "4.4.0"),
)
