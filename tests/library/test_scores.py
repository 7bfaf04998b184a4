"""Tables of scores: paired differences, ranks and variance, from files, frames and logs; bad tables in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vouch
from tests.library.test_inspect_logs import answered, eval_log, scored, top
from tests.models.released.test_tables import as_xlsx
from vouch.cli import scores
from vouch.metrics.comparison.variance import components

GPQA = np.array(
    [
        [19, 3, 2, 2, 4, 1],
        [5, 2, 4, 1, 1, 4],
        [6, 2, 0, 1, 2, 2],
        [3, 5, 1, 0, 2, 9],
        [2, 3, 2, 2, 2, 8],
        [6, 8, 5, 5, 7, 67],
    ]
)
"""Questions of GPQA Diamond by how many of five runs are correct: gpt-5-nano (rows), gpt-5.4-mini (columns).

Counts made from the scores that github.com/stephlinds/evalconfidence publishes (examples/data)."""


def gpqa() -> pd.DataFrame:
    """198 questions x 5 runs x 2 models, in that project's columns."""
    counts = [pair for pair in np.ndindex(6, 6) for _ in range(GPQA[pair])]
    return pd.DataFrame(
        [
            {"item_id": f"q{number:03}", "model_id": model, "score": float(epoch <= own), "epoch": epoch}
            for number, pair in enumerate(counts)
            for model, own in zip(("gpt-5-nano", "gpt-5.4-mini"), pair, strict=True)
            for epoch in range(1, 6)
        ]
    )


def test_the_numbers_of_evalconfidence_on_gpqa() -> None:
    """Its author has 5.9 points, 95 % interval 0.4 to 11.3, p .0363, detectable at this size 7.8 points."""
    table = gpqa()
    means = table.groupby(["model_id", "item_id"])["score"].mean()
    found = vouch.compare(means["gpt-5.4-mini"].to_numpy(), means["gpt-5-nano"].to_numpy())
    assert found.rows == 198 and found.difference.value == pytest.approx(-0.0586, abs=5e-5)
    assert [found.difference.low, found.difference.high] == pytest.approx([-0.1131, -0.0040], abs=1.5e-3)
    assert found.p == pytest.approx(0.0363, abs=5e-5)
    scores = vouch.compare_scores(table)
    (pair,) = scores.pairs
    assert pair.difference and pair.difference.value == -found.difference.value and pair.p_holm == found.p
    assert [pair.difference.low, pair.difference.high] == pytest.approx([0.0040, 0.1131], abs=1.5e-3)
    assert pair.minimum_detectable_effect == pytest.approx(0.078, abs=1e-3) and pair.verdict == "gpt-5-nano"
    first, second = scores.models
    assert first.score and second.score and (first.rank, second.rank) == (1, 2)
    assert [*first.score] == pytest.approx([0.6758, 0.6213, 0.7302], abs=5e-5), "clustered by item, as there"
    assert second.score.value == pytest.approx(0.6172, abs=5e-5)
    assert scores.runs == 5 and scores.items == scores.common == 198
    assert first.variance == pytest.approx({"question": 0.1335, "sampling": 0.0864}, abs=5e-5)


def test_a_table_has_the_same_numbers_as_a_file_a_frame_and_columns_in_any_order(tmp_path: Path) -> None:
    table = gpqa()
    found = vouch.compare_scores(table)
    shuffled = table.sample(frac=1, random_state=3)
    shuffled = pd.concat([table[:1], shuffled.drop(index=0)])  # the order of the models is that of the table
    paths = [tmp_path / f"scores.{end}" for end in ("csv", "tsv", "parquet")]
    table.to_csv(paths[0], index=False)
    shuffled.to_csv(paths[1], index=False, sep="\t")
    shuffled.to_parquet(paths[2])
    columns = {name: table[name].tolist() for name in table}
    workbook = tmp_path / "scores.xlsx"
    workbook.write_bytes(as_xlsx(table.to_dict("records")))
    for other in (*paths, workbook, str(paths[0]), shuffled, columns):
        assert vouch.compare_scores(other).pairs[0][2:9] == found.pairs[0][2:9]
    assert vouch.compare_scores(table[table["epoch"] <= 2]).runs == 2
    assert list(found.to_frame()["difference"]) == [found.pairs[0].difference.value]  # type: ignore[union-attr]


def rows(*models: str, items: int = 40, **more: Any) -> dict[str, list[Any]]:
    """A table in which the first model is the best, each next one a little worse."""
    item = [number for _ in models for number in range(items)]
    model = [name for name in models for _ in range(items)]
    score = [
        float((number * 7) % 20 >= 2 * place) for place, _ in enumerate(models) for number in range(items)
    ]
    return {"item": item, "model": model, "score": score, **more}


