"""docs/containers: manifests that the published schemas accept, whose containers do what they say without root.

The containers' arguments are run as Kubernetes would: as user 1000 without privileges, on a root file system that is
read-only, with the volumes at their paths. That needs root and mount namespaces, as continuous integration has.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from kafkactl.commands.demo.quorum import FakeQuorum
from kafkactl.core.values import Uuid
from tests.repository.docs.test_docs import trouble_of
from tests.repository.tree import ROOT

FOLDER = ROOT / "docs" / "containers"
MANIFESTS = sorted(FOLDER.glob("*.yaml"))
IMAGES = sorted(FOLDER.glob("Containerfile*"))
KAFKACTL = Path(sys.executable).with_name("kafkactl")
RELEASES = ("1.29", "1.37")
Done: TypeAlias = "subprocess.CompletedProcess[str]"
Run: TypeAlias = Callable[[dict[str, tuple[Path, bool]], list[str]], Done]
AS_USER = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--no-new-privs", "--bounding-set=-all")


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def pod_of(document: dict[str, Any]) -> dict[str, Any] | None:
    spec = document.get("spec", {})
    spec = spec.get("jobTemplate", {}).get("spec", spec)
    return spec.get("template", {}).get("spec")


def pods() -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in MANIFESTS:
        for document in documents(path):
            if (pod := pod_of(document)) is not None:
                yield path, pod


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", ()), *pod["containers"]]


def arguments(container: dict[str, Any], **values: str) -> list[str]:
    """Return the arguments with the variables put in, as the kubelet does it."""
    return [re.sub(r"\$\((\w+)\)", lambda match: values[match[1]], text) for text in container["args"]]


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifest_is_valid_by_published_schemas(path: Path, release: str) -> None:
    import kubernetes_validate

    for document in documents(path):
        kubernetes_validate.validate(document, release, strict=True)


@pytest.mark.slow
def test_schemas_refuse_a_misspelt_field() -> None:
    import kubernetes_validate

    job = documents(FOLDER / "report.yaml")[0]
    job["spec"]["backofLimit"] = 0
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, RELEASES[-1], strict=True)


def test_no_container_needs_root_or_a_writable_root_file_system() -> None:
    seen = 0
    for path, pod in pods():
        assert pod["automountServiceAccountToken"] is False, path
        assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True and context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            seen += 1
    assert seen == 4


def test_every_argument_list_is_a_command() -> None:
    values = {"CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw", "POD_NAME": "controller-0", "INITIAL_CONTROLLERS": "0@a:1:x"}
    lines = [
        " ".join(["kafkactl", *arguments(container, **values)])
        for _, pod in pods()
        for container in containers(pod)
        if container["image"].startswith("kafkactl")
    ]
    assert len(lines) == 3
    assert [line for line in lines if trouble_of(line)] == []


def test_controllers_agree_on_names_and_ids() -> None:
    config, service, stateful = documents(FOLDER / "controllers.yaml")
    voters = re.findall(r"(\d+)@([\w.-]+):(\d+):([\w-]{22})", config["data"]["initial-controllers"])
    names = [f"{stateful['metadata']['name']}-{number}" for number in range(stateful["spec"]["replicas"])]
    assert [host for _, host, _, _ in voters] == [f"{name}.{service['metadata']['name']}" for name in names]
    assert {int(port) for _, _, port, _ in voters} == {service["spec"]["ports"][0]["port"]}
    assert len({Uuid.parse(directory).raw for _, _, _, directory in voters}) == len(voters)
    for (number, *_), name in zip(voters, names, strict=True):
        lines = config["data"][f"{name}.properties"].splitlines()
        assert f"node.id={number}" in lines
        bootstrap = next(line for line in lines if line.startswith("controller.quorum.bootstrap.servers"))
        assert bootstrap.partition("=")[2] == ",".join(f"{host}:{port}" for _, host, port, _ in voters)
    for path, pod in pods():
        for text in [text for container in containers(pod) for text in container.get("args", ())]:
            if text.startswith("--bootstrap-controller="):
                assert text.partition("=")[2] == ",".join(f"{host}:{port}" for _, host, port, _ in voters), path


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.name)
def test_image_is_built_from_what_is_there_and_runs_without_root(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    last = max(place for place, (word, _) in enumerate(steps) if word == "FROM")
    final = dict(steps[last + 1 :])
    assert final["ENTRYPOINT"] in ('["kafkactl"]', '["/opt/spark-entrypoint.sh"]')
    assert not final["USER"].startswith("0")
    for word, rest in steps:
        if word == "COPY" and "--from" not in rest:
            assert [name for name in rest.split()[:-1] if not (ROOT / name).exists()] == []
        for name in re.findall(r"-r (\S+)", rest):
            assert (ROOT / name).exists()
        if "pip install" in rest:
            assert all("--require-hashes" in part or "--no-index" in part for part in rest.split("pip install")[1:])


def test_entry_point_of_spark_starts_what_kubernetes_asks_for(tmp_path: Path) -> None:
    for name in ("bin/java", "bin/kafkactl", "bin/spark-submit"):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" {program.name} "$@"\n')
        program.chmod(0o755)
    names = (
        "SPARK_DRIVER_URL", "SPARK_EXECUTOR_ID", "SPARK_EXECUTOR_CORES", "SPARK_APPLICATION_ID",
        "SPARK_EXECUTOR_POD_IP", "SPARK_RESOURCE_PROFILE_ID", "SPARK_EXECUTOR_POD_NAME", "SPARK_EXECUTOR_MEMORY",
        "SPARK_DRIVER_BIND_ADDRESS", "SPARK_CONF_DIR",
    )  # fmt: skip
    environment = {name: name.lower() for name in names}
    environment |= {"SPARK_JAVA_OPT_0": "-Da=b c", "SPARK_JAVA_OPT_1": "-Dd=e", "SPARK_HOME": str(tmp_path)}
    environment |= {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}

    def started(*arguments: str) -> list[str]:
        command = ["sh", str(FOLDER / "spark-entrypoint.sh"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()

    executor = started("executor")
    assert executor[:5] == ["java", "-Da=b c", "-Dd=e", "-Xmsspark_executor_memory", "-Xmxspark_executor_memory"]
    assert executor[6] == f"spark_conf_dir::{tmp_path}/jars/*"
    assert executor[8:] == [
        "--driver-url", "spark_driver_url", "--executor-id", "spark_executor_id", "--cores", "spark_executor_cores",
        "--app-id", "spark_application_id", "--hostname", "spark_executor_pod_ip",
        "--resourceProfileId", "spark_resource_profile_id", "--podName", "spark_executor_pod_name",
    ]  # fmt: skip
    assert started("driver", "--class", "org.apache.spark.deploy.PythonRunner", "local:///a b.py") == [
        "spark-submit", "--deploy-mode", "client", "--conf", "spark.driver.bindAddress=spark_driver_bind_address",
        "--class", "org.apache.spark.deploy.PythonRunner", "local:///a b.py",
    ]  # fmt: skip
    assert started("log", "verify", "/logs") == ["kafkactl", "log", "verify", "/logs"]


@pytest.fixture
def isolated() -> Run:
    """Return a function that runs arguments in a mount namespace of its own, with folders of this test mounted at the
    volumes' paths."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("needs root, unshare and setpriv to enact a container")
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no mount namespaces")
    if subprocess.run([*AS_USER, str(KAFKACTL), "--version"], check=False, capture_output=True).returncode:
        pytest.skip("user 1000 may not run this Python")

    def run(volumes: dict[str, tuple[Path, bool]], args: list[str]) -> Done:
        # The files of this machine with the volumes over them; directories that these need are made in memory.
        steps = [
            "set -e",
            "mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work /mnt/merged",
            "mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/merged",
            "mount --rbind /proc /mnt/merged/proc && mount --rbind /dev /mnt/merged/dev",
        ]
        for target, (folder, read_only) in volumes.items():
            steps.append(f"mkdir -p /mnt/merged{target} && mount --bind {folder} /mnt/merged{target}")
            if read_only:
                steps.append(f"mount -o remount,bind,ro /mnt/merged{target}")
        user = " ".join(AS_USER)
        steps.append("mount -o remount,ro /mnt/merged")
        steps.append(
            f'cd / && exec chroot /mnt/merged env -i PYTHONDONTWRITEBYTECODE=1 LANG=C.UTF-8 {user} {KAFKACTL} "$@"'
        )
        command = ["unshare", "--mount", "sh", "-c", "\n".join(steps), "sh", *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)

    if (probe := run({}, ["--version"])).returncode:
        pytest.skip(f"this machine cannot enact a container: {probe.stderr[-200:]}")
    return run


