"""Logs of Inspect, as it writes them, through `from_log`."""

import io
import json
import zipfile
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import vouch
from tests.library.logs import Line, refused
from vouch.library.logs import Log


def answered(*tokens: Any, **more: Any) -> Line:
    """A sample of Inspect's. A token that is a mapping has these log-probabilities, the likeliest was said."""
    content = []
    for token in tokens:
        top = token if isinstance(token, dict) else {token: -0.1}
        alternatives = [{"token": text, "logprob": value, "bytes": None} for text, value in top.items()]
        said = max(alternatives, key=lambda each: each["logprob"])
        content.append(said | {"top_logprobs": alternatives})
    text = "".join(each["token"] for each in content)
    message = {"role": "assistant", "content": text}
    output = {
        "model": "m",
        "choices": [{"message": message, "logprobs": {"content": content}}],
        "completion": text,
    }
    return {
        "id": 0,
        "epoch": 1,
        "input": "Which?",
        "choices": list("wxyz"),
        "target": "B",
        "output": output,
    } | more


def top(form: str, best: str = "B", letters: str = "ABCD") -> dict[str, float]:
    return {form.replace("X", each): -0.25 if each == best else -3.0 for each in letters}


def scored(answer: str, value: Any = "C", explanation: str = "") -> Line:
    return {"scores": {"choice": {"value": value, "answer": answer, "explanation": explanation}}}


HEAD = ("ANSWER", ":")
NO_LETTER = "says no letter behind ANSWER:"
LETTERS_READ: dict[str, tuple[Line, str]] = {  # why the sample is left out; empty if the letter is read
    "behind a blank": (answered(*HEAD, top(" X")), ""),
    "with a full stop": (answered(*HEAD, top(" X.")), ""),
    "in brackets": (answered(*HEAD, top(" (X"), ")"), ""),
    "in brackets of one token": (answered(*HEAD, top(" (X)")), ""),
    "bold": (answered(*HEAD, " **", top("X"), "**"), ""),
    "all bold": (answered("**", *HEAD, top(" X"), "**"), ""),
    "a formula": (answered(*HEAD, " $", top("X"), "$"), ""),
    "lower case": (answered("answer", ":", top(" X", "b", "abcd")), ""),
    "raw tokens of BPE": (answered("AN", "SWER", ":", top("\u0120X")), ""),
    "raw tokens of SentencePiece": (answered("\u2581ANSWER", ":", top("\u2581X"), "</s>"), ""),
    "before a heron": (answered(*HEAD, top(" X"), "\n\n", "A", " heron"), ""),
    "before a reason": (answered(*HEAD, top(" X"), ".", " I", " see", " a", " D"), ""),
    "after a thought": (answered("<think>", *HEAD, top(" X", "C"), "?", "</think>", "\n", *HEAD, top(" X")), ""),
    "a line of its own counts": (answered(*HEAD, top(" X"), "\n", "not ", *HEAD, top(" X", "C"), " though"), ""),
    "the last line counts": (answered(*HEAD, top(" X", "C"), "\n", *HEAD, top(" X")), ""),
    "as its scorer read it": (answered(*HEAD, top(" X"), **scored("B")), ""),
    "not as its scorer read it": (answered(*HEAD, top(" X"), **scored("C")), "says another letter than its scorer read"),
    "not read by its scorer": (answered(*HEAD, top(" X"), **scored("")), "says another letter than its scorer read"),
    "a heron": (answered(*HEAD, top(" X", "A"), " heron"), NO_LETTER),
    "several letters": (answered(*HEAD, top(" X"), ",", " C"), NO_LETTER),
    "a word": (answered(*HEAD, " Bird"), NO_LETTER),
    "a letter alone": (answered(top("X")), NO_LETTER),
    "a target of several": (answered(*HEAD, top(" X"), target=["A", "B"]), "has several correct options"),
    "a target of several letters": (answered(*HEAD, top(" X"), target="AB"), "has several correct options"),
    "a target that is a text": (answered(*HEAD, top(" X"), target="crane"), "target 'crane' names no option"),
    "no choices": (answered(*HEAD, top(" X"), choices=None), "has no choices, or more than 26"),
    "too many choices": (answered(*HEAD, top(" X"), choices=["w"] * 27), "has no choices, or more than 26"),
    "no logprobs": (answered(*HEAD, top(" X"), output={"choices": [{"message": {"content": "ANSWER: B"}, "logprobs": None}]}), "has no log-probabilities"),
    "one logprob for each token": (answered(*HEAD, " B", output={"choices": [{"message": {"content": "ANSWER: B"}, "logprobs": {"content": [{"token": "ANSWER: B", "logprob": 0.0}]}}]}), "has no log-probabilities of other letters"),
    "no output": (answered(*HEAD, top(" X"), output={"choices": []}), "has no output"),
    "NaN": (answered(*HEAD, top(" X") | {" B": float("nan")}), "has a log-probability that is NaN"),
}  # fmt: skip


