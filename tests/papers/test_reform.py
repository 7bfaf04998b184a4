"""ReForm-Eval (Li et al. 2023): its tables and figures from made and from printed numbers."""

from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.metrics.simulated import ROOT
from tests.papers.test_papers import asked, beside, built, reviewed, standing, text
from tests.report.project import SCORING, Made, Make, write_tables
from vouch.papers.entry import MEAN
from vouch.papers.reform_sets import (
    BY_LABEL,
    CAPTIONS,
    COARSE,
    CROSS,
    DIALOGUE,
    FINE,
    KIE,
    KVQA,
    MODELS,
    OCR,
    SEARCHED,
    SETS,
    SPATIAL,
    VQA,
)
from vouch.report.loading import load as load_evidence
from vouch.report.loading import read_printed
from vouch.tables.answered import TEXT as TEXT_TABLE
from vouch.tables.answered import text_path

REFORM = [ROOT / f"docs/published/reform_{name}.csv" for name in ("ranks", "tables", "23_24", "modules")]


def test_what_reform_eval_says_of_parts_and_training_of_models(make: Make) -> None:
    """Figures 3, 4 and 8 and table 22, of accuracies by hand."""
    facts_of = {
        "blip2_flan_t5_xl": ("FlanT5-XL", "ViT-G/14", 3_940_000_000, 106_700_000),
        "llava_vicuna_7b": ("Vicuna-7B", "ViT-L/14", 7_050_000_000, 6_740_000_000),
        "instructblip_vicuna_7b": ("Vicuna-7B", "ViT-G/14", 7_920_000_000, 188_800_000),
    }
    keys = ("language_model", "vision_encoder", "total_parameters", "trainable_parameters")
    known: dict[str, Any] = {name: dict(zip(keys, each, strict=True)) for name, each in facts_of.items()}
    right = {"refcoco": (0.6, 0.2, 0.4), "pets37": (0.9, 0.5, 0.7)}
    rows = [
        standing(name, "accuracy", value, dataset=dataset, output="text")
        for dataset, values in right.items()
        for name, value in zip(known, values, strict=True)
    ]
    evidence = replace(asked(make(Made(datasets=("refcoco", "pets37"))), rows), facts=known)
    shown = built(evidence, "reform")
    (drawn,) = shown["Figure 3"].figures
    assert (
        "Vicuna-7B generation 45.0" in drawn.description and "ViT-G/14 generation 65.0" in drawn.description
    )
    (ranks,) = shown["Table 22"].grids
    assert text(ranks) == [
        ["Pre-training with COCO", "1.00", "1.00"], ["Pre-training without COCO", "3.00", "3.00"]
    ]  # fmt: skip
    drawn = shown["Figure 4"].figures[0]
    assert (
        drawn.title.startswith("Fig. 4 (a): mean rank")
        and "with COCO, out of domain 1.00" in drawn.description
    )
    assert shown["Figure 4"].sentences == (
        "Not built: (b): samples of pre-training data of fewer than two models are known; "
        "(c): data sets of instruction tuning of fewer than two models are known.",
    )
    total, trainable, language = shown["Figure 8"].figures
    assert "medians: 4B 75.0; 7B 35.0; 8B 55.0" in total.description
    assert "medians: 100M to 1B 65.0; over 1B 35.0" in trainable.description
    assert "medians: 0 65.0; over 1B 35.0" in language.description
    apart = replace(evidence, leaderboard=evidence.leaderboard.query("model != 'llava_vicuna_7b'"))
    assert "needs models of both groups" in dict(reviewed(apart, "reform").reasons)["Table 22"]


