"""Logs of lm-evaluation-harness and lmms-eval, as these write them, through `from_log`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vouch
from tests.library.logs import Line, refused, written


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


def test_targets_that_may_be_both_are_said(tmp_path: Path) -> None:
    path = written(tmp_path / "samples.jsonl", [line | {"acc": None} for line in CHOICES["numbers by index"]])
    assert "targets may be indices or choices; say targets='index' or targets='text'" in refused(path)
    assert vouch.from_log(path, targets="index").answers.tolist()[:5] == [0, 1, 2, 3, 0]
    assert vouch.from_log(path, targets="text").answers.tolist()[:5] == [1, 2, 0, 3, 1]


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


# Generated texts


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