def zstd(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """A member as Inspect packs it since 2026. Python's own writer knows no Zstandard: it stores the bytes."""
    info = zipfile.ZipInfo(name)
    archive.writestr(info, pa.Codec("zstd").compress(data).to_pybytes())
    info.compress_type, info.file_size, info.CRC = 93, len(data), zlib.crc32(data)


def eval_log(samples: list[Line], packed: bool = False, **header: Any) -> bytes:
    top_level = {"version": 2, "status": "success", "eval": {"task": "birds", "model": "mock/m"}} | header
    members = {
        "_journal/start.json": top_level,
        **{f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples},
        "summaries.json": [],
        "header.json": top_level,
    }
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            text = json.dumps(member).encode()
            zstd(archive, name, text) if packed else archive.writestr(name, text)
    return data.getvalue()


def as_json(samples: Any, **header: Any) -> bytes:
    return json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples} | header).encode()


def inspected(path: Path, samples: list[Line], **more: Any) -> Log:
    path.write_bytes(eval_log(samples, **more))
    return vouch.from_log(path)


@pytest.mark.parametrize("case", LETTERS_READ)
def test_the_letter_of_a_log_of_inspect(case: str, tmp_path: Path) -> None:
    sample, problem = LETTERS_READ[case]
    kept = [answered(*HEAD, top(" X"), id=f"q{number}") for number in range(20)]
    log = inspected(tmp_path / "birds.eval", [sample | {"id": "it"}, *kept])
    assert log.left_out == ({"it": log.left_out["it"]} if problem else {})
    assert log.left_out.get("it", "").startswith(problem) and log.rows == 20 + (not problem)
    assert set(log.answers.tolist()) == {1} and set(map(tuple, log.logits.tolist())) == {
        (-3.0, -0.25, -3.0, -3.0)
    }


@pytest.mark.parametrize("packed", [False, True], ids=["deflate", "zstandard"])
def test_a_log_of_inspect_with_epochs(packed: bool, tmp_path: Path) -> None:
    """Epochs of a question are one group, and samples."""
    samples = [
        answered(*HEAD, top(" X", "ABCD"[(index + epoch) % 4]), id=index, epoch=epoch, target=["B"] if index % 2 else "b",
                 **scored("ABCD"[(index + epoch) % 4], "C" if (index + epoch) % 4 == 1 else "I"))
        for epoch in (1, 2) for index in range(40)
    ]  # fmt: skip
    log = inspected(tmp_path / "birds.eval", samples, packed=packed)
    assert (log.harness, log.task, log.model, log.rows, log.questions) == (
        "Inspect",
        "birds",
        "mock/m",
        80,
        40,
    )
    assert log.ids[:2] + log.ids[-1:] == ["0/1", "1/1", "39/2"] and len(set(log.groups)) == 40
    assert log.score == log.correct.mean() == 0.25 and not log.differing
    assert 1 < vouch.prediction_sets(log.logits, log.answers, groups=log.groups).set_size.value <= 4
    drawn = log.samples
    assert drawn.answers[1] == ["C", "D"] and drawn.correct and drawn.correct[0] == [True, False]
    (tmp_path / "birds.json").write_bytes(as_json(samples))
    assert (vouch.from_log(tmp_path / "birds.json").logits == log.logits).all()


def test_a_run_that_did_not_finish_is_said(tmp_path: Path) -> None:
    """In the log, in a log of several tasks and in a comparison; other statuses, or none, say nothing."""
    samples = [answered(*HEAD, top(" X"), id=number) for number in range(3)]
    whole = inspected(tmp_path / "whole.eval", samples)
    assert whole.remark == "" and repr(whole).endswith("0 differ)")
    for status in ("cancelled", "error", "started"):
        remark = f"status is {status}, so samples may be missing"
        log = inspected(tmp_path / "a.eval", samples, status=status)
        assert log.remark == remark and repr(log).endswith(f"0 differ; {remark})")
        (tmp_path / "a.json").write_bytes(as_json(samples, status=status))
        assert vouch.from_log(tmp_path / "a.json").remark == remark
        named = f"{tmp_path / 'a.eval'}: {remark}"
        assert vouch.from_log(tmp_path / "whole.eval", tmp_path / "a.eval").remark == named
        found = vouch.compare_scores(tmp_path / "whole.eval", tmp_path / "a.eval")
        assert found.remarks == (named,) and named in repr(found)
    for odd in (None, 3, ["error"], {}, "new\nline"):
        assert inspected(tmp_path / "a.eval", samples, status=odd).remark == ""


def test_letters_that_are_not_among_the_top_have_a_low_logit(tmp_path: Path) -> None:
    log = inspected(tmp_path / "a.eval", [answered(*HEAD, {" B": -0.1, "B": -0.5, " C": -2.0, " the": -9.0})])
    assert log.logits.tolist() == [[-100.0, -0.1, -2.0, -100.0]], "of two spellings the likelier counts"