def test_figures_of_the_papers_own_numbers_say_what_its_text_says(make: Make) -> None:
    """Appendix C.3 and C.4, from the printed accuracies of all 16 models and the paper's facts about them."""
    tables = read_printed(REFORM)["reform_tables"]
    rows = [
        standing(
            BY_LABEL[row["model"]],
            "accuracy",
            float(row["accuracy"]) / 100,
            dataset=row["dataset"],
            output="text",
        )
        for row in tables.to_dict("records")
        if row["output"] == "generation"
        and row["accuracy"]
        and row["dataset"] in ("flowers102", "pets37", "refcoco", "scienceqa", "clevr")
    ]
    made = make(Made(accuracy=dict.fromkeys(MODELS, 0.5), datasets=("scienceqa",)))
    shown = built(asked(made, rows), "reform")
    (drawn,) = shown["Figure 9"].figures
    medians = {
        group: float(value)
        for group, value in (
            part.rsplit(" ", 1) for part in drawn.description[:-1].split("medians: ")[1].split("; ")
        )
    }
    assert list(medians) == ["1", "10", "32", "64", "256"] and max(medians, key=medians.__getitem__) == "32"
    assert max(medians["1"], medians["10"]) < min(medians["64"], medians["256"])
    total, trainable, language = shown["Figure 8"].figures
    assert total.description.split("medians: ")[1].startswith("4B ")
    assert [part.rsplit(" ", 1)[0] for part in trainable.description.split("medians: ")[1].split("; ")] == [
        "up to 10M", "10M to 100M", "100M to 1B", "over 1B",
    ]  # fmt: skip
    assert "medians: 0 " in language.description
    titles = [one.title for one in shown["Figure 4"].figures]
    assert titles[1].startswith("Fig. 4 (b): accuracy and pre-training data")
    assert "5 models" in shown["Figure 4"].figures[1].description


def test_means_of_likelihood_are_published_over_six_dimensions(make: Make) -> None:
    """Ranks are among the paper's sixteen models, so they stand beside ours only where those are here."""
    six = ("coarse_perception", "fine_perception", "spatial", "visual_reasoning", "cross_modal", "dialogue")
    model, other = "blip2_flan_t5_xl", "bliva"
    evidence = make(Made(accuracy={model: 0.63, other: 0.5}, categories=six, outputs=("likelihood",)))
    frame = evidence.dimensions
    online = frame["variation"].mask(frame["dimension"] == "dialogue", "dialogue_tests")
    frame = frame.assign(parts=frame["dimension"].map(SETS).fillna(6), variation=online)
    faithful = frame.assign(protocol="faithful", value=frame["value"] - 0.0008)
    evidence = replace(evidence, dimensions=pd.concat([frame, faithful]), printed=read_printed(REFORM))
    shown = built(evidence, "reform")
    rows = beside(shown["Table 1"], slice(1, 4))
    assert len(rows) == 7 * 2
    assert [row[2] for row in rows if row[0] == "overall"] == ["62.92", "64.92"]
    assert list(shown["Table 1"].sentences) == ["1 of 14 published numbers agree to the printed digit."]
    less = evidence.dimensions["parts"].where(frame["dimension"] != "spatial", 2)
    few = built(replace(evidence, dimensions=evidence.dimensions.assign(parts=less)), "reform")
    assert {name for (name,) in beside(few["Table 1"], slice(1, 2))} == set(six) - {"spatial"}


def test_table_2_of_reform_eval_follows_from_the_printed_accuracies_by_dimension(make: Make) -> None:
    """Of texts the paper's own numbers and its facts of 16 models give table 2; 29.55 is printed as 29.5. Of
    likelihoods they do not: its numbers are lower throughout."""
    files = read_printed(REFORM)
    rows = [
        {"dimension": row["dataset"], "model": BY_LABEL[row["model"]], "output": output}
        | {"value": float(row["accuracy"]) / 100, "rank": 1.0, "parts": SETS[row["dataset"]]}
        | {
            "protocol": protocol,
            "score": "",
            "variation": "dialogue_tests" if row["dataset"] == "dialogue" else "tests",
        }
        for row in files["reform_tables"].to_dict("records")
        for output, noun in (("text", "generation"), ("likelihood", "likelihood"))
        for protocol in ("faithful", "clean")
        if row["dataset"] in SETS and row["accuracy"] and row["output"] == noun
    ]
    made = make(Made(accuracy=dict.fromkeys(MODELS, 0.5), datasets=("scienceqa",)))
    evidence = replace(made, dimensions=pd.DataFrame(rows), printed=files)
    shown = built(evidence, "reform")["Table 2"]
    cells = beside(shown, slice(5))
    texts = [row for row in cells if row[2] == "Generation"]
    assert len(texts) == 14 and len(cells) == 28
    assert [row for row in texts if row[3] != row[4]] == [
        ["ImageBind + Linear", "cognition", "Generation", "29.5", "29.6"]
    ]
    assert all(float(row[3]) < float(row[4]) for row in cells if row[2] == "Likelihood")
    one = evidence.dimensions.query("model != 'bliva'")
    fewer = built(replace(evidence, dimensions=one), "reform")["Table 2"]
    assert "ViT-G + Q-Former" not in {name for (name,) in beside(fewer, slice(1))}, "needs all of its models"
    part = evidence.dimensions.assign(parts=1)
    assert not built(replace(evidence, dimensions=part), "reform")["Table 2"].beside


