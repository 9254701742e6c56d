"""A hook of the lab: `python hook.py SOCKET VERB NODE RELEASE` asks the test that owns the nodes.

Standard library only: it is started for every hook.
"""

from __future__ import annotations

import json
import socket
import sys


def main(path: str, verb: str, node: str, release: str) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(json.dumps({"verb": verb, "node": int(node), "release": release}).encode() + b"\n")
        data = b""
        while part := connection.recv(1 << 16):
            data += part
    answer = json.loads(data)
    sys.stdout.write(answer["out"])
    sys.stderr.write(answer["err"])
    return int(answer["exit"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
