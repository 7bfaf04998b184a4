"""Kostumov et al. 2024: its figures of model families, and the sections whose results it states in words.

Its tables are in test_published_tables.py.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from tests.metrics.simulated import ROOT
from tests.papers.shown import asked, built, reviewed, standing, text
from tests.report.project import Made, Make
from vouch.datasets.config import OptionScheme
from vouch.papers.entry import MEAN, Built
from vouch.papers.kostumov import SEVENTH, TEN
from vouch.papers.pivot import CELL
from vouch.pipeline.yaml12 import load
from vouch.report.evidence import Evidence
from vouch.report.loading import read_printed

PRINTED = read_printed([ROOT / "docs/published/kostumov_released.csv"])["kostumov_released"].to_dict(
    "records"
)
DATASETS = {"mmbench": "MMB", "oodcv": "OOD", "scienceqa": "SQA", "seedbench": "SB", "ai2d": "AI2D"}
ACC, SS, UACC = "Acc (%)", "SS", "UAcc (%)"
# Figure -> the models that it compares, as table VII names them
FIGURES = {
    "Figure 3": {
        "llava_v1_6_vicuna_7b": "LLaVA-v1.6-Vicuna-7B",
        "llava_v1_6_vicuna_13b": "LLaVA-v1.6-Vicuna-13B",
        "llava_v1_6_34b": "LLaVA-v1.6-34B",
    },
    "Figure 4": {"qwen_vl": "Qwen-VL", "qwen_vl_chat": "Qwen-VL-Chat"},
    "Figure 5": {
        "mobilevlm_v2_1_7b": "MobileVLMV2-1.7B",
        "mobilevlm_v2_3b": "MobileVLMV2-3B",
        "mobilevlm_v2_7b": "MobileVLMV2-7B",
    },
    "Figure 6": {"yi_vl_6b": "Yi-VL-6B", "yi_vl_34b": "Yi-VL-34B"},
    "Figure 7": {"monkey": "Monkey", "monkey_chat": "Monkey-Chat"},
    "Figure 8": {
        "internlm_xcomposer2_7b": "InternLM-XComposer2",
        "internlm_xcomposer2_vl_7b": "InternLM-XComposer2-VL",
    },
}
Bars = Mapping[tuple[str, str, str], float]
"""Heights by heading of the measure, dataset and model."""


def test_the_profile_has_the_papers_settings() -> None:
    """Section V.C: error rate .1, one half calibrates; the seed of the authors' code, for the options too."""
    profile = load(ROOT / "profiles/kostumov.yaml")
    wanted = {"alpha": 0.1, "calibration": 0.5, "seed": 42, "bins": 15, "shares": [0.1, 0.2, 0.3, 0.4]}
    assert wanted.items() <= profile["score"].items()
    assert wanted.items() <= load(ROOT / "profiles/released.yaml")["score"].items()
    assert list(profile["datasets"]) == list(DATASETS)
    schemes = {
        name: OptionScheme.model_validate(entry["options"])
        for name, entry in profile["datasets"].items()
        if "options" in entry
    }
    assert {(name, each.scheme, each.protocol, each.seed) for name, each in schemes.items()} == {
        (name, f"kostumov_{name}", "faithful", 42) for name in ("mmbench", "oodcv", "scienceqa")
    }


def released(model: str, metric: str, dataset: str) -> float:
    """A number of the tables in the authors' repository; a set size is the mean of LAC's and APS's."""
    rows = [row for row in PRINTED if (row["model"], row["metric"]) == (model, metric)]
    values = [float(row[DATASETS[dataset]]) for row in rows]
    assert len(values) == (2 if metric == "set_size" else 1)
    return sum(values) / len(values)


def of_models(make: Make, models: Iterable[str]) -> Evidence:
    """Released numbers of some models; and set sizes of LAC alone, which no figure shows."""
    rows = [
        standing(model, metric, released(model, metric, dataset) + off, dataset=dataset, score=score)
        for model in sorted(models)
        for dataset in DATASETS
        for metric, score, off in (
            ("accuracy", "", 0), ("set_size", "mean", 0), ("uacc", "mean", 0), ("set_size", "lac", 9),
            ("ece", "", 0), ("mce", "", 0),
        )
    ]  # fmt: skip
    return asked(make(Made(accuracy=dict.fromkeys(sorted(models), 0.5), datasets=tuple(DATASETS))), rows)


