"""Tables of scores: models, prompts and runs side by side, with ranks, paired differences and variance."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vouch.library import check
from vouch.library.check import MOST_DRAWS
from vouch.library.comparison import MOST, paired
from vouch.library.estimates import Estimate, Result, mean_of, needs
from vouch.library.logs import Log, from_log
from vouch.library.records import SCORE_COLUMNS, score_in
from vouch.metrics.comparison.statistics import holm, minimum_detectable_effect, questions_for
from vouch.metrics.comparison.variance import components
from vouch.models.released.rows import READERS
from vouch.pipeline.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "item": ("item", "item_id", "question_id", "id", "input", "input_label", "example"),
    "model": ("model", "model_id", "model_name", "model_label", "system"),
    "score": ("score", "correct", "value", "result"),
    "prompt": ("prompt", "template", "prompt_template"),
    "run": ("run", "run_id", "epoch", "seed", "repeat", "trial"),
    "group": ("group", "cluster", "cluster_id"),
}
"""Columns, and the names that other tools give them; the first three are required."""
TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
SAME = "-"
"""The prompt or run of a table that names none."""


class ModelScore(NamedTuple):
    """score: mean over the questions that all models answered. rank: 1 is the largest, equal means share it.

    rank_low: 1 + the number of models that are significantly better, rank_high: the last rank less those
    significantly worse; models whose ranks overlap are not told apart. variance: by source, None if unknown.
    rows: scores of the model.
    """

    model: str
    rows: int
    score: Estimate | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    variance: Mapping[str, float] | None


class ScorePair(NamedTuple):
    """difference: a minus b on the questions that both answered (items). p: two-sided; p_holm: corrected over
    all pairs. minimum_detectable_effect: the smallest true difference that four of five such studies find
    (None: above the range of scores). needed: questions that would find the difference seen here. verdict:
    `a`, `b` or empty if p_holm is not below the significance level. left_out: questions of just one of them.
    """

    a: str
    b: str
    items: int
    difference: Estimate | None
    p: float | None
    p_holm: float | None
    minimum_detectable_effect: float | None
    needed: int | None
    verdict: str
    left_out: int


@dataclass(frozen=True, repr=False)
class ScoresComparison(Result):
    """models by rank, pairs in the order of the models. items, prompts, runs: of the table. common: questions
    with every prompt that all models answered. significance: of the verdicts and ranks.
    """

    items: int
    prompts: int
    runs: int
    common: int
    significance: float
    models: tuple[ModelScore, ...]
    pairs: tuple[ScorePair, ...]

    def __repr__(self) -> str:
        models = ", ".join(f"{each.model} {each.score!r}" for each in self.models[:6])
        more = f" and {len(self.models) - 6} more" if len(self.models) > 6 else ""
        pair = self.pairs[0] if len(self.pairs) == 1 else None
        gap = (
            f"; difference {pair.difference!r}, p={pair.p_holm:.4g}"
            if pair and pair.p_holm is not None
            else ""
        )
        return f"ScoresComparison({self.items} items, {models}{more}{gap})"

    def to_frame(self) -> "pd.DataFrame":
        """A pandas table with a row for each pair."""
        needs("to_frame", "pandas", "pandas")
        import pandas as pd

        rows = []
        for pair in self.pairs:
            gap = pair.difference or Estimate(math.nan)
            rows.append(pair._asdict() | {"difference": gap.value, "low": gap.low, "high": gap.high})
        return pd.DataFrame(rows, columns=[*ScorePair._fields, "low", "high"])


class Scores(NamedTuple):
    """n scores, each with the indices of its names. values: [n]; low, high: the range of scores."""

    values: Any
    item: Any
    model: Any
    prompt: Any
    run: Any
    group: Any
    items: list[str]
    models: list[str]
    low: float
    high: float


def compare_scores(
    *tables: Any, significance: float = 0.05, resamples: int = 1000, seed: int = 0
) -> ScoresComparison:
    """Models on the same questions, from a table of scores or from logs.

    tables: a table as the path of a CSV, TSV, XLSX or parquet file, a pandas DataFrame or a mapping of
    columns; or logs, as paths or what `from_log` gave, a model each. Columns of a table: item, model and
    score; prompt, run and group (items that are not independent) may be missing. Names of other tools are
    known, as item_id, epoch.

    Runs of a question and prompt are averaged. A difference is the mean over the questions and prompts that
    both models answered; interval, p and minimum detectable effect are those of `compare`, with whole items
    (or groups) resampled. `models` have ranks, and how much of the variance of their scores is due to the
    question, the prompt and the sampling (method of moments: Searle, Casella and McCulloch 1992). Scores may
    have any range; outside 0 to 1 it is taken from the table. Raises ValueError with the row at fault.

    >>> scores = {"item": [1, 2, 3, 1, 2, 3], "model": list("aaabbb"), "score": [1, 1, 0, 1, 0, 0]}
    >>> compare_scores(scores).pairs[0].difference.value
    0.3333333333333333
    """
    level = check.share(significance, "significance")
    draws, start = check.whole(resamples, "resamples", MOST_DRAWS), check.seed(seed)
    scores = _coded(_columns(tables))
    cells = _cells(scores)
    pairs = [_pair(scores, cells, a, b, draws, start) for a, b in combinations(range(len(scores.models)), 2)]
    corrected = holm([pair.p for pair in pairs])
    claims = sum(p is not None for p in corrected)
    pairs = [_judged(pair, p, level, claims, scores) for pair, p in zip(pairs, corrected, strict=True)]
    shared = ~np.isnan(cells).any(axis=0)
    models = [_model(scores, cells, shared, index) for index in range(len(scores.models))]
    means = [each.score.value if each.score else math.nan for each in models]
    ranked = [_ranked(each, means, pairs) for each in models]
    return ScoresComparison(
        len(scores.items),
        int(scores.prompt.max()) + 1,
        int(scores.run.max()) + 1,
        int(shared.any(axis=1).sum()),
        level,
        tuple(sorted(ranked, key=lambda each: (each.rank or 0, each.model))),
        tuple(pairs),
    )


def _columns(tables: Sequence[Any]) -> dict[str, list[Any]]:
    """The columns of all tables and logs, by their own names; `row` says where a row is."""
    if not tables:
        raise ValueError("tables: none are given; give a table of scores, or logs")
    parts = [_of_table(table) for table in tables]
    if len(parts) == 1:
        return parts[0]
    names = list(dict.fromkeys(name for part in parts for name in part))
    models = [set(map(str, part["model"])) for part in parts]
    twice = set.intersection(*models) if len(models) > 1 else set()
    if twice and all(isinstance(table, Log) or _is_log(table) for table in tables):
        sources = [table.source if isinstance(table, Log) else str(table) for table in tables]
        if len(set(sources)) < len(sources):
            raise ValueError(f"{sources[0]}: is given twice; give a log of each model")
        short = [Path(source).name for source in sources]
        given = short if len(set(short)) == len(short) else sources
        parts = [
            part | {"model": [name] * len(part["model"])} for part, name in zip(parts, given, strict=True)
        ]
    return {
        name: [value for part in parts for value in part.get(name, [SAME] * len(part["row"]))]
        for name in names
    }


def _is_log(table: Any) -> bool:
    """Whether a path is that of a log: any but a table with the columns of scores."""
    if not isinstance(table, str | Path):
        return False
    path = Path(table)
    if path.suffix.lower() not in TABLES:
        return True
    row = next(_rows(path), {})
    return not set(SCORE_COLUMNS) <= _roles(row).keys() and {"index", "prediction"} <= row.keys()


def _of_table(table: Any) -> dict[str, list[Any]]:
    """Columns by role of one table or log. Raises ValueError."""
    if isinstance(table, Log):
        return _of_log(table)
    if isinstance(table, str | Path):
        if _is_log(table):
            return _of_log(from_log(table))
        rows = list(_rows(Path(table)))
        given = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else {})}
        where = f"{table}: "
    elif hasattr(table, "columns") and hasattr(table, "to_dict"):
        if table.columns.has_duplicates:
            name = table.columns[table.columns.duplicated()][0]
            raise ValueError(f"tables: two columns have the name {check.shown(name)}; rename one")
        given = {str(name): table[name].tolist() for name in table.columns}
        where = ""
    elif isinstance(table, Mapping):
        given = {str(name): check.plain(values, str(name), 1).tolist() for name, values in table.items()}
        where = ""
    else:
        raise ValueError(
            f"tables is {check.shown(table)}; give a path, a DataFrame, columns by name or a log"
        )
    roles = _roles(given)
    if missing := [role for role in SCORE_COLUMNS if role not in roles]:
        known = ", ".join(map(str, given))[:120] or "none"
        raise ValueError(
            f"{where}no column {missing[0]}, it has {known}; a table needs {', '.join(SCORE_COLUMNS)}"
        )
    columns = {role: given[name] for role, name in roles.items()}
    counts = {role: len(values) for role, values in columns.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"{where}columns differ in length: {counts}; give as many rows in each")
    if not columns["item"]:
        raise ValueError(f"{where}has no rows; a table needs a score for each item and model")
    return columns | {"row": [f"{where}row {number}" for number in range(1, len(columns["item"]) + 1)]}


def _roles(given: Any) -> dict[str, str]:
    """The column of each role that a table has."""
    named = {str(name).strip().lower(): str(name) for name in given}
    columns = {
        role: next((named[name] for name in names if name in named), None) for role, names in COLUMNS.items()
    }
    return {role: name for role, name in columns.items() if name is not None}


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: a table of scores ends in {', '.join(TABLES)}; convert it")
    try:
        data = path.read_bytes()
        if not data.strip():
            raise ValueError(f"{path}: is empty; a table needs {', '.join(SCORE_COLUMNS)}")
        yield from (row for _, row in reader(data, str(path)))
    except OSError as error:
        raise ValueError(f"{path}: not readable ({error!s:.120})") from None
    except UserError as error:
        raise ValueError(str(error)) from None


def _of_log(log: Log) -> dict[str, list[Any]]:
    """A log as a table: its questions, scored as the log's `correct` says, with its groups."""
    names = [record.question for record in log._records]
    first: dict[str, str] = {}  # a group by the first of its questions: hashes may differ between two runs
    for name, group in zip(names, log.groups, strict=True):
        first[group] = min(name, first.get(group, name))
    return {
        "item": names,
        "model": [log.model or log.source] * log.rows,
        "score": log.correct.tolist(),
        "run": _numbered(names),
        "group": [first[group] for group in log.groups],
        "row": [f"{log.source}: {each}" for each in log.ids],
    }


