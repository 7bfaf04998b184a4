"""`vouch item` and `vouch publish card` on tables that the stages wrote."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from PIL import Image

from tests.cli.conftest import Vouch, flat
from tests.cli.scored import COUNT, HOSTILE, outcomes
from vouch.cli.card import sensitivity, with_guesses
from vouch.cli.item import close
from vouch.cli.item_answers import _options, _scores, as_scored, graded
from vouch.cli.item_screen import screen
from vouch.cli.printing import columns_of
from vouch.cli.wrong import WrongAnswers, ordered, wrong_screen
from vouch.tables.answered import LETTERS, letters_path, pin_path, read_pin, write_pin
from vouch.tables.asked import ITEMS, KEPT, items_path
from vouch.tables.results import (
    BLIND,
    LEADERBOARD,
    LEADERBOARD_PATH,
    METRICS,
    OUTCOMES,
    VARIATIONS,
    VARIATIONS_PATH,
    blind_path,
    metrics_path,
    outcomes_path,
)


@pytest.fixture(autouse=True)
def made(scored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The finished project, which is the present folder."""
    monkeypatch.chdir(scored)
    return scored


def test_an_item_with_its_answers_and_sets(vouch: Vouch) -> None:
    found = json.loads(vouch("item", "kite-004", "--dataset", "left", "--json"))
    answers = {prompt["id"]: prompt["answers"] for prompt in found["prompts"]}
    assert found["item"]["answers"] == [1] and len(found["answers"]) == 6
    for entry in found["answers"]:
        row = outcomes(entry["model"], "left", entry["variation"])["kite-004"]
        assert entry["correct"] == row["correct"] and entry["confidence"] == row["confidence"]
        members = entry["lac"]
        assert (row["size_lac"] is None) == (members is None) == (row["half"] != "test")
        if members is not None:
            assert len(members) == row["size_lac"] and members[0] == entry["answer"]
            correct = tuple("ABC"[index] for index in answers[entry["prompt"]])
            assert row["covered_lac"] == any(member.startswith(correct) for member in members)


def test_an_item_shows_what_is_behind_each_answer(vouch: Vouch) -> None:
    """The numbers of the tables of responses, and how the reader came to its reading."""
    found = json.loads(vouch("item", "kite-004", "--dataset", "left", "--model", "tiny_a", "--json"))
    stored = {row["prompt"]: row for row in LETTERS.read(letters_path("tiny_a", "left")).to_pylist()}
    for entry in found["answers"]:
        assert [one["logit"] for one in entry["options"]] == stored[entry["prompt"]]["logits"]
        assert sum(one["probability"] for one in entry["options"]) == pytest.approx(1)
        (chosen,) = [one for one in entry["options"] if one["answer"]]
        assert (chosen["option"], chosen["probability"]) == (
            entry["answer"],
            pytest.approx(entry["confidence"]),
        )
        assert any(one["answer"] and one["correct"] for one in entry["options"]) == entry["correct"]
    (text, *_) = json.loads(vouch("item", "kite-004", "--dataset", "right", "--json"))["answers"]
    row = outcomes(text["model"], "right")["kite-004"]
    assert (text["parser"], text["reason"], text["options"]) == (row["parser"], row["reason"], [])
    assert "only mention: " in text["reason"] and "only mention: " in vouch(
        "item", "kite-004", "--dataset", "right"
    )


def test_the_original_prompt_is_explained_and_with_detail_every_one(vouch: Vouch) -> None:
    short = vouch("item", "kite-004", "--dataset", "right", "--model", "tiny_a")
    whole = vouch("item", "kite-004", "--dataset", "right", "--model", "tiny_a", "--detail")
    assert [short.count(f"\ntiny_a, text, {name}: ") for name in ("original", "ls_n", "vr_b")] == [1, 0, 0]
    assert [whole.count(f"\ntiny_a, text, {name}: ") for name in ("original", "ls_n", "vr_b")] == [1, 1, 1]
    assert "more lines (--detail)" in short and short.count("long") < 400
    assert "more lines" not in whole and whole.count("long") == 3 * 400, "all words of three texts"


