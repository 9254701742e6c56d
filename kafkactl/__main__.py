"""The entry point: `kafkactl` when installed, `python -m kafkactl` from the tree."""

from __future__ import annotations

import sys

from kafkactl._version import __version__


def run() -> None:
    """Run the command line of this process and exit. `--version` alone is answered before click is imported."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        sys.stdout.write(f"kafkactl {__version__}\n")
        return
    from kafkactl.commands.main import main

    sys.exit(main(arguments))


if __name__ == "__main__":
    run()
