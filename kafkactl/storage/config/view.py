"""Facts derived from the values of a node's configuration: roles, listeners, advertised addresses.

Invariant: everything here is computed as `KafkaConfig` computes it; a rule that asks for something that cannot be
computed gets `ProblemFound` (reported once) or `Unusable` (reported already). Source: core `KafkaConfig`, server
`AbstractKafkaConfig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from kafkactl.cluster.quorum.voters import StaticVoter, parse_static_voters
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.config_values import Problem
from kafkactl.protocol.text.java_text import split_at, trim
from kafkactl.storage.config.keys import QUORUM_VOTERS, ProblemFound, Values
from kafkactl.storage.config.listeners import (
    PROTOCOL_MAP,
    Listener,
    Ports,
    csv_items,
    parse_listeners,
    protocol_of,
    security_protocols,
)
from kafkactl.storage.config.release_rules import config_rules

BROKER = "broker"
CONTROLLER = "controller"
INTER_BROKER_LISTENER = "inter.broker.listener.name"
INTER_BROKER_PROTOCOL = "security.inter.broker.protocol"


class ConfigView:
    """A configuration as seen by the rules. `given` is the file's text by key."""

    def __init__(self, values: Values, release: Release) -> None:
        self.values = values
        self.release = release
        self.rules = config_rules(release)

    def get(self, key: str) -> Any:
        """Return the value or default of a key; None if the release has none. Raises Unusable."""
        return self.values.get(key)

    def is_given(self, key: str) -> bool:
        """Return True if the file has the key."""
        return key in self.values.given

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """Return the roles as written.

        None is ZooKeeper mode (3.x), or a file that only its rules refuse (4.0, 4.1).
        """
        return tuple(self.get("process.roles") or ())

    @property
    def is_kraft(self) -> bool:
        """Return True if the node has a role."""
        return bool(self.roles)

    @property
    def is_broker_only(self) -> bool:
        """Return True for a broker that is not a controller."""
        return set(self.roles) == {BROKER}

    @property
    def is_controller(self) -> bool:
        """Return True for a controller, which may be a broker as well."""
        return CONTROLLER in self.roles

    @property
    def serves_clients(self) -> bool:
        """Return True for a broker, with or without ZooKeeper."""
        return BROKER in self.roles or self.is_zookeeper_mode

    @property
    def is_zookeeper_mode(self) -> bool:
        """Return True if the node has no role, in a release that supports ZooKeeper mode."""
        return self.release.zookeeper_mode and not self.roles

    @cached_property
    def voters(self) -> tuple[StaticVoter, ...]:
        """Return the voters of a static quorum."""
        return parse_static_voters(
            self.get(QUORUM_VOTERS) or (), anything_before_host=self.rules.overlooks_text_before_host
        )

    @cached_property
    def voter_ids(self) -> frozenset[int]:
        """Return the ids of the voters."""
        return frozenset(voter.node_id for voter in self.voters)

    @cached_property
    def log_dirs(self) -> tuple[str, ...]:
        """Return the log directories as written, in order, duplicates included."""
        dirs = self.get("log.dirs")
        return tuple(self._items(self.get("log.dir") if dirs is None else dirs))

    def _items(self, value: str | list[str] | None) -> list[str]:
        """Return a list, whether the release has it as a LIST (4.2 and later) or as a STRING with commas."""
        return csv_items(value) if isinstance(value, str) else list(value or ())

    @cached_property
    def controller_listener_names(self) -> tuple[str, ...]:
        """Return the names as written; before 4.1, blanks around a name belong to the name."""
        value = self.get("controller.listener.names")
        if isinstance(value, str) and not self.rules.controller_names_trimmed:
            return tuple(split_at(value, ",")) if value else ()
        return tuple(self._items(value))

    @cached_property
    def protocols(self) -> Mapping[str, str]:
        """Return the security protocol of each listener name."""
        return security_protocols(
            self.get(PROTOCOL_MAP) or "",
            explicit=self.is_given(PROTOCOL_MAP) or self.is_zookeeper_mode,
            controller_names=self.controller_listener_names,
            listener_items=self._items(self.get("listeners")),
            unique_names=self.rules.listener_names_unique,
        )

    @cached_property
    def listeners(self) -> tuple[Listener, ...]:
        """Return all listeners."""
        items = self._items(self.get("listeners"))
        shared = self.rules.port_shared_by_ip_versions
        return parse_listeners(items, self.protocols, key="listeners", ports=Ports.SHARED if shared else Ports.DISTINCT)

    @cached_property
    def listener_names(self) -> frozenset[str]:
        """Return the names of all listeners."""
        return frozenset(listener.name for listener in self.listeners)

    @cached_property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """Return the listeners named in controller.listener.names."""
        return tuple(listener for listener in self.listeners if listener.name in self.controller_listener_names)

    @cached_property
    def written_advertised(self) -> tuple[Listener, ...] | None:
        """Return the items of advertised.listeners; None if it is not given."""
        value = self.get("advertised.listeners")
        if value is None:
            return None
        items = self._items(value)
        return parse_listeners(items, self.protocols, key="advertised.listeners", ports=Ports.ANY)

    @cached_property
    def advertised_broker_listeners(self) -> tuple[Listener, ...]:
        """Return the listeners that clients and other brokers receive. Up to 3.8 controller listeners are not
        removed."""
        names = self.controller_listener_names
        if self.written_advertised is not None and not self.rules.advertises_controllers:
            return self.written_advertised
        advertised = self.listeners if self.written_advertised is None else self.written_advertised
        return tuple(listener for listener in advertised if listener.name not in names)

    @cached_property
    def advertised_controller_listeners(self) -> tuple[Listener, ...]:
        """Return the listeners for the quorum in the order of controller.listener.names: advertised, else as bound.

        The host 0.0.0.0 of a listener that is not advertised becomes None, as if nothing were written.
        """
        advertised = [
            listener for listener in self.written_advertised or () if listener.name in self.controller_listener_names
        ]
        found = []
        for name in map(str.upper, self.controller_listener_names):
            own = [listener for listener in self.controller_listeners if listener.name == name]
            own = [
                Listener(
                    name=listener.name, host=None if listener.host == "0.0.0.0" else listener.host, port=listener.port
                )
                for listener in own
            ]
            found += [listener for listener in [*advertised, *own] if listener.name == name][:1]
        return tuple(found)

    @cached_property
    def inter_broker_listener(self) -> tuple[str, str]:
        """Name and security protocol of the listener between brokers. Raises ProblemFound."""
        name = self.get(INTER_BROKER_LISTENER)
        if name is None:
            protocol = protocol_of(self.get(INTER_BROKER_PROTOCOL), INTER_BROKER_PROTOCOL)
            return protocol, protocol
        if self.is_given(INTER_BROKER_PROTOCOL):
            words = f"Only one of {INTER_BROKER_LISTENER} and {INTER_BROKER_PROTOCOL} should be set."
            raise ProblemFound(_listener_problem(words, f"Remove {INTER_BROKER_PROTOCOL}."))
        if not trim(name):
            words = f"The provided listener name is null or empty string ({INTER_BROKER_LISTENER})"
            raise ProblemFound(_listener_problem(words, f"Remove {INTER_BROKER_LISTENER} or give it a name."))
        if name.upper() not in self.protocols:
            words = f"Listener with name {name.upper()} defined in {INTER_BROKER_LISTENER} not found in {PROTOCOL_MAP}."
            raise ProblemFound(_listener_problem(words, f"Add {name.upper()} with its protocol to {PROTOCOL_MAP}."))
        return name.upper(), self.protocols[name.upper()]


def _listener_problem(words: str, next_step: str) -> Problem:
    return Problem(id="invalid-inter-broker-listener", key=INTER_BROKER_LISTENER, words=words, next_step=next_step)
