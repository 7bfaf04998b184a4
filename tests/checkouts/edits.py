"""Edits of a finished checkout, and what each makes stale."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.checkouts.checkout import Checkout
from tests.checkouts.small import BORROWED, BROWSE, END, EXTRACT, JUDGE, MODELS, SCORE, TEXTS
from vouch.models.engine import ENGINES

RIGHT = {name for name in EXTRACT if name.endswith("-right")}
BORROWED_ANSWERS = {name for name in EXTRACT if BORROWED in name}
PIN = {f"pin@{model}" for model in MODELS}
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
OF_RIGHT = {*MADE, *RIGHT, "judge@right", "score@right", "browse@right", "compare", "report", *TEXTS}
"""All that rests on the dataset: nothing of the other one is scored or written again."""
VARY = {"vary@left", "vary@right"}
REWRITE = {"rewrite@left", "rewrite@right"}  # may be a model, and depend on all of vouch/models
PREPARE = {"prepare@left", "prepare@right"}
EMBED = {"embed@left", "embed@right", *TEXTS}
ENGINE = "vouch/models/engine.py"
ANSWERING = REWRITE | EXTRACT  # depend on the code that asks models
AFTER_REWRITE = REWRITE | VARY | EXTRACT | SCORE | TEXTS | END


@dataclass(frozen=True)
class Edit:
    """make(checkout) edits. stale: whose own inputs changed. below: those and all downstream, which Snakemake
    runs. whole: further stages that DVC runs, since it knows an input as a whole of which they read a part."""

    name: str
    make: Callable[[Checkout], None]
    stale: set[str] = field(default_factory=set)
    below: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)


def _append(file: str, text: str = "\n# a remark\n") -> Callable[[Checkout], None]:
    def edit(checkout: Checkout) -> None:
        path = checkout.path / file
        with path.open("a", encoding="utf-8") as handle:
            handle.write(text)

    return edit


def _several(*edits: Callable[[Checkout], None]) -> Callable[[Checkout], None]:
    def edit(checkout: Checkout) -> None:
        for each in edits:
            each(checkout)

    return edit


def _replace(file: str, old: str, new: str) -> Callable[[Checkout], None]:
    return lambda checkout: checkout.edit(file, old, new)


def _set(key: str, value: object) -> Callable[[Checkout], None]:
    return lambda checkout: checkout.set(key, value)


def _raise_revision(checkout: Checkout) -> None:
    entry = '"transformers": EngineKind("vouch.models.decoder.engine", '
    checkout.edit(ENGINE, f"{entry}{ENGINES['transformers'].revision},", f"{entry}999,")


# The engine's name and revision are a column of the letters, which the report shows; the scores do not change.
REVISION = Edit("the engine's REVISION", _raise_revision, ANSWERING, AFTER_REWRITE, whole=JUDGE)
SCORED = {"score@left", "score@right"}
FORMULA = Edit(
    "a comment in a formula",
    _append("vouch/metrics/conformal/scores.py"),
    SCORED | {"compare", "report"},
    SCORED | END,
    JUDGE,
)
DECISIONS = {
    "rewrites": ("dataset,kind,original,decision,text\n", REWRITE, "rewrite@right"),
    "exchange": ("id,variation\n", VARY, "vary@right"),
    "judgements": ("key,question,reference,answer,decision\n", SCORED, "score@right"),
}
"""Kind: the first line of a file of decisions, the stages that depend on the folder, the one that reads the file."""
EDITS = [
    Edit("nothing", lambda checkout: None),
    Edit(
        "what no stage reads: code that only checks or reports, a page, a template and a loader of no dataset",
        _several(
            _append("vouch/pipeline/state.py"),
            _append("vouch/params/check.py"),
            _append("docs/statistics.md"),
            _append("vouch/prompts/templates/azad_ai2d.yaml"),
            _append("vouch/datasets/loaders/mmbench.py"),
        ),
    ),
    # models.lock
    Edit(
        "a comment in models.lock, and a model that nobody uses",
        _append("models.lock", "# a remark\n  other: {source: {kind: folder, path: elsewhere}}\n"),
        whole={*PIN, "report"},
    ),
    Edit(
        "one model's pin",
        _replace("models.lock", "dtype: float32", "dtype: bfloat16"),
        {f"pin@{BORROWED}", "report"},
        {f"pin@{BORROWED}"} | BORROWED_ANSWERS | SCORE | TEXTS | END,
        whole=PIN,
    ),
    # decisions
    *(
        Edit(
            f"a file of decisions about {kind} of a dataset",
            _append(f"decisions/{kind}/right.csv", text),
            {one},
            below,
            whole,
        )
        for (kind, (text, whole, one)), below in zip(
            DECISIONS.items(),
            (
                OF_RIGHT - {"prepare@right", "embed@right"},
                OF_RIGHT - {*MADE} | {"vary@right"},
                {"score@right", "browse@right", "compare", "report"},
            ),
            strict=True,
        )
    ),
    # code
    Edit("a comment in report code", _append("stages/report.py"), {"report"}, {"report"}),
    Edit("a comment in the code of item pages", _append("vouch/browse/items.py"), BROWSE, BROWSE),
    Edit("a comment in the engine", _append(ENGINE), REVISION.stale, REVISION.below, JUDGE),
    Edit(
        "a comment in what chooses the kernels",
        _append("vouch/pipeline/processor.py"),
        ANSWERING | EMBED,
        AFTER_REWRITE | EMBED,
        JUDGE,
    ),
    Edit(
        "a comment in the stage that asks",
        _append("stages/extract.py"),
        EXTRACT,
        EXTRACT | SCORE | TEXTS | END,
    ),
    FORMULA,
    Edit(
        "comments in the judge's words and code",
        _several(_append("vouch/judge/choice.yaml"), _append("vouch/judge/prompts.py")),
        whole=JUDGE,
    ),
    REVISION,
    # params.yaml
    Edit("alpha", _set("score.alpha", 0.2), SCORED | {"compare", "report"}, SCORED | END, JUDGE),
    Edit("the seed of the splits", _set("score.seed", 43), SCORED | {"report"}, SCORED | END, JUDGE),
    Edit("thumbnails", _set("browse.thumbnail", 120), BROWSE, BROWSE),
    Edit("the report's title", _set("report.title", "Another"), {"report"}, {"report"}),
    Edit("one dataset", _set("datasets.right.settings.items", 18), ENTRY, OF_RIGHT),
    Edit(  # prepare and rewrite depend on the whole entry, and come out the same
        "one dataset's variations", _set("datasets.right.variations", ["original", "vr_b"]), ENTRY, OF_RIGHT
    ),
    Edit(
        "one dataset's variants of models",
        _set("datasets.right.variants", {MODELS[0]: "interleaved"}),
        ENTRY,
        OF_RIGHT,
    ),
    Edit(
        "variations of all datasets",
        _set("variations", ["original", "vr_b"]),
        REWRITE | VARY | {"report"},
        AFTER_REWRITE,
    ),
    Edit(
        "what all questions are asked for",
        _set("outputs", ["letters", "text"]),
        VARY | {"report"},
        VARY | EXTRACT | SCORE | TEXTS | END,
    ),
    Edit(
        "one prompt template",
        _replace("vouch/prompts/templates/plain.yaml", "Answer with", "Reply with"),
        {"prepare@right", "vary@right"},  # prepare counts the placeholders that the template loses
        OF_RIGHT,
    ),
    Edit(  # the report shows the labels that stand there
        "a comment beside a variation",
        _append("vouch/prompts/variations/basic.py"),
        VARY | {"report"},
        VARY | EXTRACT | SCORE | TEXTS | END,
    ),
    Edit(  # prepare renders nothing
        "a comment in the rendering of prompts",
        _append("vouch/prompts/build.py"),
        VARY,
        VARY | EXTRACT | SCORE | TEXTS | END,
    ),
]
