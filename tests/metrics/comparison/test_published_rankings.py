"""The published figures, added again: what docs/ranking.md says of them."""

import pandas as pd
import pytest

from tests.metrics.simulated import ROOT

FIGURES = pd.read_csv(ROOT / "docs/published/tu_tables.csv")


def grid(table: int, measure: str) -> tuple[pd.DataFrame, pd.Series]:
    """Cells by method and dataset, and the printed means."""
    of_table = FIGURES[FIGURES["table"] == table].pivot(index="method", columns="dataset", values=measure)
    return of_table.drop(columns="mean", errors="ignore"), of_table.get("mean")


def test_every_cell_is_there() -> None:
    assert FIGURES.groupby("table").size().to_dict() == {1: 13 * 9, 2: 7 * 5, 3: 2 * 4}
    assert FIGURES["rho"].between(0, 1).all()
    assert FIGURES["tau"].notna().equals(FIGURES["table"] == 1)


@pytest.mark.parametrize(("table", "measure"), [(1, "rho"), (1, "tau"), (2, "rho")])
def test_printed_means_agree_with_their_cells_but_for_one(table: int, measure: str) -> None:
    cells, printed = grid(table, measure)
    off = (cells.mean(axis=1) - printed).abs()
    wrong = off[off > 0.00501]
    assert wrong.index.tolist() == (["Ent_avg"] if table == 2 else [])
    if table == 2:
        assert cells.loc["Ent_avg"].mean() == pytest.approx(0.6125)
        assert printed["Ent_avg"] == 0.63


def test_who_leads() -> None:
    assert grid(1, "rho")[0].mean(axis=1).idxmax() == "NLL_avg"
    assert grid(1, "tau")[0].mean(axis=1).idxmax() == "NLL_min"
    assert grid(2, "rho")[0].mean(axis=1).idxmax() == "Ent_max"


def test_how_often_nll_beats_entropy() -> None:
    wins = {}
    for measure in ("rho", "tau"):
        cells, _ = grid(1, measure)
        best = [cells[cells.index.str.startswith(name)].max() for name in ("NLL", "Ent")]
        wins[measure] = [set(cells.columns[a > b]) for a, b in (best, best[::-1])]
    assert [len(found) for found in wins["rho"]] == [6, 2]
    assert wins["rho"][1] == {"mmmu", "realworldqa"}
    assert [len(found) for found in wins["tau"]] == [7, 0], "MMMU is a tie"


def test_table_3_against_table_1() -> None:
    few, _ = grid(3, "rho")
    whole = grid(1, "rho")[0].loc["NLL_min", few.columns]
    assert few.columns[few.loc["NLL_min"] != whole].tolist() == ["mmmu"]
    assert few.loc["NLL_min", "mmmu"] == grid(1, "rho")[0].loc["NLL_avg", "mmmu"]
    assert few.columns[few.loc["50 labels"] > few.loc["NLL_min"]].tolist() == ["chartqa", "textvqa"]
