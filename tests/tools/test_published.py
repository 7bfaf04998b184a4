"""Published tables agree with one another where docs/published.md says so, and nowhere else."""

import math

import pytest

from tools.published import (
    CHECKS,
    SCORES,
    SETS,
    Check,
    kostumov_averages,
    kostumov_rows,
    kostumov_uacc,
    mean,
    parc_averages,
    parc_combinations,
    parc_sets,
    parc_shares,
    read,
    reform_averages,
    reform_counts,
    reform_hits,
    reform_means,
    reform_parts,
)


def test_every_table_is_whole() -> None:
    sizes = {"parc_a6": 11 * 4 + 3, "parc_a8": 22 * 4, "parc_a10": 22 * 4, "parc_a9": 8}
    sizes |= {"reform_scienceqa": 16, "reform_23_24": 16, "reform_ranks": 16}
    sizes |= {"reform_tables": 16 * (61 + 8 + 42 + 6)}
    sizes |= {"parc_a4": 22, "parc_a5": 6, "reform_hits": 9 + 16, "reform_modules": 14}
    for name, rows in sizes.items():
        assert len(read(name)) == rows
    assert len({row["model"] for row in read("parc_a8")}) == 22
    names = [[row["model"] for row in read(f"reform_{name}")] for name in ("scienceqa", "23_24", "ranks")]
    assert names[0] == names[1] == names[2]
    assert {row["model"] for row in read("reform_hits") if row["table"] == "21"} == set(names[0])
    assert [row["model"] for row in read("parc_a4")] == list(
        dict.fromkeys(row["model"] for row in read("parc_a8"))
    )


def test_parc_averages_over_kinds_and_over_models_are_the_same() -> None:
    found = list(parc_sets())
    assert len(found) == len(SETS) * len(SCORES)
    assert all(check.holds for check in found)
    assert all(check.holds for check in (*parc_averages(), *parc_combinations(), *parc_shares()))


def test_without_the_original_prompt_the_averages_would_differ() -> None:
    rows = [row for row in read("parc_a6") if row["score"] == "reliability"]
    models = [row["MMB"] for row in read("parc_a8") if row["score"] == "reliability"]
    assert mean([row["MMB"] for row in rows if row["kind"] != "O"]) == pytest.approx(0.325, abs=0.001)
    assert mean(models) == pytest.approx(0.342, abs=0.001)


def test_reliabilities_of_table_a6_follow_from_log_2_and_not_from_the_printed_2() -> None:
    """Equation 4 of its mean accuracies and certainties, with a guess of .5, or .27 and .73 on MMBench."""
    found = {(row["kind"], row["score"]): row for row in read("parc_a6")}
    gaps: dict[float, list[float]] = {math.log(2): [], 2: []}
    for (kind, score), row in found.items():
        for name in SETS if score == "reliability" else ():
            if not row[name]:
                continue
            guess = 0.5 if name != "MMB" else 0.73 if kind.startswith("LS") else 0.27
            above, certainty = (float(found[kind, score][name]) for score in ("accuracy", "certainty"))
            accuracy = guess + above * (1 - guess if above >= 0 else guess)
            for numerator, each in gaps.items():
                ours = (2 * accuracy ** (numerator / math.log(1 / guess)) - 1) * certainty
                each.append(abs(ours - float(row[name])))
    assert {len(each) for each in gaps.values()} == {81}
    assert [round(sum(each) / 81, 3) for each in gaps.values()] == [0.017, 0.295]
    assert max(gaps[math.log(2)]) < 0.062


def test_mean_instabilities() -> None:
    rows = read("reform_23_24")
    names = ("instruction", "order", "mark", "likelihood_instruction")
    found = [mean([row[name] for row in rows]) for name in names]
    assert found == pytest.approx([0.1608, 0.5524, 0.2756, 0.0521], abs=0.00005)
    wrong = [check.name for check in reform_means() if not check.holds]
    assert wrong == ["table 4 mark", "table 4 likelihood_instruction", "table 23 likelihood_instruction"]


