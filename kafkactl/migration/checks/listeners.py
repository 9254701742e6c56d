"""C-64 and C-65: listeners that work on ZooKeeper, and not with KRaft controllers.

Sources: core `DynamicListenerConfig` and `DynamicBrokerConfig` of 3.9; the rest was measured on 3.9.2. A broker on
KRaft does not change what it advertises by a dynamic config: it refuses all its dynamic configs together (4.x ignores
advertised.listeners alone). Users of SCRAM are in ZooKeeper until the copy, which waits for brokers to log in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kafkactl.core.findings import Finding, Severity, blocker, warning
from kafkactl.core.frozen import changed
from kafkactl.core.values import host_port
from kafkactl.core.wording import some
from kafkactl.metadata.image.model import BROKER_CONFIG
from kafkactl.migration.checks.case import ALWAYS, FORWARD, ON_ZOOKEEPER, CheckCase, Row, Said, Stage, Unknown
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.observed.settings import (
    LISTENER_NAMES,
    controller_listener,
    given,
    is_hidden,
    principal,
    protocols,
)
from kafkactl.protocol.text.java_text import split_list
from kafkactl.storage.config.logins import CONTROLLER_MECHANISM, SCRAM

_ADVERTISED: Final = "advertised.listeners"
_LISTENERS: Final = "listeners"
_MAP: Final = "listener.security.protocol.map"
_KEYS: Final = (_ADVERTISED, _LISTENERS, _MAP)


def _dynamic(case: CheckCase) -> Said:
    """Check C-64: listener settings in /config/brokers/N are in the broker's file, too."""
    names = _controller_names(case)
    for node in case.brokers:
        dynamic = {key: text for key, text in _configs_of(case, node.id).items() if key in _KEYS}
        if not dynamic:
            continue
        if node.config is None:
            yield Unknown(f"the file of {node.name} was not observed, which has dynamic {some(dynamic)}")
            continue
        mapped = {item.partition(":")[0].strip().upper() for item in split_list(dynamic.get(_MAP, ""))}
        missing = sorted(names - mapped) if _MAP in dynamic else []
        if missing and case.stage in ON_ZOOKEEPER:
            yield _without_controllers(node, missing, dynamic)
        before, after = advertised(node.config), advertised({**node.config, **dynamic})
        if before != after:
            found = _void(node, dynamic, before, after, is_void=node.mode is Mode.KRAFT)
            # There is time for the remedy until the first KRaft file: only then it stops.
            yield changed(found, severity=Severity.BLOCKER) if case.stage is Stage.DUAL else found


def _controller_names(case: CheckCase) -> set[str]:
    return {
        name.strip().upper()
        for node in (*case.controllers, *case.brokers)
        for name in split_list(given(node, LISTENER_NAMES) or "")
    }


def _configs_of(case: CheckCase, broker: int) -> Mapping[str, str]:
    if case.image is not None and case.stage in (Stage.DUAL, Stage.FINAL):
        found: Mapping[str, str] = case.image.configs.get((BROKER_CONFIG, str(broker)), {})
    else:
        found = {} if case.tree is None else case.tree.broker_configs.get(str(broker), {})
    return {key: text for key, text in found.items() if isinstance(text, str) and not is_hidden(text)}


def advertised(config: Mapping[str, str]) -> dict[str, str]:
    """Return the advertised addresses of a broker, `host:port` by the name of the listener in capitals.

    >>> advertised({"listeners": "A://h:1,B://h:2", "advertised.listeners": "A://example:1"})
    {'A': 'example:1'}
    """
    text = config.get(_ADVERTISED, "").strip() or config.get(_LISTENERS, "")
    own = {name.strip().upper() for name in split_list(config.get(LISTENER_NAMES, ""))}
    pairs = (item.strip().partition("://") for item in split_list(text))
    return {name.upper(): address for name, _, address in pairs if name.upper() not in own}


def _void(
    node: NodeSeen, dynamic: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str], *, is_void: bool
) -> Finding:
    changed_names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    how = ", ".join(f"{name} {before.get(name, 'none')} -> {after.get(name, 'none')}" for name in changed_names)
    then = "are void since its start on KRaft" if is_void else "will be void from its start on KRaft on"
    return warning(
        "dynamic-listeners-not-in-kraft",
        node.name,
        f"{node.name} has dynamic {some(dynamic)}, which change what its file advertises ({how}): on KRaft clients get"
        f" the address of the file, and all dynamic configs of this broker {then}",
        _into_the_file(node, dynamic),
        keys=sorted(dynamic),
        listeners=changed_names,
    )


