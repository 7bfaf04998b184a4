"""Generated texts become outcomes and metrics, in both protocols."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.metrics.simulated import config
from vouch.metrics.config import ScoreConfig
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import TextBlock, text_blocks
from vouch.pipeline.errors import UserError
from vouch.tables.answered import TEXT
from vouch.tables.asked import ITEMS, PROMPTS
from vouch.tables.results import OUTCOMES

OPTIONS = ["a cat", "a dog", "a cow"]


def choice(name: str, text: str | None, answer: int = 0, **changes: Any) -> dict[str, Any]:
    """One question with options and what was generated; answer: as shown."""
    row = {
        "id": name,
        "group": f"g{name}",
        "kind": "choice",
        "flags": [],
        "category": "",
        "answers": [answer],
    }
    row |= {"options": OPTIONS, "order": [0, 1, 2], "labels": ["A", "B", "C"], "native": [answer]}
    return row | {"text": text, "logprobs": [-0.5, -1.5], "entropies": [0.25, 0.75], "eos": 1} | changes


def question(name: str, text: str | None, *references: str, **changes: Any) -> dict[str, Any]:
    """An open question."""
    row = choice(name, text) | {"kind": "text", "options": [], "order": [], "labels": [], "answers": []}
    return row | {"native": [], "references": list(references)} | changes


def blocks(rows: list[dict[str, Any]], released: bool = False) -> list[TextBlock]:
    keys = ("order", "labels", "options", "answers")
    prompts = [
        {"id": f"{row['id']}/original", "item": row["id"], "variation": "original", "outputs": ["text"]}
        | {key: row[key] for key in keys}
        | {"template": row.get("template")}
        for row in rows
    ]
    items = [
        {key: row.get(key) for key in ("id", "group", "kind", "flags", "category", "references")}
        | {"answers": row["native"]}
        for row in rows
    ]
    keys = ("text", "logprobs", "entropies", "eos", "problem")
    texts = [
        {"prompt": f"{row['id']}/original", "temperature": 0, "sample": 0} | {k: row.get(k) for k in keys}
        for row in rows
        if "absent" not in row
    ]
    for row in rows:
        for number, text in enumerate(row.get("samples", ()), start=1):
            name = f"{row['id']}/original"
            texts.append({"prompt": name, "temperature": 0.5, "sample": number, "text": text})
    made = (
        pa.Table.from_pylist(found, table.schema)
        for found, table in ((texts, TEXT), (prompts, PROMPTS), (items, ITEMS))
    )
    return list(text_blocks(*made, "here", released))


def scored(
    rows: list[dict[str, Any]], settings: ScoreConfig | None = None
) -> tuple[dict[Any, Any], list[Any]]:
    """Metrics by protocol, score and name over all categories, and the outcomes."""
    (block,) = blocks(rows)
    found, outcomes = score_texts("m", "d", block, settings or config())
    assert outcomes.schema.equals(OUTCOMES.schema)
    assert len({(r["protocol"], r["category"], r["score"], r["metric"]) for r in found}) == len(found)
    metrics = {(r["protocol"], r["score"], r["metric"]): r for r in found if r["category"] == "all"}
    return metrics, outcomes.to_pylist()


def test_faithful_grades_as_vlmevalkit_does_and_clean_reads_the_answer() -> None:
    """Of ChartQA: a sentence and a thousands separator are wrong there; a choice has one grade."""
    rows = [
        question("q0", "The answer is Yes.", "Yes"),
        question("q1", "2,345", "2345"),
        question("q2", "102", "100"),
        question("q3", "8", "5"),
        choice("q4", "A"),
    ]
    metrics, outcomes = scored(rows, config(answers={"d": ["relaxed_accuracy", "exact_match"]}))
    found = {key: metrics[*key]["value"] for key in metrics if key[2] in ("accuracy", "relaxed_accuracy")}
    assert found == {
        ("faithful", "", "accuracy"): 0.4,
        ("faithful", "", "relaxed_accuracy"): 0.25,
        ("clean", "", "accuracy"): 0.8,
        ("clean", "", "relaxed_accuracy"): 0.75,
    }
    assert [(row["correct"], row["clean_correct"]) for row in outcomes] == [
        (False, 1), (False, 1), (True, 1), (False, 0), (True, 1)
    ]  # fmt: skip


def test_right_wrong_unparsed_and_refused_are_four_things() -> None:
    rows = [
        choice("q0", "A"),
        choice("q1", "The answer is (B)."),
        choice("q2", "Hmm, hard."),
        choice("q3", "I'm sorry, I cannot help."),
        choice("q4", "a cow", answer=1, order=[2, 1, 0], native=[1]),
        choice("q5", "The answer is a cat or a cow."),
    ]
    metrics, outcomes = scored(rows)
    names = ("parser", "reason", "answer", "predicted", "chosen", "correct")
    assert [tuple(o[name] for name in names) for o in outcomes] == [
        ("reader", "mark alone: a", "cat", 0, 0, True),
        ("reader", "statement: The answer is (B)", "dog", 1, 1, False),
        ("unparsed", None, "hmm, hard", None, None, False),
        ("refusal", "decline: cannot help", "i'm sorry, i cannot help", None, None, False),
        ("reader", "text alone: a cow", "cow", 2, 0, False),
        ("several", "statement: The answer is a cat or a cow.", "cat | cow", None, None, False),
    ]
    for protocol in ("faithful", "clean"):
        rates = ("accuracy", "unparsed_rate", "refusal_rate", "several_rate")
        found = {name: metrics[protocol, "", name] for name in rates}
        assert [row["value"] for row in found.values()] == pytest.approx([1 / 6] * 4)
        assert all((row["low"] is not None) == (protocol == "clean") for row in found.values())
    assert all(o["output"] == "text" and o["half"] is None and o["entropy"] is None for o in outcomes)


def test_parc_takes_the_answer_that_was_turned_for_wrong() -> None:
    settings = config(parsers=["contains"])
    turned = {"answers": [1, 2], "native": [0]}
    rows = [
        choice("q0", "a dog or a cow", **turned),
        choice("q1", "a dog or a cat", **turned),
        choice("q2", "a cat or a dog"),
        choice("q3", "a dog", **turned),
        choice("q4", "nothing", **turned),
    ]
    _, outcomes = scored(rows, settings)
    assert [o["correct"] for o in outcomes] == [True, False, True, True, False]
    assert [(o["answer"], o["chosen"]) for o in outcomes][:4] == [
        ("dog | cow", None), ("cat | dog", None), ("cat | dog", None), ("dog", 1),
    ]  # fmt: skip


def test_an_answer_with_several_options_does_not_hang_on_their_order() -> None:
    settings = config(parsers=["contains"])
    shown = {"options": OPTIONS[::-1], "order": [2, 1, 0], "answers": [2], "native": [0]}
    _, outcomes = scored([choice("q0", "cat, cow"), choice("q1", "cow, cat", **shown)], settings)
    assert outcomes[0]["answer"] == outcomes[1]["answer"] == "cat | cow"


def test_few_words_for_a_number_are_wrong_and_a_sentence_without_one_is_unread() -> None:
    _, outcomes = scored([question("q0", "red", "2"), question("q1", "It shows a red box", "2")])
    assert [(o["parser"], o["correct"]) for o in outcomes] == [("exact_match", False), ("unparsed", False)]


def test_open_questions_are_graded_by_the_metrics_of_their_dataset() -> None:
    rows = [
        question("q0", "Two.", "two", "2"),
        question("q1", "hella", "hello"),
        question("q2", "", "red"),
        question("q3", "I cannot tell", "red"),
        question("q4", "Sorry", "sorry"),
        question("q5", "anything"),
    ]
    metrics, outcomes = scored(rows)
    assert [o["parser"] for o in outcomes] == [
        *["exact_match", "exact_match", "unparsed", "refusal", "exact_match", "exact_match"]
    ]
    assert [o["clean_correct"] for o in outcomes] == [1, 0, 0, 0, 1, None]
    assert metrics["clean", "", "accuracy"]["value"] == metrics["clean", "", "exact_match"]["value"] == 0.4
    assert metrics["clean", "", "accuracy"]["items"] == 5
    metrics, outcomes = scored(rows, config(answers={"d": ["anls", "cider_d"]}))
    assert outcomes[1]["clean_correct"] == pytest.approx(0.8) and outcomes[1]["correct"]
    assert metrics["faithful", "", "anls"]["value"] == pytest.approx((0.75 + 0.8 + 1) / 5)
    assert ("faithful", "", "exact_match") not in metrics and ("clean", "", "cider_d") in metrics
    metrics, outcomes = scored(rows, config(answers={"d": ["cider_d"]}))
    assert ("clean", "", "accuracy") not in metrics
    assert all(o["correct"] is None and o["clean_correct"] is None for o in outcomes)


def test_clean_drops_defective_rows_and_counts_groups() -> None:
    rows = [
        choice("q0", "A", group="g"),
        choice("q1", "B", group="g"),
        choice("q2", "A", flags=["missing_option"]),
        choice("q3", "A", category="colour"),
    ]
    metrics, outcomes = scored(rows)
    assert [o["clean_correct"] for o in outcomes] == [1, 0, None, 1]
    assert metrics["faithful", "", "accuracy"]["value"] == 0.75
    assert metrics["clean", "", "accuracy"]["value"] == pytest.approx(2 / 3)
    assert metrics["clean", "", "groups"]["value"] == 2 and metrics["clean", "", "rows_dropped"]["value"] == 1


def test_certainty_is_that_of_the_tokens_without_the_end() -> None:
    rows = [choice("q0", "A"), choice("q1", "B", eos=None), choice("q2", "A", logprobs=None, entropies=None)]
    metrics, outcomes = scored(rows)
    assert [o["confidence"] for o in outcomes] == [
        pytest.approx(np.exp(-0.5)),
        pytest.approx(np.exp(-1)),
        None,
    ]
    assert metrics["faithful", "", "nll_avg"]["value"] == pytest.approx((0.5 + 1) / 2)
    assert metrics["faithful", "", "nll_avg_eos"]["value"] == pytest.approx(1)
    assert metrics["clean", "", "ent_max"]["value"] == pytest.approx((0.25 + 0.75) / 2)
    assert metrics["clean", "", "ece"]["items"] == 2


def test_samples_are_held_against_the_greedy_text() -> None:
    rows = [choice("q0", "A", samples=["a", "B"]), choice("q1", "B", samples=["B", "b."]), choice("q2", "A")]
    metrics, _ = scored(rows)
    assert metrics["clean", "t0.5", "agreement"]["value"] == pytest.approx(0.75)
    assert metrics["clean", "t0.5", "agreement"]["items"] == 2
    assert metrics["clean", "t0.5", "sample_bleu"]["value"] == pytest.approx((0.5 + 0.5) / 2)


def test_a_problem_is_an_unanswered_prompt() -> None:
    rows = [
        choice("q0", "A"),
        choice("q1", None, problem="no answer", logprobs=None, entropies=None, eos=None),
    ]
    metrics, outcomes = scored(rows)
    assert metrics["faithful", "", "unanswered"]["value"] == 0.5 and len(outcomes) == 1
    assert metrics["faithful", "", "accuracy"]["items"] == 1
    metrics, outcomes = scored(rows[1:])
    assert {name for _, _, name in metrics} == {"unanswered"} and not outcomes


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (choice("q1", None), "has neither a text nor a problem"),
        (choice("q1", "A", absent=True), "was asked but has no row"),
        (choice("q1", "A", answers=[]), "has no answer among its options"),
    ],
)
def test_what_does_not_fit_is_refused(row: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=f"here: prompt q1/original {problem}"):
        blocks([choice("q0", "A"), row])


def test_released_texts_may_be_missing() -> None:
    assert blocks([choice("q0", "A", absent=True)], released=True) == []


def test_marks_in_brackets_are_counted_as_the_format_whatever_was_read() -> None:
    texts = ["(A) a cat", "it is (z), I think", "B", "a dog", "()"]
    rows = [choice(str(number), text) for number, text in enumerate(texts)]
    metrics, _ = scored([*rows, question("open", "(A)", "a cat")])
    rate = metrics["faithful", "", "format_hit_rate"]
    assert (rate["value"], rate["items"]) == (pytest.approx(2 / 5), 5)


def test_samples_of_one_prompt_have_an_instability_of_their_own() -> None:
    rows = [
        choice("0", "A", samples=["A", "(A)", "a cat", "B"]),  # three say the same
        choice("1", "A", samples=["A", "A", "A", "A"]),
        choice("2", "A", samples=["zzz", "yyy", "A", "B"]),
        choice("3", "A", samples=["A"]),  # says nothing
    ]
    metrics, _ = scored(rows)
    found = metrics["faithful", "t0.5", "instability"]
    entropies = [-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)), 0, np.log(4)]
    assert (found["value"], found["items"]) == (pytest.approx(sum(entropies) / 3), 3)
    assert metrics["clean", "t0.5", "instability"]["low"] is not None


def test_sampled_answers_have_sets_and_their_agreement_answers_alone() -> None:
    rows = [choice(f"{n:02}", "A", samples=["A", "(A)"] if n % 4 else ["B", "a cat"]) for n in range(80)]
    metrics, _ = scored(rows)
    found = {name: row["value"] for (_, score, name), row in metrics.items() if score == "t0.5"}
    assert found["tron_unreached"] == 0 and found["tron_coverage"] == 1
    assert found["tron_samples"] == 2 and 1 < found["tron_set_size"] < 1.5  # both answers where they differ
    assert found["answered_alone_5"] == 1, "every greedy text is right"
    never = scored([choice(f"{n:02}", "A", samples=["A" if n % 4 else "B"]) for n in range(80)])[0]
    assert never["clean", "t0.5", "tron_unreached"]["value"] == 0.25
    assert ("clean", "t0.5", "tron_samples") not in never