def test_accuracies_and_ranges_are_whole_numbers_of_201_rows() -> None:
    assert all(check.holds for check in reform_counts())
    # 2,017 rows, the whole set, would not do.
    assert not all(
        Check("", n := float(row["range_generation"]) * 20.17, round(n), 0.1).holds
        for row in read("reform_23_24")
    )


def test_the_number_of_contradictions_is_the_documented_one() -> None:
    assert sum(not check.holds for found in CHECKS.values() for check in found()) == 12 + 4 + 53


def test_scienceqa_has_3953_questions_in_kostumov_and_not_3952() -> None:
    """The paper's 3,952 would leave a test half of 1,976, of which no accuracy is a multiple."""
    checks = list(kostumov_rows())
    assert len(checks) == 3 * 26 and all(check.holds for check in checks)
    accuracies = [row["SQA"] for row in read("kostumov_released") if row["metric"] == "accuracy"]
    hits = [float(value) * 1976 for value in accuracies]
    assert not any(Check("", each, round(each), 0.00005 * 1976).holds for each in hits)


def test_instance_location_of_table_v_has_the_questions_of_instance_attributes() -> None:
    """The accuracies of each column are multiples of one over the test half of a single dimension's questions."""
    sizes = {"scene": 3158, "identity": 1831, "attributes": 4649, "location": 978, "counting": 2447}
    assert sum(sizes.values()) == 14_233 - sum((657, 97, 331, 85)), "the other four dimensions"
    rows = [row for row in read("kostumov_seedbench") if row["metric"] == "accuracy"]
    fitting = {}
    for column in ("SU", "II", "IL", "IA", "IC"):
        shares = [float(row[column].split()[0]) / 100 for row in rows]
        halves = {name: (size + 1) // 2 for name, size in sizes.items()}
        fitting[column] = [
            name
            for name, half in halves.items()
            if all(abs(round(share * half) / half - share) < 0.0000501 for share in shares)
        ]
    assert fitting == {
        "SU": ["scene"],
        "II": ["identity"],
        "IL": ["attributes"],
        "IA": ["location"],
        "IC": ["counting"],
    }


def test_kostumov_averages_and_uacc_but_for_eight_misprints() -> None:
    averages, products = list(kostumov_averages()), list(kostumov_uacc())
    assert (len(averages), len(products)) == (271, 100)
    wrong = [check.name for check in (*averages, *products) if not check.holds]
    assert wrong == [
        "table II LLaVA-v1.6-13B mce Avg",
        "table III Yi-VL-6B uacc Avg",
        "table IV Qwen-VL-Chat coverage Avg",
        "table IV CogAgent-VQA uacc Avg",
        "table VI Qwen-VL-Chat coverage Avg",
        "table VI LLaVA-v1.6-13B set_size Avg",
        "table VI Monkey-Chat uacc Avg",
        "table III MoE-LLaVA-Phi2-2.7B UAcc SB",
    ]


def test_tables_of_reform_are_as_they_were_printed() -> None:
    """Averages say that cells are right, sizes of the sets that they stand in the right column."""
    averages, counts = list(reform_averages()), list(reform_parts())
    assert (len(averages), len(counts)) == (416, 1456)
    assert [check.name for check in averages if not check.holds] == [
        "generation InstructBLIP_V coarse_perception accuracy",
        "generation Cheetor_V scene_text accuracy",
        "generation Cheetor_L2 scene_text accuracy",
        "generation mPLUG-Owl dialogue accuracy",
    ]
    whole = [row for row in read("reform_tables") if row["dataset"] == "scienceqa"]
    for name in ("generation", "likelihood"):
        found = [(row["accuracy"], row["instability"]) for row in whole if row["output"] == name]
        assert found == [(row[name], row[f"{name}_instability"]) for row in read("reform_scienceqa")]


def test_one_hit_rate_is_printed_in_two_ways() -> None:
    found = list(reform_hits())
    assert len(found) == 18
    assert [(check.name, check.printed, check.recomputed) for check in found if not check.holds] == [
        ("Shikra with a sample", 100, 97.72)
    ]
