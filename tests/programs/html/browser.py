"""A headless Chromium, driven over the pipe of its debugging protocol."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--remote-debugging-pipe", "--force-device-scale-factor=1"]


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, width=1280, height=900):
        self.profile = tempfile.mkdtemp(prefix="penumbra-browser-")
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        # The protocol's pipes are descriptors 3 (in) and 4 (out) of the browser.
        script = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", find(), *FLAGS, f"--window-size={width},{height}",
             f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, TMPDIR=self.profile))
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        self.next_id = 0
        self.session = None
        self.problems = []  # console messages, exceptions
        self.requests = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.write)
        os.close(self.read)
        self.process.terminate()
        self.process.wait(timeout=300)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description"))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **params):
        self.next_id += 1
        request = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self.next_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, seconds=300):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise AssertionError(f"not true within {seconds} s: {expression}")
            time.sleep(0.05)

    def open(self, path, fragment=""):
        # By way of another page: a change of the fragment alone does not load the page again.
        self.call("Page.navigate", url="about:blank")
        self.wait("location.href === 'about:blank'")
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=f"file://{path}{fragment}")
        self.wait("location.protocol === 'file:' && document.readyState === 'complete'")

    def press(self, key, text="", modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37,
                 "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "c": 67, "/": 191}
        more = {"text": text} if text else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers,
                      windowsVirtualKeyCode=codes.get(key, 0),
                      **(more if kind == "keyDown" else {}))

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1,
                  buttons=0 if kind == "mouseReleased" else 1)

    def drag(self, start, end):
        self.mouse("mousePressed", *start)
        for part in (0.5, 1):
            self.mouse("mouseMoved", *(a + (b - a) * part for a, b in zip(start, end)))
        self.mouse("mouseReleased", *end)

    def box(self, expression):
        """Left, top, width and height."""
        return self.evaluate(f"(() => {{ const b = ({expression}).getBoundingClientRect();"
                             " return [b.left, b.top, b.width, b.height]; })()")

    def grant(self, *permissions):
        """For all pages: it is the browser that is asked."""
        session, self.session = self.session, None
        self.call("Browser.grantPermissions", permissions=permissions)
        self.session = session

    def scheme(self, name):
        """"light" or "dark"."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def screenshot(self, path=None, **more):
        """Bytes of a PNG file."""
        image = base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(image)
        return image

    def center(self, expression):
        return self.evaluate(f"(() => {{ const b = ({expression}).getBoundingClientRect();"
                             f" return [b.left + b.width / 2, b.top + b.height / 2]; }})()")

    def move(self, expression):
        x, y = self.center(expression)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, expression):
        x, y = self.center(expression)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