def test_dialogues_count_if_they_show_the_models_own_earlier_answers(make: Make) -> None:
    """Prompts without a history measure something else than the paper's online dialogues."""
    rows = [
        standing("blip2_flan_t5_xl", metric, value, output="text", dataset=dataset, variation=variation)
        for dataset, off in (("vqa_mt", 0.0), ("visdial", 0.1))
        for variation, value in (("tests", 0.9), ("dialogue_tests", 0.6797 - off), ("original", 0.8))
        for metric in ("accuracy", "turn_correlation", "instability")
    ]
    two = Made(datasets=("vqa_mt", "visdial"))
    evidence = replace(asked(make(two), rows), printed=read_printed(REFORM))
    shown = built(evidence, "reform")["Table 20"]
    assert beside(shown, slice(1, 5)) == [
        ["visdial", "Acc", "55.53", "57.97"], ["vqa_mt", "Acc", "67.97", "67.97"], ["Avg.", "Acc", "61.75", "62.97"],
        ["visdial", "Instability", "0.24", "0.58"], ["vqa_mt", "Instability", "0.20", "0.68"],
        ["Avg.", "Instability", "0.22", "0.63"],
        ["visdial", "Correlation", "-0.93", "0.58"], ["vqa_mt", "Correlation", "-0.26", "0.68"],
    ]  # fmt: skip
    without = [row for row in rows if row["variation"] != "dialogue_tests"]
    reasons = dict(reviewed(asked(make(two), without), "reform").reasons)
    assert reasons["Table 20"] == "needs the variation dialogue_tests, or dialogue, and questions with turns"
    evidence = make(Made(categories=("dialogue", "spatial"), outputs=("likelihood",)))
    dimensions = evidence.dimensions
    general = built(evidence, "reform")["Table 1"].grids[0]
    assert not any("dialogue" in column.label for column in general.columns)
    talked = dimensions[dimensions["dimension"] == "dialogue"]
    talked = talked.assign(variation="dialogue_tests", protocol="faithful", value=0.125)
    evidence = replace(evidence, dimensions=pd.concat([dimensions, talked]))
    general = built(evidence, "reform")["Table 1"].grids[0]
    column = next(place for place, one in enumerate(general.columns) if one.label == "Acc dialogue")
    assert {row[column].text.split()[0] for row in general.rows} == {"12.50"}


def of_paper(**kept: str) -> list[dict[str, Any]]:
    """The printed cells of tables 9 to 20 as rows of a leaderboard. kept: what columns of the file must be."""
    rows = []
    for row in read_printed(REFORM)["reform_tables"].to_dict("records"):
        if row["dataset"] in SETS or any(row[name] != value for name, value in kept.items()):
            continue
        captions = row["dataset"] in CAPTIONS
        where = {
            "dataset": row["dataset"],
            "output": {"generation": "text"}.get(row["output"], row["output"]),
        }
        where |= {"variation": "dialogue_tests" if row["dataset"] in DIALOGUE else "tests"}
        numbers = {"cider" if captions else "accuracy": (row["accuracy"], 100)}
        numbers |= {"instability": (row["instability"], 1), "turn_correlation": (row["correlation"], 1)}
        rows += [
            standing(BY_LABEL[row["model"]], metric, float(cell) / scale, **where)
            for metric, (cell, scale) in numbers.items()
            if cell
        ]
    return rows


