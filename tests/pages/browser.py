"""A real browser without a window, asked over two pipes (the DevTools protocol; no port, no library)."""
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
COMMAND = next(filter(None, map(shutil.which, NAMES)), None) if os.name == "posix" else None
FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
         "--disable-extensions", "--disable-background-networking", "--disable-component-update",
         "--disable-dev-shm-usage", "--no-sandbox")   # root and containers have none; the page is our own


class Browser:
    """One tab: open an address, run JavaScript in it, press keys, click."""

    def __init__(self, folder):
        """folder: for its profile; a home of its own, so that nothing of the user's is touched."""
        asks, self.to = pipe()
        self.answers, says = pipe()
        argv = [COMMAND, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        quiet = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
        ends = [(os.POSIX_SPAWN_DUP2, asks, 3), (os.POSIX_SPAWN_DUP2, says, 4)]
        self.process = os.posix_spawn(COMMAND, argv, {**os.environ, "HOME": str(folder)},
                                      file_actions=quiet + ends, setsid=True)
        os.close(asks)
        os.close(says)
        self.number, self.rest, self.tab, self.events = 0, b"", None, []
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def attach(self):
        page = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.tab = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.ask(domain + ".enable")

    def ask(self, method, **params):
        """The answer to one command; what the page reports meanwhile is kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.tab:
            message["sessionId"] = self.tab
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.heard()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def heard(self, limit=60):
        """The next message, or TimeoutError."""
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], limit)[0]:
                raise TimeoutError(f"the browser was silent for {limit} s")
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended by itself")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, address):
        """Load the page anew, also if only what stands behind the # is new."""
        for url in ("about:blank", address):
            self.events.clear()
            self.ask("Page.navigate", url=url)
            while not any(e["method"] == "Page.loadEventFired" for e in self.events):
                self.events.append(self.heard())

    def run(self, script):
        """The value of a JavaScript expression, which may be a promise."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, text=text)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=False)

    def scheme(self, name):
        """"light" or "dark": what the page is told of the user's wish."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def close(self):
        """End the browser and all it started."""
        os.close(self.to)                                   # then it ends by itself, in 5 s or never
        end = time.monotonic() + 5
        while not (ended := os.waitpid(self.process, os.WNOHANG)[0]) and time.monotonic() < end:
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)         # it, or what it left
        if not ended:
            os.waitpid(self.process, 0)
        os.close(self.answers)


def pipe():
    """Two ends with numbers from 10 on: the browser's own are 3 and 4."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high