def test_a_language_model_and_what_it_solves(vouch: Vouch) -> None:
    pin, path = read_pin(pin_path("tiny_a")), blind_path("left")
    before = path.read_bytes() if path.exists() else None
    rows = [
        {"output": "letters", "item": "kite-004", "models": 1, "correct": 1, "solved": True, "chance": 0.3}
    ]
    try:
        write_pin(pin_path("tiny_a"), pin.model_copy(update={"sees": False}))
        BLIND.write(path, rows)
        out = vouch("item", "kite-004", "--dataset", "left")
        assert (
            "\nflags: solved_blind\n" in out
            and "\ntiny_a, letters (a language model, asked without images)\n" in out
        )
        assert "flags" not in vouch("item", "kite-005", "--dataset", "left") and "\ntiny_b, letters\n" in out
    finally:
        write_pin(pin_path("tiny_a"), pin)
        path.unlink() if before is None else path.write_bytes(before)


def explained(**facts: Any) -> list[str]:
    """The block of one answer to an original prompt."""
    none = dict.fromkeys(("answer", "correct", "confidence", "text", "problem", "parser", "reason", "effect"))
    answer = {
        "model": "m",
        "output": "letters",
        "variation": "original",
        "prompt": "q/original",
        "kept": True,
        "sees": True,
    }
    sets = {"lac": None, "aps": None, "clean_size": {"lac": None, "aps": None}, "against_original": ""}
    of_answer = dict.fromkeys(("letter_mass", "bracket_mass", "spelling", "reasoning", "flags", "graded"))
    lists: dict[str, Any] = {"options": [], "samples": [], "expected": [], "calibrated": True}
    lists["other_scored"] = False
    lines = screen([none | answer | sets | of_answer | lists | facts]).splitlines()
    return lines[lines.index(next(line for line in lines if line.startswith("m, ") and ":" in line)) :]


def one_option(**facts: Any) -> dict[str, Any]:
    return {"option": "A. red", "answer": True, "correct": False, "probability": 1.0, **facts}


@pytest.mark.parametrize(
    ("facts", "claims"),
    [
        ({"problem": "too long"}, ["no answer: too long"]),
        ({"letter_mass": 0.02, "spelling": ""}, ["letter mass 0.020, letters read after nothing", "another form"]),
        ({"letter_mass": 0.98, "spelling": " ", "bracket_mass": 0.3}, ["mass on `(` 0.300", "read after ' '"]),
        ({"spelling": "", "other_scored": True}, ["letters read after nothing, scored in the other spelling"]),
        ({"reasoning": "It is\x1b[31m red.", "flags": ["close"]}, ["thought: It is [31m red.", "flags: close"]),
        ({"options": [one_option(logit=None, upper=-3.5, other_logits=None)]}, ["at most", "-inf   -3.500"]),
        ({"options": [one_option(nll=None, tokens=2)]}, ["  inf       2        1.000  answer"]),
        ({"options": [one_option(option="x" * 500, logit=1.0)]}, ["xx…xx"]),
        ({"output": "text", "text": "Hm.", "parser": "unparsed"}, ["nothing could be read of it", "  | Hm."]),
        ({"output": "text", "text": "", "parser": "refusal"}, ["the model declined", "  |"]),
        ({"output": "text", "text": "A B", "parser": "several", "answer": "a | b"}, ["and chooses none as a | b"]),
        ({"output": "text", "text": "数" * 300, "parser": "reader", "reason": "cue: " + "w " * 60}, ["(cue: w"]),
        ({"output": "text", "text": "Red.", "parser": "reader", "expected": ["B. blue", "C. green"]},
         ["correct: B. blue; C. green"]),
        ({"output": "text", "text": "r", "parser": "exact_match", "answer": "r", "correct": False,
          "graded": {"metric": "exact_match", "read": "r", "references": ["blue", "b\x1blue"], "grade": 0.0}},
         ["wrong, graded by exact_match", "exact_match compared 'r' with 'blue' and 'b\\x1blue' and gave 0: whether"]),
        ({"output": "text", "text": "r", "parser": "anls", "answer": "r", "correct": True,
          "graded": {"metric": "anls", "read": "r", "references": ["s"] * 9, "grade": 0.6251}},
         ["'s' and 5 more and gave 0.625, 0.5 or more is correct: average normalised"]),
        ({"output": "text", "text": "r", "parser": "cider_d", "answer": "r",
          "graded": {"metric": "cider_d", "read": "r", "references": [], "grade": None}}, ["with none: cosine"]),
        ({"options": [one_option(option="数" * 500, logit=1.0)]}, ["数…数"]),
        ({"output": "text", "text": "a\tb\n\u202ec\n" * 20, "parser": "judge", "answer": "c"},
         ["read by the judge as c", "more lines"]),
        ({"output": "text", "text": "a", "samples": [{"temperature": 0.7, "sample": n, "text": "b\n\x07"} for n in range(5)]},
         ["  at 0.7: b", "and 2 more samples"]),
    ],
)  # fmt: skip
def test_what_is_behind_an_answer_in_80_columns(facts: dict[str, Any], claims: list[str]) -> None:
    block = explained(**facts)
    text = "\n".join(block)
    assert all(claim in text or claim in flat(text) for claim in claims), text
    assert max(map(columns_of, block)) <= 80 and all(char.isprintable() or char == "\n" for char in text)


