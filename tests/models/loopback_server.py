"""Servers on 127.0.0.1: one that answers as a model would and can be told to misbehave, and one that sends given bytes."""

import base64
import io
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from string import ascii_uppercase
from typing import Any

import numpy as np
from PIL import Image
from scipy.special import log_softmax, softmax

from tests.models.tiny import WORDS

NAME = "tiny-llava"
# Letters have several spellings, as in real vocabularies; several tokens end a text, so that some texts end soon.
SPELLINGS = (*ascii_uppercase, " A", " B", " C", "A.", "B.", "(")
ENDS = ("</s>", "<pad>", "<end>")


class StandIn:
    """Stands for a language model: its distributions are hashes of the prompt, the images and the text so far."""

    names = ("<unk>", *(f" {word}" for word in dict.fromkeys(WORDS)), *SPELLINGS, *ENDS)
    ends = frozenset(range(len(names) - len(ENDS), len(names)))

    def render(self, conversation: list[dict[str, Any]], begun: str = "") -> str:
        def text(part: dict[str, Any]) -> str:
            return "<image>" if part["type"] == "image" else str(part["text"])

        turns = (f"{turn['role'].upper()}: {' '.join(map(text, turn['content']))}\n" for turn in conversation)
        return "".join(turns) + "ASSISTANT:" + begun

    def next(self, prompt: str, images: list[Image.Image], said: list[int]) -> list[float]:
        """Log-probabilities of the whole vocabulary after a prompt and some tokens."""
        seen = (prompt, [(image.size, image.mode, image.tobytes()) for image in images], said)
        seed = int.from_bytes(sha256(repr(seen).encode()).digest())
        row: list[float] = log_softmax(np.random.default_rng(seed).normal(0, 1.2, len(self.names))).tolist()
        return row

    def scored(self, prompt: str, images: list[Image.Image]) -> list[tuple[int, float]]:
        """The tokens of a prompt but the first, with their log-probabilities."""
        words = prompt.split()
        tokens = [self.names.index(f" {word}") if f" {word}" in self.names else 0 for word in words]
        return [
            (tokens[at], self.next(" ".join(words[:at]), images, [])[tokens[at]])
            for at in range(1, len(words))
        ]

    def generate(
        self, prompt: str, images: list[Image.Image], most: int, temperature: float, seed: int
    ) -> tuple[list[int], list[list[float]]]:
        """Tokens with the distribution that each came from; the last is the end-of-sequence token or the cap."""
        drawing = np.random.default_rng(seed)
        said: list[int] = []
        steps: list[list[float]] = []
        while len(said) < most and (not said or said[-1] not in self.ends):
            steps.append(self.next(prompt, images, said))
            row = np.array(steps[-1])
            drawn = drawing.choice(len(row), p=softmax(row / temperature)) if temperature else row.argmax()
            said.append(int(drawn))
        return said, steps


