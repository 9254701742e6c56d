"""Ready-made hooks: what each verb is with systemd over ssh, kubectl, docker compose, or on this machine.

Data only. Words as in `hook_words`; `VARIABLES` says what else an inventory has to give, and what is taken where it
does not. `manual` has no commands at all: the operator is asked to do it, and the gate that is observed says when it
was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkactl.change.hooks.words import Verb

MANUAL: Final = "manual"
COMMAND: Final = "command"
LOCAL: Final = "local"
"""Names of templates: the operator does it; every verb by a command of the inventory; files of this machine."""

# Compare and swap: the file is replaced in one step, and only if it is what the plan has seen (exit 65 where not).
# The new content comes by stdin and is checked before it is put in place. $1 file, $2 hash before, $3 hash after.
# The shell may be root's and the folder another user's. So everything is written in a new folder that only this user
# can write (its parent and owner are checked after entering it, so that no link or other folder took its place), owner
# and mode come from a file that is not a link, links are never followed, and a file that appears meanwhile stays.
_SWAP = (
    "set -eu; umask 077; export LC_ALL=C; "
    'no() {{ echo "$1" >&2; exit "$2"; }}; '
    'd=$(dirname -- "$1"); b=../$(basename -- "$1"); cd -P -- "$d"; '
    'case $(stat -c %a .) in *[2367]) no "every user may write to the folder $d: chmod o-w it first" 67;; esac; '
    't=$(mktemp -d -p .); here=$(stat -c %d:%i .); me=$(id -u); cd -P -- "$t"; '
    'if [ "$(stat -c "%u %a" .) $(stat -c %d:%i ..)" != "$me 700 $here" ]; then '
    'no "the folder $t in $d was replaced by another one: nothing was written" 67; fi; '
    "trap 'rm -f new; cd ..; rmdir -- \"$t\"' EXIT; have=absent; "
    'if [ -L "$b" ]; then no "$1 is a symbolic link: name the file itself as config in the inventory" 67; fi; '
    'if [ -e "$b" ]; then is=$(stat -c "%F %u:%g %a" "$b"); '
    'case $is in "regular "*) ;; *) no "$1 is not a regular file" 67;; esac; '
    'have=$(sha256sum <"$b" | cut -d" " -f1); fi; '
    'if [ "$have" = "$3" ]; then exit 0; fi; if [ "$have" != "$2" ]; then exit 65; fi; '
    'cat >new; if [ "$(sha256sum <new | cut -d" " -f1)" != "$3" ]; then exit 66; fi; '
    'if [ "$have" = absent ]; then sync new; ln -T new "$b" || exit 65; sync ..; exit 0; fi; '
    'set -- ${{is##*file }}; chown -h "$1" new; case $2 in ????) chmod "${{2#?}}" new;; *) chmod "$2" new;; esac; '
    'sync new; mv -fT new "$b"; sync ..'
)
# A log directory is known by what Kafka keeps in it: nothing else is moved, whatever a node's file may name.
_SET_ASIDE = (
    'set -eu; if [ ! -e "$1" ]; then exit 0; fi; '
    'if [ ! -e "$1/meta.properties" ] && [ ! -d "$1/__cluster_metadata-0" ] && [ -n "$(ls -A -- "$1")" ]; then '
    'echo "$1 is not a log directory of Kafka: it holds neither meta.properties nor __cluster_metadata-0" >&2; '
    'exit 67; fi; mv -T -- "$1" "$1.before-migration.$(date +%s)"'
)
# The paths in the log directories, and the topic id in each partition.metadata. $@ log directories. A folder that is
# deleted meanwhile, or that this user may not enter, makes the ids incomplete and not the listing.
_PROBE = (
    'find "$@" -maxdepth 1 || exit; '
    'find "$@" -mindepth 2 -maxdepth 2 -name partition.metadata -type f -exec grep -H "^topic_id:" {{}} + '
    "2>/dev/null || echo incomplete"
)
# The release in the names of the jars on the class path of the process $1: what runs, whatever a link names by now.
_RUNNING = (
    'if [ "$1" != 0 ] && [ -n "$1" ]; then tr "\\0:" "\\n\\n" <"/proc/$1/cmdline" | '
    'sed -n "s/.*kafka_2[.]1[23]-\\([0-9.]*\\)[.]jar$/\\1/p" | sort -u; fi'
)
# The release in the names of the jars below $1: what the next start takes. $1 is most often a link.
_INSTALLED = 'ls -- "$1"/libs | sed -n "s/^kafka_2[.]1[23]-\\([0-9.]*\\)[.]jar$/\\1/p" | sort -u'
# A link is replaced in one step; a running process keeps the jars that it has open. $1 link, $2 releases, $3 release.
_LINK = (
    'set -eu; t=$2/$3; if [ ! -e "$t/libs/kafka_2.13-$3.jar" ]; then '
    'echo "$t has no libs/kafka_2.13-$3.jar: unpack Kafka $3 there" >&2; exit 67; fi; '
    'if [ -e "$1" ] && [ ! -L "$1" ]; then echo "$1 is not a symbolic link" >&2; exit 67; fi; '
    'ln -sfn -- "$t" "$1.new"; mv -fT -- "$1.new" "$1"'
)
_SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", "{ssh_user}{host}")
_SUDO = ("sudo", "-n")
_KUBECTL = ("kubectl", "-n", "{namespace}")
_COMPOSE = ("docker", "compose", "-f", "{compose_file}")

# What is read, compared and replaced is one object at one version: a change meanwhile is a conflict. Its
# other keys and its labels stay. $1 namespace, $2 name, $3 hash before, $4 hash after.
_SWAP_CONFIG_MAP = (
    "set -eu; umask 077; d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT; "
    'kubectl -n "$1" get configmap "$2" --ignore-not-found -o json >"$d/old"; have=absent; '
    'if [ -s "$d/old" ]; then kubectl patch --local -f "$d/old" --type merge -p "{{}}" '
    '-o "jsonpath={{.data.server\\.properties}}" >"$d/text"; have=$(sha256sum <"$d/text" | cut -d" " -f1); fi; '
    'if [ "$have" = "$4" ]; then exit 0; fi; if [ "$have" != "$3" ]; then exit 65; fi; '
    'cat >"$d/server.properties"; '
    'if [ "$(sha256sum <"$d/server.properties" | cut -d" " -f1)" != "$4" ]; then exit 66; fi; '
    'kubectl -n "$1" create configmap "$2" --from-file="$d/server.properties" --dry-run=client -o json >"$d/new"; '
    'if [ "$have" = absent ]; then kubectl -n "$1" create -f "$d/new"; exit 0; fi; '
    'kubectl patch --local -f "$d/old" --type merge --patch-file "$d/new" -o json >"$d/both"; '
    'kubectl -n "$1" replace -f "$d/both"'
)

# $1 namespace, $2 StatefulSet, $3 container, $4 image.
_SET_IMAGE = (
    'set -eu; s=$(kubectl -n "$1" get statefulset "$2" -o "jsonpath={{.spec.updateStrategy.type}}"); '
    'if [ "$s" != OnDelete ]; then echo "the update strategy of StatefulSet $2 is $s: set it to OnDelete, else the new '
    'image restarts the pod at once" >&2; exit 67; fi; kubectl -n "$1" set image "statefulset/$2" "$3=$4"'
)

_SYSTEMD_SSH: Final[Mapping[Verb, tuple[str, ...]]] = {
    Verb.GET_CONFIG: (*_SSH, *_SUDO, "cat", "{config_path:q}"),
    Verb.PUT_CONFIG: (
        *_SSH, *_SUDO, "sh", "-c", "'" + _SWAP.replace("'", "'\\''") + "'", "kafkactl",
        "{config_path:q}", "{sha_before:q}", "{sha_after:q}",
    ),
    Verb.RESTART: (*_SSH, *_SUDO, "systemctl", "restart", "{unit:q}"),
    Verb.STOP: (*_SSH, *_SUDO, "systemctl", "stop", "{unit:q}"),
    Verb.START: (*_SSH, *_SUDO, "systemctl", "start", "{unit:q}"),
    Verb.DISABLE: (*_SSH, *_SUDO, "systemctl", "disable", "{unit:q}"),
    # The exit code is 1 if systemd itself does not answer: no output would then be read as a stopped unit.
    Verb.IS_RUNNING: (*_SSH, "systemctl", "is-active", "{unit:q}", "||", "test", "$?", "-ne", "1"),
    Verb.FORMAT: (
        *_SSH, *_SUDO, "-u", "{service_user:q}", "{storage_command:q}", "format", "--config", "{config_path:q}",
        "--cluster-id", "{cluster_id:q}", "--release-version", "{release:q}", "{format_flags:q}",
    ),
    Verb.WIPE: (*_SSH, *_SUDO, "sh", "-c", "'" + _SET_ASIDE + "'", "kafkactl", "{metadata_dir:q}"),
    Verb.FS_PROBE: (*_SSH, *_SUDO, "sh", "-c", f"'{_PROBE}'", "kafkactl", "{log_dirs:q}"),
    Verb.LOGS: (
        *_SSH, *_SUDO, "journalctl", "-q", "-o", "cat", "-u", "{unit:q}", "--since", "@{since_s}",
        "--grep", "{pattern:q}", "||", "true",
    ),
    Verb.INSTALL: (
        *_SSH, *_SUDO, "sh", "-c", f"'{_LINK}'", "kafkactl", "{kafka_home:q}", "{kafka_releases:q}", "{release:q}",
    ),
    Verb.INSTALLED: (*_SSH, "sh", "-c", f"'{_INSTALLED}'", "kafkactl", "{kafka_home:q}"),
    Verb.RUNNING: (
        *_SSH, *_SUDO, "sh", "-c", f"'{_RUNNING}'", "kafkactl",
        "$(systemctl show -p MainPID --value {unit:q})",
    ),
    Verb.JAVA: (*_SSH, "{java:q}", "-version", "2>&1"),
}  # fmt: skip

_KUBERNETES: Final[Mapping[Verb, tuple[str, ...]]] = {
    Verb.GET_CONFIG: (
        *_KUBECTL, "get", "configmap", "{configmap}", "-o", "jsonpath={{.data.server\\.properties}}",
    ),
    Verb.PUT_CONFIG: ("sh", "-c", _SWAP_CONFIG_MAP, "kafkactl", "{namespace}", "{configmap}",
                      "{sha_before}", "{sha_after}"),
    # A pod that is deleted comes back with what the config map holds now; its uid is another one then.
    Verb.RESTART: (*_KUBECTL, "delete", "pod", "{pod}", "--wait=true"),
    Verb.STOP: (*_KUBECTL, "scale", "statefulset", "{statefulset}", "--replicas=0"),
    Verb.START: (*_KUBECTL, "scale", "statefulset", "{statefulset}", "--replicas={replicas}"),
    Verb.IS_RUNNING: (
        *_KUBECTL, "get", "pod", "{pod}", "--ignore-not-found", "-o", "jsonpath={{.status.phase}}",
    ),
    Verb.FS_PROBE: (*_KUBECTL, "exec", "{pod}", "--", "sh", "-c", _PROBE, "kafkactl", "{log_dirs*}"),
    Verb.LOGS: (*_KUBECTL, "logs", "{pod}", "--since-time={since_time}"),
    # An image that is set under another update strategy restarts the pod at once, outside of every gate.
    Verb.INSTALL: ("sh", "-c", _SET_IMAGE, "kafkactl", "{namespace}", "{statefulset}", "{container}",
                   "{image}:{release}"),
    Verb.INSTALLED: (
        *_KUBECTL, "get", "statefulset", "{statefulset}", "-o",
        "jsonpath={{.spec.template.spec.containers[?(@.name==\"{container}\")].image}}",
    ),
    Verb.RUNNING: (
        *_KUBECTL, "get", "pod", "{pod}", "--ignore-not-found", "-o",
        "jsonpath={{.status.containerStatuses[?(@.name==\"{container}\")].image}}",
    ),
    # The Java of the next start is in its image, and not that of the container that runs: there is no hook `java`.
}  # fmt: skip

_DOCKER_COMPOSE: Final[Mapping[Verb, tuple[str, ...]]] = {
    Verb.GET_CONFIG: ("cat", "--", "{config_path}"),
    Verb.PUT_CONFIG: ("sh", "-c", _SWAP, "kafkactl", "{config_path}", "{sha_before}", "{sha_after}"),
    # By default a container is killed after ten seconds; a controlled shutdown waits five minutes for a controller.
    Verb.RESTART: (*_COMPOSE, "restart", "--timeout", "360", "{service}"),
    Verb.STOP: (*_COMPOSE, "stop", "--timeout", "360", "{service}"),
    Verb.START: (*_COMPOSE, "start", "{service}"),
    Verb.IS_RUNNING: (*_COMPOSE, "ps", "--status", "running", "--quiet", "{service}"),
    Verb.FORMAT: (
        *_COMPOSE, "run", "--rm", "--no-deps", "--entrypoint", "{storage_command}", "{service}", "format", "--config",
        "{config_in_container}", "--cluster-id", "{cluster_id}", "--release-version", "{release}", "{format_flags*}",
    ),
    Verb.FS_PROBE: (*_COMPOSE, "exec", "-T", "{service}", "sh", "-c", _PROBE, "kafkactl", "{log_dirs*}"),
    Verb.LOGS: (*_COMPOSE, "logs", "--no-log-prefix", "--since", "{since_time}", "{service}"),
    # The image of a service is a line of the compose file, so `install` is the operator's, or a hook of the inventory.
    Verb.INSTALLED: (*_COMPOSE, "config", "--images", "{service}"),
    Verb.RUNNING: (*_COMPOSE, "ps", "--format", "{{{{.Image}}}}", "{service}"),
}  # fmt: skip

TEMPLATES: Final[Mapping[str, Mapping[Verb, tuple[str, ...]]]] = {
    MANUAL: {},
    COMMAND: {},
    LOCAL: {},
    "systemd-ssh": _SYSTEMD_SSH,
    "kubectl": _KUBERNETES,
    "docker-compose": _DOCKER_COMPOSE,
}
"""By the name of the template, by verb; a verb that is not there is asked of the operator."""

VARIABLES: Final[Mapping[str, Mapping[str, str | None]]] = {
    MANUAL: {},
    COMMAND: {},
    LOCAL: {},
    "systemd-ssh": {
        "unit": "kafka", "ssh_user": "", "service_user": "kafka", "storage_command": "kafka-storage.sh",
        "kafka_home": "/opt/kafka", "kafka_releases": "/opt/kafka-releases", "java": "java",
    },
    "kubectl": {
        "namespace": "default", "pod": None, "statefulset": None, "configmap": None, "replicas": "1",
        "container": "kafka", "image": "apache/kafka",
    },
    "docker-compose": {
        "compose_file": "docker-compose.yml", "service": None, "storage_command": "/opt/kafka/bin/kafka-storage.sh",
        "config_in_container": "/etc/kafka/server.properties",
    },
}  # fmt: skip
"""The variables of each template with what is taken if the inventory does not give one; None must be given."""

DERIVED: Final = ("since_s", "since_time")
"""Other forms of `since_ms`: seconds since the epoch, and RFC 3339."""
