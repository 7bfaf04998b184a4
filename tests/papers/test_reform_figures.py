"""ReForm-Eval (Li et al. 2023): its figures from made and from printed numbers."""

from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pandas as pd
import pyarrow as pa
import pytest

from tests.papers.shown import asked, built, reviewed, standing, text
from tests.papers.test_reform import REFORM, of_dimensions
from tests.report.project import SCORING, Made, Make, write_tables
from vouch.papers import reform_sets as sets
from vouch.papers.entry import MEAN
from vouch.papers.reform_general import DIMENSIONS
from vouch.report.loading import load as load_evidence
from vouch.report.loading import read_printed
from vouch.tables.answered import TEXT as TEXT_TABLE
from vouch.tables.answered import text_path


def test_what_reform_eval_says_of_parts_and_training_of_models(make: Make) -> None:
    """Figures 4 and 8 and table 22, of accuracies by hand."""
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


def test_figure_3_of_the_papers_own_numbers_says_what_its_text_says(make: Make) -> None:
    """Section 4.3.1: of the language models, of the vision encoders, and of both together, by dimension."""
    made = make(Made(accuracy=dict.fromkeys(sets.MODELS, 0.5), datasets=("scienceqa",)))
    evidence = replace(made, dimensions=pd.DataFrame(of_dimensions()))
    cells: dict[str, dict[str, dict[tuple[str, str], float]]] = {}
    for drawn, noun in zip(built(evidence, "reform")["Figure 3"].figures, DIMENSIONS, strict=True):
        assert drawn.title == f"Fig. 3: accuracy by language model and vision encoder, {noun}"
        assert "; dialogue, FlanT5 with ViT-G " in drawn.description
        rows = [row for part in drawn.chart.datasets.values() for row in part]
        assert list(dict.fromkeys(row["column"] for row in rows)) == ["all", "ImageBind", "ViT-G", "ViT-L"]
        for row in rows:
            panel = cells.setdefault(noun, {}).setdefault(row["panel"], {})
            panel[row["row"], row["column"]] = row["value"]
        assert len(cells[noun]) == DIMENSIONS[noun] + 1 and list(cells[noun])[-1] == MEAN
    pairs = [("FlanT5", "ViT-G"), ("LLaMA", "ImageBind"), ("LLaMA", "ViT-L"), ("LLaMA2", "ViT-G")]
    pairs += [("LLaMA2", "ViT-L"), ("Vicuna", "ImageBind"), ("Vicuna", "ViT-G"), ("Vicuna", "ViT-L")]
    language, encoders = ("FlanT5", "LLaMA", "LLaMA2", "Vicuna"), ("ImageBind", "ViT-G", "ViT-L")
    every = {*pairs, *((one, "all") for one in language), *(("all", one) for one in encoders), ("all", "all")}
    for panel in (panel for panels in cells.values() for panel in panels.values()):
        assert set(panel) == every
        assert panel["Vicuna", "all"] > panel["LLaMA", "all"]
        assert panel["all", "ViT-G"] > panel["all", "ViT-L"]
    texts, likely = cells["generation"], cells["likelihood"]
    assert all(max(panel, key=panel.__getitem__)[0] == "FlanT5" for panel in texts.values())
    better = {name for name, panel in texts.items() if panel["Vicuna", "all"] > panel["LLaMA2", "all"]}
    assert better == {"scene text"}, "LLaMA2 and Vicuna excel in different dimensions"
    worse = {name for name, panel in likely.items() if panel["Vicuna", "all"] < panel["LLaMA2", "all"]}
    assert worse == {"spatial"}, "47.8 and 48.0; in all others Vicuna is the better one"
    below = {
        (noun, name)
        for noun, panels in cells.items()
        for name, panel in panels.items()
        if panel["all", "ImageBind"] > panel["all", "ViT-L"]
    }
    assert below == {("generation", "spatial")}
    for panels in (texts, likely):
        assert panels[MEAN]["LLaMA2", "ViT-L"] > panels[MEAN]["LLaMA2", "ViT-G"]
        assert panels[MEAN]["Vicuna", "ViT-G"] > panels[MEAN]["Vicuna", "ViT-L"]
    scores = [48.31, 59.76, 21.49, 41.24, 59.69, 49.91, 46.29, 39.53]  # of LLaVA with LLaMA2
    assert texts[MEAN]["LLaMA2", "ViT-L"] == pytest.approx(sum(scores) / 800)
    assert texts["dialogue"]["FlanT5", "all"] == pytest.approx((0.6175 + 0.6059) / 2)
    one = replace(evidence, dimensions=evidence.dimensions.query("model == 'bliva'"))
    assert "Figure 3" not in built(one, "reform")


