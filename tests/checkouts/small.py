"""Variants of the small profile, and names of its stages: where tests say how params.yaml names models and data."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.checkouts.checkout import ANYBODY, ROOT, Checkout, User, dumped
from vouch.pipeline.yaml12 import load

TRAINED, BORROWED = (
    "tiny_a",
    "borrowed",
)  # a model that a stage trains, one whose folder lies beside the checkout
MODELS, DATASETS = (TRAINED, BORROWED), ("left", "right")
EXTRACT = {f"extract@{m}-{d}" for m in MODELS for d in DATASETS}
JUDGE = {f"judge@{d}" for d in DATASETS}  # read the responses of all, and score as a whole
SCORE = JUDGE | {f"score@{d}" for d in DATASETS}
TEXTS = {"embed_texts"}  # reads the responses and prompts of all
BROWSE = {f"browse@{d}" for d in DATASETS}  # read the responses and scores of all
END = {*BROWSE, "compare", "report"}
LOCK = f"models:\n  {BORROWED}:\n    source: {{kind: folder, path: ../weights}}\n    dtype: float32\n"


def small(
    *,
    train: Iterable[str] = ("tiny_a", "tiny_b"),
    models: Mapping[str, str] | None = None,
    datasets: Mapping[str, Any] | None = None,
    **more: Any,
) -> str:
    """params.yaml of the small profile with other models and data.

    train: names of tiny models. models: further ones, name -> folder or `models.lock`. datasets: entries, or None
    in place of one for that of the profile. more: other top-level keys.
    """
    values = load(ROOT / "profiles/small.yaml")
    tiny, known = values["train"]["tiny_a"], values["datasets"]
    values["train"] = {name: values["train"].get(name, {**tiny, "seed": n}) for n, name in enumerate(train)}
    values["models"] = {name: f"data/trained/{name}" for name in values["train"]} | dict(models or {})
    if datasets is not None:
        values["datasets"] = {name: entry or known[name] for name, entry in datasets.items()}
    return dumped({**values, **more})


def borrowing(models: Iterable[str] = MODELS, datasets: Iterable[str] = DATASETS) -> str:
    """With the borrowed model in place of a trained one."""
    more = {BORROWED: "../weights"} if BORROWED in models else {}
    return small(train=[TRAINED], models=more, datasets=dict.fromkeys(datasets))


def begun(path: Path, weights: Path, user: User = ANYBODY) -> Checkout:
    """A checkout of that in which nothing has run; a copy of the weights lies beside it."""
    checkout = Checkout(path, user)
    shutil.copytree(weights, path.parent / "weights")
    (path / "params.yaml").write_text(borrowing(), "utf-8")
    (path / "models.lock").write_text(LOCK, "utf-8")
    checkout.commit("start")
    return checkout
