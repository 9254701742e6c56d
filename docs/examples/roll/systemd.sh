#!/bin/sh
# Hooks of systemd.toml: systemd.sh VERB NODE_ID [ARGUMENT...]. Run as a user that may use sudo without a password.
set -eu
verb=$1 unit=kafka@$2 home=/opt/kafka-$2 releases=/opt/kafka-releases
shift 2
case $verb in
  stop | start | restart) sudo -n systemctl "$verb" "$unit" ;;
  # The exit code is 1 if systemd itself does not answer: that says nothing about the process.
  is_running) systemctl is-active "$unit" || [ $? -ne 1 ] ;;
  logs) sudo -n journalctl -q -o cat -u "$unit" --since "@$1" --grep "$2" || true ;;
  install)
    if [ ! -e "$releases/$1/libs/kafka_2.13-$1.jar" ]; then
      echo "$releases/$1 has no libs/kafka_2.13-$1.jar: unpack Kafka $1 there" >&2
      exit 67
    fi
    sudo -n ln -sfn -- "$releases/$1" "$home.new" && sudo -n mv -fT -- "$home.new" "$home"
    ;;
  installed) ls -- "$home/libs" | sed -n 's/^kafka_2[.]1[23]-\([0-9.]*\)[.]jar$/\1/p' ;;
  # The class path of the process names the jars that it has opened, whatever the link names now.
  running)
    pid=$(systemctl show -p MainPID --value "$unit")
    [ "$pid" != 0 ] || exit 0
    sudo -n cat "/proc/$pid/cmdline" | tr '\0:' '\n\n' | sed -n 's/.*kafka_2[.]1[23]-\([0-9.]*\)[.]jar$/\1/p' | sort -u
    ;;
  java) java -version 2>&1 ;;
  *) exit 64 ;;
esac