def test_ranks_have_ties_and_say_who_is_not_told_apart() -> None:
    found = vouch.compare_scores(rows("a", "b", "c", "d"))
    assert [each.model for each in found.models] == ["a", "b", "c", "d"]
    assert [each.rank for each in found.models] == [1, 2, 3, 4]
    assert [(each.rank_low, each.rank_high) for each in found.models] == [(1, 2), (1, 3), (2, 4), (3, 4)]
    assert all(pair.p_holm >= pair.p for pair in found.pairs if pair.p_holm and pair.p)
    table = rows("a", "b")
    table["score"] = table["score"][:40] * 2
    assert [each.rank for each in vouch.compare_scores(table).models] == [1, 1]


def test_groups_of_items_widen_the_interval() -> None:
    table = rows("a", "b", items=60)
    alone = vouch.compare_scores(table).pairs[0]
    together = vouch.compare_scores({**table, "group": [number // 20 for number in table["item"]]}).pairs[0]
    assert alone.difference and together.difference and alone.difference.value == together.difference.value
    assert alone.p and together.p and together.p > alone.p


def test_few_groups_are_named(tmp_path: Path) -> None:
    table = rows("a", "b", items=60)
    table["group"] = [number // 20 for number in table["item"]]
    pd.DataFrame(table).to_csv(tmp_path / "scores.csv", index=False)
    screen = scores.compared([tmp_path / "scores.csv"], json=False)
    assert "scores.csv: 2 models, 60 questions in 3 groups\n" in screen
    assert "\n3 groups are few: intervals and p are rough" in screen
    assert vouch.compare_scores(table).groups == 3


def test_a_prompt_of_its_own_for_each_question_takes_no_more_memory() -> None:
    table = rows("a", "b", items=9_000)
    own = {**table, "prompt": [f"Question {number}" for number in table["item"]]}
    one, other = (vouch.compare_scores(each, resamples=2) for each in (table, own))
    assert one.pairs == other.pairs and other.prompts == 9_000


def test_models_with_different_questions_are_compared_on_those_of_both() -> None:
    table = pd.DataFrame(rows("a", "b", "c"))
    table = table[~((table["model"] == "c") & (table["item"] >= 10))]
    found = vouch.compare_scores(table)
    assert [(pair.a, pair.b, pair.items, pair.left_out) for pair in found.pairs] == [
        ("a", "b", 40, 0), ("a", "c", 10, 30), ("b", "c", 10, 30)
    ]  # fmt: skip
    assert found.common == 10
    apart = table[
        ~(
            (table["model"] == "c")
            | ((table["model"] == "b") & (table["item"] < 20))
            | ((table["model"] == "a") & (table["item"] >= 20))
        )
    ]
    (pair,) = vouch.compare_scores(apart).pairs
    assert (pair.items, pair.difference, pair.p, pair.left_out) == (0, None, None, 40)


def test_scores_of_any_range_and_prompts() -> None:
    table = pd.DataFrame(rows("a", "b"))
    ten = table.assign(score=1 + 9 * table["score"])
    one, other = (vouch.compare_scores(each).pairs[0] for each in (table, ten))
    assert one.difference and other.difference and other.p == one.p
    assert [*other.difference] == pytest.approx([9 * end for end in one.difference if end is not None])
    assert other.minimum_detectable_effect == pytest.approx(9 * (one.minimum_detectable_effect or 0))
    prompts = pd.concat([table.assign(prompt=name, run=1) for name in ("p", "q")])
    both = vouch.compare_scores(prompts)
    assert both.pairs[0].difference == one.difference and both.prompts == 2
    assert both.models[0].variance is not None and both.models[0].variance["prompt"] == 0


def test_logs_are_compared_as_tables_are(tmp_path: Path) -> None:
    head = ("ANSWER", ":")
    for name, skill in (("one", 3), ("other", 2)):
        samples = [
            answered(*head, top(" X", "B" if (index + epoch) % 4 < skill else "C"), id=index, epoch=epoch)
            for epoch in (1, 2) for index in range(30)
        ]  # fmt: skip
        path = tmp_path / f"{name}.eval"
        path.write_bytes(eval_log(samples, eval={"task": "t", "model": name}))
    one, other = tmp_path / "one.eval", tmp_path / "other.eval"
    found = vouch.compare_scores(one, vouch.from_log(other))
    assert [each.model for each in found.models] == ["one", "other"] and (found.items, found.runs) == (30, 2)
    assert found.models[0].variance is not None and set(found.models[0].variance) == {"question", "sampling"}
    again = tmp_path / "again.eval"
    again.write_bytes(one.read_bytes())
    assert [each.model for each in vouch.compare_scores(one, again).models] == ["again.eval", "one.eval"]
    with pytest.raises(ValueError, match=r"one\.eval: is given twice"):
        vouch.compare_scores(one, one)
    open_log = tmp_path / "open.eval"
    open_log.write_bytes(eval_log([answered("x", id=0, choices=None, **scored("x", None))]))
    with pytest.raises(ValueError, match="nothing says whether 1 of 1 answers are correct"):
        vouch.compare_scores(open_log)


FEW = rows("a", "b", items=3)
BAD: dict[str, tuple[Any, str]] = {
    "nothing": ({}, "no column item, it has none; a table needs item, model, score"),
    "no rows": (pd.DataFrame(columns=["item", "model", "score"]), "has no rows"),
    "no score": ({"item": [1], "model": ["a"], "grade": [1]}, "no column score, it has item, model, grade"),
    "lengths": (FEW | {"score": [1.0]}, "columns differ in length"),
    "NaN": (FEW | {"score": [1, float("nan"), *FEW["score"][2:]]}, "row 2: score is nan; give a number, or leave the row out"),
    "infinity": (FEW | {"score": [float("inf"), *FEW["score"][1:]]}, "row 1: score is inf"),
    "a huge number": (FEW | {"score": [1e300, *FEW["score"][1:]]}, r"row 1: score is 1e\+300"),
    "a word": (pd.DataFrame(FEW).assign(score="good"), "row 1: score is 'good'"),
    "no model": (pd.DataFrame(FEW).assign(model=[None, *"aabbb"]), "row 1: has no model; name it"),
    "no item": (pd.DataFrame(FEW).assign(item=[float("nan"), 1, 2, 0, 1, 2]), "row 1: has no item"),
    "item is NA": (pd.DataFrame(FEW).assign(item=[pd.NA, 1, 2, 0, 1, 2]), "row 1: has no item"),
    "a blank run": (pd.DataFrame(FEW).assign(run=["1", " ", *"1111"]), "row 2: has no run"),
    "twice": (FEW | {"item": [0, 0, 2, 0, 1, 2]}, "row 2: model a has a score of item 0 in row 1 as well; give a column run"),
    "twice in a run": (FEW | {"item": [0, 0, 2, 0, 1, 2], "run": [1] * 6}, "row 2: model a has a score of item 0 in row 1 as well; keep one"),
    "two groups": (FEW | {"group": list("xyzxyy")}, "row 6: item 2 is in group y, before in z"),
    "a list": ([1, 2], r"tables is \[1, 2\]; give a path"),
    "None": (None, "tables is None"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_does_not_fit_is_one_line(case: str) -> None:
    table, reason = BAD[case]
    with pytest.raises(ValueError, match=reason) as error:
        vouch.compare_scores(table)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_score_that_two_tables_have_is_refused(tmp_path: Path) -> None:
    """Rows of two tables are two rows, even if their numbers and their path are equal."""
    table = rows("a", "b")
    same, copy = tmp_path / "same.csv", tmp_path / "copy.csv"
    for path in (same, copy):
        pd.DataFrame(table).to_csv(path, index=False)
    opposite = table | {"score": [1 - score for score in table["score"]]}
    log, other = tmp_path / "log.eval", tmp_path / "other.eval"
    for path in (log, other):
        samples = [answered("ANSWER", ":", top(" X"), id=number) for number in range(3)]
        path.write_bytes(eval_log(samples, eval={"task": "t", "model": path.stem}))
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((same, same), r"same\.csv: row 1: model a has a score of item 0 in row 1 as well; give each table once"),
        ((same, copy), r"copy\.csv: row 1: model a has a score of item 0 in .*same\.csv: row 1 as well"),
        ((table, opposite), "table 2: row 1: model a has a score of item 0 in table 1: row 1 as well"),
        ((pd.DataFrame(table), same), r"same\.csv: row 1: model a has a score of item 0 in table 1: row 1 as well"),
        ((log, other, log), "model log has a score of item 0 in 0 as well; give each table once"),
    ]  # fmt: skip
    for tables, reason in cases:
        with pytest.raises(ValueError, match=reason) as error:
            vouch.compare_scores(*tables)
        assert "\n" not in str(error.value)
    assert vouch.compare_scores(rows("a"), rows("b")).runs == 1, "tables of different models are joined"


BYTES = {
    "empty": (b"", "is empty; a table needs"),
    "a head alone": (b"item,model,score\n", "no column item, it has none|has no rows"),
    "cut": (b"item,model,score\n1,a,1\n2,a\n", "row 2: 2 cells under 3 names"),
    "half a quote": (b'item,model,score\n1,"a,1\n', "not readable as CSV"),
    "binary": (bytes(range(256)), "not readable as CSV in UTF-8"),
    "two columns of one name": (b"item,item,score\n1,a,1\n", "two columns have one name"),
}


@pytest.mark.parametrize("case", BYTES)
def test_a_file_that_cannot_be_read_is_one_line(case: str, tmp_path: Path) -> None:
    data, reason = BYTES[case]
    path = tmp_path / "scores.csv"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=reason) as error:
        vouch.compare_scores(path)
    assert "\n" not in str(error.value) and "scores.csv" in str(error.value)


def test_an_infinite_number_is_a_name_like_others() -> None:
    scores = vouch.compare_scores(pd.DataFrame(FEW).assign(item=[float("inf"), 1.0, 2.0] * 2))
    assert scores.items == 3


def test_one_item_one_model_and_unicode(tmp_path: Path) -> None:
    one = vouch.compare_scores(rows("a", "b", items=1))
    (pair,) = one.pairs
    assert pair.difference and (pair.difference.low, pair.p, pair.minimum_detectable_effect) == (
        None,
        None,
        None,
    )
    assert one.models[0].variance is None
    alone = vouch.compare_scores(rows("a"))
    assert not alone.pairs and alone.models[0].rank == 1
    path = tmp_path / "模型.csv"
    pd.DataFrame(rows("模型\u202e", "é\n")).to_csv(path, index=False)
    assert {each.model for each in vouch.compare_scores(path).models} == {"模型\u202e", "é\n"}
    truth = rows("a", "b")
    assert (
        vouch.compare_scores(truth | {"score": [str(bool(each)) for each in truth["score"]]}).pairs
        == vouch.compare_scores(truth).pairs
    )


# Variance components


def simulated(
    question: float, prompt: float, both: float, run: float, shape: tuple[int, int, int], seed: int
) -> Any:
    rng = np.random.default_rng(seed)
    items, prompts, _ = shape
    cell = (
        rng.normal(0, question, (items, 1))
        + rng.normal(0, prompt, (1, prompts))
        + rng.normal(0, both, (items, prompts))
    )
    scores = cell[:, :, None] + rng.normal(0, run, shape)
    grid = np.indices(shape)
    return scores.ravel(), grid[0].ravel(), grid[1].ravel()


def test_components_are_unbiased() -> None:
    """Means over simulated tables are the variances that made them."""
    found = [components(*simulated(0.6, 0.4, 0.3, 0.5, (30, 8, 3), seed)) for seed in range(1000)]
    means = {source: np.mean([each.by[source] for each in found if each]) for source in found[0].by}  # type: ignore[union-attr]
    assert means == pytest.approx(
        {"question": 0.36, "prompt": 0.16, "question x prompt": 0.09, "sampling": 0.25}, rel=0.06
    )


def test_components_worked_out_by_hand() -> None:
    """Two questions, two prompts, two runs: cell means 1, 2, 2, 5, each 1 apart; squares within 4 x 0.5 / 4."""
    scores = np.array([0.5, 1.5, 1.5, 2.5, 1.5, 2.5, 4.5, 5.5])
    items, prompts = np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2)
    found = components(scores, items, prompts)
    # MS within 0.5; interaction 4 x 0.5^2 = 1; question means 1.5 and 3.5: 2; prompt means the same
    assert found and found.by == pytest.approx(
        {"question": (4 - 1) / 2, "prompt": (4 - 1) / 2, "question x prompt": 1 - 0.25, "sampling": 0.5}
    )
    one_run = components(scores[::2], items[::2], prompts[::2])
    assert one_run and set(one_run.by) == {"question", "prompt", "question x prompt + sampling"}
    one_prompt = components(scores[prompts == 0], items[prompts == 0], prompts[prompts == 0])
    assert one_prompt and one_prompt.by == pytest.approx({"question": 0.25, "sampling": 0.5})
    assert components(scores[:1], items[:1], prompts[:1]) is None


def test_components_of_unequal_runs_and_of_equal_scores() -> None:
    scores, items, prompts = simulated(1.0, 0.0, 0.0, 1.0, (400, 1, 4), 5)
    kept = np.arange(len(scores)) % 4 < 1 + items % 4
    found = components(scores[kept], items[kept], prompts[kept])
    assert found and found.by == pytest.approx({"question": 1, "sampling": 1}, rel=0.25)
    same = components(np.full(8, 0.1), np.repeat([0, 1], 4), np.tile([0, 1], 4))
    assert same and set(same.by.values()) == {0.0}
    missing = np.arange(8) != 7  # the second question lacks the second prompt
    rest = components(scores[:8][missing], np.repeat([0, 1, 2, 3], 2)[missing], np.tile([0, 1], 4)[missing])
    assert rest and (rest.items, rest.prompts) == (3, 2)