@pytest.fixture
def shown(make: Make) -> dict[str, Built]:
    """Tables and figures of all 26 models."""
    return built(of_models(make, SEVENTH), "kostumov")


@pytest.fixture
def figures(shown: Mapping[str, Built]) -> dict[str, Bars]:
    """The bars of every figure."""
    found = {}
    for name, each in shown.items():
        if name.startswith("Figure"):
            (drawn,) = each.figures
            bars = [row for part in drawn.chart.datasets.values() for row in part]
            found[name] = {(row["panel"], row["group"], row["series"]): row["value"] for row in bars}
            assert len(found[name]) == len(bars), "each bar once"
    return found


def test_table_i_says_what_section_vi_a_says_of_accuracy_and_uncertainty(shown: Mapping[str, Built]) -> None:
    """Relative ranks of the ten models that the paper prints, each example of its text, and UAcc above 100 %."""
    (grid,) = shown["Table I"].grids
    heads = [column.label for column in grid.columns]
    cells = {
        (row[0].text, head): CELL.fullmatch(cell.text)
        for row in grid.rows
        for head, cell in zip(heads[1:], row[1:], strict=True)
    }
    values = {key: float(found["value"]) for key, found in cells.items() if found}
    ranks = {key: int(found["rank"]) for key, found in cells.items() if found and found["rank"]}
    monkey, moe, intern = "Monkey-Chat", "MoE-LLaVA-Phi2-2.7B", "InternLM-XComposer2-VL"
    assert {model for model, _ in ranks} == {*TEN.values()}
    shades = {
        (row[0].text, head): cell.shade
        for row in grid.rows
        for head, cell in zip(heads[1:], row[1:], strict=True)
    }
    of_ten = ["gain-4"] * 2 + ["gain-3"] * 3 + ["gain-2"] * 2 + ["gain-1"] * 3
    assert {key: shade for key, shade in shades.items() if shade} == {
        key: of_ten[rank - 1] for key, rank in ranks.items()
    }
    columns = ("Acc Avg.", "SS Avg.", "UAcc Avg.")
    assert [ranks[monkey, column] for column in columns] == [2, 9, 7]
    assert [ranks[moe, column] for column in columns] == [8, 4, 4]
    sizes = {name: ranks[monkey, f"SS {name}"] for name in DATASETS.values()}
    assert sizes == {"MMB": 8, "OOD": 9, "SQA": 5, "SB": 9, "AI2D": 9}
    for model, more in ((monkey, 12.19), (intern, 10.37)):
        assert values[model, "Acc AI2D"] - values[moe, "Acc AI2D"] == pytest.approx(more)
        assert values[model, "SS AI2D"] > values[moe, "SS AI2D"], "the better one is less sure"
    spans = {
        head: (min(of_ten), max(of_ten))
        for head in heads
        if (of_ten := [values[model, head] for model in TEN.values() if (model, head) in values])
    }
    assert (spans["Acc OOD"], spans["Acc AI2D"]) == ((54.22, 74.82), (53.55, 73.67))
    assert (spans["SS OOD"], spans["SS AI2D"]) == ((1.89, 3.32), (2.33, 3.4))
    assert all(spans[f"SS {name}"][1] - spans[f"SS {name}"][0] < 1 for name in ("MMB", "SQA", "SB"))
    above = {key for key, value in values.items() if key[1].startswith("UAcc") and value > 100}
    large = {("llava_v1_6_34b", f"UAcc {name}") for name in ("MMB", "OOD", "SQA", "AI2D", "Avg.")}
    assert above == {(moe, "UAcc OOD"), ("yi_vl_34b", "UAcc MMB"), ("yi_vl_34b", "UAcc OOD")} | large


