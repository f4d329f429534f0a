"""A headless Chromium that a test can look into, over the pipe of its DevTools protocol; nothing else is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe", "--hide-scrollbars"),
)
PATIENCE = 60.0


def find_browser() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class BrowserError(Exception):
    """The browser did not do what it was asked."""


class Page:
    """A page in a browser. `complaints` has what it wrote to its console, and exceptions nobody caught."""

    def __init__(self, to_browser: int, from_browser: int):
        self._out, self._in = to_browser, from_browser
        self._buffer = b""
        self._asked = 0
        self._session: str | None = None
        self.complaints: list[str] = []

    def attach(self, width: int, height: int) -> None:
        """Make a new page and listen to it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its answer."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._asked:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._in, 1 << 20)
            if not data:
                raise BrowserError("the browser is gone")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(event["params"]["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if event["params"]["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(event["params"]["args"]))
            case "Log.entryAdded":
                self.complaints.append(json.dumps(event["params"]["entry"]))
            case _:
                pass

    def open(self, path: Path) -> float:
        """Load a file; how many seconds it took until it was drawn, as the page itself measures."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'")
        return self.evaluate("document.documentElement.dataset.opened | 0") / 1000

    def wait_for(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.evaluate(condition):
            if time.monotonic() > end:
                raise BrowserError(f"it never was true that {condition}")
            time.sleep(0.01)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, where the focus is; what it changes is drawn when this returns."""
        text = key if len(key) == 1 else ""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def settle(self) -> None:
        """Let the page draw."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def prefer(self, **features: str) -> None:
        """What the person prefers, e.g. `color_scheme="dark"`."""
        wanted = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def screenshot(self, path: Path, selector: str | None = None, scale: float = 1) -> None:
        """What is seen of the page, or all of an element; the name of the file says in which format."""
        kind: dict[str, Any] = {"format": "webp", "quality": 82} if path.suffix == ".webp" else {"format": "png"}
        clip: dict[str, Any] = {}
        if selector is not None:  # what is far from the window may not be drawn
            self.evaluate(f"document.querySelector({json.dumps(selector)}).scrollIntoView()")
            self.settle()
            box = self.evaluate(f"(r => [r.x + scrollX, r.y + scrollY, r.width, r.height])({_box(selector)})")
            clip = {"clip": dict(zip(("x", "y", "width", "height"), box, strict=True), scale=scale)}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, **kind, **clip)["data"]
        path.write_bytes(base64.b64decode(data))


def _box(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"


@contextmanager
def open_browser(width: int = 1280, height: int = 900) -> Iterator[Page]:
    """A page in a browser of its own, which ends with the block."""
    program = find_browser()
    if program is None:
        raise BrowserError("there is no browser")
    (read_command, write_command), (read_answer, write_answer) = os.pipe(), os.pipe()

    def give_pipes() -> None:  # the protocol's pipes are descriptors 3 and 4
        command, answer = os.dup(read_command), os.dup(write_answer)
        os.dup2(command, 3)
        os.dup2(answer, 4)

    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        arguments = [program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        process = subprocess.Popen(
            arguments,
            pass_fds=(3, 4),
            preexec_fn=give_pipes,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_command)
        os.close(write_answer)
        try:
            page = Page(write_command, read_answer)
            page.attach(width, height)
            yield page
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(write_command)
            os.close(read_answer)
