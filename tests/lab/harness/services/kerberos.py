"""A Kerberos realm of a test's own: MIT's key distribution center on a loopback port, its database in a folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab.harness import ports
from tests.lab.harness.errors import LabError

REALM = "KAFKACTL.TEST"
MASTER_PASSWORD = "m4ster-s3cret-of-the-realm"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_WAIT_S = 120.0


def missing() -> list[str]:
    """Return what this machine lacks for a realm: programs of MIT's Kerberos, and the library of the extra."""
    lacking = [name for name in _PROGRAMS if _program(name) is None]
    try:
        import gssapi  # noqa: F401
    except (ImportError, OSError):
        lacking.append("the Python library gssapi")
    return lacking


class Realm:
    """Runs while the block lasts; makes principals and their keytabs. `environment` points programs at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = ports.free_port()
        self.config = folder / "krb5.conf"
        self._kdc: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self.config.write_text(_KRB5_CONF.format(realm=REALM, port=self.port, folder=folder))
        (folder / "kdc.conf").write_text(_KDC_CONF.format(realm=REALM, port=self.port, folder=folder))

    @property
    def environment(self) -> dict[str, str]:
        """Return what makes MIT's programs and library use this realm."""
        return {"KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}

    def __enter__(self) -> Self:
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", MASTER_PASSWORD)
        with (self.folder / "kdc.log").open("wb") as log:
            command = [_found("krb5kdc"), "-n", "-r", REALM, "-P", str(self.folder / "kdc.pid")]
            self._kdc = subprocess.Popen(command, env=self._environment(), stdout=log, stderr=log)
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        ports.release_port(self.port)

    def stop(self) -> None:
        """End the key distribution center."""
        if self._kdc is not None:
            self._kdc.kill()
            self._kdc.wait(60)

    def keytab(self, principal: str) -> Path:
        """Make a new principal with a random key, and the keytab that has it."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
        self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -norandkey -k {path} {principal}")
        return path

    def forget(self, principal: str) -> None:
        """Remove a principal; keytabs that were made for it are of no more use."""
        self._run("kadmin.local", "-r", REALM, "-q", f"delprinc -force {principal}")

    def ticket_cache(self, principal: str, keytab: Path, *, life: str = "1h") -> Path:
        """Return a file with a ticket, as `kinit` makes it."""
        path = self.folder / f"{principal.replace('/', '-')}.cache"
        self._run("kinit", "-k", "-t", str(keytab), "-c", f"FILE:{path}", "-l", life, f"{principal}@{REALM}")
        return path

    def _wait(self) -> None:
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise LabError(f"the key distribution center does not start: {(self.folder / 'kdc.log').read_text()}")

    def _run(self, program: str, *arguments: str) -> None:
        command = [_found(program), *arguments]
        run = subprocess.run(command, env=self._environment(), capture_output=True, text=True, timeout=60, check=False)
        if run.returncode or "kadmin.local: " in run.stderr:
            raise LabError(f"{program} failed: {run.stdout}{run.stderr}")

    def _environment(self) -> dict[str, str]:
        return dict(os.environ) | self.environment


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _found(name: str) -> str:
    path = _program(name)
    assert path is not None, f"{name} is not installed"
    return path


_KRB5_CONF = """\
[libdefaults]
default_realm = {realm}
dns_lookup_realm = false
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
default_ccache_name = FILE:{folder}/default.cache

[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""
_KDC_CONF = """\
[kdcdefaults]
kdc_listen = 127.0.0.1:{port}
kdc_tcp_listen = 127.0.0.1:{port}

[realms]
{realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = 24h
}}
"""