def test_figures_3_to_8_show_the_released_numbers_of_their_families(figures: Mapping[str, Bars]) -> None:
    """Accuracy and UAcc in per cent, and set size; nothing of any other model."""
    measures = {"accuracy": (ACC, 100), "set_size": (SS, 1), "uacc": (UACC, 100)}
    assert figures.keys() == FIGURES.keys()
    for name, models in FIGURES.items():
        expected = {
            (heading, column, label): scale * released(model, metric, dataset)
            for metric, (heading, scale) in measures.items()
            for dataset, column in DATASETS.items()
            for model, label in models.items()
        }
        assert figures[name] == pytest.approx(expected, abs=1e-9), name
        assert list(dict.fromkeys(series for *_, series in figures[name])) == list(models.values())


def test_figures_3_to_8_say_what_the_papers_text_says(figures: Mapping[str, Bars]) -> None:
    """Sections VI.B and VI.C, appendices B and C."""

    def of(figure: str, panel: str) -> dict[str, list[float]]:
        """Heights by dataset, in the order of FIGURES."""
        models = FIGURES[figure].values()
        return {
            column: [figures[figure][panel, column, label] for label in models]
            for column in DATASETS.values()
        }

    sizes = of("Figure 3", SS)
    assert all(large < min(small) - 0.25 for *small, large in sizes.values()), "34B is much surer"
    assert all(abs(small[0] - small[1]) < 0.25 for *small, _ in sizes.values()), "7B and 13B are comparable"
    assert all(large > max(small) for *small, large in of("Figure 3", ACC).values())
    largest = {column: values.index(max(values)) for column, values in of("Figure 5", SS).items()}
    assert largest == {"MMB": 0, "OOD": 0, "SB": 1, "SQA": 2, "AI2D": 2}
    assert all(values == sorted(values) for values in of("Figure 5", ACC).values())
    for figure in ("Figure 6", "Figure 7", "Figure 8"):
        assert all(after > before for before, after in of(figure, ACC).values())
        assert all(after < before for before, after in of(figure, SS).values()), figure
    gaps = {column: abs(chat - base) for column, (base, chat) in of("Figure 4", SS).items()}
    assert max(gaps, key=gaps.__getitem__) == "OOD"
    better = {column: chat - base for column, (base, chat) in of("Figure 4", ACC).items()}
    assert max(better, key=better.__getitem__) == "OOD" and better["OOD"] > 15


def test_a_family_needs_two_models_and_the_figure_says_its_set_sizes(make: Make) -> None:
    rows = [
        standing(model, metric, value, dataset="mmbench", score=score)
        for model, level in (("yi_vl_6b", 0.25), ("yi_vl_34b", 0.5))
        for metric, score, value in (
            ("accuracy", "", level), ("set_size", "mean", 3 - level), ("uacc", "mean", level)
        )
    ]  # fmt: skip
    both = Made(accuracy={"yi_vl_6b": 0.25, "yi_vl_34b": 0.5}, datasets=("mmbench",))
    evidence = asked(make(both), rows)
    (drawn,) = built(evidence, "kostumov")["Figure 6"].figures
    assert drawn.description == "Bars. Yi-VL-6B SS 2.75 on MMB; Yi-VL-34B SS 2.50 on MMB."
    assert drawn.title == "Fig. 6: Yi-VL of two sizes"
    one = asked(make(replace(both, accuracy={"yi_vl_6b": 0.25})), rows[:3])
    reasons = {entry.name: reason for entry, reason in reviewed(one, "kostumov").absent}
    assert reasons["Figure 6"] == "fewer than two models of the family that it compares"


