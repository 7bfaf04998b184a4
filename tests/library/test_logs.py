"""Logs of any harness through `from_log`: the documentation, and what is no log."""

import re
from pathlib import Path

import numpy as np
import pytest

import vouch
from tests.library.logs import refused, written
from tests.library.test_inspect_logs import HEAD, answered, eval_log, top
from tests.library.test_lm_eval_logs import CHOICES, generated
from tests.library.test_vlmevalkit_logs import ROWS, kit


def test_the_lines_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("samples_arc_easy_2026-01-02T03-04-05.678901.jsonl"), CHOICES["words by index"])
    Path("scores.csv").write_text("item,model,score\n1,a,1\n2,a,0\n1,b,1\n2,b,1\n")
    page = (Path(__file__).parents[2] / "docs/library.md").read_text("utf-8")
    codes = [
        code
        for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        if ".jsonl" in code or ".csv" in code
    ]
    for code in codes:
        exec(code, {"vouch": vouch})
    assert len(codes) == 2, "one of a log, one of a table"


def test_what_is_no_log(tmp_path: Path) -> None:
    pickle = tmp_path / "m.pkl"
    pickle.write_bytes(b"\x80\x04N.")
    assert "is a pickle, which can run code" in refused(pickle)
    assert "not readable" in refused(tmp_path / "missing.jsonl") and "not readable" in refused(tmp_path)
    assert "not readable" in refused(tmp_path / "a\0b")
    one = written(tmp_path / "a/samples_t.jsonl", CHOICES["words by index"])
    other = written(tmp_path / "b/samples_t.jsonl", CHOICES["words by index"])
    assert "model b, but" in refused(one, other), "two models are two logs"
    near = one.parent / ".." / "a" / one.name
    for again in (one, near):
        assert refused(one, other, again).endswith("samples_t.jsonl: is given twice; give each file once")
    for wrong in ((), ("",), (7,)):
        with pytest.raises(ValueError, match="give the path of a log"):
            vouch.from_log(*wrong)  # type: ignore[arg-type]


def test_a_log_is_no_array(tmp_path: Path) -> None:
    log = vouch.from_log(written(tmp_path / "samples.jsonl", CHOICES["words by index"]))
    with pytest.raises(ValueError, match=r"^logits: is a log; give its arrays, as log\.logits, log\.answers"):
        vouch.prediction_sets(log, log.answers)
    with pytest.raises(ValueError, match="is a log; give its arrays"):
        np.asarray(log)


def test_targets_are_refused_where_they_say_nothing(tmp_path: Path) -> None:
    sample = tmp_path / "a.eval"
    sample.write_bytes(eval_log([answered(*HEAD, top(" X"))]))
    texts = written(tmp_path / "samples_t.jsonl", [generated(0, ["B"], "B")])
    for path, reason in (
        (sample, "a.eval: is of Inspect, but targets is for lm-evaluation-harness; leave it out"),
        (
            kit(tmp_path, "m_T.tsv", ROWS),
            "m_T.tsv: is of VLMEvalKit, but targets is for lm-evaluation-harness",
        ),
        (texts, "samples_t.jsonl: holds texts, but targets is for log-likelihoods of choices; leave it out"),
    ):
        assert vouch.from_log(path).rows and refused(path, targets="text").startswith(reason)
