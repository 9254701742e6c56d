#!/bin/sh
# Hook of docker-compose.toml: set-release.sh SERVICE RELEASE writes KAFKA_11=4.4.0 for kafka-11 into .env.
set -eu
name=$(echo "$1" | tr 'a-z-' 'A-Z_')
docker pull --quiet "apache/kafka:$2" >&2
{ if [ -e .env ]; then grep -v "^$name=" .env || true; fi; echo "$name=$2"; } >.env.new
mv -f .env.new .env
