"""Kills what a lab process started after that process is gone, however it went.

Run as ``python -I -S watchdog.py``, in a session of its own. Its standard input is a pipe of which the lab
process holds the only other end. Lines ``+PGID`` and ``-PGID`` come in as process groups start and end; end
of file means the lab process is gone, and whatever is still on the list is killed.

A death signal set by the kernel (PR_SET_PDEATHSIG) would be simpler, but it is sent when the *thread* that
started the child ends, and tests start nodes from short-lived threads.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Keep the list until end of file, then kill."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        group = int(line[1:])
        (groups.add if line[:1] == b"+" else groups.discard)(group)
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
