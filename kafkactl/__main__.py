"""The entry point: `kafkactl` when installed, `python -m kafkactl` from the tree."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any

from kafkactl._version import __version__

_OBJECTS_BETWEEN_COLLECTIONS = 100_000
_INTERRUPTED = 130  # `exit_codes.INTERRUPTED`, which may be what was being loaded


def _open_closed_streams() -> None:
    """Open a null device for each standard stream that the parent process closed (`>&-`).

    Otherwise the first opened file gets its number, and receives the output. Nothing is read from a closed stdin, and
    no message on a closed stderr is missed; but an answer that cannot be printed has to fail, so stdout is opened for
    reading.
    """
    places = (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    for number, (name, flags, mode) in enumerate(places):
        if getattr(sys, name) is None:
            found = os.open(os.devnull, flags)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            stream: Any = os.fdopen(number, mode)
            stream.buffer.raw.name = f"<{name}>"
            setattr(sys, name, stream)


def _handle_signals(before: Any, now: Any) -> None:
    """Exchange what handles the signals that ask a process to end; one that is ignored (`nohup`) stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == before:
            signal.signal(number, now)


def run() -> None:
    """Run the command line of this process and exit. `--version` alone is answered before click is imported."""
    _open_closed_streams()
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        sys.stdout.write(f"kafkactl {__version__}\n")
        return
    # Modules, classes and tables are made once and stay: looking through them for garbage while they are made, and
    # once more at the end, is a tenth of a short command's time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    when = " before its command began: nothing was done"
    try:
        # As Ctrl-C, until the command takes them over (`ends_clean`).
        _handle_signals(signal.SIG_DFL, signal.default_int_handler)
        from kafkactl.commands.framework.click_import import import_click

        import_click()
        from kafkactl.commands.main import main

        when = ""
        exit_code = main(arguments)
        _handle_signals(signal.default_int_handler, signal.SIG_DFL)
    except KeyboardInterrupt:  # while modules are loaded, or once more while the first is reported
        sys.stderr.write(f"error: kafkactl was interrupted{when}\n")
        sys.exit(_INTERRUPTED)
    gc.freeze()
    sys.exit(exit_code)


def _leave_working_directory() -> None:
    """Import nothing more from the working directory, which `python -m` has put first on the search path."""
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - nothing is imported for it
        del sys.path[0]


if __name__ == "__main__":
    _leave_working_directory()
    run()
