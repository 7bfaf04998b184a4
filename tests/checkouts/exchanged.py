"""A checkout with a trained and a pinned model: the finished one, with one of its models exchanged."""

import shutil

from tests.checkouts.checkout import ROOT, Checkout
from vouch.pipeline.yaml12 import loads

MODELS, DATASETS = ("tiny_a", "borrowed"), ("left", "right")
EXTRACT = {f"extract@{m}-{d}" for m in MODELS for d in DATASETS}
SCORE = {f"score@{m}" for m in MODELS}
LIKEN = {"liken"}  # reads the responses and prompts of all
BROWSE = {f"browse@{d}" for d in DATASETS}  # read the responses and scores of all
END = {*BROWSE, "compare", "report"}
RIGHT = {"extract@tiny_a-right", "extract@borrowed-right"}
BORROWED = {"extract@borrowed-left", "extract@borrowed-right"}
LOCK = "models:\n  borrowed:\n    source: {kind: folder, path: ../weights}\n    dtype: float32\n"


def params() -> str:
    text = (ROOT / "profiles/small.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("  tiny_b:")]
    text = (
        "\n".join(lines)
        .replace("tiny_a, tiny_b", "tiny_a, borrowed")
        .replace("pin: {}", "pin: {borrowed: ../weights}")
        .replace("unpinned: []", "unpinned: [borrowed]")
    )
    assert loads(text, "params")["models"] == list(MODELS)
    return text + "\n"


def exchange(checkout: Checkout) -> None:
    """Borrows the weights of one model, which come to lie beside the checkout, in place of the other."""
    shutil.copytree(checkout.path / "data/models/tiny_a", checkout.path.parent / "weights")
    (checkout.path / "params.yaml").write_text(params(), "utf-8")
    (checkout.path / "models.lock").write_text(LOCK, "utf-8")
    checkout.vouch("store", "prune")
    assert checkout.repro() == {"pin@borrowed", *BORROWED, "score@borrowed", *LIKEN, *END}
    checkout.commit("exchanged")