def _without_controllers(node: NodeSeen, missing: list[str], dynamic: Mapping[str, str]) -> Finding:
    return blocker(
        "dynamic-protocol-map-lacks-controllers",
        node.name,
        f"{node.name} has a dynamic {_MAP} without {some(missing)}, which replaces the one of its file: the broker"
        f" exits at its start in migration mode (No enum constant … SecurityProtocol.{missing[0]})",
        _into_the_file(node, dynamic),
        listeners=missing,
    )


def _into_the_file(node: NodeSeen, dynamic: Mapping[str, str]) -> str:
    lines = "; ".join(f"{key}={text}" for key, text in sorted(dynamic.items()))
    return (
        f"Write into the file of {node.name}: {lines}. Restart it, then remove the dynamic ones: kafka-configs.sh"
        f" --alter --entity-type brokers --entity-name {node.id} --delete-config {','.join(sorted(dynamic))}"
    )


def _moved(case: CheckCase) -> Iterator[Finding]:
    """Check C-64 after the restart of a broker on KRaft: it is registered with its earlier addresses."""
    for id, held in sorted(({} if case.log is None else case.log.registrations).items()):
        before = {listener.name: host_port(listener.host, listener.port) for listener in held.endpoints_before_kraft}
        now = {listener.name: host_port(listener.host, listener.port) for listener in held.endpoints}
        differ = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if before and differ and not held.migrating:
            how = ", ".join(f"{name} {before.get(name, 'none')} -> {now.get(name, 'none')}" for name in differ)
            yield warning(
                "advertised-address-changed",
                f"broker {id}",
                f"broker {id} is registered on KRaft with other addresses than in migration mode: {how}",
                listeners=differ,
            )


def _scram(case: CheckCase) -> Iterator[Finding]:
    """Check C-65: a SCRAM login at the quorum fails until the copy has brought the users."""
    for node in case.controllers:
        listener = controller_listener(node)
        if listener is None or not protocols(node).get(listener, "").startswith("SASL"):
            continue
        mechanism = (given(node, CONTROLLER_MECHANISM) or "GSSAPI").upper()
        if mechanism not in SCRAM:
            continue
        if len(case.controllers) == 1 and _users_are_there(case, listener, mechanism):
            continue
        several = len(case.controllers) > 1
        then = (
            "the controllers refuse each other's votes, so that no leader is elected"
            if several
            else "no broker can log in and be registered, and the copy waits for the brokers"
        )
        yield blocker(
            "scram-on-controller-listener",
            node.name,
            f"{node.name} has {mechanism} on its listener {listener}. Users of SCRAM are in ZooKeeper, and get into the"
            f" quorum's metadata with the copy: before it {then}",
            "" if several else _ADD_SCRAM.format(mechanism=mechanism),
            listener=listener,
            mechanism=mechanism,
        )


_ADD_SCRAM: Final = (
    "Give the controllers' listener SASL/PLAIN or mutual TLS on every node; or format the only controller by hand with"
    " --add-scram '{mechanism}=[name=USER,password=…]' for the user of the brokers."
)


def _users_are_there(case: CheckCase, listener: str, mechanism: str) -> bool:
    """Return True if the quorum has the credentials of every broker's user, as its log shows."""
    if case.image is None:
        return False
    stored = {(number, f"User:{name}") for number, name in case.image.scram}
    users = [principal(broker, listener, CONTROLLER_MECHANISM) for broker in case.brokers]
    return bool(users) and all(user is not None and (SCRAM[mechanism], user) in stored for user in users)


ROWS: Final = (
    Row("C-64", "dynamic-listeners-unknown", "dynamic listeners", ALWAYS, _dynamic),
    Row("C-64", "kraft-addresses-unknown", "the same addresses on KRaft", frozenset({Stage.DUAL, Stage.FINAL}), _moved),
    Row("C-65", "controller-logins-unknown", "logins at the quorum before the copy", FORWARD, _scram),
)