def test_tables_9_to_20_have_every_set_and_every_printed_number(make: Make) -> None:
    """Each from its own printed cells, which then agree; averages only where one table has a whole dimension."""
    files = read_printed(REFORM)
    shown = built(replace(asked(make(Made()), of_paper()), printed=files), "reform")
    compared = {}
    for number in range(9, 21):
        made = shown[f"Table {number}"]
        rows = [[cell.text for cell in row] for grid in made.beside for row in grid.rows]
        wrong = [
            row[:5]
            for row in rows
            if row[1] != MEAN and row[4].replace("\N{MINUS SIGN}", "-") != f"{float(row[3]):.2f}"
        ]
        assert not wrong
        compared[number] = ({row[1] for row in rows} - {MEAN}, len(rows))
    cells = files["reform_tables"].query("dataset not in @SETS")
    whole = {
        "9 10": COARSE,
        "11 12": FINE,
        "13": OCR,
        "14": KIE,
        "15": VQA,
        "16": KVQA,
        "17": SPATIAL,
        "18": CROSS,
    }
    for numbers, sets in whole.items():
        own = cells[cells["dataset"].isin(sets)]
        count = int((own[["accuracy", "instability"]] != "").sum().sum())
        tables = [compared[int(number)] for number in numbers.split()]
        assert all(held == set(sets) for held, _ in tables) and sum(rows for _, rows in tables) == count
    assert compared[19] == (set(CAPTIONS), 4 * 16) and compared[20] == (set(DIALOGUE), 2 * 16 * (2 * 3 + 2))
    averages = files["reform_tables"].query("dataset == 'coarse_perception' and output == 'likelihood'")
    (grid,) = shown["Table 10"].grids
    place = next(place for place, one in enumerate(grid.columns) if one.label == f"Acc {MEAN}")
    mean = {row[0].text: row[place].key for row in grid.rows}
    assert mean == {
        row["model"]: pytest.approx(float(row["accuracy"]) / 100, abs=6e-5)
        for row in averages.to_dict("records")
    }


def test_published_figures_of_models_that_sample_stand_beside_samples(make: Make) -> None:
    """The authors draw nothing from BLIP-2: theirs stands beside the greedy text even where samples are here."""
    rows = [
        standing(model, metric, value, output="text", dataset=dataset, variation=variation, score=score)
        for model in ("llava_vicuna_7b", "blip2_flan_t5_xl", "mmgpt")
        for dataset, variation in (("scienceqa", "tests"), ("scienceqa", "instruction"), ("gqa", "tests"))
        for score, value in (("", 0.25), ("t0.2", 0.125), ("first_t0.2", 0.5))
        for metric in ("accuracy", "instability")
        if (model, score) != ("mmgpt", "first_t0.2")
    ]
    evidence = replace(asked(make(Made(datasets=("gqa", "scienceqa"))), rows), printed=read_printed(REFORM))
    shown = built(evidence, "reform")
    heads = [column.label for column in shown["Table 15"].grids[0].columns]
    assert {"Acc scienceqa", "Acc, sampled scienceqa", "Instability, sampled gqa"} <= set(heads)
    found = {tuple(row) for row in beside(shown["Table 15"], slice(5))}
    assert len(found) == 3 * 2 * 2, "each published number once"
    assert {row[2:] for row in found if row[:2] == ("LLaVA_V", "scienceqa")} == {
        ("Acc, sampled", "46.57", "50.00"), ("Instability, sampled", "0.63", "0.50"),
    }  # fmt: skip
    for model in ("BLIP-2_F", "mmGPT"):
        assert {row[2] for row in found if row[0] == model} == {"Acc", "Instability"}
    assert all(row[4] in ("25.00", "0.25") for row in found if row[0] != "LLaVA_V")
    assert sorted(beside(shown["Table 23"], slice(5))) == [
        ["BLIP-2_F", "scienceqa", "Instruction", "0.029", "0.250"],
        ["LLaVA_V", "scienceqa", "Instruction, sampled", "0.197", "0.500"],
        ["mmGPT", "scienceqa", "Instruction", "0.578", "0.250"],
    ]


