"""Keys lie in the environment and nowhere else: not in a file that a run writes, nor in what it prints.

A whole pipeline asks a real server, which is hostile: it repeats the key in errors, headers, names and answers.
"""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
import yaml

from tests.checkouts.checkout import ONE_PROCESS, Checkout
from tests.checkouts.small import small
from tests.fuzz.pictures import picture
from vouch.pipeline.errors import UserError, hidden, holds_secret, without_secrets

pytestmark = pytest.mark.slow
OURS = "sk-planted/own+0123456789abcdef"
SECRETS = {
    "VOUCH_SERVER_KEY_SERVED": OURS,
    "OPENAI_API_KEY": "sk-planted-openai-0123456789",
    "OPENAI_ORG_ID": "org-planted0123456789",
    "HF_TOKEN": "hf_plantedABCDEFGHIJKLMN",
    "AWS_ACCESS_KEY_ID": "AKIAPLANTED0EXAMPLE0",
    "AWS_SECRET_ACCESS_KEY": "planted/aws+secret/0123456789abcdefghij",
    "AWS_SESSION_TOKEN": "planted-session-token-0123456789",
}
PASSWORD = "planted-password-0123"
ODD = "said-by-the-server"  # no secret: shows that what a server says is found where it is kept
_PACKED = re.compile(rb"H4sI[0-9A-Za-z+/=]+")  # gzip in base64


class Hostile(ThreadingHTTPServer):
    """Answers chat completions, and repeats the key wherever there is room for it. mode: how it refuses."""

    mode, asked = "", 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Hostile

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Authorization"].removeprefix("Bearer ")
        self.server.asked += 1
        told = {"error": {"message": f"{ODD} {key} {quote(key, safe='')}", "type": key, "code": key}}
        if self.server.mode == "401":
            return self._send(401, told)
        if self.server.mode == "307":
            return self._send(307, told, Location=f"http://u:{PASSWORD}@127.0.0.1:1/?key={quote(key)}")
        if self.server.asked % 7 == 3:
            return self._send(500, told)
        if self.server.asked % 11 == 5:
            return self._send(400, told)
        token = {
            "token": "A",
            "logprob": -0.3,
            "top_logprobs": [{"token": t, "logprob": -0.3 - 2 * n} for n, t in enumerate("AB")],
        }
        text = f"A {ODD} {key} {json.dumps(key)}"
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": text, "role": "assistant"}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        self._send(
            200,
            {
                "model": f"m {key}",
                "system_fingerprint": key,
                "usage": usage,
                "choices": [{**choice, "logprobs": {"content": [token]}}],
            },
        )

    def _send(self, status: int, value: object, **headers: str) -> None:
        body = json.dumps(value).encode()
        self.send_response(status, "Planted")
        for name, text in {"X-Key": OURS, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    hostile = Hostile()
    threading.Thread(target=hostile.serve_forever, daemon=True).start()
    yield hostile
    hostile.shutdown()
    hostile.server_close()


class Run:
    """A checkout whose only model is the server, and all that its commands have printed."""

    def __init__(self, folder: Path, url: str) -> None:
        self.checkout, self.printed = Checkout(folder / "vouch"), ""
        shutil.rmtree(self.checkout.path / "tests")  # which hold the secrets themselves
        own = folder / "vouch/mine"
        own.mkdir()
        (own / "1.png").write_bytes(picture("PNG"))
        names = (
            "../../astray",
            "/etc/astray",
            "<script>evil</script>",
            "=1+1",
            "a b",
            "CON",
            "é",
            *map(str, range(5)),
        )
        lines = [
            {
                "id": name,
                "question": f"Which {n}?",
                "options": ["a kite", "a hat"],
                "answer": n % 2,
                "image": "1.png",
            }
            for n, name in enumerate(names)
        ]
        (own / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        own_set = {"loader": "jsonl", "source": "mine", "template": "kostumov"}
        text = small(train=(), models={"served": "models.lock"}, datasets={"mine": own_set})
        (self.checkout.path / "params.yaml").write_text(text, "utf-8")
        self.checkout.set("extract.max_tokens", 4)
        self.entry: dict[str, Any] = {
            "engine": "openai",
            "source": {"kind": "server", "url": url, "name": "m"},
        }
        self.write("models.lock", {"models": {"served": self.entry}})
        self.checkout.commit("a server")

    def write(self, name: str, values: object) -> None:
        (self.checkout.path / name).write_text(yaml.safe_dump(values), "utf-8")

    def __call__(self, *command: str) -> int:
        """Runs a command with all secrets in the environment, and remembers what it prints."""
        env = {**self.checkout.env, **SECRETS, "VOUCH_SERVER_TRIES": "2", "VOUCH_SERVER_CONCURRENCY": "1"}
        done = subprocess.run(
            command, cwd=self.checkout.path, env=env, capture_output=True, text=True, timeout=900, check=False
        )
        self.printed += done.stdout + done.stderr
        return done.returncode

    def stages(self, *names: str) -> int:
        return self(sys.executable, "-c", ONE_PROCESS, *names)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, server: Hostile) -> Run:
    """What fails first, then everything."""
    made = Run(tmp_path_factory.mktemp("secrets"), f"http://127.0.0.1:{server.server_port}/v1")
    assert made.stages("prepare", "rewrite", "vary", "pin") == 0, made.printed
    for mode in ("401", "307"):
        server.mode = mode
        assert made.stages("extract") == 1
    server.mode = ""
    assert made.stages() == 0, made.printed
    assert made(sys.executable, "-m", "vouch.cli.main", "store", "sync") == 0, made.printed
    assert made(sys.executable, "-m", "vouch.cli.main", "item", "../../astray") == 0, made.printed
    return made


def _texts(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and of what is packed in it."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".js":  # the data of the page of items
        yield from (gzip.decompress(base64.b64decode(each)) for each in _PACKED.findall(data))
    if data.startswith(b"PAR1"):
        table = pq.read_table(path)
        yield repr(table.to_pylist()).encode() + repr(table.schema.metadata).encode()
    if data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data)


def _forms(secret: str) -> set[bytes]:
    coded = base64.b64encode(secret.encode()).rstrip(b"=")
    return {
        secret.encode(),
        quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].replace("/", "\\/").encode(),
        coded,
    }


