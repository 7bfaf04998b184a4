"""`vouch compare` of files: a table of scores."""

import json
from pathlib import Path

import pytest

from tests.library.test_inspect_logs import answered, eval_log, top
from tests.library.test_scores import gpqa
from vouch.cli.main import main


def test_a_table_of_scores_on_the_screen_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`vouch compare scores.csv` needs no checkout."""
    monkeypatch.chdir(tmp_path)
    gpqa().to_csv("scores.csv", index=False)
    assert main(["compare", "scores.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"][0]["difference"]["value"] == pytest.approx(0.0586, abs=5e-5)
    assert main(["compare", "scores.csv"]) == 0
    screen = capsys.readouterr().out
    for words in ("scores.csv: 2 models, 198 questions, 5 runs", "A is better", "0.0363", "61 %", "39 %"):
        assert words in screen
    few = "".join(
        f"{number},{model},{score}\n" for number in range(8) for model, score in (("a", 1), ("b", 0))
    )
    Path("few.csv").write_text(f"item,model,score\n{few}")
    assert main(["compare", "few.csv", "--json"]) == 0
    pair = json.loads(capsys.readouterr().out)["pairs"][0]
    assert (pair["verdict"], pair["needed"], pair["p"] < 0.01) == ("", 30, True)
    assert main(["compare", "few.csv"]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "too few" in screen and "A is better" not in screen and "called better on fewer than 30" in screen
    Path("alone.csv").write_text("item,model,score\n1,a,1\n2,a,0\n")
    assert main(["compare", "alone.csv"]) == 0
    assert "one model: nothing to compare it with" in capsys.readouterr().out
    samples = [answered("ANSWER", ":", top(" X"), id=number) for number in range(3)]
    Path("cut.eval").write_bytes(eval_log(samples, status="cancelled"))
    assert main(["compare", "cut.eval"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "cut.eval: status is cancelled, so samples may be missing" in shown
    assert main(["compare", "cut.eval", "--json"]) == 0
    assert "status is cancelled" in json.loads(capsys.readouterr().out)["remarks"][0]
    for arguments, reason in (
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (["scores.csv", "llava"], "llava: is no file"),
        (["scores.csv", "--dataset", "d"], "--dataset: is for models of a checkout"),
        (["scores.csv", "--fail-if", "p < 1"], "--fail-if: is for models"),
        (["llava"], "not inside a checkout"),
    ):
        assert main(["compare", *arguments]) == 1
        error = capsys.readouterr().err
        assert reason in error and error.count("\n") == 1
