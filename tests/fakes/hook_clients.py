"""Stand-ins for ssh, sudo, systemctl, journalctl, kubectl and docker: they write down their words and do it, here.

A unit, a service and a pod are a real process each, that is started, stopped and looked for. What follows the host of
ssh goes through a shell, as sshd does it. What they were asked can be read.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

NAMES = ("ssh", "sudo", "systemctl", "journalctl", "kubectl", "docker")

_SCRIPT = r"""#!{python} -SE
import json, os, signal, subprocess, sys, time
ROOT = {root!r}
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(ROOT + "/told.jsonl", "a") as told:
    told.write(json.dumps([name, *words]) + "\n")

def place(unit, kind):
    return os.path.join(ROOT, "".join(c if c.isalnum() else "%%%x" % ord(c) for c in unit) + "." + kind)

def pid(unit):
    try:
        number = int(open(place(unit, "pid")).read())
        with open("/proc/%d/stat" % number) as f:
            return None if f.read().rpartition(")")[2].split()[0] == "Z" else number
    except (OSError, ValueError):
        return None

def stop(unit):
    found = pid(unit)
    if found:
        os.kill(found, signal.SIGTERM)
        while pid(unit):
            time.sleep(0.01)

def start(unit):
    if pid(unit):
        return
    quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child = subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet)
    with open(place(unit, "pid"), "w") as f:
        f.write(str(child.pid))

ACTS = {"stop": [stop], "start": [start], "restart": [stop, start]}

def act(verb, unit):
    for one in ACTS[verb]:
        one(unit)

def ssh():
    host = words.index("--") + 1
    os.execvp("sh", ["sh", "-c", " ".join(words[host + 1:])])

def sudo():
    rest = words[1:] if words[0] == "-n" else words
    rest = rest[2:] if rest[0] == "-u" else rest
    os.execvp(rest[0], rest)

def systemctl():
    verb, unit = words
    if verb == "is-active":
        print("active" if pid(unit) else "inactive")
        sys.exit(0 if pid(unit) else 3)
    if verb == "disable":
        open(place(unit, "disabled"), "w").close()
    else:
        act(verb, unit)

def journalctl():
    print("a line of", words[words.index("-u") + 1])

def docker():
    assert words[:2] == ["compose", "-f"], words
    verb, rest = words[3], words[4:]
    if verb in ACTS:
        act(verb, rest[-1])
    elif verb == "ps":
        print(pid(rest[-1]) or "")
    elif verb == "exec":
        assert rest[0] == "-T"
        os.execvp(rest[2], rest[2:])
    elif verb == "run":
        at = rest.index("--entrypoint")
        os.execvp(rest[at + 1], [rest[at + 1], *rest[at + 3:]])
    elif verb == "logs":
        print("a line of", rest[-1])
    else:
        sys.exit("docker: " + verb)

def shown(found, form):
    if form == "json":
        print(json.dumps(found))
        return
    assert form.startswith("jsonpath={.") and form.endswith("}"), form
    for key in form[len("jsonpath={."):-1].replace("\\.", "\0").split("."):
        found = (found or {}).get(key.replace("\0", "."))
    sys.stdout.write(found or "")

def merged(old, new):
    for key, value in new.items():
        if value is None:
            old.pop(key, None)
        elif isinstance(value, dict):
            old[key] = merged(old.get(key) or {}, value)
        else:
            old[key] = value
    return old

def option(name, default=None):
    return words[words.index(name) + 1] if name in words else default

def loaded(path):
    with open(path) as f:
        return json.load(f)

def saved(found):
    path = place(found["metadata"]["name"], "configmap")
    old = loaded(path) if os.path.exists(path) else None
    if old and found["metadata"].get("resourceVersion") != old["metadata"]["resourceVersion"]:
        sys.exit("Error from server (Conflict): the object has been modified")
    found["metadata"]["resourceVersion"] = str(int(old["metadata"]["resourceVersion"]) + 1 if old else 1)
    with open(path, "w") as f:
        json.dump(found, f)

def kubectl():
    offline = "--dry-run=client" in words or "--local" in words
    if offline and os.path.exists(ROOT + "/real-kubectl"):
        os.execv(open(ROOT + "/real-kubectl").read(), ["kubectl", *words])
    verb = words[2] if words[0] == "-n" else words[0]
    form = option("-o", "json")
    if verb == "patch":
        new = loaded(option("--patch-file")) if "--patch-file" in words else json.loads(option("-p"))
        shown(merged(loaded(option("-f")), new), form)
    elif verb == "get" and words[3] == "configmap":
        path = place(words[4], "configmap")
        if os.path.exists(path):
            shown(loaded(path), form)
        elif "--ignore-not-found" not in words:
            sys.exit("Error from server (NotFound)")
    elif verb == "get":
        shown({"status": {"phase": "Running"}} if pid(words[4]) else {}, form)
    elif verb == "create" and "--dry-run=client" in words:
        file = next(one for one in words if one.startswith("--from-file=")).partition("=")[2]
        with open(file) as f:
            data = {os.path.basename(file): f.read()}
        shown({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": words[4]}, "data": data}, form)
    elif verb in ("create", "replace"):
        saved(loaded(option("-f")))
    elif verb == "delete":
        stop(words[4])
        start(words[4])
    elif verb == "scale":
        replicas = words[5].partition("=")[2]
        act("start" if int(replicas) else "stop", words[4] + "-0")
    elif verb == "exec":
        at = words.index("--")
        os.execvp(words[at + 1], words[at + 1:])
    elif verb == "logs":
        print("a line of", words[3])
    else:
        sys.exit("kubectl: " + verb)

globals()[name]()
"""


class Clients:
    """The stand-ins in a folder, and the processes that they have started."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "clients"
        self.bin = self.root / "bin"
        self.bin.mkdir(parents=True)
        script = _SCRIPT.replace("{python}", sys.executable).replace("{root!r}", repr(str(self.root)))
        for name in NAMES:
            path = self.bin / name
            path.write_text(script)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def _place(self, name: str, kind: str) -> Path:
        return self.root / ("".join(item if item.isalnum() else f"%{ord(item):x}" for item in name) + f".{kind}")

    def use_real_kubectl(self, path: str) -> None:
        """What needs no server is done by the real one."""
        (self.root / "real-kubectl").write_text(path)

    @property
    def recorded(self) -> list[list[str]]:
        """Every call, as its words."""
        path = self.root / "told.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def pid(self, unit: str) -> int | None:
        """The process of a unit, service or pod; None where it has none."""
        try:
            number = int(self._place(unit, "pid").read_text())
            os.kill(number, 0)
        except (OSError, ValueError):
            return None
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        return None if state == "Z" else number

    def configmap(self, name: str) -> dict[str, object]:
        """A ConfigMap."""
        found: dict[str, object] = json.loads(self._place(name, "configmap").read_text())
        return found

    def put_configmap(self, name: str, data: dict[str, str]) -> None:
        """A ConfigMap that is there."""
        metadata = {"name": name, "namespace": "prod", "labels": {"app": "kafka"}, "resourceVersion": "7"}
        held = {"kind": "ConfigMap", "apiVersion": "v1", "data": data, "metadata": metadata}
        self._place(name, "configmap").write_text(json.dumps(held))

    def end(self) -> None:
        """End every process."""
        for path in self.root.glob("*.pid"):
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                continue
