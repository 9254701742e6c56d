"""The entry point: `kafkactl` when installed, `python -m kafkactl` from the tree."""

from __future__ import annotations

import gc
import sys

from kafkactl._version import __version__

_OBJECTS_BETWEEN_COLLECTIONS = 100_000


def run() -> None:
    """Run the command line of this process and exit. `--version` alone is answered before click is imported."""
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        sys.stdout.write(f"kafkactl {__version__}\n")
        return
    # Modules, classes and tables are made once and stay: looking through them for garbage while they are made, and
    # once more at the end, is a tenth of a short command's time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from kafkactl.commands.main import main

    exit_code = main(arguments)
    gc.freeze()
    sys.exit(exit_code)


if __name__ == "__main__":
    run()