def test_detail_has_every_prompt_as_asked_and_names_what_changed_nothing(vouch: Vouch) -> None:
    whole = vouch("item", "kite-004", "--dataset", "left", "--model", "tiny_a", "--detail")
    assert "\nprompt original, as asked:\n  | ?\nprompt ls_n: the same as the original\n" in whole
    assert "\nthe same prompt as the original, so the same answer: ls_n, vr_b\n" in whole
    short = vouch("item", "kite-004", "--dataset", "left", "--model", "tiny_a")
    assert "as asked" not in short and "so the same answer: ls_n, vr_b\n" in short
    found = json.loads(vouch("item", "kite-004", "--dataset", "left", "--json"))
    assert [one["same_as_original"] for one in found["prompts"]] == [False, True, True]


def prompt(variation: str, **changes: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"system": None, "turns": [], "text": "Which?", "response": None, "images": []}
    return {"id": f"q/{variation}", "variation": variation, "same_as_original": False, **asked, **changes}


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"text": "What?\x1b\n" + "long " * 40}, ["prompt ls_n, as asked:", "  | What?", "  | long"]),
        (
            {"images": [{"images": ["d"], "steps": [{"operation": "blur", "severity": 5}]}]},
            ["prompt ls_n (images: blur 5): the words of the original"],
        ),
        (
            {"system": "Be brief.", "turns": [{"question": "One?", "answer": "{answer 1}"}], "response": "It is"},
            ["  system:", "  | Be brief.", "  user:", "  | One?", "  model:", "  | {answer 1}", "  answer begins:"],
        ),
        ({"text": "数" * 90}, [f"  | {'数' * 37}"]),
    ],
)  # fmt: skip
def test_a_prompt_as_it_was_asked(changes: dict[str, Any], lines: list[str]) -> None:
    text = screen([], [prompt("original"), prompt("ls_n", **changes)], detail=True)
    assert text.startswith("prompt original, as asked:\n  | Which?\nprompt ls_n")
    assert all(line in text for line in lines), text
    assert max(map(columns_of, text.splitlines())) <= 80 and "\x1b" not in text