def _numbered(names: Sequence[str]) -> list[int]:
    """How often each name came before."""
    count, numbers = Counter[str](), []
    for name in names:
        numbers.append(count[name])
        count[name] += 1
    return numbers


def _coded(columns: Mapping[str, list[Any]]) -> Scores:
    """Names as numbers, scores as float64. Raises ValueError with the row at fault."""
    rows = columns["row"]
    blank = [SAME] * len(rows)
    named = {
        role: [_name(value, role, row) for value, row in zip(columns.get(role, blank), rows, strict=True)]
        for role in ("item", "model", "prompt", "run")
    }
    named["group"] = named["item"]
    if "group" in columns:
        named["group"] = [
            _name(value, "group", row) for value, row in zip(columns["group"], rows, strict=True)
        ]
    _check_once(named, rows, "run" in columns)
    values = np.array([_number(value, row) for value, row in zip(columns["score"], rows, strict=True)])
    codes = {role: _codes(names, role == "model") for role, names in named.items()}
    shares = bool((values >= 0).all() and (values <= 1).all())
    return Scores(
        values,
        **{role: code for role, (_, code) in codes.items()},
        items=codes["item"][0],
        models=codes["model"][0],
        low=0.0 if shares else float(values.min()),
        high=1.0 if shares else float(values.max()),
    )


