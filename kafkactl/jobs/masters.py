"""Check of a Spark master before Spark starts: its form, and the address that has to answer.

Spark and Hadoop try an address that does not answer for one to fifteen minutes, without a word to the operator.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from kafkactl.core.errors import InputError, UnreachableError
from kafkactl.core.values import host_port

_LOCAL: Final = re.compile(r"local(\[([1-9]\d*|\*)(\s*,\s*\d+)?\])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[(\s*[1-9]\d*\s*,){2}\s*[1-9]\d*\s*\]")
_STANDALONE: Final = re.compile(r"spark://(.+)")
_CONNECT_TIMEOUT_S: Final = 5.0
_RM: Final = "yarn.resourcemanager"
_RM_PORT: Final = 8032
_RM_NAME: Final = re.compile(rf"{re.escape(_RM)}\.(address|hostname)(\..+)?")
_YARN_SITE: Final = "yarn-site.xml"
_CONF_DIRS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")


def check_master(master: str, settings: str) -> None:
    """Check a master's form, and that a standalone master or a ResourceManager accepts connections.

    `settings` is the text of Spark's own settings. Raises InputError `invalid-spark-master`, `yarn-not-configured`;
    UnreachableError `spark-master-unreachable`.
    """
    if master.startswith("sc://"):
        raise InputError(
            f"{master} is a server of Spark Connect, and a command starts an application of its own",
            id="invalid-spark-master",
            next_step="Name the cluster's master, or call the functions of kafkactl.spark in a session of Connect.",
        )
    if master.startswith("local") and not is_one_process(master) and not _LOCAL_CLUSTER.fullmatch(master):
        raise InputError(
            f"{master} is not a valid master of Spark; on this machine it is local, local[CORES], local[*] or"
            " local-cluster[WORKERS,CORES,MEGABYTES]",
            id="invalid-spark-master",
        )
    if standalone := _STANDALONE.fullmatch(master):
        _check_reachable("Spark master", _standalone_addresses(standalone[1]))
    elif master == "yarn" and _RM not in settings and not any(name in settings for name in _CONF_DIRS):
        _check_reachable("YARN ResourceManager", _resource_managers())


def is_one_process(master: str) -> bool:
    """Return True if the JVM of the driver does all work.

    >>> is_one_process("local[2]"), is_one_process("local-cluster[2,1,1024]")
    (True, False)
    """
    return _LOCAL.fullmatch(master) is not None


def _standalone_addresses(text: str) -> list[tuple[str, int]]:
    found = []
    for address in text.split(","):
        host, colon, port = address.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit():
            raise InputError(f"spark://{text} names no address", id="invalid-spark-master")
        found.append((host.strip("[]"), int(port)))
    return found


def _resource_managers() -> list[tuple[str, int]]:
    """Return the addresses in yarn-site.xml; none if the file has names that only Hadoop can resolve."""
    folders = [Path(each) for name in _CONF_DIRS for each in os.environ.get(name, "").split(os.pathsep) if each]
    if not folders:
        raise InputError(
            "the master is yarn, and neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set", id="yarn-not-configured"
        )
    places = [folder / _YARN_SITE for folder in folders]
    path = next((place for place in places if place.exists()), places[0])
    try:
        text = path.read_text("utf-8")
        root = ElementTree.fromstring(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", id="yarn-not-configured") from error
    except (UnicodeDecodeError, ElementTree.ParseError) as error:
        raise InputError(f"{path} is not an XML file of Hadoop: {error}", id="yarn-not-configured") from error
    values = {
        (row.findtext("name") or "").strip(): (row.findtext("value") or "").strip() for row in root.iter("property")
    }
    found = addresses(values)
    if not found and "include" not in text and not any(name.startswith(_RM) for name in values):
        raise InputError(f"{path} names no ResourceManager", id="yarn-not-configured")
    return found


def addresses(values: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the ResourceManagers of Hadoop's settings: by address, else by host name.

    >>> addresses({"yarn.resourcemanager.hostname.rm1": "a", "yarn.resourcemanager.address.rm2": "b:8050"})
    [('b', 8050), ('a', 8032)]
    """
    found: dict[str, tuple[str, int]] = {}
    for kind in ("address", "hostname"):
        for name, value in values.items():
            match = _RM_NAME.fullmatch(name)
            if match is None or match[1] != kind or "$" in value:
                continue
            host, _, port = value.partition(":")
            if host and ((port.isascii() and port.isdigit()) or not port):
                found.setdefault(match[2] or "", (host, int(port or _RM_PORT)))
    return list(found.values())


def _check_reachable(what: str, places: Iterable[tuple[str, int]]) -> None:
    """Raise UnreachableError if none of the places accepts a connection; without places nothing is checked."""
    errors = []
    for host, port in places:
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
            return
        except (OSError, OverflowError) as error:
            errors.append(f"{host_port(host, port)}: {error}")
    if errors:
        raise UnreachableError(f"no {what} answers ({'; '.join(errors)})", id="spark-master-unreachable")