SENT = "Choices were shuffled before generating a response, the following was sent to the model:\n\n"


def test_choices_that_the_solver_shuffled_are_put_back(tmp_path: Path) -> None:
    """Target, answer and message are of the original order, log-probabilities of what was sent."""
    sent = f"{SENT}A) z\nB) w\nC) x\nD) y\nShuffled answer:\nANSWER: C"
    shuffled = answered(*HEAD, top(" X", "C"), **scored("B", explanation=sent))
    log = inspected(tmp_path / "a.eval", [shuffled])
    assert (
        log.logits.tolist() == [[-3.0, -0.25, -3.0, -3.0]]
        and log.correct.tolist() == [1]
        and not log.differing
    )
    alike = f"{SENT}A) x\nB) x\nC) x\nD) x\nShuffled answer:\nANSWER: C"
    same = shuffled | {"choices": ["x"] * 4, **scored("B", explanation=alike)}
    log = inspected(tmp_path / "b.eval", [same, shuffled | {"id": 1}])
    assert "shuffled by the solver" in log.left_out["0"]


def test_texts_of_inspect(tmp_path: Path) -> None:
    """Without log-probabilities texts are read; open questions have the scorer's score."""
    output = {
        "choices": [
            {
                "message": {
                    "content": [
                        {"type": "reasoning", "reasoning": "A?"},
                        {"type": "text", "text": "ANSWER: B"},
                    ]
                }
            }
        ]
    }
    log = inspected(tmp_path / "a.eval", [answered(output=output, **scored("B"))])
    assert log.readings == [1] and log.filtered == {"choice": ["B"]} and log.texts == ["ANSWER: B"]
    with pytest.raises(
        ValueError, match=r"holds texts and no probabilities \(0 has no log-prob.*--top-logprobs 20"
    ):
        log.logits  # noqa: B018
    values = {"C": 1.0, "P": 0.5, "N": 0.0, "no": 0.0, 0.25: 0.25, True: 1.0, "0.5": 0.5}
    samples = [
        answered(id=n, choices=None, target="a crane", output=output, scores={"model_graded_qa": {"value": value, "answer": "x"}})
        for n, value in enumerate(values)
    ]  # fmt: skip
    log = inspected(tmp_path / "b.eval", samples)
    assert log.correct.tolist() == list(values.values()) and log.score_name == "model_graded_qa"
    some = inspected(tmp_path / "d.eval", [samples[0], samples[1] | {"scores": None}])
    assert some.rows == 1 and some.left_out == {"1": "nothing says whether it is correct"}
    unscored = [each | {"scores": None} for each in samples]
    log = inspected(tmp_path / "c.eval", unscored)
    assert log.accuracy is None and log.score is None
    with pytest.raises(ValueError, match="nothing says whether 7 of 7 answers are correct, 0 first"):
        log.correct  # noqa: B018


TWICE = "a.eval: sample '0' stands twice in epoch 1; keep one"


def test_logs_of_inspect_that_are_damaged(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.eval", eval_log([answered(*HEAD, top(" X"))], packed=True)
    for data, reason in (
        (whole[: len(whole) // 2], "not readable as a zip"),
        (whole.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe", 2), "not readable as Zstandard"),
        (b"PK\x03\x04", "not readable as a zip"),
        (b"\x00" * 100, "not JSON in UTF-8"),
        (eval_log([answered(*HEAD, id=[1])]), "a sample has the id '[1]'"),
        (eval_log([]), "holds no samples; run the harness"),
        (b"[1]", "holds a list, not an object"),
        (b"{}", "holds no samples; run Inspect without --no-log-samples"),
        (
            as_json([answered(*HEAD), 3, None]),
            "a.eval: sample 2 is a int, not an object; fetch the log again",
        ),
        (as_json([answered(*HEAD), answered(*HEAD, id=1), answered(*HEAD)]), TWICE),
        (as_json([answered(*HEAD), answered(*HEAD, id="0", epoch=None)]), TWICE),
        (eval_log([answered(*HEAD), answered(*HEAD, epoch=1.0)]), TWICE),
        (as_json([None]), "a.eval: sample 1 is a NoneType, not an object"),
        (as_json(None), "holds no samples; run Inspect without --no-log-samples"),
    ):
        path.write_bytes(data)
        assert reason in refused(path), reason
    # A run that was killed has no header, and a sample that was written again counts once.
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("_journal/start.json", json.dumps({"eval": {"model": "m"}}))
        for target in ("A", "B"):
            with pytest.warns(UserWarning) if target == "B" else nullcontext():
                archive.writestr(
                    "samples/0_epoch_1.json", json.dumps(answered(*HEAD, top(" X"), target=target))
                )
    path.write_bytes(data.getvalue())
    killed = vouch.from_log(path)
    assert killed.answers.tolist() == [1] and killed.remark.startswith("status is started")
