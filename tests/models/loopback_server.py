"""Servers on 127.0.0.1: one that runs a real tiny model and can be told to misbehave, and one that sends given bytes."""

import base64
import io
import json
import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

NAME = "tiny-llava"
# Some words of the tiny vocabulary under other names, so that letters have several spellings.
RENAMED = {"cat": " A", "dog": " B", "house": "A.", "hint": "(", "be": " C", "brief": "B."}


class TinyModel:
    """A LLaVA folder as a server runs it: its own template, its own next-token distribution."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        torch.set_num_threads(1)
        self._torch, self._lock = torch, threading.Lock()
        self.processor = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        self.image = self.model.config.image_token_id
        known = len(self.processor.tokenizer)
        rows = self.model.config.text_config.vocab_size
        special = set(self.processor.tokenizer.all_special_ids) - {self.image}
        self.ends = special | set(range(known, rows))  # several, so that a random model ends some texts
        self.names = [self._name(index) if index < known else f"<row {index}>" for index in range(rows)]

    def _name(self, index: int) -> str:
        token = self.processor.tokenizer.convert_ids_to_tokens(index)
        return RENAMED.get(token, f" {token}" if token.islower() else token)

    def render(self, conversation: list[dict[str, Any]], begun: str = "") -> str:
        rendered: str = self.processor.apply_chat_template(conversation, add_generation_prompt=True)
        return rendered + begun

    def next(self, prompt: str, images: list[Image.Image], said: list[int]) -> list[float]:
        """Log-probabilities of the whole vocabulary after a prompt and some tokens."""
        torch = self._torch
        with self._lock, torch.inference_mode():
            inputs = self.processor(text=prompt, images=images or None, return_tensors="pt")
            ids = torch.cat([inputs.pop("input_ids"), torch.tensor([said], dtype=torch.long)], 1)
            inputs.pop("attention_mask")
            logits = self.model(input_ids=ids, **inputs).logits[0, -1]
            row: list[float] = torch.log_softmax(logits.double(), -1).tolist()
            return row

    def scored(self, prompt: str, images: list[Image.Image]) -> list[tuple[int, float]]:
        """The tokens of a prompt but the first, with their log-probabilities."""
        torch = self._torch
        with self._lock, torch.inference_mode():
            inputs = self.processor(text=prompt, images=images or None, return_tensors="pt")
            rows = torch.log_softmax(self.model(**inputs).logits[0].double(), -1)
            ids = inputs["input_ids"][0].tolist()
            return [(token, float(rows[place, token])) for place, token in enumerate(ids[1:])]

    def generate(
        self, prompt: str, images: list[Image.Image], most: int, temperature: float, seed: int
    ) -> tuple[list[int], list[list[float]]]:
        """Tokens with the distribution that each came from; the last is the end-of-sequence token or the cap."""
        torch = self._torch
        generator = torch.Generator().manual_seed(seed)
        said: list[int] = []
        steps: list[list[float]] = []
        while len(said) < most and (not said or said[-1] not in self.ends):
            steps.append(self.next(prompt, images, said))
            row = torch.tensor(steps[-1])
            row[self.image] = -math.inf  # a placeholder in the text would want an image of its own
            if temperature:
                drawn = torch.multinomial(torch.softmax(row / temperature, -1), 1, generator=generator)
            else:
                drawn = row.argmax()
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

    model: TinyModel
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
def serving(model: TinyModel) -> Iterator[Loopback]:
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
