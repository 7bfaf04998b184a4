"""Logs of lm-evaluation-harness, lmms-eval, Inspect and VLMEvalKit, as these write them, through `from_log`."""

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import vouch
from tests.models.released.test_tables import as_xlsx
from vouch.library.logs import Log

Line = dict[str, Any]


def written(path: Path, lines: Sequence[Line]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


def refused(*paths: Path, **more: Any) -> str:
    """The one line in which a log is refused."""
    with pytest.raises(ValueError) as error:
        vouch.from_log(*paths, **more)
    message = str(error.value)
    assert "\n" not in message and len(message) < 500, message
    return message.replace(str(paths[0].parent) + "/", "")


# lm-evaluation-harness: multiple_choice


def logged(choices: list[str], target: object, best: int, **more: Any) -> Line:
    """A line of lm-evaluation-harness: numbers are texts there, a target is an index or a text."""
    scores = [f"{-5.5 - at if at != best else -0.5:.6f}" for at in range(len(choices))]
    return {
        "target": str(target),
        "arguments": {f"gen_args_{at}": {"arg_0": "?", "arg_1": f" {one}"} for at, one in enumerate(choices)},
        "resps": [[[score, "False"]] for score in scores],
        "filtered_resps": [[score, "False"] for score in scores],
        "filter": "none",
        "metrics": ["acc"],
        **more,
    }


def of_task(choices: list[str], target: Any, count: int = 40, **more: Any) -> list[Line]:
    """A log of questions whose correct choice is 0, 1, ..., of which every third is answered wrongly.

    target: of the correct choice, as the log writes it.
    """
    lines = []
    for index in range(count):
        correct = index % len(choices)
        best = (correct + (index % 3 == 0)) % len(choices)
        line = logged(choices, target(correct), best, acc=float(best == correct), **more)
        lines.append({"doc_id": index, **line})
    return lines


def by_text(choices: list[str]) -> Any:
    return lambda correct: choices[correct]


WORDS, LABELS = ["two", "none", "one", "three"], ["(A)", "(B)", "(C)", "(D)"]
NUMBERS, FIRST = ["2", "0", "1", "3"], ["1", "2", "3", "4"]
CHOICES = {
    "words by index": of_task(WORDS, int),
    "words by text": of_task(WORDS, by_text(WORDS)),
    "labels by text": of_task(LABELS, by_text(LABELS)),
    "an index or a text": [(of_task(LABELS, int)[n], of_task(LABELS, by_text(LABELS))[n])[n % 2] for n in range(40)],
    "numbers by index": of_task(NUMBERS, int),
    "numbers by text": of_task(NUMBERS, by_text(NUMBERS)),
    "numbers from 1 by index": of_task(FIRST, int),
    "numbers from 1 by text": of_task(FIRST, by_text(FIRST)),
    "0 and 1 by text": of_task(["1", "0"], by_text(["1", "0"])),
    "years by text": of_task(["1990", "2", "1"], by_text(["1990", "2", "1"])),
    "no acc, one reading": [line | {"acc": None} for line in of_task(WORDS, int)],
    "a list of one": of_task(WORDS, lambda correct: [correct]),
    "a line separator in the question": of_task(WORDS, int, doc={"question": "one\u2028two"}),
    "scores as numbers": [
        line | {"filtered_resps": [[float(score), False] for score, _ in line["filtered_resps"]]}
        for line in of_task(WORDS, int)
    ],
    "the log of version 0.3: responses without filters": [
        {key: line[key] for key in line.keys() - {"filtered_resps", "filter", "metrics"}} for line in of_task(WORDS, int)
    ],
    "pairs in a list, to version 0.4.2": [
        line | {"arguments": [list(each.values()) for each in line["arguments"].values()]}
        for line in of_task(WORDS, int)
    ],
    "an image beside the pair": [
        line | {"arguments": {key: each | {"arg_2": {"visual": ["x"]}} for key, each in line["arguments"].items()}}
        for line in of_task(WORDS, int)
    ],
    "pairs that are not in lists": [
        {key: line[key] for key in line.keys() - {"filtered_resps"}} | {"resps": line["filtered_resps"]}
        for line in of_task(WORDS, int)
    ],
    "each choice again without the question": [
        line
        | {"filtered_resps": [*line["filtered_resps"], *[["-0.1", "False"]] * 4], "acc_mutual_info": 1.0}
        | {"arguments": line["arguments"] | {f"u{n}": {"arg_0": "", "arg_1": f" {one}"} for n, one in enumerate(WORDS)}}
        for line in of_task(WORDS, int)
    ],
    "acc_norm alone": [  # the longest choice is the best per character on the odd ones
        line | {"acc": None, "acc_norm": float(np.argmax([float(s) / len(c) for (s, _), c in zip(line["filtered_resps"], WORDS, strict=True)]) == index % 4)}
        for index, line in enumerate(of_task(WORDS, int))
    ],
}  # fmt: skip
FORMS: dict[str, Callable[[list[Line]], str]] = {
    "lines": lambda lines: "\n".join(json.dumps(line, ensure_ascii=False) for line in lines),
    "an array": lambda lines: json.dumps(lines, indent=2),
    "a mark, CRLF and blank lines": lambda lines: "\ufeff" + "\r\n\r\n".join(map(json.dumps, lines)) + "\r\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CHOICES)
def test_choices_of_lm_evaluation_harness(case: str, form: str, tmp_path: Path) -> None:
    """Answers are the correct choices, whatever the log calls them, and as many as its `acc` counts."""
    path = tmp_path / "samples_arc_easy_2026-01-02T03-04-05.678901.jsonl"
    path.write_text(FORMS[form](CHOICES[case]), "utf-8", newline="")
    log = vouch.from_log(path)
    count = log.logits.shape[1]
    assert log.answers.tolist() == [index % count for index in range(40)]
    assert log.correct.tolist() == [float(index % 3 != 0) for index in range(40)]
    assert log.accuracy and log.accuracy.value == pytest.approx(26 / 40)
    assert 1 <= vouch.prediction_sets(log.logits, log.answers, groups=log.groups).set_size.value <= 4
    assert (log.harness, log.task, log.model) == ("lm-evaluation-harness", "arc_easy", tmp_path.name)
    if "acc" in case:
        return
    assert log.score == pytest.approx(26 / 40) and not log.differing and not log.left_out
    assert next(iter(log.scores)) == f"acc,{'1' if '0.3' in case else 'none'}"


def test_questions_of_a_log_may_have_fewer_options(tmp_path: Path) -> None:
    lines = of_task(WORDS, int, 20) + of_task(WORDS[:3], int, 20)
    log = vouch.from_log(
        written(tmp_path / "samples.jsonl", [line | {"doc_id": n} for n, line in enumerate(lines)])
    )
    assert np.isneginf(log.logits)[:, 3].tolist() == [False] * 20 + [True] * 20
    assert log.options[30] == ("two", "none", "one")


def test_several_correct_choices_are_a_mask(tmp_path: Path) -> None:
    """The harness then counts any of them."""
    lines = of_task(WORDS, lambda correct: [correct, 3])
    for line in lines:
        line["acc"] = float(
            np.argmax([float(score) for score, _ in line["filtered_resps"]]) in json.loads(line["target"])
        )
    log = vouch.from_log(written(tmp_path / "samples.jsonl", lines))
    assert (
        log.answers.shape == (40, 4)
        and log.answers[:, 3].all()
        and log.answers[0].tolist() == [True, False, False, True]
    )
    assert not log.differing and vouch.prediction_sets(log.logits, log.answers).rows == 40


def test_contexts_as_choices_follow_from_acc(tmp_path: Path) -> None:
    """As winogrande has them: one continuation behind two contexts; the target is the continuation."""
    lines = of_task(["", ""], lambda correct: "ran away.")
    for line in lines:
        line["arguments"] = {
            f"gen_args_{n}": {"arg_0": f"The {one}", "arg_1": " ran away."}
            for n, one in enumerate(("fox", "cat"))
        }
    log = vouch.from_log(written(tmp_path / "samples.jsonl", lines))
    assert log.answers.tolist() == [index % 2 for index in range(40)] and log.options[0] == (
        "The fox",
        "The cat",
    )


def test_copies_of_a_document_are_one_group(tmp_path: Path) -> None:
    lines = [line | {"doc_hash": f"h{line['doc_id'] // 2}"} for line in of_task(WORDS, int)]
    one = written(tmp_path / "m/samples_one.jsonl", lines)
    other = written(tmp_path / "m/samples_other.jsonl", [line | {"doc_hash": "h0"} for line in lines[:2]])
    log = vouch.from_log(one, other)
    assert len(set(log.groups)) == 20 and log.groups[-1] == log.groups[0] and log.rows == 42
    assert log.ids[:1] + log.ids[-1:] == ["one:0", "other:1"] and log.task == "one, other"
    own = written(tmp_path / "m/samples_own.jsonl", of_task(WORDS, int))
    both = vouch.from_log(own, written(tmp_path / "m/samples_too.jsonl", of_task(WORDS, int)))
    assert len(set(both.groups)) == 80, "without hashes each task has documents of its own"


def test_a_log_that_scores_an_answer_otherwise_is_read_and_says_where(tmp_path: Path) -> None:
    lines = CHOICES["words by index"]
    lines = [*lines[:7], lines[7] | {"acc": 0.0}, *lines[8:]]
    log = vouch.from_log(written(tmp_path / "samples.jsonl", lines))
    assert log.differing == ["7"] and log.correct[7] == 1 and log.scores["acc,none"][7] == 0
    assert "1 differ" in repr(log)


def test_a_log_is_no_array(tmp_path: Path) -> None:
    log = vouch.from_log(written(tmp_path / "samples.jsonl", CHOICES["words by index"]))
    with pytest.raises(ValueError, match=r"^logits: is a log; give its arrays, as log\.logits, log\.answers"):
        vouch.prediction_sets(log, log.answers)
    with pytest.raises(ValueError, match="is a log; give its arrays"):
        np.asarray(log)


def test_targets_that_may_be_both_are_said(tmp_path: Path) -> None:
    path = written(tmp_path / "samples.jsonl", [line | {"acc": None} for line in CHOICES["numbers by index"]])
    assert "targets may be indices or choices; say targets='index' or targets='text'" in refused(path)
    assert vouch.from_log(path, targets="index").answers.tolist()[:5] == [0, 1, 2, 3, 0]
    assert vouch.from_log(path, targets="text").answers.tolist()[:5] == [1, 2, 0, 3, 1]


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


REFUSED: dict[str, tuple[list[Line] | str, str]] = {
    "targets that fit no acc": ([line | {"acc": 0.0} for line in CHOICES["words by index"]], "samples.jsonl: doc_id 1: no choice fits target and acc, like 26 of 40"),
    "targets that name no choice": ([line | {"target": "nine"} for line in CHOICES["words by index"]], "no target names a choice; doc_id 0 has 'nine'"),
    "a score that is no number": ([CHOICES["words by index"][0] | {"filtered_resps": [["x", "False"], ["-1", "True"]]}], "doc_id 0: log-likelihood 'x' is no number"),
    "a document twice": (CHOICES["words by index"] * 2, "line 41: doc_id 0 duplicates line 1; keep one"),
    "texts and choices": ([*CHOICES["words by index"][:3], {"doc_id": 9, "target": "A", "resps": [["A"]], "filtered_resps": ["A"]}], "holds texts and scores of choices"),
    "half of it": (FORMS["lines"](CHOICES["words by index"])[:3000], "not JSON in UTF-8"),
    "half an array": (FORMS["an array"](CHOICES["words by index"])[:3000], "not JSON"),
    "nothing": ("", "samples.jsonl: is empty"),
    "blank lines": ("\n\n \n", "samples.jsonl: is empty"),
    "no objects": ("[]", "no log of lm-evaluation-harness, lmms-eval, Inspect or VLMEvalKit; it holds nothing"),
    "another file": ('{"a": 1}', "it holds a. A table of scores is for `vouch compare`"),
    "a doc_id that is a list": ('{"doc_id": [1]}', "doc_id is '[1]'; correct the line"),
    "deep": ('{"doc_id": ' + "[" * 100_000, "nested too deep"),
    "not UTF-8": ('{"doc_id": "\udcff"}', "not JSON in UTF-8"),
    "no answers": ([{"doc_id": 0, "target": "4", "arguments": {}, "filtered_resps": []}], "none of its 1 answers can be used: has no response"),
    "rolling log-likelihoods": ([{"doc_id": 0, "target": "4", "resps": [[-3.5]], "filtered_resps": [-3.5]}], "responses are neither texts nor scores of choices"),
    "all of it NaN": ([line | {"filtered_resps": [[float("nan"), False]] * 4} for line in CHOICES["words by index"]], "none of its 40 answers can be used: has a log-likelihood that is NaN"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_log_that_cannot_be_read_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    content, reason = REFUSED[case]
    path = tmp_path / "samples.jsonl"
    text = content if isinstance(content, str) else FORMS["lines"](content)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert reason in refused(path)


def test_what_is_no_log(tmp_path: Path) -> None:
    pickle = tmp_path / "m.pkl"
    pickle.write_bytes(b"\x80\x04N.")
    assert "is a pickle, which can run code" in refused(pickle)
    assert "not readable" in refused(tmp_path / "missing.jsonl") and "not readable" in refused(tmp_path)
    one = written(tmp_path / "a/samples_t.jsonl", CHOICES["words by index"])
    other = written(tmp_path / "b/samples_t.jsonl", CHOICES["words by index"])
    assert "model b, but" in refused(one, other), "two models are two logs"
    for wrong in ((), ("",), (7,)):
        with pytest.raises(ValueError, match="give the path of a log"):
            vouch.from_log(*wrong)  # type: ignore[arg-type]


# lm-evaluation-harness and lmms-eval: generated texts


PROMPT = "Which bird is it?\nA. heron\nB. crane\nC. stork\nAnswer with the option's letter."


def generated(doc_id: int, texts: list[str], target: str, **more: Any) -> Line:
    return {
        "doc_id": doc_id,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"A. x\nB. y\n\n{PROMPT}", "arg_1": {"until": []}}},
        "resps": [texts],
        "filtered_resps": texts[:1],
        "filter": "none",
        **more,
    }


def test_texts_are_read_by_our_reader_and_the_harness_answer_stays_beside(tmp_path: Path) -> None:
    texts = ["B", "It is the crane.", "I cannot tell.", "(A)", "The answer is C."]
    lines = [generated(n, [text], "B", exact_match=float(text == "B")) for n, text in enumerate(texts)]
    log = vouch.from_log(written(tmp_path / "samples_birds.jsonl", lines))
    assert log.readings == [1, 1, None, 0, 2] and log.options[0] == ("heron", "crane", "stork")
    assert log.answers.tolist() == [1] * 5 and log.correct.tolist() == [1, 1, 0, 0, 0]
    assert log.differing == ["1"] and log.score == 0.2 and log.filtered == {"none": texts}
    with pytest.raises(ValueError, match="holds texts and no probabilities; only multiple_choice tasks log"):
        vouch.prediction_sets(log.logits, log.answers)
    with pytest.raises(ValueError, match="holds texts and no probabilities"):
        vouch.prediction_sets(log, log.answers)
    with pytest.raises(ValueError, match="has one text for each question; samples need repeats"):
        log.samples  # noqa: B018


def test_filters_and_repeats_are_samples(tmp_path: Path) -> None:
    """Self-consistency: 64 responses to each question, scored under three filters."""
    lines = []
    for name, filtered, score in (("score-first", "7", 0.0), ("maj@64", "8", 1.0), ("maj@8", "7", 0.0)):
        for doc_id in range(3):
            texts = [f"The answer is {7 + (number > 20)}." for number in range(64)]
            line = generated(doc_id, texts, "x #### 8", filter=name, exact_match=score)
            lines.append(
                line
                | {
                    "filtered_resps": [filtered],
                    "arguments": {"gen_args_0": {"arg_0": "Q: How many?", "arg_1": {}}},
                }
            )
    log = vouch.from_log(written(tmp_path / "samples_gsm8k.jsonl", lines))
    assert log.rows == 3 and log.filtered == {
        "score-first": ["7"] * 3,
        "maj@64": ["8"] * 3,
        "maj@8": ["7"] * 3,
    }
    assert {name: scores.tolist() for name, scores in log.scores.items()} == {
        "exact_match,score-first": [0] * 3, "exact_match,maj@64": [1] * 3, "exact_match,maj@8": [0] * 3
    }  # fmt: skip
    assert [len(each) for each in log.samples.texts] == [64] * 3 and log.samples.correct is None
    assert vouch.semantic_entropy(log.samples.texts).shape == (3,)
    assert log.correct.tolist() == [0] * 3, "an open question has the score of the first filter"
    with pytest.raises(ValueError, match="3 of 3 answers have no options with a known correct one"):
        log.answers  # noqa: B018


def test_samples_of_questions_with_options_have_verdicts(tmp_path: Path) -> None:
    lines = [generated(n, ["B", "crane", "A", "?"] * 4, "B") for n in range(20)]
    drawn = vouch.from_log(written(tmp_path / "samples_birds.jsonl", lines)).samples
    assert drawn.answers[0][:4] == ["B", "B", "A", "none"] and drawn.correct
    assert drawn.correct[0][:4] == [True, True, False, False]
    assert vouch.sampled_sets(drawn.answers, drawn.correct, groups=drawn.groups).unreached.value == 0


LMMS = {
    "of 2026: no document, one response flat": {"filtered_resps": "B", "input": PROMPT},
    "a response beside what was stripped": {"resps": ["<think>A?</think>B"], "filtered_resps": "B", "input": PROMPT},
    "a list of one": {"resps": [["B"]], "filtered_resps": ["B"], "input": PROMPT},
    "of 2024: with document and arguments": {"doc": {"options": ["heron", "crane"]}, "arguments": [[PROMPT, {}]], "resps": [["B"]], "filtered_resps": ["B"]},
}  # fmt: skip


@pytest.mark.parametrize("case", LMMS)
def test_lines_of_lmms_eval(case: str, tmp_path: Path) -> None:
    score = {"question_id": "1", "category": "x", "answer": "B", "parsed_pred": "B"}
    lines = [
        {"doc_id": n, "target": "AB"[n % 2], **LMMS[case], "mmmu_acc": score | {"answer": "AB"[n % 2]}}
        for n in range(4)
    ]
    log = vouch.from_log(written(tmp_path / "m/20260102_030405_samples_mmmu_val.jsonl", lines))
    assert (log.harness, log.task, log.model) == ("lmms-eval", "mmmu_val", "m")
    assert log.correct.tolist() == [0, 1, 0, 1] and log.score == 0.5 and not log.differing


def test_forms_of_lmms_eval(tmp_path: Path) -> None:
    """Yes and no without options, scores of choices without their texts, the file of version 0.1, filters."""
    score = {"question_id": "1", "category": "x", "score": 1.0}
    lines = [
        {"doc_id": n, "target": "Yes", "filtered_resps": "yes.", "input": "Is it?", "mme_score": score}
        for n in range(2)
    ]
    log = vouch.from_log(written(tmp_path / "20260102_030405_samples_mme.jsonl", lines))
    assert log.options[0] == ("Yes", "No") and log.readings == [0, 0] and log.score == 1 and not log.differing
    inline = {"filtered_resps": "B.", "input": "Which? (A) one (B) two"}
    lines = [{"doc_id": n, "target": "BD"[n], **inline} for n in range(2)]
    log = vouch.from_log(written(tmp_path / "20260102_030405_samples_inline.jsonl", lines))
    assert log.options[0] == ("A", "B", "C", "D"), "letters are read without texts"
    assert log.correct.tolist() == [1, 0]
    pairs = [[-3.0, False], [-0.2, True]]
    lines = [
        {"doc_id": n, "target": "B", "filtered_resps": pairs, "input": "?", "acc": 1.0} for n in range(2)
    ]
    log = vouch.from_log(written(tmp_path / "20260102_030405_samples_x.jsonl", lines))
    assert log.logits.tolist() == [[-3.0, -0.2]] * 2 and log.answers.tolist() == [1, 1]
    first = tmp_path / "x.json"
    first.write_text(json.dumps({"args": {}, "logs": [generated(n, ["B"], "B") for n in range(2)]}, indent=4))
    assert vouch.from_log(first).readings == [1, 1]
    twice = [generated(n, ["B"], "B") for n in (0, 1)] * 2
    twice = [{key: line[key] for key in line.keys() - {"filter"}} for line in twice]
    assert vouch.from_log(written(tmp_path / "y.jsonl", twice)).filtered == {"1": ["B", "B"], "2": ["B", "B"]}
    assert "doc_id 0 occurs 2 times, others 1" in refused(written(tmp_path / "z.jsonl", twice[:3]))


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
    assert len(codes) == 2 and all(code.count("\n") == 3 for code in codes)


# Inspect


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
    as_json = tmp_path / "birds.json"
    as_json.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples}))
    assert (vouch.from_log(as_json).logits == log.logits).all()


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
    assert vouch.from_log(path).answers.tolist() == [1]


# VLMEvalKit


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
