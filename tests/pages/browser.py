"""A Chromium without a window, spoken to by the DevTools protocol over a pipe; nothing but Python."""

import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
TIMEOUT = 300  # s; of one answer, at idle priority beside other tests: half of the test's own limit


def find_chromium():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page at a time: open(), then evaluate() and press()."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="thinpipe-pages-",
                                                   ignore_cleanup_errors=True)
        to_browser, self.writing = os.pipe()
        self.reading, from_browser = os.pipe()

        def pipes():  # the protocol's pipes are the descriptors 3 and 4
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        words = [program, "--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                 "--disable-sync", "--disable-background-networking", "--disable-component-update",
                 "--disable-quic", "--disable-dev-shm-usage", "--hide-scrollbars",
                 f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")  # it does not start as root with one
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, close_fds=False,
                                        preexec_fn=pipes)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.count = 0
        self.events = []
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.ask(domain + ".enable")
        self.ask("Page.setLifecycleEventsEnabled", enabled=True)

    def close(self):
        try:
            self.session = None
            self.ask("Browser.close")
        except OSError:
            pass
        os.close(self.writing)
        os.close(self.reading)
        try:
            self.process.wait(TIMEOUT)  # its profile is removed after it
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def next_message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reading], [], [], left)[0]:
                raise OSError("the browser does not answer")
            more = os.read(self.reading, 1 << 16)
            if not more:
                raise OSError("the browser has ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.count += 1
        request = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.writing, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            message = self.next_message(deadline)
            if message.get("id") == self.count:
                if "error" in message:
                    raise OSError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, page, width, scheme):
        """Loads a file in a window so wide, in `light` or `dark`."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                 mobile=False)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        loader = self.ask("Page.navigate", url=pathlib.Path(page).resolve().as_uri())["loaderId"]

        def is_loaded(event):  # not another page, such as the first, about:blank
            parameters = event.get("params", {})
            return (event.get("method") == "Page.lifecycleEvent" and parameters["name"] == "load" and
                    parameters["loaderId"] == loader)

        deadline = time.monotonic() + TIMEOUT
        while not any(map(is_loaded, self.events)):
            self.events.append(self.next_message(deadline))

    def requests(self):
        """The page's requests since open(), itself included."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"].get("exception", answer))
        return answer["result"].get("value")

    def press(self, key, text=""):
        """A key as a person presses it: "Tab", "Enter", or a letter with its text."""
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowDown": 40}
        code = codes.get(key, ord(key[0].upper()))
        text = "\r" if key == "Enter" else text
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, text=text,
                 windowsVirtualKeyCode=code)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key,
                 windowsVirtualKeyCode=code)

    def screenshot(self, file):
        """For eyes: the whole page as a PNG."""
        import base64
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                              "scale": 1})
        pathlib.Path(file).write_bytes(base64.b64decode(shot["data"]))
