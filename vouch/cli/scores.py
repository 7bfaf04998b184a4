"""What `vouch compare` says of files: a table of scores, or logs of evaluation harnesses."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli.printing import Column, as_json, number, paragraphs, table, wrapped
from vouch.library.estimates import Estimate
from vouch.library.scores import MINIMUM, ModelScore, ScorePair, ScoresComparison, compare_scores
from vouch.pipeline.errors import UserError
from vouch.report import formatting

SHOWN = 30  # pairs on the screen; --json has all


def compared(files: Sequence[Path], json: bool) -> str:
    """The screen, or JSON, of one table or several logs. Raises UserError."""
    if missing := [each for each in files if not each.is_file()]:
        raise UserError(
            f"{missing[0]}: no such file; give a table of scores (CSV, TSV, XLSX, parquet) or logs"
        )
    try:
        result = compare_scores(*files)
    except ValueError as error:
        raise UserError(str(error)) from None
    return as_json(_plain(result)) if json else screen(", ".join(each.name for each in files), result)


def _plain(result: ScoresComparison) -> dict[str, Any]:
    """For JSON: an estimate as a mapping, numbers in full."""
    models = [each._asdict() | {"score": _ends(each.score)} for each in result.models]
    pairs = [each._asdict() | {"difference": _ends(each.difference)} for each in result.pairs]
    own = ("items", "groups", "prompts", "runs", "common", "significance", "remarks")
    return {name: getattr(result, name) for name in own} | {"models": models, "pairs": pairs}


def _ends(estimate: Estimate | None) -> Mapping[str, float | None] | None:
    return None if estimate is None else estimate._asdict()


_MODELS = (
    Column("model", cut=True),
    *(Column(name, right=True) for name in ("scores", "mean", "rank", "may be")),
)
_PAIRS = (
    *(Column(name, cut=True) for name in "AB"),
    Column("questions", right=True, rank=1),
    *(Column(name, right=True) for name in ("A - B", "p")),
    Column("verdict"),
    Column("minimum detectable effect", right=True, rank=3),
    Column("needed", right=True, rank=2),
)


def screen(name: str, result: ScoresComparison) -> str:
    """The tables for a person."""
    several = {"prompts": result.prompts, "runs": result.runs}
    counts = f" in {result.groups} groups" if result.groups < result.items else ""
    counts += "".join(f", {count} {what}" for what, count in several.items() if count > 1)
    models = formatting.plural(len(result.models), "model")
    text = wrapped(f"{name}: {models}, {formatting.plural(result.items, 'question')}{counts}") + "\n"
    text += wrapped(
        f"How good are they? Means over {result.common} questions that all answered; 95 % intervals."
    )
    text += table(_MODELS, [_model(each) for each in result.models])
    if result.pairs:
        text += "\n" + wrapped(
            f"Which is better? p after Holm's correction, below {result.significance:g} for a verdict. "
            "Four of five such studies find a true difference as large as the minimum detectable effect; "
            "needed: questions for A - B."
        )
        text += table(_PAIRS, [_pair(each) for each in result.pairs[:SHOWN]])
        if len(result.pairs) > SHOWN:
            text += f"{len(result.pairs) - SHOWN} more pairs: --json\n"
    return text + _variance(result.models) + _remarks(result)


def _model(of: ModelScore) -> list[str]:
    low, high = of.rank_low, of.rank_high
    span = "n.a." if low is None else str(low) if low == high else f"{low} to {high}"
    return [of.model, str(of.rows), _shown(of.score), "n.a." if of.rank is None else str(of.rank), span]


def _pair(of: ScorePair) -> list[str]:
    p = of.p_holm
    verdict = "A is better" if of.verdict == of.a else "B is better" if of.verdict else "not significant"
    verdict = "n.a." if p is None else "too few" if of.groups < MINIMUM else verdict
    return [
        *(of.a, of.b, str(of.items), _shown(of.difference, "+")),
        "n.a." if p is None else formatting.p_value(p),
        verdict,
        number(of.minimum_detectable_effect),
        "n.a." if of.needed is None else str(of.needed),
    ]


def _shown(estimate: Estimate | None, sign: str = "") -> str:
    if estimate is None:
        return "n.a."
    ends = "" if estimate.low is None else f" [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"
    return f"{estimate.value:{sign}.3f}{ends}"


def _variance(models: Sequence[ModelScore]) -> str:
    """Shares of the variance of each model's scores."""
    known = [each for each in models if each.variance and sum(each.variance.values()) > 0]
    if not known:
        return ""
    sources = list(dict.fromkeys(source for each in known for source in each.variance or {}))
    rows = []
    for each in known:
        by = each.variance or {}
        total = sum(by.values())
        shares = [f"{100 * by[source] / total:.0f} %" if source in by else "n.a." for source in sources]
        rows.append([each.model, f"{total**0.5:.3f}", *shares])
    columns = [Column("model", cut=True), Column("standard deviation", right=True, rank=1)]
    columns += [Column(source, right=True) for source in sources]
    text = "\nWhere does the variance of single scores come from?\n" + table(columns, rows)
    together = next((source for source in sources if "+" in source), "")
    return text + wrapped(f"{together}: told apart only by several runs of a question") if together else text


def _remarks(result: ScoresComparison) -> str:
    """What limits the numbers."""
    lines = list(result.remarks)
    if len(result.models) == 1:
        lines.append("one model: nothing to compare it with")
    if partly := [pair for pair in result.pairs if pair.left_out]:
        worst = max(partly, key=lambda pair: pair.left_out)
        lines.append(
            f"{worst.left_out} questions of just one of {worst.a} and {worst.b} are not in their difference"
        )
    if result.groups < MINIMUM:
        few = "questions" if result.groups == result.items else "groups"
        lines.append(
            f"{result.groups} {few} are few: intervals and p are rough, and no model is called better on "
            f"fewer than {MINIMUM}"
        )
    return "\n" + paragraphs(lines) if lines else ""
