#!/bin/sh
# Prints a Python of version 3.11, 3.12 or 3.13 that can make virtual environments, or says what is missing.
# PYTHON names one to try first.
set -eu

works='
import sys
sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else 1)
'
without_venv=
for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
    "$candidate" -c "$works" >/dev/null 2>&1 || continue
    if "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit 0
    fi
    without_venv=$candidate
done

if [ -n "$without_venv" ]; then
    echo "error: $without_venv cannot make virtual environments (no ensurepip). On Debian: apt-get install python3-venv" >&2
else
    echo "error: kafkactl needs Python 3.11, 3.12 or 3.13 and found none. On Debian 12: apt-get install python3 python3-venv;" >&2
    echo "       or name one: make setup PYTHON=/path/to/python3.12" >&2
fi
exit 1
