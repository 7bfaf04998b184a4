"""`python tools/published.py`: recomputes published tables from other published tables (docs/published).

Kostumov et al. 2024: tables I to V. PARC (Schmalfuss et al. 2025): tables A6, A8, A9, A10. ReForm-Eval (Li et
al. 2023): tables 3, 4, 9 to 21, 23, 24.
docs/published.md explains what is found.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "docs/published"
SETS_OF_REFORM = Path(__file__).parents[1] / "vouch/datasets/read/reform.csv"
SETS = ("M-S", "M-A", "V-S", "V-A", "NYU", "Fas", "MMB")
SCORES = ("reliability", "accuracy", "certainty", "consistency")
OPTIONS = 6  # of a question of Kostumov et al.
TEST_ROWS = {"MMB": 2189, "OOD": 1422, "SQA": 1977}  # of Kostumov et al.: the larger half of each dataset
HALF = 0.005  # what rounding to two decimals moves at most
ROWS = 201  # of ScienceQA in ReForm-Eval
TESTS = 5  # of each of them
PRINTED = {
    "table 4": {"instruction": 0.1607, "order": 0.5523, "mark": 0.3295, "likelihood_instruction": 0.0492},
    "table 23": {"mark": 0.276, "likelihood_instruction": 0.049},
}
"""Means over the models as the paper prints them, where they can be checked."""


class Check(NamedTuple):
    """Two numbers that should be one. tolerance: what rounding of the printed numbers allows."""

    name: str
    printed: float
    recomputed: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether they agree."""
        return abs(self.printed - self.recomputed) <= self.tolerance + 1e-9


def read(name: str) -> list[dict[str, str]]:
    """Rows of one of the files."""
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mean(values: Sequence[str]) -> float:
    """Of the numbers that are there."""
    known = [float(value) for value in values if value]
    return sum(known) / len(known)


def _cells(row: dict[str, str]) -> dict[str, float]:
    """Numbers of a row of Kostumov et al. by column, without their ranks."""
    names = [name for name in row if name not in ("table", "model", "metric")]
    return {name: float(row[name].split()[0]) for name in names}


def kostumov_averages() -> Iterator[Check]:
    """Avg of a row is the plain mean of its datasets, tasks or situations."""
    rows = (*read("kostumov"), *read("kostumov_seedbench"), *read("kostumov_oodcv"))
    for row in (row for row in rows if all(row.values())):
        cells = _cells(row)
        average = cells.pop("Avg")
        name = f"table {row['table']} {row['model']} {row['metric']} Avg"
        yield Check(name, average, sum(cells.values()) / len(cells), 2 * HALF)


def kostumov_uacc() -> Iterator[Check]:
    """Tables III and IV, of one score each: UAcc is accuracy times the root of the options over set size."""
    rows = {(row["table"], row["model"], row["metric"]): row for row in read("kostumov")}
    for table, model, metric in rows:
        if table not in ("III", "IV") or metric != "uacc":
            continue
        printed, accuracy, size = (
            _cells(rows[table, model, name]) for name in ("uacc", "accuracy", "set_size")
        )
        for name in sorted(printed.keys() - {"Avg"}):
            found = accuracy[name] * OPTIONS**0.5 / size[name]
            moved = found * (HALF / accuracy[name] + HALF / (size[name] - HALF))
            yield Check(f"table {table} {model} UAcc {name}", printed[name], found, moved + HALF)


def kostumov_rows() -> Iterator[Check]:
    """Accuracies of the repository's tables are whole numbers of the test rows of each dataset."""
    for row in read("kostumov_released"):
        if row["metric"] == "accuracy" and not row["score"]:
            for name, rows in TEST_ROWS.items():
                hits = float(row[name]) * rows
                yield Check(f"{row['model']} {name}", hits, round(hits), HALF / 100 * rows)


def parc_sets() -> Iterator[Check]:
    """Per set and score: the mean over prompt kinds is the mean over models."""
    kinds, models = read("parc_a6"), read("parc_a8")
    for score in SCORES:
        for name in SETS:
            by_model, by_kind = (
                mean([row[name] for row in rows if row["score"] == score]) for rows in (models, kinds)
            )
            yield Check(f"{score} {name}: models against kinds", by_model, by_kind, 0.002)


def parc_averages() -> Iterator[Check]:
    """AVG of a row is the plain mean of its sets, of six where one is missing."""
    for table, key in (("parc_a6", "kind"), ("parc_a8", "model"), ("parc_a10", "model")):
        for row in read(table):
            values = [row[name] for name in SETS]
            yield Check(f"{table} {row[key]} {row['score']} AVG", float(row["AVG"]), mean(values), 0.01)


def parc_shares() -> Iterator[Check]:
    """A share of table A5 is the kept questions by the initial ones."""
    for row in read("parc_a5"):
        share = 100 * int(row["kept"]) / int(row["initial"])
        yield Check(f"A5 {row['dataset']} share", float(row["share"]), share, 0.05)


