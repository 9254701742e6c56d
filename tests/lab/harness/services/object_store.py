"""An object store on loopback (moto's S3) and the jars by which Hadoop's file layer reads one.

hadoop-aws asks for the whole AWS SDK in one jar of half a gigabyte; the modules that reading takes are 16 MB.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from tests.installed import place_of
from tests.lab.harness import cache, maven, ports
from tests.lab.harness.releases import Coordinates

MOTO = "moto[s3,server]==5.2.5"
STORE_SECRET = "hunter2-of-the-store"
_SDK = ("s3", "s3-transfer-manager", "sts", "apache-client", "url-connection-client")
_SDK_VERSION = "2.35.4"  # what hadoop-project 3.5.0 names
_START_S = 180.0


def hadoop_release() -> str:
    """Return the release of Hadoop that comes with Spark."""
    (jar,) = (place_of("pyspark") / "jars").glob("hadoop-client-api-*.jar")
    return jar.stem.removeprefix("hadoop-client-api-")


def s3a_jars() -> list[Path]:
    """Return what Spark has to be given to read ``s3a:``; raises as ``maven.resolved``."""
    release = hadoop_release()
    alone = maven.resolved(f"hadoop-aws-{release}", [Coordinates("org.apache.hadoop", "hadoop-aws", release)], ["*"])
    parts = [Coordinates("software.amazon.awssdk", name, _SDK_VERSION) for name in _SDK]
    parts.append(Coordinates("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", "1.3.1"))
    parts.append(Coordinates("org.wildfly.openssl", "wildfly-openssl", "2.2.5.Final"))
    return sorted([*alone.glob("*.jar"), *maven.resolved("aws-sdk-for-s3a", parts).glob("*.jar")])


class ObjectStore:
    """A store that answers at ``endpoint``; it believes every signature."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def put(self, path: str, data: bytes = b"") -> None:
        """Make a bucket (``logs``) or an object (``logs/a/b``)."""
        kind = {"Content-Type": "application/octet-stream"}  # urllib would say that it is a form
        request = urllib.request.Request(f"{self.endpoint}/{path}", data=data, headers=kind, method="PUT")
        with urllib.request.urlopen(request, timeout=30):
            pass

    def put_folder(self, bucket: str, folder: Path) -> None:
        """Put every file below ``folder`` under its name."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{bucket}/{folder.name}/{file.relative_to(folder)}", file.read_bytes())

    def names(self, bucket: str) -> list[str]:
        """Return the names of all objects in a bucket."""
        with urllib.request.urlopen(f"{self.endpoint}/{bucket}?list-type=2", timeout=30) as answer:
            return [unquote(name) for name in re.findall("<Key>([^<]*)</Key>", answer.read().decode())]

    def settings(self) -> str:
        """Return what Spark's settings have to say to find it."""
        found = {
            "endpoint": self.endpoint,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "access.key": "reader",
            "secret.key": STORE_SECRET,
        }
        jars = ",".join(str(jar) for jar in s3a_jars())
        return (
            "".join(f"spark.hadoop.fs.s3a.{name} {value}\n" for name, value in found.items()) + f"spark.jars {jars}\n"
        )


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    """Yield a store while the context lasts; what it says goes to a file in ``folder``."""
    port = ports.free_port()
    ports.release_port(port)
    command = [sys.executable, "-c", "from moto.server import main; main()", "-H", ports.HOST, "-p", str(port)]
    with (folder / "store.log").open("wb") as log:
        run = subprocess.Popen(command, env={"PYTHONPATH": str(_moto())}, stdout=log, stderr=log)
        try:
            store = ObjectStore(f"http://{ports.HOST}:{port}")
            _wait(store, run)
            yield store
        finally:
            run.terminate()
            run.wait(timeout=30)


def _wait(store: ObjectStore, run: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            urllib.request.urlopen(store.endpoint, timeout=5).close()
            return
        except OSError as error:
            if run.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the object store does not answer (it ended with {run.poll()})") from error
        time.sleep(0.1)


def _moto() -> Path:
    """Return a folder of its own: nothing else in the tests shall come to need what it brings."""

    def fill(work: Path, target: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", MOTO, "--target"]
        subprocess.run([*command, str(target)], cwd=work, check=True)

    name = f"moto-py{sys.version_info.major}{sys.version_info.minor}"
    return cache.folder(name, MOTO, fill)
