"""The modules that a command enters, in order: `python -m tests.repository.docs.entered_modules OUT MODULES WORD…`.

OUT gets a line for each module of MODULES (names, separated by commas) at the first call of a function in it. Calls
during the import of a module are left out.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType


def main() -> None:
    """Run the command, and write the modules in the order of their first calls."""
    out, modules, *words = sys.argv[1:]
    awaited = set(modules.split(","))
    entered: list[str] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event != "call" or name not in awaited or _is_import(frame):
            return
        awaited.discard(name)
        entered.append(name)

    sys.argv = ["kafkactl", *words]
    from kafkactl.__main__ import run

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
        Path(out).write_text("\n".join(entered), encoding="utf-8")


def _is_import(frame: FrameType | None) -> bool:
    """Return True if the call belongs to the import of a module of kafkactl, or is a special method or a lambda."""
    if frame is not None and frame.f_code.co_name.startswith(("__", "<")):
        return True
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("kafkactl"):
            return frame.f_globals["__name__"] != "kafkactl.__main__"
        frame = frame.f_back
    return False


if __name__ == "__main__":
    main()