def test_answers_without_and_with_the_sample_are_read_from_the_tables_of_answers(tmp_path: Path) -> None:
    """Figure 11 of ReForm-Eval: the first three questions, by id, at which the texts of a model differ."""
    said = {  # by item: the text for the original prompt and without its sample; a model may have no answer
        "q1": ("(A) a", " (A) a\n"), "q10": ("(B) b", "b"), "q2": ("(A) a", None), "q3": ("(A)", ""),
        "q4": ("(C) c", "<b>It's c" + "c" * 400), "q5": ("(A) a", "never shown"),
    }  # fmt: skip
    rows = [
        {"prompt": f"{item}/{variation}", "temperature": temperature, "sample": sample, "logprobs": []}
        | {"text": text if sample == 0 else "of a sample", "problem": None if text is not None else "refused"}
        for item, texts in said.items()
        for variation, text in zip(("original", "no_sample"), texts, strict=True)
        for temperature, sample in ((0.0, 0), (0.2, 1))
    ]
    rows.append(rows[0] | {"prompt": "q10/tests_1", "text": "another variation"})
    made = Made(datasets=("vqa_v2",), variations=("original", "no_sample"), outputs=("text",))
    with chdir(tmp_path):
        path = text_path("alpha", "vqa_v2")
        table = pa.Table.from_pylist(rows, schema=TEXT_TABLE.schema)
        inputs = [*write_tables(made), path]
        TEXT_TABLE.write(path, table)
        evidence = load_evidence(inputs, SCORING)
        one = load_evidence(inputs[:-1], SCORING)
    (grid,) = built(evidence, "reform")["Figure 11"].grids
    assert (grid.name, grid.caption.split(":")[0]) == ("reform-figure-11-vqa_v2", "Fig. 11")
    assert [[cell.text for cell in row[1:]] for row in grid.rows] == [
        ["alpha", "b", "(B) b"], ["alpha", "(empty)", "(A)"], ["alpha", f"<b>It's {'c' * 291}…", "(C) c"],
    ]  # fmt: skip
    assert (grid.rows[0][0].text, grid.rows[0][0].note) == ("What is it?", "q10; correct: a")
    reasons = dict(reviewed(one, "reform").reasons)
    assert reasons["Figure 11"].startswith("needs the variation no_sample")


def test_hit_rates_stand_beside_the_papers(make: Make) -> None:
    model = "mplug_owl"
    rows = [
        standing(model, "format_hit_rate", value, output="text", dataset="vqa_v2", variation=variation)
        for value, variation in ((0.6286, "no_sample"), (0.99, "original"))
    ]
    rows.append(standing(model, "accuracy", 0.5, dataset="vqa_v2"))
    evidence = asked(make(Made(datasets=("vqa_v2",))), rows)
    evidence = replace(evidence, printed=read_printed([ROOT / "docs/published/reform_hits.csv"]))
    shown = built(evidence, "reform")
    for name in ("Table 3", "Table 21"):
        assert beside(shown[name], slice(2, 5)) == [
            ["Without sample", "62.86", "62.86"],
            ["With sample", "100", "99.00"],
        ]


