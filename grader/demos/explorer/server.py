"""Serve the explorer's page on this machine only: answer questions, and tell when code changed."""

import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Ask = Callable[[dict[str, Any]], dict[str, Any]]
PAGE = Path(__file__).with_name("page.html")
TOKENS = Path(__file__).parents[2] / "report" / "html" / "tokens.css"
PARTS = {"/* tokens */": TOKENS, "/* style */": PAGE.with_name("page.css")}
PARTS |= {"/* script */": PAGE.with_name("page.js")}
MOST_ASKED = 10_000  # bytes of a question


def make_page(start: dict[str, Any]) -> str:
    """Return the complete page with its style, script and first data."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, path in PARTS.items():
        text = text.replace(mark, path.read_text(encoding="utf-8"))
    data = json.dumps(start).replace("<", "\\u003c")
    return text.replace("/* data */", data)


class Explorer(ThreadingHTTPServer):
    """Answers only on the loopback address, and only to the page that it has served itself.

    ask: answers a question. version: changes when the learner's code does.
    """

    daemon_threads = True

    def __init__(
        self, port: int, ask: Ask, version: Callable[[], str], start: dict[str, Any]
    ) -> None:
        self.key = secrets.token_urlsafe(16)
        self.ask = ask
        self.version = version
        self.start = start
        self.one = threading.Lock()
        super().__init__(("127.0.0.1", port), _ExplorerHandler)

    @property
    def url(self) -> str:
        """Return the address to open."""
        return f"http://127.0.0.1:{self.server_address[1]}/?key={self.key}"


class _ExplorerHandler(BaseHTTPRequestHandler):
    server: Explorer

    def do_GET(self) -> None:
        """Answer with the page, or with the version of the code."""
        path = self._find_path()
        if path == "/":
            start = {**self.server.start, "key": self.server.key}
            self._send(200, "text/html", make_page(start))
        elif path == "/version":
            self._send(200, "application/json", json.dumps({"version": self.server.version()}))
        elif path:
            self._send(404, "text/plain", "There is nothing here.")

    def do_POST(self) -> None:
        """Answer a question."""
        if not self._find_path():
            return
        try:
            size = min(int(self.headers.get("Content-Length", 0)), MOST_ASKED)
            asked = json.loads(self.rfile.read(size))
        except ValueError:
            self._send(400, "text/plain", "This is not a question.")
            return
        with self.server.one:  # one worker after the other
            answer = self.server.ask(asked if isinstance(asked, dict) else {})
        self._send(200, "application/json", json.dumps(answer))

    def _find_path(self) -> str:
        """Return what is asked for, or refuse it and return "" without the right name and key.

        Other pages do not know the key.
        """
        path, _, query = self.path.partition("?")
        host = f"127.0.0.1:{self.server.server_address[1]}"
        given = query.removeprefix("key=").encode()
        right = secrets.compare_digest(given, self.server.key.encode())
        if right and self.headers.get("Host") == host:
            return path
        self._send(403, "text/plain", "Open the address that the command has printed.")
        return ""

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on the terminal."""