def parc_combinations() -> Iterator[Check]:
    """The single variations of table A9 are those of table A6."""
    found = {(row["kind"], row["score"]): float(row["AVG"]) for row in read("parc_a6")}
    for row in read("parc_a9"):
        if "+" not in row["prompt"]:
            for score in SCORES:
                yield Check(f"A9 {row['prompt']} {score}", float(row[score]), found[row["prompt"], score], 0)


def reform_means() -> Iterator[Check]:
    """Printed means of the instabilities against the means of table 23's own rows."""
    rows = read("reform_23_24")
    for table, printed in PRINTED.items():
        for name, value in printed.items():
            digits = len(str(value).partition(".")[2])
            tolerance = 0.0005 + 0.5 * 10**-digits  # of the rows, and of the printed mean
            yield Check(f"{table} {name}", value, mean([row[name] for row in rows]), tolerance)


def reform_counts() -> Iterator[Check]:
    """Per cent of 201 rows, and of their 1,005 tests, are whole numbers, rounded or cut to two decimals."""
    for row in read("reform_23_24"):
        for name in ("range_generation", "range_likelihood"):
            count = float(row[name]) * ROWS / 100
            yield Check(f"table 24 {row['model']} {name} x 2.01", count, round(count), 0.01 * ROWS / 100)
    for row in read("reform_scienceqa"):
        for name in ("generation", "likelihood"):
            count = float(row[name]) * ROWS * TESTS / 100
            tolerance = 0.01 * ROWS * TESTS / 100
            yield Check(f"ScienceQA {row['model']} {name} x 10.05", count, round(count), tolerance)


def reform_averages() -> Iterator[Check]:
    """The average of a dimension is the plain mean of its datasets."""
    rows = read("reform_tables")
    of = {row["set"]: row["dimension"] for row in read_sets()}
    for total in (row for row in rows if row["dataset"] not in of):
        place = (total["output"], total["model"])
        parts = [row for row in rows if (row["output"], row["model"]) == place]
        parts = [row for row in parts if of.get(row["dataset"]) == total["dataset"]]
        for name in ("accuracy", "instability"):
            if total[name]:
                found = mean([row[name] for row in parts])
                yield Check(
                    f"{' '.join(place)} {total['dataset']} {name}", float(total[name]), found, 2 * HALF
                )


def reform_parts() -> Iterator[Check]:
    """Accuracies of a set of known size are whole numbers of its tests, five a question."""
    sizes = {row["set"]: row["sample"] for row in read_sets() if row["metric"] != "cider"}
    for row in read("reform_tables"):
        if sizes.get(row["dataset"]):
            tests = TESTS * int(sizes[row["dataset"]]) / 100
            count = float(row["accuracy"]) * tests
            name = f"{row['output']} {row['model']} {row['dataset']} x {tests:g}"
            yield Check(name, count, round(count), 1.02 * HALF * tests)


def read_sets() -> list[dict[str, str]]:
    """The sets of ReForm-Eval: their dimensions, and the sizes of the parts that were run."""
    with SETS_OF_REFORM.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def reform_hits() -> Iterator[Check]:
    """Rates of table 3 stand again in table 21."""
    rows = read("reform_hits")
    for name in ("without", "with"):
        whole = {row["model"]: float(row[name]) for row in rows if row["table"] == "21"}
        for row in rows:
            if row["table"] == "3":
                yield Check(f"{row['model']} {name} a sample", float(row[name]), whole[row["model"]], 0)


CHECKS = {
    "Kostumov et al., averages": kostumov_averages,
    "Kostumov et al., UAcc from accuracy and set size": kostumov_uacc,
    "Kostumov et al., whole numbers of test rows": kostumov_rows,
    "PARC, means over kinds and over models": parc_sets,
    "PARC, averages over sets": parc_averages,
    "PARC, single variations of table A9": parc_combinations,
    "PARC, shares of table A5": parc_shares,
    "ReForm-Eval, mean instabilities": reform_means,
    "ReForm-Eval, whole numbers of rows": reform_counts,
    "ReForm-Eval, averages of dimensions": reform_averages,
    "ReForm-Eval, whole numbers of tests in tables 9 to 20": reform_parts,
    "ReForm-Eval, hit rates of tables 3 and 21": reform_hits,
}


def main() -> None:
    """Says of every kind of check how many hold and names those that do not."""
    for title, check in CHECKS.items():
        found = list(check())
        worst = max(abs(one.printed - one.recomputed) for one in found)
        print(f"{title}: {sum(one.holds for one in found)} of {len(found)} hold, largest gap {worst:.4f}")
        for one in found:
            if not one.holds:
                print(f"  {one.name}: printed {one.printed:g}, recomputed {one.recomputed:.4f}")


if __name__ == "__main__":
    main()
