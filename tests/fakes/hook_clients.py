"""Stand-ins for ssh, sudo, systemctl, journalctl, kubectl and docker: they write down their words and do it, here.

A unit, a service and a pod are a real process each, that is started, stopped and looked for. What follows the host of
ssh goes through a shell, as sshd does it. What they were asked can be read. Each refuses the options and the number of
arguments that the real client refuses (exit code 2): `_OPTIONS` has what the ready-made hooks use of each.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

NAMES = ("ssh", "sudo", "systemctl", "journalctl", "kubectl", "docker")

# By client and subcommand: flags, options with a value, and the least and largest number of other arguments. The
# options are those that systemd 252, kubectl 1.32 and docker compose 2.35 list in their help.
_OPTIONS = {
    "ssh": ([], ["-o"], 1, 99),
    "journalctl": (["-q"], ["-o", "-u", "--since", "--grep"], 0, 0),
    "systemctl": (["--value"], ["-p"], 2, 2),
    "kubectl": ([], ["-n"], 1, 99),
    "kubectl get": (["--ignore-not-found"], ["-o"], 2, 2),
    "kubectl patch": (["--local"], ["-f", "--type", "-p", "--patch-file", "-o"], 0, 0),
    "kubectl create": ([], ["-f", "--from-file", "--dry-run", "-o"], 0, 2),
    "kubectl replace": ([], ["-f"], 0, 0),
    "kubectl scale": ([], ["--replicas"], 2, 2),
    "kubectl set": ([], [], 3, 3),
    "kubectl delete": ([], ["--wait"], 2, 2),
    "kubectl exec": ([], ["-c"], 1, 1),
    "kubectl logs": ([], ["--since-time"], 1, 1),
    "docker compose": ([], ["-f"], 1, 99),
    "docker pull": (["--quiet"], [], 1, 1),
    "compose stop": ([], ["--timeout"], 0, 99),
    "compose restart": ([], ["--timeout"], 0, 99),
    "compose start": ([], [], 0, 99),
    "compose up": (["--detach", "--no-deps"], [], 0, 99),
    "compose ps": (["--quiet"], ["--status", "--format"], 0, 99),
    "compose config": (["--images"], [], 0, 99),
    "compose exec": (["-T"], [], 2, 99),
    "compose run": (["--rm", "--no-deps"], ["--entrypoint"], 1, 99),
    "compose logs": (["--no-log-prefix"], ["--since"], 0, 99),
}

_SCRIPT = r"""#!{python} -SE
import json, os, re, signal, subprocess, sys, time
ROOT = {root!r}
OPTIONS = {options!r}
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
    command = ["sleep", "600"]
    if os.path.exists(place(unit, "home")):
        libs = os.path.join(open(place(unit, "home")).read(), "libs")
        jars = ":".join(os.path.join(libs, name) for name in sorted(os.listdir(libs)))
        command = [sys.executable, "-SE", "-c", "import time; time.sleep(600)", jars]
    child = subprocess.Popen(command, start_new_session=True, **quiet)
    with open(place(unit, "pid"), "w") as f:
        f.write(str(child.pid))

ACTS = {"stop": [stop], "start": [start], "restart": [stop, start]}

def act(verb, unit):
    for one in ACTS[verb]:
        one(unit)

def refused(text):
    sys.stderr.write(text + "\n")
    sys.exit(2)

# Return the arguments that are not options; without `whole` the first one ends the options.
def checked(client, words, whole=True):
    flags, valued, least, most = OPTIONS.get(client) or refused("unknown command: " + client)
    rest, left = [], list(words)
    while left:
        word = left.pop(0)
        if word == "--" or (rest and not whole):
            rest += left if word == "--" else [word, *left]
            break
        option, _, value = word.partition("=")
        if not word.startswith("-"):
            rest.append(word)
        elif option in valued:
            if not value and (not left or left.pop(0) is None):
                refused(client + ": " + option + " needs a value")
        elif word not in flags:
            refused(client + ": unknown option " + word)
    if not least <= len(rest) <= most:
        refused("%s: %d arguments, expected are %d to %d: %s" % (client, len(rest), least, most, rest))
    return rest

def ssh():
    checked("ssh", words, whole=False)
    host = words.index("--") + 1
    os.execvp("sh", ["sh", "-c", " ".join(words[host + 1:])])

def sudo():
    rest = words[1:] if words[0] == "-n" else words
    rest = rest[2:] if rest[0] == "-u" else rest
    os.execvp(rest[0], rest)

def systemctl():
    verb, unit = checked("systemctl", words)
    if os.path.exists(ROOT + "/no-systemd"):
        sys.exit("Failed to connect to bus: Host is down")  # exit code 1
    if verb not in ("is-active", "show", "disable", *ACTS):
        refused("systemctl: unknown command " + verb)
    if verb == "show":
        assert words[1:3] == ["-p", "MainPID"], words
        print(pid(unit) or 0)
        sys.exit(0)
    if verb == "is-active":
        print("active" if pid(unit) else "inactive")
        sys.exit(0 if pid(unit) else 3)
    if verb == "disable":
        open(place(unit, "disabled"), "w").close()
    else:
        act(verb, unit)

def journalctl():
    checked("journalctl", words)
    print("a line of", words[words.index("-u") + 1])