def _check_once(named: Mapping[str, list[str]], rows: Sequence[str], has_run: bool) -> None:
    """Refuses two scores of one thing, and an item that is in two groups."""
    first: dict[tuple[str, ...], str] = {}
    group_of: dict[str, str] = {}
    keys = zip(*(named[role] for role in ("model", "item", "prompt", "run")), strict=True)
    for row, key, group in zip(rows, keys, named["group"], strict=True):
        model, item = key[0][:60], key[1][:60]
        if first.setdefault(key, row) != row:
            hint = "keep one" if has_run else "give a column run if it was asked again, or keep one"
            there = first[key].rpartition(": ")[2]
            raise ValueError(f"{row}: model {model} has a score of item {item} in {there} as well; {hint}")
        if (before := group_of.setdefault(key[1], group)) != group:
            raise ValueError(
                f"{row}: item {item} is in group {group[:40]}, before in {before[:40]}; give one"
            )


def _codes(names: Sequence[str], as_given: bool) -> tuple[list[str], Any]:
    """The different names, sorted or in the order of the table, and [n] the number of each."""
    distinct = list(dict.fromkeys(names)) if as_given else sorted(set(names))
    number = {name: index for index, name in enumerate(distinct)}
    return distinct, np.array([number[name] for name in names], dtype=np.int64)