def _holding(root: Path, wanted: set[bytes]) -> list[str]:
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    assert len(files) > 500
    return [
        str(path.relative_to(root))
        for path in files
        if any(one in text for text in _texts(path) for one in wanted)
    ]


def test_no_secret_is_in_any_file_or_in_what_was_printed(run: Run) -> None:
    wanted = {form for secret in (*SECRETS.values(), PASSWORD) for form in _forms(secret)}
    assert _holding(run.checkout.path, wanted) == []
    assert not [form for form in wanted if form in run.printed.encode()]
    assert "Traceback" not in run.printed
    assert "401, the server does not accept the key" in run.printed


def test_what_the_server_said_otherwise_is_found(run: Run) -> None:
    """So that the search above would find a key, in each place that holds words of the server."""
    found = _holding(run.checkout.path, {ODD.encode()})
    for place in ("data/responses/mine/served.letters.parquet", ".dvc/cache/", ".vouch/work/"):
        assert any(name.startswith(place) for name in found), (place, found)
    assert any(name.startswith("reports/items/") for name in _holding(run.checkout.path, {b"a kite"}))


def test_hostile_ids_lead_nowhere(run: Run) -> None:
    outside = [path for path in run.checkout.path.parent.parent.rglob("*astray*") if ".git" not in path.parts]
    assert outside == []
    assert not any(
        b"<script>evil" in path.read_bytes() for path in run.checkout.path.glob("reports/**/*.html")
    )


def test_credentials_in_an_address_are_refused_and_not_repeated(run: Run) -> None:
    before, run.printed = run.printed, ""
    entry = {**run.entry, "source": {**run.entry["source"], "url": f"https://me:{PASSWORD}@example.org/v1"}}
    run.write("models.lock", {"models": {"served": entry}})
    assert run.stages("pin") == 1
    assert "leave the key out of the address" in run.printed and PASSWORD not in run.printed
    run.write("models.lock", {"models": {"served": run.entry}})
    run.printed += before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("https://me:pw@h/x", "https://[hidden]@h/x"),
        (
            "s3://AK:SE@h/x and http://h/?a=1&X-Amz-Signature=abc&b=2",
            "s3://[hidden]@h/x and http://h/?a=1&X-Amz-Signature=[hidden]&b=2",
        ),
        ("a 0123456789 b", "a [MY_TOKEN] b"),
        ("a word", "a word"),
        ("https://h/user@x", "https://h/user@x"),
    ],
)
def test_what_is_hidden(text: str, says: str) -> None:
    assert hidden(text, {"MY_TOKEN": "0123456789", "API_KEY": "word", "TOKENS": "https://"}) == says


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((name, True) for name in ("PGPASSWORD", "WATSONX_APIKEY", "APIKEY", "MYSQL_PWD", "GITHUB_PAT", "SSHPASS",
           "S3_ACCESSKEY", "SSH_AUTH_SOCK", "AZURE_STORAGE_CONNECTION_STRING", "CI_SECRETS")),
        *((name, False) for name in ("PWD", "OLDPWD", "MAX_TOKENS", "KEYBOARD", "PATH", "GIT_ASKPASS", "XAUTHORITY",
           "UV_INDEX", "TOKENIZERS_PARALLELISM")),
    ],
)  # fmt: skip
def test_which_variables_are_secrets(name: str, secret: bool) -> None:
    assert holds_secret(name) == secret
    assert ("0123456789" not in hidden("0123456789", {name: "0123456789"})) == secret


def test_programs_of_others_see_what_reaches_a_package_index_and_no_other_secret() -> None:
    index = {
        "UV_INDEX_OURS_USERNAME": "me",
        "UV_INDEX_OURS_PASSWORD": "0123456789",
        "PIP_INDEX_URL": "https://me:0123456789@h",
        "HTTPS_PROXY": "http://me:0123456789@p",
        "PATH": "/bin",
    }
    secrets = {
        "UV_PUBLISH_TOKEN": "0123456789",
        "HF_TOKEN": "0123456789",
        "DATABASE_URL": "postgres://me:0123456789@h",
    }
    assert without_secrets(index | secrets) == index


def test_an_error_hides_the_environments_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-0123456789")
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in str(UserError("x: planted-0123456789 is wrong"))
