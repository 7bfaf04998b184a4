"""models.lock: where models come from."""

import json
from pathlib import Path

from vouch.params.project import Models
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import load, loads

WORDS = (
    b"kind: hub | kind: server | kind: folder | url: https://u:p@h/v1 | path: / | revision:  | "
    b"&a  | *a | files: { | { | [ | \n  "
).split(b" | ")


def CORPUS() -> list[bytes]:
    whole = Path("models.lock").read_bytes().split(b"\n")
    entries = """models:
  m: {source: {kind: folder, path: ../w/m}, dtype: bfloat16, files: {model.safetensors: "DIGEST"}}
  s: {engine: openai, source: {kind: server, url: "https://h/v1", name: n}, facts: {family: f}}
  h: {source: {kind: hub, repo: o/n, revision: "COMMIT"}, template: vicuna_v1, parameters: 7}
""".replace("DIGEST", "0" * 64).replace("COMMIT", "a" * 40)
    return [entries.encode(), json.dumps(loads(entries, "x")).encode(), b"\n".join(whole[:60])]


def read(data: bytes, folder: Path) -> None:
    path = folder / "models.lock"
    path.write_bytes(data)
    validated(Models, load(path), "models.lock")