def test_sets_of_an_infinite_threshold_are_words(vouch: Vouch) -> None:
    path = metrics_path("left")
    before, rows = path.read_bytes(), METRICS.read(path).to_pylist()
    of_model = {"metric": "infinite_threshold_rate", "model": "tiny_a", "category": "all"}
    try:
        for row in rows:
            row["value"] = 0.2 if of_model.items() <= row.items() else row["value"]
        METRICS.write(path, rows)
        out = flat(vouch("item", "kite-004", "--dataset", "left"))
        found = json.loads(vouch("item", "kite-004", "--dataset", "left", "--json"))["answers"]
    finally:
        path.write_bytes(before)
    assert "tiny_a, letters: no prediction sets; too few questions calibrate, so a set would hold" in out
    assert "tiny_b, letters: no prediction" not in out
    without = [one for one in found if not one["calibrated"]]
    assert {one["model"] for one in without} == {"tiny_a"}
    assert all(one[score] is one["clean_size"][score] is None for one in without for score in ("lac", "aps"))


def test_the_wrong_answers_of_a_model(vouch: Vouch) -> None:
    found = json.loads(vouch("item", "--wrong", "tiny_b", "--json"))
    wanted = {
        (dataset, name): row["confidence"]
        for dataset in ("left", "right")
        for name, row in outcomes("tiny_b", dataset).items()
        if row["correct"] is False
    }
    assert {(one["dataset"], one["item"]): one["confidence"] for one in found} == wanted
    assert [one["confidence"] for one in found] == sorted(wanted.values(), reverse=True)
    assert all(one["answer"] not in one["expected"] for one in found)
    out = vouch("item", "--wrong", "tiny_b", "--limit", "3")
    assert out.startswith(f"tiny_b: {len(wanted)} of {2 * COUNT} answers are wrong\n")
    assert f"and {len(wanted) - 3:,} more, less confident (--limit {len(wanted)} lists all)" in out
    last = shlex.split(out.splitlines()[-1])
    assert last == [
        *("vouch", "item", found[0]["item"], "--dataset", found[0]["dataset"], "--model", "tiny_b")
    ]
    assert ": wrong" in vouch(*last[1:])
    one = json.loads(vouch("item", "--wrong", "tiny_b", "--dataset", "left", "--variation", "ls_n", "--json"))
    assert {(each["dataset"], each["variation"], each["output"]) for each in one} == {
        ("left", "ls_n", "letters")
    }
    assert max(map(columns_of, vouch("item", "--wrong", "tiny_b", "--limit", "999").splitlines()[:-1])) <= 80


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        (["--wrong", "tiny_c"], "no model tiny_c; did you mean tiny_"),
        (["--wrong", "tiny_a", "--dataset", "lft"], "did you mean left?"),
        (["--wrong", "tiny_a", "--variation", "vr_x"], "no answers in vr_x; `vouch show --variations` lists"),
        (["--wrong", "tiny_a", "--output", "likelihood"], "no answers as likelihood"),
        (["--wrong", "tiny_a", "--model", "tiny_b"], "--model goes with one question; leave it out"),
        (["--wrong", "tiny_a", "--images", "x"], "--images goes with one question"),
        (["kite-004", "--variation", "ls_n"], "--variation goes with --wrong"),
        (["kite-004", "--limit", "3"], "--limit goes with --wrong"),
        (
            ["kite-004", "--dataset", "left", "--output", "text"],
            "kite-004 of left: no answers as text; leave out --output",
        ),
    ],
)
def test_a_list_of_wrong_answers_that_cannot_be_made(vouch: Vouch, words: list[str], claim: str) -> None:
    assert claim in vouch("item", *words, status=1)


def test_a_model_without_wrong_answers_and_answers_without_confidence(vouch: Vouch) -> None:
    row = {"dataset": "d", "output": "text", "item": "q", "prompt": "q/original", "confidence": None}
    assert wrong_screen("m", None, [WrongAnswers("d", "text", [], 4, 1)], 20) == (
        "m: 0 of 4 answers are wrong\nleft out: 1 wrong answer to questions with defects\n"
    )
    parts = [
        WrongAnswers("d", "text", [row], 4, 0),
        WrongAnswers("e", "text", [row | {"confidence": 0.1}], 4, 0),
    ]
    assert [one["confidence"] for one in ordered(parts)] == [0.1, None]