def _on_scale(estimate: Estimate, span: float, shift: float = 0.0) -> Estimate:
    """An estimate in 0 ... 1, or a difference of such, on the scale of the table."""
    low, high = (None if end is None else end * span + shift for end in estimate[1:])
    return Estimate(estimate.value * span + shift, low, high)


def _name(value: Any, role: str, row: str) -> str:
    """A name as text: 1 and 1.0 are one."""
    if isinstance(value, float | np.floating) and value == value and value == np.floor(value):
        value = int(value)
    text = "" if value is None or value != value or type(value).__name__ == "NAType" else str(value)
    if not text.strip():
        raise ValueError(f"{row}: has no {role}; name it, or leave the row out")
    return text


def _number(value: Any, row: str) -> float:
    """A finite score; of a text as well, and of true and false."""
    number = score_in(value)
    if not math.isfinite(number) or abs(number) > check.MOST_FEATURE:
        raise ValueError(f"{row}: score is {check.shown(value)}; give a number, or leave the row out")
    return number


def _cells(scores: Scores) -> Any:
    """[models, items, prompts] mean over runs, NaN where there is none."""
    shape = len(scores.models), len(scores.items), int(scores.prompt.max()) + 1
    cell = np.ravel_multi_index((scores.model, scores.item, scores.prompt), shape)
    counts = np.bincount(cell, minlength=math.prod(shape))
    sums = np.bincount(cell, scores.values, math.prod(shape))
    return np.where(counts, sums / np.maximum(counts, 1), np.nan).reshape(shape)


def _group_of(scores: Scores, items: Any) -> Any:
    """The group of each of these items, as numbers from 0 without gaps."""
    group = np.zeros(len(scores.items), dtype=np.int64)
    group[scores.item] = scores.group
    return np.unique(group[items], return_inverse=True)[1]


def _pair(scores: Scores, cells: Any, a: int, b: int, draws: int, seed: int) -> ScorePair:
    known = ~np.isnan(cells[[a, b]])
    both, of_either = known.all(axis=0), known.any(axis=2)
    items = np.nonzero(both)[0]
    gap, p = None, None
    if len(items):
        span = (scores.high - scores.low) or 1.0
        scaled, p = paired((cells[a] - cells[b])[both] / span, _group_of(scores, items), draws, seed)
        gap = _on_scale(scaled, span)
    count = len(np.unique(items))
    left_out = int(of_either.any(axis=0).sum()) - count
    return ScorePair(scores.models[a], scores.models[b], count, gap, p, None, None, None, "", left_out)


def _judged(pair: ScorePair, p: float | None, level: float, claims: int, scores: Scores) -> ScorePair:
    """A pair with its corrected p, what it could have shown, and its verdict."""
    gap, span = pair.difference, (scores.high - scores.low) or 1.0
    if gap is None or gap.low is None or gap.high is None or p is None:
        return pair._replace(p_holm=p)
    effect = minimum_detectable_effect(gap.low / span, gap.high / span, level, claims)
    detectable = effect and effect * span
    needed = questions_for(abs(gap.value), pair.items, detectable) if detectable and gap.value else None
    better = pair.a if gap.value > 0 else pair.b
    return pair._replace(
        p_holm=p,
        minimum_detectable_effect=detectable,
        needed=needed if needed is None or needed <= MOST else None,
        verdict=better if p < level and gap.value else "",
    )


def _model(scores: Scores, cells: Any, shared: Any, index: int) -> ModelScore:
    """A model without its ranks."""
    own = scores.model == index
    parts = components(scores.values[own], scores.item[own], scores.prompt[own])
    score = None
    if shared.any():
        span = (scores.high - scores.low) or 1.0
        scaled = (cells[index][shared] - scores.low) / span
        estimate = mean_of(scaled, _group_of(scores, np.nonzero(shared)[0]))
        score = _on_scale(estimate, span, scores.low)
    name, rows = scores.models[index], int(own.sum())
    return ModelScore(name, rows, score, None, None, None, parts and parts.by)


def _ranked(model: ModelScore, means: Sequence[float], pairs: Sequence[ScorePair]) -> ModelScore:
    if model.score is None:
        return model
    decided = [pair for pair in pairs if pair.verdict and model.model in (pair.a, pair.b)]
    better = sum(pair.verdict != model.model for pair in decided)
    return model._replace(
        rank=1 + sum(each > model.score.value + 1e-12 for each in means),
        rank_low=1 + better,
        rank_high=len(means) - (len(decided) - better),
    )
