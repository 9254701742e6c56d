#!/bin/sh
# `make demo`: `kafkactl demo` in an environment of its own, demo/venv, which has only what an operator installs. Where
# Java 17 and Maven are installed, the cluster is released Kafka, else the simulated quorum of `kafkactl demo`.
# Options are those of `kafkactl demo`.
set -eu
cd "$(dirname "$0")/.."

kafka=4.3.1
venv=demo/venv
python=$venv/bin/python
jars=${KAFKACTL_LAB_CACHE:-$HOME/.cache/kafkactl-lab}/kafka-$kafka

if [ ! -e $venv/.installed ] || [ pyproject.toml -nt $venv/.installed ]; then
    base=$(scripts/pick_python.sh)
    echo "Installing kafkactl and its dependencies into $venv, once: about 25 MB are downloaded,"
    echo "135 MB are written. This takes about half a minute."
    echo
    rm -rf $venv
    "$base" -m venv $venv
    $python -m pip install --disable-pip-version-check --progress-bar on -e .
    touch $venv/.installed
    echo
fi

if java=$($python -c 'from tests.lab.harness.java import java_home; print(java_home())' 2>/dev/null) &&
    { [ -e "$jars/.complete" ] || command -v mvn >/dev/null; }; then
    [ -e "$jars/.complete" ] || echo "Downloading Kafka $kafka with Maven to $jars, once: 56 MB, about half a minute."
    if $python -m tests.lab.harness.maven $kafka >/dev/null; then
        export JAVA_HOME="$java"
        set -- --kafka "$jars" "$@"
    else
        echo "Kafka could not be downloaded: a simulated quorum takes its place." >&2
    fi
else
    echo "Java 17 and Maven are not both installed: a simulated quorum takes the place of Kafka. To see the same"
    echo "on six nodes of Kafka $kafka (Debian): apt-get install default-jdk-headless maven"
fi

# Ctrl-C ends the demo, which removes its files. It is no failure of this script.
trap : INT
ended=0
$venv/bin/kafkactl demo --out demo/report.html "$@" || ended=$?
[ $ended -eq 130 ] || exit $ended
