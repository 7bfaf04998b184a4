"""The table of architectures in docs/models.md, and that every entry of models.lock stands in it."""

from fnmatch import fnmatchcase
from pathlib import Path

from tests.models.families.table import FAMILIES
from tools.model_table import ON_T5, PAGE, written
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[3]
SEE_NOTHING = {"llama_3_70b", "clip_l14_336", "roberta_large", "all_minilm_l6_v2"}


def test_the_table_is_that_of_the_tests() -> None:
    page = (ROOT / PAGE).read_text("utf-8")
    assert written(page) == page, "stale: run `python -m tools.model_table`"


def test_every_model_that_sees_has_one_family() -> None:
    rows = [pattern for kind in FAMILIES.values() for pattern in kind.entries.split()] + list(ON_T5.values())
    models = load(ROOT / "models.lock")["models"]
    asked = {name for name, entry in models.items() if entry["source"]["kind"] == "hub"} - SEE_NOTHING
    for name in asked:
        assert sum(fnmatchcase(name, pattern) for pattern in rows) == 1, name
    assert all(any(fnmatchcase(name, pattern) for name in asked) for pattern in rows)