def owned(folder: Path) -> Path:
    folder.mkdir()
    os.chown(folder, 1000, 1000)
    return folder


@pytest.fixture
def init(tmp_path: Path) -> tuple[dict[str, Any], dict[str, str], Path]:
    """Return the init container of controller-1, the values of its variables, and its configuration folder."""
    config, _, stateful = documents(FOLDER / "controllers.yaml")
    folder = tmp_path / "config"
    folder.mkdir()
    for name, text in config["data"].items():
        (folder / name).write_text(text, encoding="utf-8")
    (container,) = pod_of(stateful)["initContainers"]
    data = config["data"]
    values = {
        "POD_NAME": "controller-1",
        "CLUSTER_ID": data["cluster-id"],
        "INITIAL_CONTROLLERS": data["initial-controllers"],
    }
    return container, values, folder


@pytest.mark.slow
def test_init_container_formats_once_and_refuses_the_rest(isolated: Run, init: Any, tmp_path: Path) -> None:
    container, values, config = init
    data = owned(tmp_path / "data")
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/etc/kafka", "/var/lib/kafka/data"]
    volumes = {"/etc/kafka": (config, True), "/var/lib/kafka/data": (data, False)}
    first = isolated(volumes, arguments(container, **values))
    assert first.returncode == 0, first.stderr + first.stdout
    written = {path: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    meta = (data / "metadata" / "meta.properties").read_text(encoding="utf-8")
    assert f"cluster.id={values['CLUSTER_ID']}\n" in meta and "node.id=1\n" in meta
    assert "directory.id=" + values["INITIAL_CONTROLLERS"].split(",")[1].rpartition(":")[2] in meta
    again = isolated(volumes, arguments(container, **values))
    assert again.returncode == 0, again.stderr + again.stdout
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == written
    foreign = isolated(volumes, arguments(container, **{**values, "CLUSTER_ID": "Zm9yZWlnbi1jbHVzdGVyMQ"}))
    assert foreign.returncode == 3, foreign.stderr + foreign.stdout
    assert {path: path.read_bytes() for path in data.rglob("*") if path.is_file()} == written


@pytest.mark.slow
def test_init_container_never_formats_what_is_not_mounted(isolated: Run, init: Any) -> None:
    container, values, config = init
    done = isolated({"/etc/kafka": (config, True)}, arguments(container, **values))
    assert done.returncode == 3 and "/var/lib/kafka/data" in done.stderr + done.stdout, done.stderr + done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verify.yaml", "report.yaml"])
def test_job_is_run_with_its_volumes_alone(isolated: Run, tmp_path: Path, name: str) -> None:
    (document,) = documents(FOLDER / name)
    (container,) = pod_of(document)["containers"]
    volumes = {}
    for mount in container["volumeMounts"]:
        volumes[mount["mountPath"]] = (owned(tmp_path / mount["name"]), False)
    with FakeQuorum(voters=(1, 2, 3)) as quorum:
        addresses = ",".join(str(quorum.address(node)) for node in quorum.nodes)
        replaced = [
            re.sub("^--bootstrap-controller=.*", f"--bootstrap-controller={addresses}", text)
            for text in container["args"]
        ]
        done = isolated(volumes, replaced)
    assert done.returncode == 0, done.stderr + done.stdout
    if "/reports" in volumes:
        page = (volumes["/reports"][0] / "report.html").read_text(encoding="utf-8")
        assert "<h1>Dry-run report</h1>" in page
