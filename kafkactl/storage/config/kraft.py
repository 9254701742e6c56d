"""Rules about roles, ids, quorum and listeners, each a question to the `ConfigView`.

Rule: a rule yields what Kafka would refuse, with Kafka's key phrase; one id a cause. Sources: core
`KafkaConfig.validateValues`, raft `QuorumConfig`; KIP-500, KIP-853, KIP-866.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.cluster.quorum.voters import is_host_pattern
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.protocol.text.config_values import Problem
from kafkactl.storage.config.keys import metadata_version_name, predates_kraft
from kafkactl.storage.config.listeners import PROTOCOL_MAP, csv_items, csv_map
from kafkactl.storage.config.view import (
    INTER_BROKER_LISTENER,
    ConfigView,
)

CONTROLLER_NAMES = "controller.listener.names"
VOTERS = "controller.quorum.voters"
BOOTSTRAP_SERVERS = "controller.quorum.bootstrap.servers"
_SASL = ("SASL_PLAINTEXT", "SASL_SSL")


def check_roles(view: ConfigView) -> Iterator[Problem]:
    """Check that no role is named twice; each single role is checked already."""
    if len(set(view.roles)) != len(view.roles):
        words = f"Duplicate role names found in `process.roles`: {', '.join(view.roles)}"
        yield Problem(id="duplicate-process-role", key="process.roles", words=words)


def check_early_start_listeners(view: ConfigView) -> Iterator[Problem]:
    """Check that listeners that start early exist; Kafka reads the listeners here for the first time."""
    known = view.listener_names | {listener.name for listener in view.controller_listeners}
    value = view.get("early.start.listeners")
    items = [item.strip() for item in csv_items(value)] if isinstance(value, str) else value or ()
    for name in items:
        if name not in known:
            yield Problem(
                id="unknown-early-start-listener",
                key="early.start.listeners",
                words=f"early.start.listeners contains listener {name}, but this is not contained in listeners or"
                f" {CONTROLLER_NAMES}",
            )


def check_connection_overrides(view: ConfigView) -> Iterator[Problem]:
    """Check that `max.connections.per.ip.overrides` is a map of numbers."""
    from kafkactl.protocol.text.java_text import parse_int

    key = "max.connections.per.ip.overrides"
    for address, count in csv_map(view.get(key), key).items():
        if parse_int(count) is None:
            words = f'{key}: For input string: "{count}" (of {address})'
            yield Problem(id="invalid-config-map", key=key, words=words, next_step="Write address:number.")


def check_inter_broker_protocol(view: ConfigView) -> Iterator[Problem]:
    """Check that a given inter.broker.protocol.version is one that KRaft can run with (3.x)."""
    key = "inter.broker.protocol.version"
    text = view.get(key)
    if not view.is_kraft or not view.is_given(key) or text is None:
        return
    name = metadata_version_name(text, view.release.testing_level, view.release.production_level)
    if name is not None and predates_kraft(name):
        words = f"A non-KRaft version {text} given for {key}. The minimum version is 3.0-IV1"
        yield Problem(id="inter-broker-protocol-before-kraft", key=key, words=words, next_step=f"Remove {key}.")


def check_group_protocols(view: ConfigView) -> Iterator[Problem]:
    """Check that the classic group protocol is not disabled."""
    key = "group.coordinator.rebalance.protocols"
    protocols = view.get(key)
    if protocols is not None and "classic" not in [protocol.lower() for protocol in protocols]:
        words = "Disabling the 'classic' protocol is not supported."
        yield Problem(id="classic-protocol-disabled", key=key, words=words)


def check_ids(view: ConfigView) -> Iterator[Problem]:
    """Check that a KRaft node has an id: node.id, or broker.id, which means the same."""
    node_id, broker_id = view.get("node.id"), view.get("broker.id")
    if node_id != broker_id:
        yield Problem(
            id="node-id-differs-from-broker-id",
            key="node.id",
            words=f"You must set `node.id` to the same value as `broker.id` (found {node_id} and {broker_id}).",
        )
    if view.is_kraft and node_id < 0:
        yield Problem(
            id="missing-node-id",
            key="node.id",
            words="Missing configuration `node.id` which is required when `process.roles` is defined"
            " (i.e. when running in KRaft mode).",
        )


def check_zookeeper(view: ConfigView) -> Iterator[Problem]:
    """Check the ZooKeeper settings that a node of 3.x requires."""
    if "zookeeper.connect" not in view.values.keys:
        return
    migrates = bool(view.get(MIGRATION_ENABLE))
    if not view.is_kraft and view.get("zookeeper.connect") is None:
        yield Problem(
            id="missing-process-roles",
            key="process.roles",
            words="Missing required configuration `zookeeper.connect` which has no default value."
            " (process.roles is not set either, so Kafka takes this for a ZooKeeper-mode broker.)",
        )
    if view.is_kraft and migrates and view.get("zookeeper.connect") is None:
        yield Problem(
            id="migration-without-zookeeper",
            key="zookeeper.connect",
            words=f"If using `{MIGRATION_ENABLE}` in KRaft mode, `zookeeper.connect` must also be set.",
        )


def check_quorum(view: ConfigView) -> Iterator[Problem]:
    """Check that the configuration names controllers, and that a node is a voter exactly if it is a controller."""
    if not view.is_kraft:
        return
    knows_bootstrap = BOOTSTRAP_SERVERS in view.values.keys
    if not view.voters and not (knows_bootstrap and view.get(BOOTSTRAP_SERVERS)):
        yield _no_quorum(view)
    if view.is_given("control.plane.listener.name") and view.get("control.plane.listener.name") is not None:
        words = "control.plane.listener.name is not supported in KRaft mode."
        key = "control.plane.listener.name"
        yield Problem(id="control-plane-listener-in-kraft", key=key, words=words)


def _no_quorum(view: ConfigView) -> Problem:
    words = f"If using process.roles, {VOTERS} must contain a parseable set of voters."
    next_step = f"Set {VOTERS} to 1@host1:9093,…"
    if view.release.knows_bootstrap_servers:
        words = (
            f"If using process.roles, either {BOOTSTRAP_SERVERS} must contain the set of bootstrap controllers or"
            f" {VOTERS} must contain a parseable set of controllers."
        )
        next_step = f"Set {BOOTSTRAP_SERVERS} to host1:9093,… (dynamic quorum)."
    return Problem(id="no-controller-quorum", key=VOTERS, words=words, next_step=next_step)


def check_membership(view: ConfigView) -> Iterator[Problem]:
    """Check that a broker is not a voter, and that a controller is one in a static quorum."""
    node_id, ids = view.get("node.id"), ", ".join(map(str, sorted(view.voter_ids)))
    if view.is_broker_only and node_id in view.voter_ids:
        words = (
            f"If process.roles contains just the 'broker' role, the node id {node_id} must not be included in the"
            f" set of voters {VOTERS}={ids}"
        )
        yield Problem(id="broker-is-voter", key=VOTERS, words=words)
    may_be_empty = view.release.knows_bootstrap_servers
    if view.is_controller and node_id not in view.voter_ids and not (may_be_empty and not view.voter_ids):
        words = (
            f"If process.roles contains the 'controller' role, the node id {node_id} must be included in the set of"
            f" voters {VOTERS}={ids}"
        )
        yield Problem(id="controller-not-among-voters", key=VOTERS, words=words)


def check_broker_only_listeners(view: ConfigView) -> Iterator[Problem]:
    """Check that a broker names the controllers' listener, does not open that listener, and has its security
    protocol."""
    if not view.is_broker_only:
        return
    names = view.controller_listener_names
    if not names:
        words = f"{CONTROLLER_NAMES} must contain at least one value when running KRaft with just the broker role"
        yield _listener_names("missing-controller-listener-names", words, f"Set {CONTROLLER_NAMES}=CONTROLLER.")
    if view.controller_listeners:
        words = f"{CONTROLLER_NAMES} must not contain a value appearing in the 'listeners' configuration when running"
        next_step = f"Remove {', '.join(listener.name for listener in view.controller_listeners)} from listeners."
        yield _listener_names("controller-listener-on-broker", f"{words} KRaft with just the broker role", next_step)
    for name in names:
        if name.upper() not in view.protocols:
            words = f"Controller listener with name {name.upper()} defined in {CONTROLLER_NAMES} not found in"
            next_step = f"Add {name.upper()} with its protocol to {PROTOCOL_MAP}."
            yield _listener_names("controller-listener-without-protocol", f"{words} {PROTOCOL_MAP}", next_step)
    if view.get("controller.quorum.auto.join.enable"):
        key = "controller.quorum.auto.join.enable"
        words = f"{key} is only supported when process.roles contains the 'controller' role."
        yield Problem(id="auto-join-on-broker", key=key, words=words, next_step=f"Remove {key}.")


def check_controller_only_listeners(view: ConfigView) -> Iterator[Problem]:
    """Check that a controller without the broker role has only controller listeners, and advertises none before 3.9."""
    if set(view.roles) != {"controller"}:
        return
    if not view.rules.advertises_controllers:
        if view.get("advertised.listeners") is not None:
            words = "The advertised.listeners config must be empty when process.roles=controller"
            key = "advertised.listeners"
            yield Problem(id="controller-advertises", key=key, words=words, next_step=f"Remove {key}.")
            return
        has_others = bool(view.advertised_broker_listeners)
    else:
        has_others = len(view.advertised_controller_listeners) != len(view.listeners)
    if has_others:
        words = f"The listeners config must only contain KRaft controller listeners from {CONTROLLER_NAMES} when"
        next_step = f"Name every listener in {CONTROLLER_NAMES}, or add the broker role."
        yield Problem(
            id="foreign-listener-on-controller",
            key="listeners",
            words=f"{words} process.roles=controller",
            next_step=next_step,
        )
    named = view.rules.inter_broker_listener_apart and view.get(INTER_BROKER_LISTENER) is not None
    if named and view.inter_broker_listener[0] in view.controller_listener_names:
        words = f"{CONTROLLER_NAMES} must not contain an explicitly set {INTER_BROKER_LISTENER}"
        yield _listener_names("inter-broker-listener-on-controller", words, f"Remove {INTER_BROKER_LISTENER}.")


def check_advertised_controllers(view: ConfigView) -> Iterator[Problem]:
    """Check that no controller is in advertised.listeners before 3.9, when clients of a broker got all of them."""
    if view.rules.advertises_controllers or "broker" not in view.roles:
        return
    if any(listener.name in view.controller_listener_names for listener in view.advertised_broker_listeners):
        key = "advertised.listeners"
        words = f"The {key} config must not contain KRaft controller listeners from {CONTROLLER_NAMES}"
        yield Problem(id="controller-listener-advertised", key=key, words=words)


def check_controller_listeners(view: ConfigView) -> Iterator[Problem]:
    """Check that a controller opens the listeners at which other nodes reach it."""
    names = view.controller_listener_names
    if not view.is_controller:
        return
    if not (view.advertised_controller_listeners if view.rules.advertises_controllers else view.controller_listeners):
        words = f"{CONTROLLER_NAMES} must contain at least one value appearing in the 'listeners' configuration when"
        next_step = f"Add a listener to listeners and its name, in upper case, to {CONTROLLER_NAMES}."
        yield _listener_names("no-controller-listener", f"{words} running the KRaft controller role", next_step)
        return
    for name in names:
        if name not in view.listener_names:
            words = f"{CONTROLLER_NAMES} must only contain values appearing in the 'listeners' configuration when"
            next_step = f"Found {name!r}; names in listeners count in upper case."
            yield _listener_names(
                "controller-listener-not-opened", f"{words} running the KRaft controller role", next_step
            )


def check_broker_listeners(view: ConfigView) -> Iterator[Problem]:
    """Check that a broker advertises the inter-broker listener, and advertises only listeners that it opens."""
    if not view.serves_clients:
        return
    key = "advertised.listeners"
    advertised = {listener.name for listener in view.advertised_broker_listeners}
    if not advertised:
        kind = "broker advertised" if view.rules.advertises_controllers else "advertised"
        words = f"There must be at least one {kind} listener."
        next_step = f"Perhaps all listeners appear in {CONTROLLER_NAMES}?"
        yield Problem(id="no-broker-listener", key=key, words=words, next_step=next_step)
        return
    if view.inter_broker_listener[0] not in advertised:
        words = f"{INTER_BROKER_LISTENER} must be a listener name defined in {key}."
        next_step = f"Found {view.inter_broker_listener[0]}; possible are {', '.join(sorted(advertised))}."
        yield Problem(
            id="inter-broker-listener-not-advertised", key=INTER_BROKER_LISTENER, words=words, next_step=next_step
        )
    if unopened := advertised - view.listener_names:
        words = f"{key} listener names must be equal to or a subset of the ones defined in listeners."
        next_step = f"Add {', '.join(sorted(unopened))} to listeners, or remove it from {key}."
        yield Problem(id="advertised-listener-not-opened", key=key, words=words, next_step=next_step)


def check_routable(view: ConfigView) -> Iterator[Problem]:
    """Refuse 0.0.0.0, which leads nowhere."""
    advertised = [*view.advertised_broker_listeners]
    if view.rules.advertises_controllers:
        advertised += view.advertised_controller_listeners
    if any(listener.host == "0.0.0.0" for listener in advertised):
        words = "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0."
        next_step = "Use a routable IP address or a host name."
        yield Problem(
            id="nonroutable-advertised-listener", key="advertised.listeners", words=words, next_step=next_step
        )


def check_sasl(view: ConfigView) -> Iterator[Problem]:
    """Check that the inter-broker SASL mechanism is enabled on the inter-broker listener."""
    name, protocol = view.inter_broker_listener
    if protocol not in _SASL:
        return
    from kafkactl.protocol.text.java_text import split_list

    key = "sasl.mechanism.inter.broker.protocol"
    own = view.values.given.get(f"listener.name.{name.lower()}.sasl.enabled.mechanisms")
    enabled = view.get("sasl.enabled.mechanisms") if own is None else split_list(own)
    if view.get(key) not in enabled:
        words = f"{key} must be included in sasl.enabled.mechanisms when SASL is used for inter-broker communication"
        yield Problem(id="sasl-mechanism-not-enabled", key=key, words=words, next_step=f"Enable {view.get(key)}.")


def check_connections_per_ip(view: ConfigView) -> Iterator[Problem]:
    """Check that a limit of 0 connections per IP has exceptions, and that the exceptions are hosts."""
    key = "max.connections.per.ip.overrides"
    overrides = csv_map(view.get(key), key)
    if view.get("max.connections.per.ip") == 0 and not overrides:
        words = f"max.connections.per.ip can be set to zero only if {key} property is set."
        yield Problem(id="config-values-conflict", key="max.connections.per.ip", words=words)
    if wrong := [address for address in overrides if not is_host_pattern(address)]:
        words = f"{key} contains invalid addresses : {','.join(wrong)}"
        yield Problem(id="invalid-config-map", key=key, words=words, next_step="Write host:number.")


def _listener_names(id: str, words: str, next_step: str) -> Problem:
    return Problem(id=id, key=CONTROLLER_NAMES, words=words, next_step=next_step)
