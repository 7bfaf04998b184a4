"""The pages Models, Calibration, Ranking, Datasets and Provenance say what the tables contain."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.report.html_page import Page
from tests.report.project import (
    SCORING,
    Made,
    Make,
    mentions,
    part_of,
    parts,
    texts,
    with_metric,
    with_rows,
    write_tables,
)
from tests.report.test_worlds import false_sentences
from tests.report.worlds import MODELS, World, evidence
from vouch.metrics.conformal.selective import one_of_each, selective_figures
from vouch.prompts.rewrites.engines import rules
from vouch.prompts.rewrites.table import rows_of, variation_tasks
from vouch.report.cards import ALONE, BREAKS
from vouch.report.claims import answers_alone, errors_elsewhere, wrong_at
from vouch.report.config import ReportConfig
from vouch.report.coverage import transfer_coverages
from vouch.report.evidence import AnswerCounts
from vouch.report.formatting import NARROW
from vouch.report.gates import MINIMUM
from vouch.report.loading import _tokens, load
from vouch.report.page import Text
from vouch.report.pages.answering import ANSWERING_FIGURE, ANSWERING_SECTION, _thresholds
from vouch.report.pages.calibration import CALIBRATION_SECTION, UNCERTAINTY_SECTION
from vouch.report.pages.datasets import REWRITES_SECTION
from vouch.report.pages.image_use import LOOKS_SECTION, TYPOGRAPHIC_SECTION
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import (
    CATEGORIES_SECTION,
    GENERATED_SECTION,
    OUTPUTS_SECTION,
    SCORES_SECTION,
)
from vouch.report.pages.provenance import PROVENANCE_SECTION
from vouch.report.pages.ranking import RANKING_SECTION
from vouch.report.pages.robustness import INSTABILITY_SECTION, LETTERS_SECTION, ROBUSTNESS_SECTION
from vouch.report.pages.severity import SEVERITY_FIGURE, SEVERITY_SECTION
from vouch.report.pages.shift import SHIFT_FIGURE, SHIFT_SECTION, shift_frame
from vouch.report.pages.transfer import TRANSFER_SECTION
from vouch.report.pages.variations import VARIATIONS_FIGURE, VARIATIONS_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.site import site
from vouch.report.table import MISSING
from vouch.tables.answered import (
    LETTERS,
    LIKELIHOOD,
    RESPONSES,
    TEXT,
    letters_path,
    likelihood_path,
    text_path,
)
from vouch.tables.results import NONE, TRANSFER

NAMES = ("original", "option_order", "ls_n", "blank")


def test_results_keep_to_a_few_columns(make: Make) -> None:
    part = part_of(RESULTS_SECTION, make(Made()))
    assert [column.label for column in part.grids[0].columns] == [
        *("Model", "Rank", "Items", "Accuracy %", "Coverage LAC %", "Coverage APS %"),
        *("Set size LAC", "Set size APS", "UAcc", "ECE %"),
    ]


def test_scores_stand_side_by_side(make: Make) -> None:
    part = part_of(SCORES_SECTION, make(Made()))
    lac, aps, saps = part.rows[:3]
    assert [texts(row[:2]) for row in (lac, aps, saps)] == [
        ["alpha", name] for name in ("LAC", "APS", "SAPS")
    ]
    assert (texts(lac[3:6]), lac[4].tone) == (["1.40", "90.0", "70.0"], "")
    assert (texts(saps[3:5]), saps[4].tone) == (["1.25", "80.0"], "bad")
    smallest, _, largest = part.sentences[0].partition(";")
    assert mentions(smallest, "alpha", "smallest", "SAPS", "1.25")
    assert mentions(largest, "largest", "APS", "2.40") and len(part.grids) == 1


def test_thresholds_for_parts_are_a_table_of_their_own(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}))
    of_sets = evidence.leaderboard[evidence.leaderboard["score"] == "lac"].copy()
    of_sets["alpha"] = 0.1
    frames = [of_sets.assign(calibration="marginal"), of_sets.assign(calibration="class")]
    frames.append(of_sets.assign(calibration="class", alpha=0.2, value=99.0))
    changed = replace(evidence, leaderboard=pd.concat(frames, ignore_index=True))
    part = part_of(SCORES_SECTION, changed)
    assert [row[1].text for row in part.grids[1].rows] == ["all questions", "each letter"]
    assert {row[2].text for row in part.grids[1].rows} == {"1.40"}


def test_calibration_before_and_after_temperature(make: Make) -> None:
    """By the NLL, and by the ECE of the same test half: one of all rows is smaller, whatever the temperature."""
    part = part_of(CALIBRATION_SECTION, make(Made(accuracy={"alpha": 0.8})))
    shown = part.cells()
    labels = ("NLL", "NLL after T", "T", "ECE, test half %", "ECE after T %", "AUROC %")
    assert texts(shown[label] for label in labels) == ["0.750", "0.700", "1.50", "6.0", "3.0", "75.0"]
    assert shown["AUROC %"].note == "70.0–80.0" and "MCE %" in shown and "Brier" not in shown
    (sentence,) = part.sentences
    assert mentions(sentence, "alpha is overconfident", "temperature of 1.50", "0.750 before, 0.700 after")
    assert f"ECE on the test half 6.0{NARROW}% before, 3.0{NARROW}% after" in sentence


def test_letters_that_are_chosen_too_often(make: Make) -> None:
    part = part_of(LETTERS_SECTION, make(Made(accuracy={"alpha": 0.8})))
    name, _, *numbers = part.rows[0]
    assert texts((name, *numbers)) == ["alpha", "12.5", "80.0", "85.0", "60.0", "40.0"]
    assert [cell.note for cell in numbers[-2:]] == ["50.0", "50.0"]
    assert mentions(part.sentences[0], "alpha chooses A for 60.0\u202f%", "correct for 50.0\u202f%")


def test_variations_that_lower_coverage_below_its_target(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, variations=NAMES))
    part = part_of(SHIFT_SECTION, evidence)
    (sentence,) = part.sentences
    assert mentions(sentence, "alpha", "below the target of 90\u202f% in 1 of 2 variations")
    assert mentions(sentence, "60.0\u202f% (55.0–65.0), for negated question (ls_n)")
    found = {row[0].text: (row[2].text, row[3].text, row[3].tone) for row in part.rows}
    assert found == {
        "negated question": ("60.0", "below", "bad"),
        "options in reversed order": ("90.0", "on target", ""),
        "images blank": ("60.0", "below", "bad"),
    }
    assert list(found)[-1] == "images blank"


def test_the_figure_of_shift_leaves_controls_out(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, variations=NAMES))
    frame = shift_frame(evidence, "shapes")
    verdicts = {"negated question": "below", "options in reversed order": "on target"}
    assert dict(zip(frame["asked"], frame["verdict"], strict=True)) == verdicts
    described = SHIFT_FIGURE.describe(evidence, "shapes")
    assert mentions(described, "alpha is shown to be below the target in 1 of 2", "60.0\u202f%")
    assert SHIFT_FIGURE.draw(evidence, "shapes") is not None


SILENT = (
    *(VARIATIONS_SECTION, SHIFT_SECTION, ROBUSTNESS_SECTION, INSTABILITY_SECTION, LOOKS_SECTION),
    *(TYPOGRAPHIC_SECTION, SEVERITY_SECTION, OUTPUTS_SECTION, GENERATED_SECTION, RANKING_SECTION),
    *(UNCERTAINTY_SECTION, TRANSFER_SECTION),
)
"""Sections that say nothing of original prompts asked for letters alone."""


def test_what_was_not_asked_has_no_section_and_no_figure(make: Make) -> None:
    evidence = make(Made())
    assert [section.name for section in SILENT if section.build(evidence) is not None] == []
    for figure in (VARIATIONS_FIGURE, SHIFT_FIGURE, SEVERITY_FIGURE):
        assert figure.draw(evidence, "shapes") is None
    assert BREAKS not in [card.question for card in VERDICT_SECTION.build(evidence).cards]
    varied = make(Made(variations=("original", "vr_b")))
    assert ROBUSTNESS_SECTION.build(varied) is None and INSTABILITY_SECTION.build(varied) is None
    pages = site(ReportConfig(title="t"), evidence, {})
    assert all(f'id="{section.anchor}"' not in page for section in SILENT for page in pages.values())
    assert LETTERS_SECTION.build(make(Made(outputs=("likelihood",)))) is None
    assert OUTPUTS_SECTION.build(make(Made(outputs=("text",)))) is None


ALL = ("letters", "likelihood", "text")


def test_headlines_rest_on_the_first_output(make: Make) -> None:
    evidence = make(Made(outputs=ALL))
    assert evidence.outputs("shapes") == ALL
    number = evidence.number("shapes", "alpha", "accuracy")
    beside = evidence.number("shapes", "alpha", "accuracy", output="likelihood")
    assert number is not None and number.value == 0.8
    assert beside is not None and round(beside.value, 9) == 0.5
    assert part_of(RESULTS_SECTION, evidence) == part_of(RESULTS_SECTION, make(Made()))


def test_outputs_stand_side_by_side(make: Make) -> None:
    part = part_of(OUTPUTS_SECTION, make(Made(outputs=ALL)))
    names = texts(row[1] for row in part.rows)
    letters, text = (part.cells(names.index(name)) for name in ("letters", "generated text"))
    labels = ("Model", "Accuracy %", "Set size LAC", "Unparsed %")
    assert len(names) == 9 and texts(text[label] for label in labels) == ["alpha", "50.0", "–", "5.0"]
    assert (letters["Accuracy %"].text, letters["Unparsed %"].text) == ("80.0", "–")
    best, worst = part.sentences[0].split(", but ")
    assert (
        mentions(best, "alpha", "80.0\u202f% of the questions", "by letters") and "50.0\u202f% by " in worst
    )
    unclear = part_of(OUTPUTS_SECTION, make(Made(outputs=ALL, half_width=0.4)))
    assert not any("likelihood" in sentence for sentence in unclear.sentences)


def test_generated_answers_show_rates_and_certainty(make: Make) -> None:
    part = part_of(GENERATED_SECTION, make(Made(outputs=("text",))))
    labels = ("Accuracy %", "Unparsed %", "NLL", "Agreement %")
    assert texts(part.cells()[label] for label in labels) == ["80.0", "5.0", "0.500", "87.5"]
    assert "temperature 0.7" in part.grids[0].columns[-1].help
    assert mentions(part.sentences[0], "alpha: 8.0\u202f%", "between 80.0\u202f%", "and 88.0\u202f%")


def test_every_confidence_of_a_text_has_columns(make: Make) -> None:
    evidence = make(Made(outputs=("text",)))
    rows = evidence.leaderboard
    more = [
        rows[rows["metric"] == "nll_avg"].assign(score=score, metric=metric, value=value)
        for score, value in (("verbalised", 0.25), ("t0.7", 0.125))
        for metric in ("ece", "auroc", "brier_answer")
    ]
    shown = part_of(GENERATED_SECTION, replace(evidence, leaderboard=pd.concat([rows, *more]))).cells()
    labels = ("ECE %, stated", "AUROC %, stated", "Brier, stated", "ECE %, agreement", "AUROC %, agreement")
    assert texts(shown[label] for label in labels) == ["25.0", "25.0", "0.250", "12.5", "12.5"]


def test_a_page_about_texts_alone_is_whole(make: Make) -> None:
    evidence = make(Made(outputs=("text",), variations=("original", "vr_b")))
    found = Page(site(ReportConfig(title="Vouch"), evidence, {})["pages/models.html"])
    assert found.crossed == []
    assert {"generated", "results"} <= {a["id"] for a in found.all("section") if "id" in a}


def test_sets_of_another_calibration_or_alpha_are_no_headlines(make: Make) -> None:
    evidence = make(Made())
    rows = evidence.leaderboard
    sets = rows["metric"].isin(["coverage", "set_size", "uacc"])
    main = rows.assign(calibration=rows["calibration"].mask(sets, "marginal"), alpha=(0.1 * sets).mask(~sets))
    others = [main[sets].assign(calibration="class"), main[sets].assign(alpha=0.2)]
    more = replace(evidence, leaderboard=pd.concat([main, *(each.assign(value=99.0) for each in others)]))
    assert part_of(RESULTS_SECTION, more) == part_of(RESULTS_SECTION, evidence)


def row(ranker: str, rho: float | None, **changes: Any) -> dict[str, Any]:
    found = {
        "dataset": "shapes",
        "output": "letters",
        "ranker": ranker,
        "score": "",
        "proxy": "",
        "models": 4,
    }
    found |= {"rho": rho, "rho_low": -0.2, "rho_high": 1.0, "tau": 0.5, "tau_paper": 0.5}
    return found | {"p": 0.0833, "p_least": 0.0833} | changes


def test_few_models_are_an_illustration(make: Make) -> None:
    rows = [
        row("confidence", 1.0),
        row("few_labels", 0.7, sd=0.25, labels=50, p=None, rho_low=None, rho_high=None),
    ]
    rows += [row("atc", 0.5, proxy="mean", p=None), row("atc", 0.9, proxy="other")]
    rows.append(row("confidence", -0.4, dataset="words"))
    part = part_of(RANKING_SECTION, make(Made(datasets=("shapes", "words"), rankings=rows)))
    ranked, illustration = part.sentences
    assert mentions(ranked, "4 models", "0.083") and "would not be significant" in illustration
    cells = {cells[0].text: texts(cells[1:]) for cells in part.rows}
    assert cells == {
        "Confidence": ["1.00", "−0.40", "0.30"],
        "Thresholded confidence": ["0.50", "–", "–"],
        "50 labels of its own": ["0.70", "–", "–"],
    }
    notes = [cells[1].note for cells in part.rows]
    assert notes == ["−0.20 to 1.00", "−0.20 to 1.00", "± 0.25"]


def test_many_models_can_be_told_from_chance(make: Make) -> None:
    rows = [
        row(f"{name}", 0.9, output="text", models=30, p=p, p_least=1e-30)
        for name, p in (("nll_min", 1e-5), ("nll_avg", 0.4))
    ]
    rows.append(row("agreement", None, output="text", models=30, score="t0.7", p=None, p_least=None))
    part = part_of(RANKING_SECTION, make(Made(rankings=rows)))
    assert mentions(part.sentences[1], "1 of 2 correlations", "p < 0.01")
    assert [cells[0].text for cells in part.rows] == [
        "NLL, worst token",
        "NLL, mean",
        "Samples, agreement at 0.7",
    ]
    assert [cells[1].tone for cells in part.rows] == ["strong", "", "quiet"]


def test_where_no_model_beats_guessing_none_has_a_rank_nor_is_ranking_pointed_to_without_pairs(
    make: Make,
) -> None:
    guessing = make(Made(accuracy={"alpha": 0.27, "beta": 0.26}))
    assert [row[1].text for row in part_of(RESULTS_SECTION, guessing).rows] == ["–", "–"]
    alone = RESULTS_SECTION.build(make(Made(accuracy={"alpha": 0.8})))
    several = RESULTS_SECTION.build(make(Made()))
    assert alone is not None and several is not None
    assert "Ranking" not in alone.text and "(page <em>Ranking</em>)" in several.text


def test_language_models_are_no_part_of_the_mean_of_a_category(make: Make) -> None:
    evidence = make(Made(categories=("red", "blue")))
    blind = with_metric(evidence, "blind_rate", "model == 'gamma' and category == 'all'", value=1.0)
    label = "Accuracy %, all models"
    every, seeing = (part_of(CATEGORIES_SECTION, each).cells()[label].key for each in (evidence, blind))
    assert every is not None and seeing is not None and seeing > every


def test_two_models_are_not_ranked_without_labels(make: Make) -> None:
    assert RANKING_SECTION.build(make(Made(rankings=[row("confidence", 1.0, models=2)]))) is None
    shown = site(ReportConfig(title="Vouch"), make(Made(rankings=[row("confidence", 1.0)])), {})
    assert mentions(shown["pages/ranking.html"], "Which model is best, without labels?", 'href="#ranking"')


def test_the_model_that_would_be_picked_is_named_first(make: Make) -> None:
    def values(dataset: str, **of: tuple[float, float]) -> list[dict[str, Any]]:
        place = {"dataset": dataset, "output": "letters", "ranker": "combined", "score": "", "proxy": ""}
        ordered = sorted((value for value, _ in of.values()), reverse=True)
        return [
            place | {"model": m, "value": v, "rank": 1 + ordered.index(v), "performance": p}
            for m, (v, p) in of.items()
        ]

    def pick(*rows: dict[str, Any], **made: Any) -> str:
        ranked = [row("confidence", 1.0, dataset=name) for name in ("shapes", "words")]
        evidence = make(Made(datasets=("shapes", "words"), rankings=ranked, **made))
        frame = pd.DataFrame(rows, columns=evidence.ranked.columns)
        part = part_of(RANKING_SECTION, replace(evidence, ranked=frame))
        return part.sentences[0]

    shapes = values("shapes", alpha=(1.0, 0.9), beta=(0.5, 0.8))
    assert mentions(pick(*shapes), "pick alpha.", "on 1 of 1 dataset.")
    both = pick(*shapes, *values("words", alpha=(0.5, 0.9), beta=(0.7, 0.8)))
    assert mentions(both, "pick alpha on shapes; beta on words.", "on 1 of 2 datasets.")
    assert mentions(
        pick(*values("shapes", alpha=(1.0, 0.9), beta=(1.0, 0.8))), "pick alpha and beta.", "on 0 of"
    )
    guessing = pick(*shapes, accuracy={"alpha": 0.3, "beta": 0.2})
    assert mentions(guessing, "pick alpha.", "no model is named best")


DIGEST = "ab" * 32


def test_who_answered(make: Make) -> None:
    locked = {
        "hub": {
            "source": {"kind": "hub", "repo": "owner/name", "revision": "c0ffee"},
            "files": {"config.json": "0" * 64, "model.safetensors": DIGEST},
        },
        "loose": {"source": {"kind": "hub", "repo": "owner/other", "revision": None}},
        "program": {
            "source": {"kind": "folder", "path": "/home/me/own"},
            "files": {"model.safetensors": DIGEST},
            "program": {"driver": "/home/me/own.py", "locked": {"commit": "c0ffee-dirty"}},
        },
        "server": {"source": {"kind": "server", "url": "http://secret.example/v1", "name": "big"}},
    }
    models = {"alpha": "data/trained/alpha", "again": "data/trained/alpha", "others": "../others"}
    models |= {"mine": "/home/me/weights/mine"}
    models |= dict.fromkeys(locked, "models.lock")
    setup = {"models": models, "train": {"alpha": {}}, "locked": locked}
    answered = [
        AnswerCounts(model, "shapes", "letters", 2, 2, 0, 0, (engine,), (), (), None)
        for model, engine in (("hub", "transformers/3.1"), ("others", "released/1"))
    ]
    evidence = replace(make(Made()), setup=setup, answered=answered)
    found = PROVENANCE_SECTION.build(evidence)["models"]
    assert found is not None
    shown = {row[0].text: [f"{cell.text} {cell.note}".strip() for cell in row[1:]] for row in found.rows}
    assert shown["hub"] == [
        *("owner/name c0ffee", f"model.safetensors {DIGEST}", "transformers/3.1", "data/models/hub.json"),
        "pin@hub, extract@hub-DATASET, score@DATASET",
    ]
    assert shown["program"][0] == "own a folder; asked by own.py, code at c0ffee-dirty"
    assert shown["loose"][:2] == ["owner/other no commit", "no digest recorded"]
    assert shown["server"][:2] == ["a server big", "not known"]
    assert shown["mine"][:2] == ["mine a folder", "in the list of files"], "its pin has the digests"
    assert shown["alpha"][:2] == ["trained here train.alpha", "in the list of files"]
    assert shown["alpha"][-1] == "train@alpha, pin@alpha, extract@alpha-DATASET, score@DATASET"
    assert shown["again"][0] == "trained here train.alpha", "the same weights under another name"
    assert shown["others"][-1] == "pin@others, extract@others-DATASET, score@DATASET"
    assert shown["others"][0] == "released answers"


@pytest.mark.parametrize(
    ("tokens", "shown"), [((4, 5), "9"), ((4, None), "–"), ((None, None), "–"), ((0, 0), "0")]
)
def test_tokens_are_counted_if_all_texts_tell(make: Make, tokens: tuple[int | None, ...], shown: str) -> None:
    answered = [
        AnswerCounts("alpha", name, "text", 2, 2, 0, count, ("e/1",), (), (), None)
        for name, count in zip(("shapes", "signs"), tokens, strict=True)
    ]
    setup = {"models": {"alpha": "data/trained/alpha"}, "train": {}, "locked": {}}
    grid = PROVENANCE_SECTION.build(replace(make(Made()), setup=setup, answered=answered))["answered"]
    assert grid is not None and grid.rows[0][5].text == shown


@pytest.mark.parametrize(
    ("lists", "count"),
    [
        ([[-1.0, -2.0], [-3.0]], 3),
        ([[-1.0, -2.0], "refused"], 2),
        (["refused", "refused"], 0),
        ([[-1.0, -2.0], None], None),
        ([None, "refused"], None),
        ([[-1.0], [], "refused"], 1),
    ],
)
def test_texts_without_log_probabilities_have_no_count(
    tmp_path: Path, lists: list[Any], count: int | None
) -> None:
    table = RESPONSES["text"].table
    path, common = tmp_path / "alpha.text.parquet", {"temperature": 0.0, "sample": 0, "engine": "e/1"}
    rows = [
        {**common, "prompt": str(n), "problem": each}
        if isinstance(each, str)
        else {**common, "prompt": str(n), "text": "a b", "logprobs": each}
        for n, each in enumerate(lists)
    ]
    table.write(path, rows)
    assert _tokens(table.open(path), table.read(path)["problem"]) == count


@pytest.mark.parametrize(
    ("outputs", "words"), [(None, "those of the template"), (["text", "letters"], "text, letters")]
)
def test_provenance_names_what_is_asked_by_default(make: Make, outputs: list[str] | None, words: str) -> None:
    entry = {"loader": "jsonl", "source": "data/raw", "template": "plain"}
    setup = {"datasets": {"shapes": entry}, "outputs": outputs, "variations": ["original", "vr_b"]}
    caption = PROVENANCE_SECTION.build(replace(make(Made()), setup=setup))["asked"].caption
    assert caption.endswith(f"request types: {words}; variations: original, vr_b")


def test_engines_and_digests_of_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_tables(Made())
    for dataset, engine in (("shapes", "transformers/3.1"), ("cubes", "transformers/2.1")):
        how = {"engine": engine, "mode": "trie", "rows": 32, "device": "cpu"}
        rows = [{"prompt": "a", **how}, {"prompt": "b", "problem": "image is damaged"}]
        LETTERS.write(letters_path("alpha", dataset), rows)
        LIKELIHOOD.write(likelihood_path("alpha", dataset), [])
        paths += [letters_path("alpha", dataset), likelihood_path("alpha", dataset)]
    texts = [
        {"prompt": "a", "temperature": 1.0, "sample": at, "text": "x", "logprobs": [-0.1] * (at + 1)}
        for at in range(3)
    ]
    TEXT.write(text_path("alpha", "shapes"), [*texts, {"prompt": "b", "problem": "too long"}])
    evidence = load([*paths, text_path("alpha", "shapes")], SCORING)
    view = PROVENANCE_SECTION.build(evidence)
    rows = [[cell.text for cell in row] for row in view["answered"].rows]
    assert rows == [
        ["alpha", "letters", "4", "2", "2", "–", "32", "trie", "cpu"],
        ["alpha", "generated text", "2", "3", "1", "6", "–", "–", "–"],
    ]
    inputs = {row[0].text: (row[1].text, row[2].text) for row in view["inputs"].rows}
    stage, digest = inputs["data/responses/shapes/alpha.letters.parquet"]
    assert stage == "extract@alpha-shapes" and len(digest) == 64


def test_the_page_says_that_rules_are_english() -> None:
    questions = dict.fromkeys(
        ("Determine a area do triangulo", "Describe la imagen", "Where is the bike?"), True
    )
    engine = rules.Rules()
    rows = rows_of(
        variation_tasks(questions, ["lr_i", "lr_c"]), {}, lambda tasks: dict(engine.ask(tasks)), "rules/3"
    )
    assert {row["reason"] for row in rows[:4]} == {rules.NOT_ENGLISH} and rows[4]["status"] == "accepted"
    frame = pd.DataFrame([{**row, "dataset": "kites"} for row in rows])
    section = REWRITES_SECTION.build(SimpleNamespace(rewrites=frame))  # type: ignore[arg-type]
    assert section is not None
    (text,) = [str(block.text) for part in section.parts for block in part.blocks if isinstance(block, Text)]
    assert "rules are English" in text and "2 of kites" in text


SURE = {("ant", "set0"): 0.97, ("bee", "set0"): 0.7, ("cow", "set0"): 0.6}


def world(groups: int, seed: int = 0, boasts: frozenset[tuple[str, str]] = frozenset()) -> World:
    return World(seed, {"set0": groups}, SURE, boasts=boasts)


def test_the_front_page_says_what_can_be_answered_alone_and_that_holds() -> None:
    shown = 0
    for seed in range(4):
        made = world(800, seed)
        known = evidence(made)
        cards = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
        found = answers_alone(known)
        assert len(cards) == 1
        if ("set0", "ant") in found:
            shown += 1
            share = round(100 * found["set0", "ant"].answered)
            assert cards[0].answer == f"{share}\u202f% of the questions"
        else:
            assert cards[0].answer == "None" and "every question goes to a person" in cards[0].why
        assert [one for one in false_sentences(made, known) if "answer these alone" in one] == []
    assert shown >= 3
    # The same sentence is false of an overconfident model.
    other = replace(made, accuracy=SURE | {("ant", "set0"): 0.6})
    assert any("answer these alone" in one for one in false_sentences(other, known))


def test_the_thresholds_of_the_table_give_its_shares() -> None:
    known = evidence(world(800))
    graded, seed = known.confidences("set0", "ant"), known.scoring.seed
    confidence, _, groups = graded
    alone, average = (confidence[one_of_each(*graded, seed)][start:] for start in (len(set(groups)) // 4, 0))
    shown = _thresholds(known, "set0", "ant")
    thresholds = np.array([np.inf if cell == MISSING else cell.key for cell in shown])
    at = [
        *(np.mean(alone >= each) for each in thresholds[:4]),
        *(np.mean(average >= each) for each in thresholds[4:]),
    ]
    figures = sorted(selective_figures(*graded, seed), key=lambda figure: "conformal" in figure.metric)
    assert (
        at == pytest.approx([figure.value for figure in figures]) and at[0] == 0 < 0.5 < at[1] and at[-1] == 1
    )


def test_the_tile_says_where_none_is_answered_alone_and_what_the_threshold_costs_there() -> None:
    accuracy = SURE | {(model, "set1"): share for model, share in (("ant", 0.7), ("bee", 0.4), ("cow", 0.4))}
    made = World(0, {"set0": 800, "set1": 400}, accuracy, boasts=frozenset([("ant", "set1")]))
    known = evidence(made)
    (card,) = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
    found = answers_alone(known)
    assert ("set0", "ant") in found and ("set1", "ant") not in found
    wrong = wrong_at(known, "set1", "ant", found["set0", "ant"].threshold)
    assert wrong is not None and wrong[0].estimate > 0.05
    assert "On set1 it is shown for no question: none may be answered alone." in card.why
    share, low, high = (round(100 * end) for end in (wrong[0].estimate, wrong[0].low, wrong[0].high))
    cost = f"{share}\u202f% ({low}–{high}) of {wrong[1]} answers are wrong on set1"
    assert f"Elsewhere the same threshold lets more errors through: {cost}." in card.why
    rows = [moved(wrong=0.99), moved(dataset="set0"), moved(from_dataset="set1", dataset="set0")]
    frame = pd.DataFrame(rows).reindex(columns=TRANSFER.schema.names)
    part, _ = parts(TRANSFER_SECTION.build(replace(known, transfer=frame)))
    claim = f"lets up to {share}\u202f% through elsewhere: ant from set0 to set1."
    assert part.sentences[-1].endswith(claim), "the threshold of the first page"
    half = known.graded("set1", "ant")["confidence"].median()
    assert errors_elsewhere(known, "set0", "ant", half) == {"set1": wrong_at(known, "set1", "ant", half)}
    assert wrong_at(known, "set0", "ant", half) and not errors_elsewhere(known, "set1", "ant", half), (
        "few errors"
    )
    assert wrong_at(known, "set1", "ant", 1.1) is None, "nobody is as confident"
    surest = known.graded("set1", "ant")["confidence"].nlargest(MINIMUM)
    assert wrong_at(known, "set1", "ant", surest.iloc[-1]) is not None
    assert wrong_at(known, "set1", "ant", surest.iloc[-2]) is None, "too few answers to say anything"


@pytest.mark.parametrize("groups", [12, 29])
def test_of_few_questions_nothing_is_claimed(groups: int) -> None:
    known = evidence(world(groups))
    assert answers_alone(known) == {} and transfer_coverages(known) == {}
    (alone,) = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
    assert alone.answer == "None" and "No model is recommended" in alone.why
    assert ANSWERING_FIGURE.draw(known, "set0") is None and TRANSFER_SECTION.build(known) is None


def test_the_table_says_where_nothing_is_shown() -> None:
    shares = {"alone": (0.0, 0.5, 0.75, 1.0), "conformal": (0.25, 0.5, 0.75, 1.0)}
    rows = [
        {"dataset": "set0", "model": "ant", "metric": f"answered_{which}_{percent}", "value": value}
        for which, values in shares.items()
        for percent, value in zip((1, 5, 10, 20), values, strict=True)
    ]
    part = part_of(ANSWERING_SECTION, with_rows(evidence(world(400)), *rows))
    ((name, _, *cells, _, _, _, _),) = part.rows
    assert texts((name, *cells)) == ["ant", "none shown", "50.0", "75.0", "100.0"]


def moved(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "output": "letters",
        "from_model": "ant",
        "from_dataset": "set0",
        "model": "ant",
    }
    row |= {"dataset": "set1", "weighting": NONE, "coverage": 0.9, "low": 0.88, "high": 0.92, "set_size": 1.5}
    return row | {"infinite": 0.0, "effective": 50.0, "answered": None, "wrong": None, "items": 400} | changes


def test_a_transfer_that_breaks_coverage_is_named_and_what_weights_do() -> None:
    accuracy = {(model, name): 0.7 for model in MODELS for name in ("set0", "set1")}
    known = evidence(World(0, {"set0": 300, "set1": 300}, accuracy))
    home = {"from_dataset": "set1", "dataset": "set1"}
    rows = [
        moved(coverage=0.6, low=0.55, high=0.65, threshold=0.75, answered=0.5, wrong=0.3),
        moved(coverage=0.88, low=0.85, high=0.9, weighting="images", infinite=0.25),
        moved(from_dataset="set1", dataset="set0"),
        moved(dataset="set0"),
        moved(**home),
    ]
    frame = pd.DataFrame(rows).reindex(columns=TRANSFER.schema.names)
    found, every = parts(TRANSFER_SECTION.build(replace(known, transfer=frame)))
    broken, weighted = found.sentences
    assert mentions(
        broken,
        "90\u202f%",
        "below the target of 90\u202f% in 1 of 2 transfers",
        "60.0\u202f%, ant from set0 to set1",
    )
    assert mentions(
        weighted, "image", "closer to the target in 1 of 1 transfer", "further from it in 0", "25\u202f%"
    )
    shades = {
        (row[0].text, place): cell.shade for row in found.grids[0].rows for place, cell in enumerate(row[1:])
    }
    assert shades["set0", 1].startswith("loss") and not shades["set1", 0]
    assert len(every.grids[0].rows) == 3
    assert [cell.text for cell in every.grids[0].rows[0][-3:]] == ["75.0", "50.0", "30.0"]
    assert np.isclose(found.grids[0].rows[0][1].key or 0, 0.9)
