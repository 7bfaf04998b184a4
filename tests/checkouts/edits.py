"""Edits of a finished checkout, and what each makes stale."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import END, EXTRACT, JUDGE, MODELS, SCORE, TEXTS

RIGHT = {name for name in EXTRACT if name.endswith("-right")}
PIN = {f"pin@{model}" for model in MODELS}  # each watches the whole of models.lock
ENTRY = {
    "prepare@right",
    "rewrite@right",
    "vary@right",
    "browse@right",
    "embed_texts",
    "compare",
    "report",
}  # read the whole entry
MADE = {"prepare@right", "rewrite@right", "vary@right", "embed@right"}
VARY = {"vary@left", "vary@right"}
OF_RIGHT = {*MADE, *RIGHT, "judge@right", "score@right", "browse@right", "compare", "report", *TEXTS}
"""All that rests on the dataset: nothing of the other one is scored or written again."""
REWRITE = {"rewrite@left", "rewrite@right"}  # may be a model, and watch all of vouch/models
ENGINE = "vouch/models/engines/transformers.py"


@dataclass(frozen=True)
class Edit:
    """make(checkout) edits. stale: whose own inputs changed. below: those and all downstream, which Snakemake
    runs."""

    name: str
    make: Callable[[Checkout], None]
    stale: set[str]
    below: set[str]


def _comment(file: str) -> Callable[[Checkout], None]:
    def edit(checkout: Checkout) -> None:
        with (checkout.path / file).open("a", encoding="utf-8") as handle:
            handle.write("\n# a remark\n")

    return edit


def _replace(file: str, old: str, new: str) -> Callable[[Checkout], None]:
    return lambda checkout: checkout.edit(file, old, new)


def _set(key: str, value: object) -> Callable[[Checkout], None]:
    return lambda checkout: checkout.set(key, value)


def _raise_revision(checkout: Checkout) -> None:
    lines = (checkout.path / ENGINE).read_text("utf-8").splitlines()
    checkout.edit(ENGINE, next(line for line in lines if line.startswith("REVISION")), "REVISION = 999")


# The engine's name and revision are a column of the letters, which the report tells; the scores do not change.
REVISION = Edit(
    "the engine's REVISION",
    _raise_revision,
    REWRITE | EXTRACT | JUDGE,
    REWRITE | VARY | EXTRACT | SCORE | TEXTS | END,
)
# prepare and rewrite watch the whole entry, and come out the same
VARIATIONS = Edit(
    "one dataset's variations",
    _set("datasets.right.variations", ["original", "vr_b"]),
    ENTRY,
    OF_RIGHT,
)
EDITS = [
    Edit("nothing", lambda checkout: None, set(), set()),
    Edit("a comment in runtime code", _comment("vouch/pipeline/state.py"), set(), set()),
    Edit("a comment in report code", _comment("stages/report.py"), {"report"}, {"report"}),
    Edit("a comment in the engine", _comment(ENGINE), REVISION.stale, REVISION.below),
    Edit("alpha", _set("score.alpha", 0.2), SCORE | {"compare", "report"}, SCORE | END),
    Edit(
        "one model's pin",
        _replace("models.lock", "dtype: float32", "dtype: bfloat16"),
        {*PIN, "report"},
        PIN | EXTRACT | SCORE | TEXTS | END,
    ),
    Edit("one dataset", _set("datasets.right.settings.items", 18), ENTRY, OF_RIGHT),
    Edit(
        "one prompt template",
        _replace("vouch/prompts/templates/plain.yaml", "Answer with", "Reply with"),
        {"prepare@right", "vary@right"},  # prepare counts the marks of pictures that the template loses
        OF_RIGHT,
    ),
    Edit(  # the report shows the labels that stand there
        "a comment beside a variation",
        _comment("vouch/prompts/variations/basic.py"),
        VARY | {"report"},
        VARY | EXTRACT | SCORE | TEXTS | END,
    ),
    Edit(  # prepare renders nothing
        "a comment in the rendering of prompts",
        _comment("vouch/prompts/build.py"),
        VARY,
        VARY | EXTRACT | SCORE | TEXTS | END,
    ),
    Edit("a comment about the judge", _comment("vouch/judge/prompts.py"), JUDGE, SCORE | END),
    REVISION,
    VARIATIONS,
]