def test_wrong_answers_that_could_not_be_read_are_counted(vouch: Vouch) -> None:
    first = next(iter(outcomes("tiny_b", "left").values()))
    rows = [first | {"dataset": "left", "parser": parser} for parser in ("reader", "unparsed")]
    screen = wrong_screen("m", None, [WrongAnswers("left", "text", rows, 9, 0)], 20)
    assert screen.startswith("m: 2 of 9 answers are wrong, 1 of them because no answer could be read\n")


def test_a_dataset_that_no_model_was_asked_has_no_wrong_answers(vouch: Vouch) -> None:
    before, path = vouch("item", "--wrong", "tiny_b"), outcomes_path("unasked")
    OUTCOMES.write(path, [])
    try:
        assert vouch("item", "--wrong", "tiny_b") == before
    finally:
        path.unlink()


def test_the_next_step_names_what_it_needs(vouch: Vouch) -> None:
    out = vouch("item", "--wrong", "tiny_b", "--variation", "ls_n", "--limit", "1")
    assert out.splitlines()[-1].endswith(" --model tiny_b --detail"), "the block of that variation"
    row = next(iter(outcomes("tiny_b", "left").values()))
    parts = [WrongAnswers("left", "letters", [row], 4, 0, several=True)]
    assert wrong_screen("tiny_b", None, parts, 20).endswith(" --model tiny_b --output letters\n")


@pytest.mark.parametrize(
    ("metric", "text", "references", "answer", "read"),
    [
        ("exact_match", "The answer is 14 cm.", ["15"], "the answer is 14 cm", "14"),
        (
            "exact_match",
            "<think>3?</think> The answer is a red kite",
            ["blue"],
            "the answer is a red kite",
            "red kite",
        ),
        ("exact_match", "Hmm.", ["15"], "hmm", "hmm"),
        ("anls", "The answer is 14 cm.", ["15"], "the answer is 14 cm", "the answer is 14 cm"),
    ],
)
def test_what_a_metric_read_out_of_an_open_answer(
    metric: str, text: str, references: list[str], answer: str, read: str
) -> None:
    row = {"parser": metric, "answer": answer, "clean_correct": None, "correct": False}
    found = graded(row, {"references": references}, text)
    assert found == {"metric": metric, "read": read, "references": references, "grade": 0.0}
    for other in ("reader", "unparsed", None):
        assert graded(row | {"parser": other}, {"references": references}, text) is None


def test_flips_agree_with_the_table_of_variations(vouch: Vouch) -> None:
    shares = {
        (row["model"], row["variation"]): row["value"]
        for row in VARIATIONS.read(VARIATIONS_PATH).to_pylist()
        if row["metric"] == "flipped" and row["dataset"] == "right"
    }
    flipped = dict.fromkeys(shares, 0)
    for name in ITEMS.read(items_path("right"))["id"].to_pylist():
        for entry in json.loads(vouch("item", name, "--dataset", "right", "--json"))["answers"]:
            if entry["against_original"] == "flipped" and entry["effect"] == KEPT:
                flipped[entry["model"], entry["variation"]] += 1
    assert {key: count / COUNT for key, count in flipped.items()} == pytest.approx(shares) and len(
        shares
    ) == 2


def test_the_screen_of_an_item_with_a_hostile_id(vouch: Vouch, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    out = vouch("item", HOSTILE, "--dataset", "right", "--model", "tiny_a", "--images", folder)
    assert "\nquestion: Which  [31mred" in out and "\n  kite?\n" in out and "(correct)" in out
    assert "image 1: 000000000000… in data/images/right.parquet" in out
    assert out.count("tiny_a") >= 3 and max(map(len, out.splitlines()[:-1])) <= 80
    names = ("01-original-1.png", "02-ls_n-1.png", "03-vr_b-1.png")
    assert sorted(path.name for path in folder.iterdir()) == list(names)
    assert Image.open(folder / names[0]).size == (8, 6)
    assert "not empty" in vouch("item", "kite-000", "--dataset", "left", "--images", folder, status=1)


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        (["kite-0041"], "did you mean 'kite-0"),
        (["kite-004"], "is in left, right; choose one by --dataset"),
        (["kite-004", "--dataset", "lft"], "did you mean left?"),
        (["kite-004", "--dataset", "left", "--model", "tiny"], "did you mean tiny_"),
        ([HOSTILE + "?"], "did you mean "),
        ([""], "no item ''; did you mean "),
    ],
)
def test_an_item_that_is_not_there(vouch: Vouch, words: list[str], claim: str) -> None:
    assert claim in vouch("item", *words, status=1)