def test_tables_4_23_and_24_follow_from_the_printed_rows(make: Make) -> None:
    """Of table 4 two numbers are misprints or do not follow from table 23: docs/published.md."""
    asked_for = {
        "instruction": ("instability", "instruction", "text"),
        "order": ("instability", "shuffled", "text"),
        "mark": ("instability", "labels_drawn", "text"),
        "likelihood_instruction": ("instability", "instruction", "likelihood"),
        "range_generation": ("accuracy_range", "instruction", "text"),
        "range_likelihood": ("accuracy_range", "instruction", "likelihood"),
    }
    files = read_printed(REFORM)
    rows = [
        standing(
            BY_LABEL[row["model"]],
            metric,
            float(row[column]) / (100 if metric == "accuracy_range" else 1),
            **{"dataset": "scienceqa", "variation": variation, "output": output},
        )
        for row in files["reform_23_24"].to_dict("records")
        for column, (metric, variation, output) in asked_for.items()
    ]
    shown = built(replace(asked(make(Made()), rows), printed=files), "reform")
    for name, labels in (
        ("Table 23", ["Instruction", "Order", "Option label", "Likelihood, instruction"]),
        ("Table 24", ["Generation", "Likelihood"]),
    ):
        cells = beside(shown[name], slice(5))
        assert [cell[2] for cell in cells] == [label for label in labels for _ in MODELS]
        assert all(float(printed) == float(ours) for *_, printed, ours in cells)
    assert text(shown["Table 4"].grids[0]) == [
        ["Mean over the models | mean", "0.161", "0.552", "0.276", "0.052"]
    ]


def test_generation_and_likelihood_stand_beside_each_other_by_dataset(make: Make) -> None:
    """Figure 5, of the two datasets and two models that were asked for both."""
    values = {  # text, likelihood
        ("gqa", "bliva"): (0.4, 0.65),
        ("gqa", "lynx"): (0.5, 0.45),
        ("vsr", "bliva"): (0.3, 0.3),
        ("vsr", "lynx"): (0.6, 0.7),
        ("vsr", "shikra"): (0.9, None),
        ("clevr", "bliva"): (0.1, None),
    }
    rows = [
        standing(
            model,
            "accuracy",
            value,
            dataset=dataset + "_likelihood" * (output == "likelihood"),
            output=output,
        )
        for (dataset, model), both in values.items()
        for output, value in zip(("text", "likelihood"), both, strict=True)
        if value is not None
    ]
    (drawn,) = built(asked(make(Made()), rows), "reform")["Figure 5"].figures
    assert drawn.description == "Likelihood minus generation: −5.0 to 25.0 points."
    points = {
        (row["panel"], row["row"], row["series"]): row["value"]
        for each in drawn.chart.datasets.values()
        for row in each
    }
    assert points == {
        (dataset, model, output): value
        for (dataset, model), both in list(values.items())[:4]
        for output, value in zip(("generation", "likelihood"), both, strict=True)
    }


def test_preferred_options_stand_above_where_the_correct_ones_stand(make: Make) -> None:
    """Figure 10, of texts if there are any."""
    shares = {"bliva": (0.75, 0.25), "lynx": (0.375, 0.625)}
    rows = [
        standing(model, f"{kind}_share_{letter}", value, output=output, dataset="scienceqa", protocol="clean")
        for model, chosen in shares.items()
        for output in ("text", "letters")
        for kind, values in (("chosen", chosen if output == "text" else (0.5, 0.5)), ("correct", (0.4, 0.6)))
        for letter, value in zip("AB", values, strict=True)
    ]
    (drawn,) = built(asked(make(Made()), rows), "reform")["Figure 10"].figures
    assert drawn.title == "Fig. 10: which option is preferred, scienceqa"
    assert "The strongest preference: bliva chooses A 75.0" in drawn.description
    cells = {
        (row["row"], row["column"]): row["value"] for each in drawn.chart.datasets.values() for row in each
    }
    assert cells == {
        (name, letter): value
        for name, both in (shares | {"correct answers": (0.4, 0.6)}).items()
        for letter, value in zip("AB", both, strict=True)
    }