@dataclass
class Reply:
    """What is sent in place of an answer. cut: the connection closes in the middle of the body."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


def error(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "code": code, "type": None}})
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def answer_body(
    message: dict[str, Any], tokens: list[str] | None, reason: str = "stop", counted: int = 0
) -> str:
    """A chat completion whose n-th token, from 0, has the log-probability -n; None for a server that tells none."""
    said = [{"token": one, "logprob": -float(n)} for n, one in enumerate(tokens or ())]
    logprobs = None if tokens is None else {"content": said}
    choice = {"message": message, "logprobs": logprobs, "finish_reason": reason}
    return json.dumps({"choices": [choice], "usage": {"completion_tokens": counted}})


@dataclass
class Loopback:
    """A running server. instead: a Reply for some requests (JSON, number from 1), None for an answer.

    edit: changes an answer before it is sent. most: largest top_logprobs. eos: whether the log-probability
    of the end-of-sequence token is told. requests, keys, headers: what came in; peak: most at once.
    """

    model: StandIn
    url: str = ""
    instead: Callable[[dict[str, Any], int], Reply | None] = lambda request, number: None
    edit: Callable[[dict[str, Any]], None] = lambda answer: None
    most: int = 20
    eos: bool = True
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    peak: int = 0
    _active: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, request: dict[str, Any], key: str) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.keys.append(key)
            number = len(self.requests)
            self._active += 1
            self.peak = max(self.peak, self._active)
        try:
            return self.instead(request, number) or self._answer(request)
        finally:
            with self._lock:
                self._active -= 1

    def _answer(self, request: dict[str, Any]) -> Reply:
        if request.get("top_logprobs", 0) > self.most:
            asked = request["top_logprobs"]
            return error(
                400, f"Requested sample logprobs of {asked}, which is greater than max allowed: {self.most}"
            )
        prompt, images = self.prompt(request)
        said, steps = self.model.generate(
            prompt, images, request["max_tokens"], request.get("temperature", 1), request.get("seed", 0)
        )
        ended = said[-1] in self.model.ends
        names = self.model.names
        told = [
            {"token": names[token], "logprob": row[token], "top_logprobs": self._top(row, request)}
            for token, row in zip(said, steps, strict=True)
        ]
        body = {
            "object": "chat.completion",
            "model": request["model"],
            "system_fingerprint": "fp_tiny",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "".join(names[token] for token in said[: len(said) - ended]),
                    },
                    "logprobs": {"content": told[: len(told) - (ended and not self.eos)]},
                    "finish_reason": "stop" if ended else "length",
                }
            ],
            "usage": {"prompt_tokens": len(prompt.split()), "completion_tokens": len(said)},
        }
        self.edit(body)
        return Reply(200, json.dumps(body))

    def _top(self, row: list[float], request: dict[str, Any]) -> list[dict[str, Any]]:
        best = sorted(range(len(row)), key=lambda index: -row[index])[: request.get("top_logprobs", 0)]
        return [{"token": self.model.names[index], "logprob": row[index]} for index in best]

    def prompt(self, request: dict[str, Any]) -> tuple[str, list[Image.Image]]:
        conversation, images, begun = [], list[Image.Image](), ""
        messages = list(request["messages"])
        if messages[-1]["role"] == "assistant":
            assert request["continue_final_message"] and not request["add_generation_prompt"]
            begun = " " + messages.pop()["content"]
        for message in messages:
            parts = message["content"]
            if isinstance(parts, str):
                parts = [{"type": "text", "text": parts}]
            content = []
            for part in parts:
                if part["type"] == "image_url":
                    head, data = part["image_url"]["url"].split(",")
                    assert head == "data:image/png;base64"
                    images.append(Image.open(io.BytesIO(base64.b64decode(data))))
                    part = {"type": "image"}
                content.append(part)
            conversation.append({"role": message["role"], "content": content})
        return self.model.render(conversation, begun), images


def _handler(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            with suppress(ConnectionError):  # the client may be gone by now
                self._reply(self.rfile.read(int(self.headers["Content-Length"])))

        def _reply(self, data: bytes) -> None:
            assert self.path == "/v1/chat/completions"
            key = self.headers["Authorization"].removeprefix("Bearer ")
            loopback.headers.append({name.lower(): value for name, value in self.headers.items()})
            reply = loopback.reply(json.loads(data), key)
            body = reply.body.encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) + 100 * reply.cut))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = reply.cut

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    """A client that hangs up is no error of the server's, and is not printed as one.

    request_queue_size: with the default of 5 a busy machine resets some of a client's 16 connections.
    """

    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serving(model: StandIn) -> Iterator[Loopback]:
    """A server in threads of this process until the block ends."""
    loopback = Loopback(model)
    with _Server(("127.0.0.1", 0), _handler(loopback)) as server:
        server.daemon_threads = True
        loopback.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield loopback
        finally:
            server.shutdown()
            thread.join(10)


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
