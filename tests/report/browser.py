"""A headless Chromium over its debugging pipe: open a page at a width, listen to its console, measure, take a picture.

Messages are JSON objects that end with a zero byte, on the descriptors 3 (to the browser) and 4 (from it).
Source: https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip
# Moves our two ends to 3 and 4, where the browser expects them: via high numbers, as they may be 3 or 4 already.
_START = """
import fcntl, os, sys
ours = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
os.dup2(ours[0], 3); os.dup2(ours[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
_BAD = ("error", "assert", "warning")


def find_browser() -> str | None:
    """Return the browser of this machine; KAFKACTL_BROWSER names another."""
    named = os.environ.get("KAFKACTL_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """Page. `complaints` is what the console and the browser's own log said against it, and what it asked for."""

    def __init__(self, to_browser: int, from_browser: int, timeout_s: float = 60) -> None:
        self._to, self._from, self._timeout_s = to_browser, from_browser, timeout_s
        self._rest, self._id, self._session = b"", 0, None
        self.complaints: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Log", "Runtime", "Network"):
            self._ask(f"{domain}.enable")

    def open(self, url: str, *, width: int, dark: bool = False, media: str = "") -> None:
        """Load a page in a window of that width."""
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._ask("Page.navigate", url=url)
        self._until(lambda message: message.get("method") == "Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """Return what a JavaScript expression comes to."""
        result = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, path: Path, *, top: float = 0, height: int | None = None) -> None:
        """Take the whole page as PNG, or so many pixels of its height from `top` on."""
        width = self.value("innerWidth")
        part = {} if height is None else {"clip": {"x": 0, "y": top, "width": width, "height": height, "scale": 1}}
        shot = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, **part)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        number = self._id
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda found: found.get("id") == number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _until(self, wanted: Any) -> Any:
        end = monotonic() + self._timeout_s
        while True:
            while b"\0" in self._rest:
                text, _, self._rest = self._rest.partition(b"\0")
                message = json.loads(text)
                self._listen(message)
                if wanted(message):
                    return message
            if not select.select([self._from], [], [], max(0, end - monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._from, 1 << 16)
            assert chunk, "the browser is gone"
            self._rest += chunk

    def _listen(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" if params["type"] in _BAD:
                self.complaints.append(str(params["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] in _BAD:
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent" if not params["request"]["url"].startswith(("file:", "data:")):
                self.complaints.append(f"asked for {params['request']['url']}")


@contextmanager
def opened(program: str, profile: Path) -> Iterator[Tab]:
    """Yield a browser with one empty page; ended when the block ends."""
    read_end, to_browser = os.pipe()
    from_browser, write_end = os.pipe()
    words = [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    start = [sys.executable, "-c", _START, str(read_end), str(write_end), *words]
    with (profile.parent / "browser.log").open("wb") as log:
        child = subprocess.Popen(start, pass_fds=(read_end, write_end), stdout=log, stderr=log)
    os.close(read_end)
    os.close(write_end)
    try:
        yield Tab(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
