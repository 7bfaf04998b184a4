"""Cards of the hub's repositories: which tables of them are read."""

from pathlib import Path

from vouch.datasets.fetch.hub import choose

NAMES = (
    "README.md",
    "data/test-00000-of-00001.parquet",
    "en/dev-00000-of-00001.parquet",
    "cn/dev.parquet",
    "x.json",
)
CARD = """---
configs:
- config_name: en
  default: true
  data_files:
  - {split: dev, path: en/dev-*}
  - {split: test, path: [data/test-*]}
- config_name: cn
  data_files: cn/**
---
# A dataset
"""
WORDS = [b"---\n", b"configs:", b"data_files:", b"**/", b"*", b"?", b"&a ", b"*a", b"[*a, *a]", b"path: "]


def CORPUS() -> list[bytes]:
    return [CARD.encode(), CARD.encode().replace(b"\n", b"\r\n"), b"---\nlicense: mit\n---\n", b""]


def read(data: bytes, folder: Path) -> None:
    config = (None, "en", "*")[len(data) % 3]
    choose(NAMES, data.decode("utf-8", "replace"), config, "dev", "o/n")