def test_figures_of_the_papers_own_numbers_say_what_its_text_says(make: Make) -> None:
    """Appendix C.3 and C.4, from the printed accuracies of all 16 models and the paper's facts about them."""
    tables = read_printed(REFORM)["reform_tables"]
    rows = [
        standing(
            sets.BY_LABEL[row["model"]],
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
    made = make(Made(accuracy=dict.fromkeys(sets.MODELS, 0.5), datasets=("scienceqa",)))
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
    right = pd.DataFrame(rows).groupby("model")["value"].mean()
    by_size = {
        "blip2_flan_t5_xl": (129_000_000, "high quality"),
        "llama_adapter_v2": (567_000, "high quality"),
        "shikra": (4_300_000, "high quality"),
        "minigpt4": (5_000_000, "filtered"),
        "imagebind_llm": (940_000_000, "filtered"),
    }
    by_sets = {"llava_vicuna_7b": 1, "llava_llama2_7b": 1, "llama_adapter_v2": 1, "pandagpt": 2, "shikra": 2}
    (_, samples, instructions) = shown["Figure 4"].figures
    assert samples.title.startswith("Fig. 4 (b): accuracy and pre-training data")
    assert instructions.title.startswith("Fig. 4 (c): accuracy and instruction tuning")
    for drawn, expected in (
        (samples, {name: (*each, pytest.approx(100 * right[name])) for name, each in by_size.items()}),
        (
            instructions,
            {name: (each, ANY, pytest.approx(100 * right[name])) for name, each in by_sets.items()},
        ),
    ):
        (points,) = drawn.chart.datasets.values()
        assert {row["name"]: (row["x"], row["series"], row["y"]) for row in points} == expected


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
    assert [column.label for column in grid.columns[2:]] == ["Without sample", "With sample"]
    assert [[cell.text for cell in row[1:]] for row in grid.rows] == [
        ["alpha", "b", "(B) b"], ["alpha", "(empty)", "(A)"], ["alpha", f"<b>It's {'c' * 291}…", "(C) c"],
    ]  # fmt: skip
    assert (grid.rows[0][0].text, grid.rows[0][0].note) == ("What is it?", "q10; correct: a")
    reasons = dict(reviewed(one, "reform").reasons)
    assert reasons["Figure 11"].startswith("needs the variation no_sample")


def test_generation_and_likelihood_stand_beside_each_other_by_dataset(make: Make) -> None:
    """Figure 5, of the two datasets and two models that were asked for both; none has all the datasets."""
    values = {  # text, likelihood
        ("gqa", "bliva"): (0.4, 0.65),
        ("gqa", "lynx"): (0.5, 0.45),
        ("vsr", "bliva"): (0.3, 0.3),
        ("vsr", "lynx"): (0.6, 0.7),
        ("vsr", "shikra"): (0.9, None),
        ("clevr", "bliva"): (0.1, None),
        ("snli_ve", "shikra"): (None, 0.2),
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
    evidence = asked(make(Made()), rows)
    by_backbone, drawn = built(evidence, "reform")["Figure 5"].figures
    assert by_backbone.description == (
        "Mean points: spatial, Vicuna-7B 0.0; spatial, Vicuna-7B+Adapter 10.0; "
        "visual reasoning, Vicuna-7B 25.0; visual reasoning, Vicuna-7B+Adapter \u22125.0."
    )
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
    one = replace(evidence, leaderboard=evidence.leaderboard.query("output == 'text'"))
    assert dict(reviewed(one, "reform").reasons)["Figure 5"].startswith("no model was asked for both")


def tables_mean(printed: pd.DataFrame, language_model: str, datasets: tuple[str, ...]) -> pd.Series:
    """Per cent by output: printed accuracies of the models of a language model, which have the same datasets."""
    known = sets.printed_facts()
    models = [
        label for label, name in sets.BY_LABEL.items() if known[name]["language_model"] == language_model
    ]
    own = printed[printed["model"].isin(models) & printed["dataset"].isin(datasets)]
    both = own[own.groupby(["model", "dataset"])["output"].transform("nunique") == 2]
    return both.assign(number=both["accuracy"].astype(float)).groupby("output")["number"].mean()


def test_the_papers_own_numbers_differ_by_language_model_as_its_text_says(make: Make) -> None:
    """Section 4.3.4, from the printed accuracies: where models of FlanT5 do better at generation, and that
    they and LLaMA2's differ least in all dimensions; Table 3 names the language models."""
    printed = read_printed(REFORM)["reform_tables"]
    rows = [
        standing(
            sets.BY_LABEL[row["model"]],
            "accuracy",
            float(row["accuracy"]) / 100,
            dataset=row["dataset"] + "_likelihood" * (row["output"] == "likelihood"),
            output="text" if row["output"] == "generation" else "likelihood",
            variation="dialogue_tests" if sets.DIMENSION[row["dataset"]] == "dialogue" else "tests",
        )
        for row in printed[printed["dataset"].isin(list(sets.DIMENSION))].to_dict("records")
        if row["accuracy"]
    ]
    made = make(Made(accuracy=dict.fromkeys(sets.MODELS, 0.5), datasets=("scienceqa",)))
    drawn, _ = built(asked(made, rows), "reform")["Figure 5"].figures
    points: dict[str, dict[str, float]] = {}
    for part in drawn.chart.datasets.values():
        for row in part:
            if "row" in row:  # not the line at 0
                points.setdefault(row["panel"], {})[row["row"]] = row["value"]
    dimensions = ["coarse perception", "fine perception", "spatial", "visual reasoning", "cross modal"]
    assert list(points) == [*dimensions, "dialogue"]
    below = [name for name, dots in points.items() if dots["FlanT5-XL"] < 0]
    assert below == ["coarse perception", "fine perception", "visual reasoning", "cross modal"]
    for dots in points.values():
        means = pd.Series(dots).groupby(lambda name: name.partition("-")[0]).mean().sort_values()
        assert set(means.index[:2]) == {"FlanT5", "LLaMA2"} and set(means.index[2:]) == {"LLaMA", "Vicuna"}
    assert {"Vicuna-7B", "Vicuna-7B+", "Vicuna-7B+LoRA", "LLaMA-7B"} < set(points["spatial"])
    pair = tables_mean(printed, "FlanT5-XL", sets.COARSE)
    assert points["coarse perception"]["FlanT5-XL"] == pytest.approx(pair["likelihood"] - pair["generation"])


def test_preferred_options_stand_above_where_the_correct_ones_stand(make: Make) -> None:
    """Figure 10, of the largest dataset: texts of the main evaluation if any, else other texts, else letters."""
    shares = {"bliva": (0.75, 0.25), "lynx": (0.375, 0.625)}
    places = (("text", "tests"), ("text", "original"), ("letters", "original"))
    rows = [
        standing(model, f"{kind}_share_{letter}", value + less, output=output, variation=variation, **where)
        for where in [{"dataset": "scienceqa", "protocol": "clean"}]
        for model, chosen in shares.items()
        for less, (output, variation) in zip((0, -0.125, -0.25), places, strict=True)
        for kind, values in (("chosen", chosen), ("correct", (0.4, 0.6)))
        for letter, value in zip("AH", values, strict=True)
    ]
    rows += [row | {"dataset": "a_smaller_one", "items": 9, "value": 0.9} for row in rows]
    (drawn,) = built(asked(make(Made()), rows), "reform")["Figure 10"].figures
    assert drawn.title == "Fig. 10: which option is preferred, scienceqa"
    assert "The strongest preference: bliva chooses A 75.0" in drawn.description
    cells = {
        (row["row"], row["column"]): row["value"] for each in drawn.chart.datasets.values() for row in each
    }
    assert cells == {
        (name, letter): value
        for name, both in (shares | {"correct answers": (0.4, 0.6)}).items()
        for letter, value in zip("AH", both, strict=True)
    }
    for number, most in ((1, "62.5"), (2, "50.0")):
        kept = [row for row in rows if (row["output"], row["variation"]) in places[number:]]
        (drawn,) = built(asked(make(Made()), kept), "reform")["Figure 10"].figures
        assert f"The strongest preference: bliva chooses A {most}" in drawn.description