@pytest.mark.parametrize(
    "words", ["item q", "item q --dataset left", "item --wrong a", "show", "compare a b", "publish card a"]
)
def test_a_checkout_where_nothing_was_run(bare: Path, vouch: Vouch, words: str) -> None:
    line = vouch(*words.split(), status=1)
    assert (
        "nothing was run here yet; run `dvc repro` (`vouch plan` says what that does), or `dvc pull`" in line
    )


def test_close_ids_survive_a_slip_at_either_end() -> None:
    ids = [f"kite-{number:06d}" for number in range(3000)]
    assert "'kite-000123'" in close("kite-00123", ids)
    assert "'kite-001234'" in close("kyte-001234", ids) and "'kite-001234'" in close("KITE-001234x", ids)


def test_a_card_and_results_that_the_hub_reads(vouch: Vouch, made: Path, tmp_path: Path) -> None:
    """A file for each dataset of the hub; `right` is none."""
    params = yaml.safe_load((made / "params.yaml").read_text("utf-8"))
    params["datasets"]["left"] |= {"origin": {"hub": "owner/data", "split": "test", "revision": "a" * 40}}
    before = (made / "params.yaml").read_bytes()
    (made / "params.yaml").write_text(json.dumps(params), "utf-8")
    file = tmp_path / "card.md"
    try:
        vouch("publish", "card", "tiny_a", "--out", file, "--repository", tmp_path)
    finally:
        (made / "params.yaml").write_bytes(before)
    (path,) = (tmp_path / ".eval_results").iterdir()
    (found,) = parse_eval_result_entries(yaml.safe_load(path.read_text("utf-8")))
    wanted = ("left", "tiny_a", "accuracy", "clean", "original", "all")
    key = ("dataset", "model", "metric", "protocol", "variation", "category")
    rows = LEADERBOARD.read(LEADERBOARD_PATH).to_pylist()
    (row,) = [row for row in rows if tuple(row[name] for name in key) == wanted]
    assert path.name == f"left_{row['output']}.yaml" and found.value == round(row["value"], 4)
    assert (found.dataset_id, found.task_id, found.dataset_revision) == ("owner/data", "default", "a" * 40)
    assert str(found.notes).startswith(f"Accuracy by {row['output']}, {row['value']:.3f} [")
    assert str(found.notes).endswith(f"of {row['items']} questions of test")
    text = file.read_text("utf-8")
    assert "guaranteed to cover 90 %" in text and "of 2 prompt variations" in text and "(vr_b)" in text
    assert "verified" in text and vouch("publish", "card", "tiny_a") == text


def cost(variation: str, original: float, value: float, metric: str = "accuracy") -> dict[str, Any]:
    gap = value - original
    where = {"dataset": "kites", "output": "letters", "model": "alpha", "score": "", "variation": variation}
    ends = {"difference": gap, "low": gap - 0.05, "high": gap + 0.05}
    return {**where, "metric": metric, "value": value, "original": original, **ends}