def test_tables_5_and_6_count_questions_images_and_options(make: Make) -> None:
    """Three questions share an image, one has two, one none; open questions have no options."""
    made = {  # images and number of options of each question
        "gqa": [(["a"], 4), (["a"], 4), (["a"], 2), (["b", "c"], 3), ([], 3)],
        "clevr_likelihood": [(["a"], 4), (["b"], 4)],
        "coco_text": [(["a"], 0), (["b"], 0), (["b"], 0)],
        "shapes": [(["a"], 2)],
    }
    dimensions = {"gqa": "visual_reasoning", "clevr_likelihood": "spatial", "coco_text": "scene_text"}
    items = pd.DataFrame(
        {"dataset": dataset, "id": f"q{place}", "group": f"g{place}", "flags": [], "options": ["x"] * options}
        | {"images": images, "category": dimensions.get(dataset, f"kind {place}"), "answers": [0]}
        for dataset, questions in made.items()
        for place, (images, options) in enumerate(questions)
    )
    rows = [standing("bliva", "accuracy", 0.5, dataset=dataset, output="text", items=1) for dataset in made]
    evidence = replace(asked(make(Made()), rows), items=items)
    shown = built(evidence, "reform")
    assert text(shown["Table 5"].grids[0]) == [
        ["coco_text", "scene_text", "3", "2", "–"], ["shapes", "kind 0", "1", "1", "2.00"],
    ]  # fmt: skip
    assert text(shown["Table 6"].grids[0]) == [
        ["clevr_likelihood", "spatial", "2", "2", "4.00"], ["gqa", "visual_reasoning", "5", "3", "3.20"],
    ]  # fmt: skip
    heads = [column.label for column in shown["Table 6"].grids[0].columns]
    assert heads == ["Dataset", "Dimension", "Questions", "Images", "Options"]


def test_table_1_has_a_sampled_model_by_its_samples(make: Make) -> None:
    """From the paper's accuracies by dimension: samples of all models that the authors sample, which are equal to
    the printed ones, beside greedy texts, which are 2 points lower; of BLIP-2 only the latter count."""
    files, protocols = read_printed(REFORM), ("faithful", "clean")
    rows = [
        {"dimension": row["dataset"], "model": BY_LABEL[row["model"]], "output": "text", "score": score}
        | {"value": float(row["accuracy"]) / 100 - less, "rank": 1.0, "parts": SETS[row["dataset"]]}
        | {"protocol": protocol, "variation": "dialogue_tests" if row["dataset"] == "dialogue" else "tests"}
        for row in files["reform_tables"].to_dict("records")
        if row["dataset"] in SETS and row["output"] == "generation"
        for searched in [BY_LABEL[row["model"]] in SEARCHED]
        for score, less in (("", 0.0 if searched else 0.02), ("first_t0.2", 0.3 if searched else 0.0))
        for protocol in protocols
    ]
    made = make(Made(accuracy=dict.fromkeys(MODELS, 0.5), datasets=("scienceqa",)))
    evidence = replace(made, dimensions=pd.DataFrame(rows), printed=files)
    shown = built(evidence, "reform")["Table 1"]
    heads = [column.label for column in shown.grids[0].columns]
    assert [head for head in heads if head.endswith("overall")] == [
        "Acc overall",
        "Rank overall",
        "Acc, sampled overall",
    ]
    cells = [row for row in beside(shown, slice(5)) if row[1] != "overall"]
    assert len(cells) == 8 * 16 and all(row[3] == row[4] for row in cells)
    labels = {MODELS[name] for name in SEARCHED}
    assert all(row[2] == ("Acc" if row[0] in labels else "Acc, sampled") for row in cells)
    overall = [row for row in beside(shown, slice(5)) if row[1] == "overall"]
    ranks = {row[0]: (row[3], row[4]) for row in overall if row[2] == "Rank"}
    assert len(overall) == 2 * 16 and len(ranks) == 16
    assert {label: both for label, both in ranks.items() if both[0] != both[1]} == {
        "BLIP-2_F": ("2.3", "2.2"), "MiniGPT4": ("7.3", "7.2"), "IB-LLM": ("13.0", "13.1"),
    }, "2.25 and 7.25 are rounded up in print; a tie"  # fmt: skip
    part = evidence.dimensions
    part = part.assign(parts=part["parts"].where(part["score"] == "", 1))
    shown = built(replace(evidence, dimensions=part), "reform")["Table 1"]
    assert not any(
        "sampled" in column.label for column in shown.grids[0].columns if "dialogue" in column.label
    )
