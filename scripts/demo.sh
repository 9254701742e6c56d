#!/bin/sh
# `make demo`: `kafkactl demo` in an environment of its own, demo/venv, which has only what an operator installs. Where
# Java 17 and Maven are installed, the cluster is released Kafka, else the simulated quorum of `kafkactl demo`.
# Options are those of `kafkactl demo`; without any, the HTML page of its last scene stays in demo/report.html.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- --out demo/report.html

kafka=4.3.1
venv=demo/venv
python=$venv/bin/python
jars=${KAFKACTL_LAB_CACHE:-$HOME/.cache/kafkactl-lab}/kafka-$kafka

if [ ! -e $venv/.installed ] || [ pyproject.toml -nt $venv/.installed ]; then
    base=$(scripts/pick_python.sh)
    echo "Installing kafkactl and its dependencies into $venv, once: 25 MB to"
    echo "download, 135 MB on disk, about half a minute."
    echo
    rm -rf $venv
    "$base" -m venv $venv
    $python -m pip install --disable-pip-version-check --progress-bar on -e .
    touch $venv/.installed
    echo
fi

if java=$($python -c 'from tests.lab.harness.java import java_home; print(java_home())' 2>/dev/null) &&
    { [ -e "$jars/.complete" ] || command -v mvn >/dev/null; }; then
    [ -e "$jars/.complete" ] || {
        echo "Downloading Kafka $kafka with Maven, once: 56 MB, about half a minute, to"
        echo "$jars"
    }
    if $python -m tests.lab.harness.maven $kafka >/dev/null; then
        export JAVA_HOME="$java"
        set -- --kafka "$jars" "$@"
    else
        echo "Kafka was not downloaded: a simulated quorum takes its place." >&2
    fi
else
    echo "Java 17 and Maven are not both installed: a simulated quorum takes the place of"
    echo "Kafka. To see the same on six nodes of Kafka $kafka, install them (Debian:"
    echo "apt-get install default-jdk-headless maven), and run make demo again."
fi

# Ctrl-C ends the demo, which removes its files. It is no failure of this script.
trap : INT
ended=0
$venv/bin/kafkactl demo "$@" || ended=$?
[ $ended -eq 130 ] || exit $ended