@pytest.mark.parametrize(
    ("guess", "values", "claims"),
    [  # guess: the accuracy of a guess on negated questions, whose correct answer changes
        (0.75, {"vr_b": (0.5, 0.4), "ls_n": (0.5, 0.6)}, ("costliest", "ls_n", "60.0 %", "75 %", "50.0 %", "25 %")),
        (0.5, {"vr_b": (0.5, 0.4), "ls_n": (0.5, 0.6)}, ("costliest", "vr_b", "-10.0 [-15.0, -5.0]")),
        (0.75, {"vr_b": (0.5, 0.48), "ls_n": (0.3, 0.8)}, ("None", "significantly", "vr_b", "-2.0 [-7.0, +3.0]")),
    ],
    ids=["a gain smaller than that of a guess is a loss", "two options", "no significant cost"],
)  # fmt: skip
def test_the_costliest_variation(
    guess: float, values: dict[str, tuple[float, float]], claims: tuple[str, ...]
) -> None:
    rows = [cost(variation, *pair) for variation, pair in values.items()]
    every = {("kites", "ls_n", "letters", "alpha"): {("random_accuracy", ""): {"value": guess}}}
    (sentence,) = sensitivity(with_guesses([*rows, cost("ls_n", 0, 0.4, "not_flipped")], every))
    assert all(claim in sentence for claim in claims)
    assert sentence.count("(vr_b)") + sentence.count("(ls_n)") == 1


@pytest.mark.parametrize(
    "words", ["compare tiny_a tiny_b", "item kite-004 --dataset left", "publish card tiny_a"]
)
def test_missing_tables_and_those_of_another_version_are_one_line(vouch: Vouch, words: str) -> None:
    path = outcomes_path("left") if words.startswith("item") else LEADERBOARD_PATH
    kept = path.read_bytes()
    try:
        METRICS.write(path, [])
        assert f"holds metrics/{METRICS.version}, expected" in vouch(*words.split(), status=1)
        path.write_bytes(b"half")
        assert str(path) in vouch(*words.split(), status=1)
        path.unlink()
        assert "dvc" in vouch(*words.split(), status=1)
    finally:
        path.write_bytes(kept)


@pytest.mark.parametrize(
    ("predicted", "stored", "other", "expected"),
    [
        (0, [2.0, 0.0], [1.0, 0.0], False),
        (0, [1.0, 0.0], [2.0, 0.0], True),
        (1, [2.0, 0.0], [0.0, 2.0], True),
        (0, [2.0, 0.0, 9.0], [3.0, 0.0, 0.0], False),
        (0, [1.0, 0.0], None, False),
    ],
    ids=["stored", "other", "as sure of another option", "letters of no option", "there is only one"],
)
def test_an_item_has_the_logits_of_the_spelling_that_was_scored(
    predicted: int, stored: list[float], other: list[float] | None, expected: bool
) -> None:
    row = {"predicted": predicted, "confidence": 0.880797, "output": "letters", "prompt": "1/original"}
    response = {"logits": stored, "other_logits": other, "upper": None}
    prompt = {"options": ["red", "blue"], "labels": ["A", "B"], "answers": [0]}
    changed = as_scored([row], {"1/original": prompt}, {("letters", "1/original"): [response]})
    (response,) = changed.get(("letters", "1/original"), [response])
    assert response.get("other_scored", False) == expected
    scores = _scores(row, prompt, [response])
    assert scores == ((other if expected else stored) or [])[:2]
    beside = [entry["other_logits"] for entry in _options(row, prompt, scores, [response])]
    assert beside == ((stored if expected else other) or [None, None])[:2]


def test_an_item_without_a_scored_answer_is_shown_in_the_spelling_of_the_others() -> None:
    rows = [
        {"predicted": 0, "confidence": 0.880797, "output": "letters", "prompt": "a"},  # of two and nought
        {"predicted": None, "confidence": None, "output": "letters", "prompt": "b"},
        {"predicted": None, "confidence": None, "output": "letters", "prompt": "c"},
    ]
    both, none = {"logits": [1.0, 0.0], "other_logits": [2.0, 0.0]}, {"logits": None, "other_logits": None}
    responses = {("letters", name): [one] for name, one in zip("abc", (both, both, none), strict=True)}
    changed = as_scored(rows, {name: {"options": ["red", "blue"]} for name in "abc"}, responses)
    swapped = {"logits": [2.0, 0.0], "other_logits": [1.0, 0.0], "other_scored": True}
    assert changed == {("letters", "a"): [swapped], ("letters", "b"): [swapped]}