# Return the image of each service; the variables in it are those of .env.
def images():
    with open(words[2]) as f, open(os.path.join(os.path.dirname(words[2]), ".env")) as env:
        text, service, found = f.read(), None, {}
        for line in env:
            key, _, value = line.strip().partition("=")
            text = text.replace("${" + key + ":?}", value)
    for line in text.splitlines():
        if line.startswith("  ") and line.endswith(":") and line[2] != " ":
            service = line.strip()[:-1]
        elif line.strip().startswith("image:"):
            found[service] = line.partition("image:")[2].strip()
    return found

def docker():
    if words[0] == "pull":
        checked("docker pull", words[1:])
        return
    checked("docker compose", words[1:], whole=False)
    assert words[:2] == ["compose", "-f"], words
    verb, rest = words[3], words[4:]
    checked("compose " + verb, rest, whole=verb not in ("exec", "run"))
    if verb in ACTS:
        act(verb, rest[-1])
    elif verb == "up":
        # A container keeps the image that it was made from.
        with open(place(rest[-1], "image"), "w") as f:
            f.write(images()[rest[-1]])
        act("start", rest[-1])
    elif verb == "config":
        print(images()[rest[-1]])
    elif verb == "ps" and "--format" in rest:
        if pid(rest[-1]):
            print(open(place(rest[-1], "image")).read())
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
    filtered = re.fullmatch(r"jsonpath=\{(.*)\[\?\(@\.name==\"(.*)\"\)\]\.(\w+)\}", form)
    path = filtered[1] if filtered else form[len("jsonpath={"):-1]
    for key in path[1:].replace("\\.", "\0").split("."):
        found = (found or {}).get(key.replace("\0", "."))
    if filtered:
        found = next((one[filtered[3]] for one in found or () if one["name"] == filtered[2]), "")
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
    rest = words[2:] if words[0] == "-n" else words
    verb = rest[0]
    at = rest.index("--") if "--" in rest else len(rest)
    checked("kubectl " + verb, rest[1:at])
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
    elif verb == "set":
        assert words[3] == "image", words
        path = place(words[4].partition("/")[2], "statefulset")
        found, (container, _, image) = loaded(path), words[5].partition("=")
        for one in found["spec"]["template"]["spec"]["containers"]:
            one["image"] = image if one["name"] == container else one["image"]
        with open(path, "w") as f:
            json.dump(found, f)
    elif verb == "get" and words[3] == "statefulset":
        shown(loaded(place(words[4], "statefulset")), form)
    elif verb == "get" and os.path.exists(place(words[4], "pod")):
        shown(loaded(place(words[4], "pod")) if pid(words[4]) else {}, form)
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
        if int(replicas) and os.path.exists(place(words[4], "statefulset")):
            held = loaded(place(words[4], "statefulset"))["spec"]["template"]["spec"]["containers"]
            with open(place(words[4] + "-0", "pod"), "w") as f:
                json.dump({"status": {"phase": "Running", "containerStatuses": held}}, f)
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
        script = script.replace("{options!r}", repr(_OPTIONS))
        for name in NAMES:
            path = self.bin / name
            path.write_text(script)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def _place(self, name: str, kind: str) -> Path:
        return self.root / ("".join(item if item.isalnum() else f"%{ord(item):x}" for item in name) + f".{kind}")

    def use_real_kubectl(self, path: str) -> None:
        """Use the real kubectl for what needs no server."""
        (self.root / "real-kubectl").write_text(path)

    @property
    def recorded(self) -> list[list[str]]:
        """Return every call, as its words."""
        path = self.root / "told.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def pid(self, unit: str) -> int | None:
        """Return the process of a unit, service or pod; None if it has none."""
        try:
            number = int(self._place(unit, "pid").read_text())
            os.kill(number, 0)
        except (OSError, ValueError):
            return None
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        return None if state == "Z" else number

    def configmap(self, name: str) -> dict[str, object]:
        """Return a ConfigMap."""
        found: dict[str, object] = json.loads(self._place(name, "configmap").read_text())
        return found

    def put_configmap(self, name: str, data: dict[str, str]) -> None:
        """Put a ConfigMap in place."""
        metadata = {"name": name, "namespace": "prod", "labels": {"app": "kafka"}, "resourceVersion": "7"}
        held = {"kind": "ConfigMap", "apiVersion": "v1", "data": data, "metadata": metadata}
        self._place(name, "configmap").write_text(json.dumps(held))

    def put_home(self, unit: str, home: Path) -> None:
        """Put the jars of a unit in its folder, which is on the class path of its processes from now on."""
        self._place(unit, "home").write_text(str(home))

    def put_statefulset(self, name: str, image: str, strategy: str = "OnDelete") -> None:
        """Put a StatefulSet of one container in place."""
        containers = [{"name": "sidecar", "image": "example/sidecar:1.2.3"}, {"name": "kafka", "image": image}]
        spec = {"updateStrategy": {"type": strategy}, "template": {"spec": {"containers": containers}}}
        self._place(name, "statefulset").write_text(json.dumps({"kind": "StatefulSet", "spec": spec}))

    def lose_systemd(self) -> None:
        """Stop the answers of systemd from now on."""
        (self.root / "no-systemd").touch()

    def end(self) -> None:
        """End every process."""
        for path in self.root.glob("*.pid"):
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                continue
