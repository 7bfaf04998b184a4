"""A server that sends the very bytes that a test wrote, however wrong, on 127.0.0.1."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress


def raw(answer: bytes, piece: int = 1 << 20, pause: float = 0.0) -> Iterator[tuple[str, list[int]]]:
    """A server that sends these very bytes, piece by piece, to everyone; its address and a count of callers."""
    callers: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(listening.accept()[0],), daemon=True).start()

        def one(connection: socket.socket) -> None:
            callers.append(1)
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                for start in range(0, len(answer), piece):
                    connection.sendall(answer[start : start + piece])
                    time.sleep(pause)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(
                    1 << 16
                ):  # closed at once, what was not read would reset the connection
                    pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", callers


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body
