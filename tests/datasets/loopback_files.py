"""A file server on the loopback address: ranges, lost connections, and what was asked."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


class Files(BaseHTTPRequestHandler):
    """files: path -> bytes. cut: path -> bytes after which the connection is lost, once for each number.

    raw: path -> whole answers, head and all.
    """

    files: ClassVar[dict[str, bytes]] = {}
    cut: ClassVar[dict[str, list[int]]] = {}
    raw: ClassVar[dict[str, bytes]] = {}
    ranges: ClassVar[bool] = True
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append((self.path, wanted))
        if self.path in self.raw:
            self.wfile.write(self.raw[self.path])
            self.close_connection = True
            return
        data = self.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        start = int(re.sub(r"\D", "", wanted)) if wanted and self.ranges else 0
        if start >= len(data) > 0:
            self.send_error(416)
            return
        body = data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cuts = self.cut.get(self.path)
        self.wfile.write(body[: cuts.pop(0)] if cuts else body)


@contextmanager
def serving_files(files: dict[str, bytes]) -> Iterator[str]:
    """The address of a server that has these files."""
    Files.files, Files.cut, Files.raw, Files.ranges = files, {}, {}, True
    Files.asked.clear()
    with listening(Files) as address:
        yield address


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on the loopback address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
    thread.join()