def test_kostumovs_calibration_errors_against_set_sizes_and_calibration_shares(make: Make) -> None:
    """Sections VI-D and VI-E, in which the paper states results in words."""
    rows = []
    for place, model in enumerate(("a", "b", "c")):
        rows += [standing(model, "ece", (0.1, 0.3, 0.2)[place], dataset="mmbench")]
        rows += [standing(model, "mce", (0.3, 0.2, 0.1)[place], dataset="mmbench")]
        for end, least in (("", 2.0), ("_calibrated_on_10", 2.1), ("_calibrated_on_50", 2.0)):
            sets = {"dataset": "mmbench", "score": "mean", "alpha": 0.1}
            rows.append(standing(model, f"set_size{end}", least + place / 10, **sets))
            rows.append(
                standing(model, f"coverage{end}", 0.93 if end == "_calibrated_on_10" else 0.92, **sets)
            )
    shown = built(asked(make(Made(datasets=("mmbench",))), rows), "kostumov")
    (drawn,) = shown["Section VI-D"].figures
    assert "MMB ECE 0.50 and MCE \u22121.00" in drawn.description
    (table,) = shown["Section VI-E"].grids
    assert [column.label for column in table.columns[1:]] == [
        f"{measure} {share}\u202f%" for measure in ("CR", "SS") for share in (10, 50)
    ]
    assert text(table)[0][1:] == ["93.00", "92.00", "2.10", "2.00"]
    assert (
        "coverage differs by at most 1.00 points, its set size by at most 0.10"
        in (shown["Section VI-E"].sentences[0])
    )


@pytest.mark.parametrize("models", [tuple(SEVENTH), tuple(TEN)], ids=["all 26", "the ten of the tables"])
def test_section_vi_d_says_rho_and_mean_errors_on_five_datasets(make: Make, models: tuple[str, ...]) -> None:
    """Of the released numbers; section V.A asks whether the errors go with accuracy too."""
    values = {}
    for metric in ("ece", "mce", "set_size", "accuracy"):
        of_set = np.array([[released(model, metric, name) for model in models] for name in DATASETS])
        values[metric] = dict(zip([*DATASETS.values(), MEAN], [*of_set, of_set.mean(axis=0)], strict=True))
    (drawn,) = built(of_models(make, models), "kostumov")["Section VI-D"].figures
    parts = re.fullmatch(
        r"Spearman.* models: (.*)\. With accuracy: (.*)\. Mean .* cent: (.*)\.", drawn.description
    )
    assert parts
    for part, other in ((parts[1], "set_size"), (parts[2], "accuracy")):
        found = re.findall(r"(\S+) ECE (\S+) and MCE ([^\s;]+)", part.replace("\u2212", "-"))
        assert [name for name, *_ in found] == list(values["ece"])
        for name, *numbers in found:
            rho = [
                scipy.stats.spearmanr(values[error][name], values[other][name])[0] for error in ("ece", "mce")
            ]
            assert [float(number) for number in numbers] == pytest.approx(rho, abs=0.00501)
    means = {
        name: [float(ece), float(mce)]
        for name, ece, mce in re.findall(r"(\S+) (\S+) and ([^\s;]+)", parts[3])
    }
    expected = {
        name: [100 * values[error][name].mean() for error in ("ece", "mce")] for name in values["ece"]
    }
    assert means == {name: pytest.approx(pair, abs=0.00501) for name, pair in expected.items()}


def test_what_section_vi_d_says_of_the_ten_models(make: Make) -> None:
    (drawn,) = built(of_models(make, TEN), "kostumov")["Section VI-D"].figures
    said = drawn.description.partition("per cent: ")[2]
    means = {part.split()[0]: float(part.split()[1]) for part in said.split("; ")}
    del means[MEAN]
    assert min(means, key=means.__getitem__) == "MMB" and means["MMB"] == 5.31
    assert max(means, key=means.__getitem__) == "SB" and means["SB"] == 10.05
    mean = {
        (metric, model): sum(released(model, metric, name) for name in DATASETS) / 5
        for metric in ("ece", "mce", "set_size")
        for model in TEN
    }
    order = {
        metric: sorted(TEN, key=lambda model: mean[metric, model]) for metric in ("ece", "mce", "set_size")
    }
    assert order["ece"][0] == order["set_size"][-1] == "qwen_vl_chat" and order["ece"][-1].startswith("mplug")
    assert order["set_size"][0] == order["ece"][4] == "llava_v1_6_vicuna_13b"
    ends = [f"{100 * mean['mce', model]:.2f}" for model in (order["mce"][0], order["mce"][-1])]
    assert ends == ["10.13", "30.41"]
    assert (order["mce"][0], order["mce"][-1]) == ("qwen_vl_chat", "llava_v1_6_vicuna_7b")
    assert released("llava_v1_6_vicuna_7b", "mce", "oodcv") == 0.744
