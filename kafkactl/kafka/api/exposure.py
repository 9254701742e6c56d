"""Findings about exposure: logins without encryption, unchecked host names, files that other users can read.

Findings, never errors: a test cluster has all of this on purpose. A command shows them on standard error, and refuses
where `--strict-security` asks for it. No finding holds a secret.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kafkactl.core.findings import Finding, each_once, warning
from kafkactl.core.values import host_port
from kafkactl.protocol.text.client_properties import client_keys

if TYPE_CHECKING:
    from kafkactl.kafka.client_config import ClientConfig
    from kafkactl.migration.inventory import Inventory
    from kafkactl.protocol.text.jaas import JaasEntry

_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_READABLE_LOGINS: Final = {"PLAIN": "the password", "OAUTHBEARER": "the token"}
_SECRET_FILES: Final = (
    "ssl.keystore.location",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.file",
)
_ZOOKEEPER_SECRETS: Final = (".password", "jaas.config", "password.encoder.secret", "password.encoder.old.secret")
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_OFF: Final = "ssl.endpoint.identification.algorithm"


def client_exposures(*configs: ClientConfig) -> tuple[Finding, ...]:
    """Return the findings about several files of client properties, without duplicates."""
    return each_once(finding for config in configs for finding in client_exposure(config))


def client_exposure(config: ClientConfig) -> tuple[Finding, ...]:
    """Return the findings about client properties."""
    values = config.properties.values
    secrets = [name for name in values if client_keys()[name].type == "PASSWORD"]
    found = [*_login(config), *_host_names(config), *_authorization_server(config)]
    if secrets:
        found += file_exposure(config.file, "client properties with secrets")
    for name in _SECRET_FILES:
        if values.get(name):
            found += file_exposure(str(values[name]), f"the file of {name}")
    entry = _entry(config)
    if entry is not None and config.protocol.has_sasl and entry.options.get("keyTab"):
        found += file_exposure(entry.options["keyTab"].removeprefix("file:"), "the keytab")
    return tuple(found)


def inventory_exposure(inventory: Inventory) -> tuple[Finding, ...]:
    """Return the findings about an inventory of a migration and the settings that it names.

    Settings that cannot be read are left out: they are reported when they are opened.
    """
    from pathlib import Path

    from kafkactl.core.errors import KafkactlError
    from kafkactl.files.input_files import InputKind, read_input
    from kafkactl.protocol.text.properties import parse_properties

    logins = (inventory.command_config, inventory.controller_command_config)
    found = [*roll_inventory_exposure(inventory.file, *logins, journal=inventory.journal)]
    if inventory.zookeeper.config is not None:
        path = Path(inventory.file).parent / inventory.zookeeper.config
        try:
            settings = parse_properties(
                read_input(path, "ZooKeeper settings", InputKind.CLIENT_CONFIG), file=str(path)
            ).mapping
        except KafkactlError:
            return each_once(found)
        found += zookeeper_exposure(settings, str(path))
    return each_once(found)


def roll_inventory_exposure(file: str, *client_properties: str | None, journal: str) -> tuple[Finding, ...]:
    """Return the findings about an inventory with hooks, and the client properties and journals that it names.

    Properties that cannot be read are left out: they are reported when they are opened.
    """
    from pathlib import Path

    from kafkactl.core.errors import KafkactlError
    from kafkactl.kafka.client_config import load_client_config

    found = [*writable_by_others(file, "the inventory, whose hooks are run,"), *_journals_of_others(file, journal)]
    for name in dict.fromkeys(client_properties):
        if name is not None:
            try:
                found += client_exposure(load_client_config(str(Path(file).parent / name)))
            except KafkactlError:
                continue
    return each_once(found)


def _journals_of_others(file: str, journal: str) -> Iterator[Finding]:
    """Report a directory of journals that a user who cannot write the inventory made, or can write to."""
    from pathlib import Path

    folder = str(Path(file).parent / journal)
    state, inventory = _state(folder), _state(file)
    if state is None or inventory is None:
        return
    if state.st_mode & stat.S_IWOTH:
        how = "can be written to by every user of this machine"
    elif state.st_uid not in {0, os.geteuid(), inventory.st_uid}:
        how = f"belongs to {_user_name(state.st_uid)}"
    else:
        return
    yield warning(
        "trusted-file-writable",
        f"file {folder}",
        f"a run continues from the journal in {folder}, which {how}",
        "Use a directory of your own as `journal` of the inventory, unless you know that a run of yours made this one.",
    )


def zookeeper_exposure(properties: Mapping[str, str], file: str) -> tuple[Finding, ...]:
    """Return the findings about the `zookeeper.*` settings of a file."""
    found: list[Finding] = []
    uses_tls = properties.get("zookeeper.ssl.client.enable", "").strip().lower() == "true"
    if uses_tls and not properties.get(f"zookeeper.{_OFF}", "https").strip():
        found.append(_not_checked(file, f"zookeeper.{_OFF}"))
    if any(name.endswith(_ZOOKEEPER_SECRETS) for name in properties):
        found += file_exposure(file, "ZooKeeper settings with secrets")
    if store := properties.get("zookeeper.ssl.keystore.location", "").strip():
        found += file_exposure(store, "the file of zookeeper.ssl.keystore.location")
    if login := properties.get("java.security.auth.login.config", "").strip():
        found += file_exposure(login, "the login file")
    return tuple(found)


def file_exposure(path: str, what: str) -> tuple[Finding, ...]:
    """Report a file with secrets that other users can read or change."""
    state = _state(path)
    if state is None:
        return ()
    found = [*writable_by_others(path, what)]
    if readers := _readers(state):
        mode = f"{stat.S_IMODE(state.st_mode):04o}"
        found.append(
            warning(
                "secret-file-readable",
                f"file {path}",
                f"{what} {path} can be read by {readers} (mode {mode})",
                f"chmod 600 {path}",
                mode=mode,
            )
        )
    return tuple(found)


def _readers(state: os.stat_result) -> str | None:
    """Return the other users who can read a file; None if only its owner can.

    A group counts but for two: the owner's private group, which bears the owner's name, and the group of a file of
    root: root gives a service its secrets that way, and only root could give the file to that group (libpq has the same
    rule for keys).
    """
    if state.st_mode & stat.S_IROTH:
        return "every user of this machine"
    if not state.st_mode & stat.S_IRGRP or state.st_uid == 0:
        return None
    group = _group_name(state.st_gid)
    return None if group == _user_name(state.st_uid) else f"the group {group}"


def _user_name(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OverflowError):
        return str(number)  # a container's user, or one of a directory service that does not answer


def _group_name(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except (KeyError, OverflowError):
        return str(number)


def writable_by_others(path: str, what: str) -> Iterator[Finding]:
    """Report a trusted file that every user of this machine can change or replace."""
    from pathlib import Path  # a client without files need not wait for it

    folder = str(Path(path).absolute().parent)
    state, its_folder = _state(path), _state(folder)
    if state is None or its_folder is None:
        return
    mode, above = state.st_mode, its_folder.st_mode
    replaceable = above & stat.S_IWOTH and not above & stat.S_ISVTX
    if mode & stat.S_IWOTH or replaceable:
        place = path if mode & stat.S_IWOTH else f"its folder {folder}"
        yield warning(
            "trusted-file-writable",
            f"file {path}",
            f"{what} {path} can be changed by every user of this machine: {place} can be written to by all",
            f"chmod o-w {path if mode & stat.S_IWOTH else folder}",
        )


def _state(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - one of many calls
    except (OSError, ValueError):
        return None


def _login(config: ClientConfig) -> Iterator[Finding]:
    mechanism = str(config.properties.get("sasl.mechanism", "GSSAPI"))
    what = _READABLE_LOGINS.get(mechanism)
    if config.protocol.has_sasl and not config.protocol.has_tls and what is not None:
        yield warning(
            "login-in-the-clear",
            config.file,
            f"{what} of {mechanism} goes over the network in the clear: security.protocol is {config.protocol.name}",
            "Use a SASL_SSL listener, or SCRAM.",
            mechanism=mechanism,
        )


def _host_names(config: ClientConfig) -> Iterator[Finding]:
    if config.protocol.has_tls and config.properties.get(_OFF, "https") == "":
        yield _not_checked(config.file, _OFF)


def _not_checked(file: str, key: str) -> Finding:
    return warning(
        "host-name-not-checked",
        file,
        f"{key} is empty: any server with a certificate of a trusted authority passes for a node",
        f"Leave {key} out, and give the nodes certificates with their names.",
        key=key,
    )


def _authorization_server(config: ClientConfig) -> Iterator[Finding]:
    """Report insecure settings of the token server, or of the token file, if the login uses one."""
    url = str(config.properties.get(_URL) or "")
    if not config.protocol.has_sasl or config.properties.get("sasl.mechanism") != "OAUTHBEARER" or not url:
        return
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return  # it is reported where it is used
    entry = _entry(config)
    if parts.scheme == "file":
        yield from file_exposure(unquote(parts.path), "the token file")
    if parts.scheme == "https" and entry is not None and entry.options.get(_OFF) == "":
        yield _not_checked(config.file, f"{_OFF} of the login line")
    if parts.scheme != "http" or host is None:
        return
    if host not in _HERE:
        yield warning(
            "login-in-the-clear",
            config.file,
            f"what proves the client to the authorization server goes in the clear to http://{host}",
            f"Give {_URL} an https address.",
            host=host,
        )
    if proxy := _proxy(host):
        yield warning(
            "proxy-sees-secret",
            config.file,
            f"what proves the client to the authorization server http://{host} goes through the proxy {proxy}, which"
            " can read it",
            f"Give {_URL} an https address, or name {host} in no_proxy.",
            proxy=proxy,
        )


def _entry(config: ClientConfig) -> JaasEntry | None:
    line = str(config.properties.get("sasl.jaas.config") or "")
    if not line:
        return None  # without loading the reader: its patterns take longer to compile than a request to a node
    from kafkactl.core.errors import KafkactlError
    from kafkactl.protocol.text.jaas import parse_jaas

    try:
        return parse_jaas(line)
    except KafkactlError:
        return None


def _proxy(host: str) -> str | None:
    """Return the proxy of the environment for plain http, without a login that its address may hold."""
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    given = getproxies().get("http")
    if not given or proxy_bypass(host):
        return None
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        return host_port(str(parts.hostname), parts.port) if parts.port else str(parts.hostname)
    except ValueError:
        return "of the variable http_proxy"


def every(findings: Iterable[Finding]) -> str:
    """Return several findings as one sentence."""
    return "; ".join(finding.message for finding in findings)
