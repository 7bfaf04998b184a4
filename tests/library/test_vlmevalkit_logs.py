"""Predictions of VLMEvalKit, as it writes them, through `from_log`."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import vouch
from tests.library.logs import Line, refused
from tests.models.released.test_tables import as_xlsx


def predicted(index: int, prediction: str, answer: str = "B", **more: Any) -> Line:
    return {
        "index": index, "question": "Which bird?", "A": "heron", "B": "crane", "C": "", "answer": answer,
        "prediction": prediction, **more,
    }  # fmt: skip


ROWS = [
    predicted(n, text) for n, text in enumerate(["B", "the crane", "A", "Failed to obtain answer via API."])
]


def kit(folder: Path, name: str, rows: list[Line]) -> Path:
    """A table as VLMEvalKit writes it: xlsx, tsv with all cells in quotes, or json."""
    path = folder / name
    if path.suffix == ".xlsx":
        path.write_bytes(as_xlsx(rows))
    elif path.suffix == ".json":
        path.write_text(
            json.dumps([{k: float("nan") if v == "" else v for k, v in row.items()} for row in rows])
        )
    else:
        with path.open("w", newline="") as file:
            delimiter = "\t" if path.suffix == ".tsv" else ","
            writer = csv.DictWriter(file, rows[0], delimiter=delimiter, quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.mark.parametrize("end", ["xlsx", "tsv", "json"])
def test_predictions_of_vlmevalkit(end: str, tmp_path: Path) -> None:
    folder = tmp_path / "llava"
    folder.mkdir()
    path = kit(folder, f"llava_AI2D_TEST.{end}", ROWS)
    log = vouch.from_log(path)
    assert (log.harness, log.model, log.task) == ("VLMEvalKit", "llava", "AI2D_TEST")
    assert log.readings == [1, 1, 0, None] and log.correct.tolist() == [1, 1, 0, 0] and log.score is None
    assert log.options[0] == ("heron", "crane") and log.texts[1] == "the crane"
    kit(folder, "llava_AI2D_TEST_acc.csv", [{"split": "none", "Overall": "0.5"}])
    assert vouch.from_log(path).score == 0.5
    kit(
        folder,
        f"llava_AI2D_TEST_gpt-4_result.{end}",
        [row | {"hit": int(n != 1), "log": ""} for n, row in enumerate(ROWS)],
    )
    log = vouch.from_log(path)
    assert log.score == 0.75 and log.differing == ["1", "2", "3"] and list(log.scores) == ["hit"]
    kit(folder, f"llava_AI2D_TEST_exact_matching_result.{end}", ROWS)
    assert "has several results (llava_AI2D_TEST_" in refused(path)
    with pytest.raises(ValueError, match="no probabilities; VLMEvalKit logs texts alone"):
        log.logits  # noqa: B018


def test_results_of_another_dataset_are_not_those_of_one_whose_name_begins_alike(tmp_path: Path) -> None:
    path = kit(tmp_path, "m_MMBench.tsv", ROWS)
    hits = [row | {"hit": 1} for row in ROWS]
    kit(tmp_path, "m_MMBench_V11.tsv", ROWS)
    kit(tmp_path, "m_MMBench_V11_gpt_result.tsv", hits)
    assert vouch.from_log(path).score is None
    kit(tmp_path, "m_MMBench_gpt_result.tsv", [row | {"hit": 0} for row in ROWS])
    assert vouch.from_log(path).score == 0 and vouch.from_log(tmp_path / "m_MMBench_V11.tsv").score == 1
    kit(tmp_path, "m_MMBench_gpt_result.tsv", [row | {"index": 77} for row in hits])
    assert "its results have index 77, which it has not" in refused(path)


def test_circular_copies_of_vlmevalkit_are_one_group(tmp_path: Path) -> None:
    """MMBench asks each question with its options in every order; a hit is that of all copies."""
    rows = [
        predicted(n + 1_000_000 * copy, "BA"[copy] if n else "B", "BA"[copy])
        for copy in (0, 1)
        for n in (0, 1, 2)
    ]
    path = kit(tmp_path, "m_MMBench.xlsx", rows)
    log = vouch.from_log(path)
    assert (
        log.groups == ["0", "1", "2"] * 2
        and log.ids[0] == "0/1"
        and log.correct.tolist() == [1, 1, 1, 0, 1, 1]
    )
    kit(
        tmp_path,
        "m_MMBench_gpt_result.xlsx",
        [row | {"hit": hit} for row, hit in zip(rows[:3], (0, 1, 0), strict=True)],
    )
    log = vouch.from_log(path)
    assert log.differing == ["2/1", "2/2"] and log.scores["hit"].tolist() == [0, 1, 0] * 2
    more = [*rows, predicted(2_000_001, "A", "A")]
    kit(tmp_path, "m_MMBench.xlsx", more)
    assert vouch.from_log(path).score == pytest.approx(1 / 3), "the mean over questions, however many copies"


def test_yes_and_no_of_vlmevalkit_and_open_questions(tmp_path: Path) -> None:
    rows = [
        {"index": n, "question": "Is it?", "answer": "Yes", "prediction": text}
        for n, text in enumerate(["Yes.", "no"])
    ]
    path = kit(tmp_path, "m_POPE.tsv", rows)
    kit(
        tmp_path,
        "m_POPE_auxmatch.tsv",
        [row | {"extracted": e, "score": e == "Yes"} for row, e in zip(rows, ("Yes", "No"), strict=True)],
    )
    log = vouch.from_log(path)
    assert (
        log.correct.tolist() == [1, 0] and log.filtered == {"extracted": ["Yes", "No"]} and not log.differing
    )
    images = [row | {"image_path": "one.jpg"} for row in rows]
    assert vouch.from_log(kit(tmp_path, "m_Seen.tsv", images)).groups == ["one.jpg"] * 2
    log = vouch.from_log(kit(tmp_path, "m_OCRVQA.tsv", [row | {"answer": "a sign"} for row in rows]))
    with pytest.raises(ValueError, match="nothing says whether 2 of 2 answers are correct"):
        log.correct  # noqa: B018
    for rows, reason in (
        ([ROWS[0], ROWS[0]], "row 2: index 0 is that of row 1"),
        ([{"id": 1, "text": "A"}], "no column index, it has id, text"),
        ([{"item": 1, "model": "m", "score": 1}], "a table of scores is for `vouch compare`"),
        ([predicted(0, "B") | {"index": ""}], "a row has no index"),
    ):
        assert reason in refused(kit(tmp_path, "m_X.tsv", rows))
