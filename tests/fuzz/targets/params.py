"""params.yaml and profiles: read, checked, and the DAG that they make. JSON is YAML too: its values are changed."""

import json
from pathlib import Path

from vouch.params.check import check_params
from vouch.pipeline.dag import read_dag
from vouch.pipeline.yaml12 import load, loads

WORDS = (
    b"&a  | *a | <<: *a | !!python/object/apply:os.system  | -  | :  | { | [ | | | ?  | ---\n | "
    b"%YAML 1.1\n | \n   | ~ | 1e5 | 2024-01-01"
).split(b" | ")


def CORPUS() -> list[bytes]:
    small = [Path("profiles/small.yaml"), Path("profiles/demo.yaml")]
    values = [json.dumps(load(path)).encode() for path in small]
    return (
        [path.read_bytes() for path in small]
        + values
        + [b"a: &a [1, *a]\n", b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"]
    )


def read(data: bytes, folder: Path) -> None:
    values = loads(data.decode("utf-8", "surrogateescape"), "params.yaml")
    check_params(values, "params.yaml")
    read_dag(params=values)
