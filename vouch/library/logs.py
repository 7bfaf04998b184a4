"""Logs of evaluation harnesses, read without the harness: `from_log` gives arrays for the other functions.

A reader of one harness (`lm_eval_logs`, `inspect_logs`, `vlmevalkit_logs`) turns a file into records, one for
each answer that the harness scored. Here they become a `Log`, which is checked against the harness's score.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from vouch.library import check, inspect_logs, lm_eval_logs, vlmevalkit_logs
from vouch.library.estimates import Estimate, Result, mean_of
from vouch.library.records import Record, Records, chosen, is_judged, own_score, reading, verdict
from vouch.pipeline.errors import UserError


class Samples(NamedTuple):
    """Several answers to each of m questions, as `sampled_sets` and `semantic_entropy` take them.

    ids, groups: [m]. texts: [m][S] as generated. answers: [m][S] what each says: the option's letter, what
    the harness read, or else the text. correct: [m][S], None if the log does not say which samples are.
    """

    ids: list[str]
    groups: list[str]
    texts: list[list[str]]
    answers: list[list[str]]
    correct: list[list[bool]] | None


@dataclass(frozen=True, repr=False)
class Log(Result):
    """A log of n answers, as arrays in the order of the log.

    rows, questions   n, and how many questions they answer
    ids               [n] the question's name; with its number, if it was answered more than once
    groups            [n] what must not be split, for the argument `groups`
    logits            [n, k] a row per answer, -inf at its end if it has fewer options than others
    answers           [n] index of the correct option; a mask [n, k] if some question has several
    options, targets  [n] texts of the options; the correct answer as the log writes it
    texts, readings   [n] the generated text; index of the option that our reader finds in it, or None
    filtered          [n] what the harness read, by its filter or scorer
    scores            [n] the harness's scores by name, NaN where it gave none
    correct           [n] 1 or 0: by the logits, by the reading or, for open questions, the harness's score
    accuracy          the mean of `correct`, with its interval over groups
    score             the mean of the harness's first score over its answers; None if it gave none
    differing         ids of the answers that our logits or readings score otherwise than the harness
    left_out          answers that are in no array, by id, with the reason
    remark            what limits the log as a whole, as a run that did not finish; else empty
    samples           several answers to each question, if there are any

    What a log does not hold raises ValueError in one line when it is asked for.
    """

    harness: str
    source: str
    task: str
    model: str
    rows: int
    questions: int
    accuracy: Estimate | None
    score: float | None
    score_name: str
    ids: list[str] = field(compare=False)
    groups: list[str] = field(compare=False)
    differing: list[str] = field(compare=False)
    left_out: Mapping[str, str] = field(compare=False)
    readings: list[int | None] = field(compare=False)
    _records: Sequence[Record] = field(compare=False)
    _correct: Any = field(compare=False)
    _no_logits: str = ""
    remark: str = ""

    def __repr__(self) -> str:
        holds = "logits" if self._has_logits else "texts"
        accuracy = f"correct {self.accuracy!r}" if self.accuracy else "correct unknown"
        own = (
            "none of its own" if self.score is None else f"{self.score:.4g} by {self.score_name or 'itself'}"
        )
        out = f"; {len(self.left_out)} left out" if self.left_out else ""
        return (
            f"Log({self.harness} {self.task or Path(self.source).name}, model {self.model or 'unknown'}: "
            f"{self.rows} answers to {self.questions} questions, {holds}; {accuracy}, the log: {own}, "
            f"{len(self.differing)} differ{out}{'; ' if self.remark else ''}{self.remark})"
        )

    @property
    def _rows(self) -> Iterator[tuple[str, Record]]:
        return zip(self.ids, self._records, strict=True)

    @property
    def _has_logits(self) -> bool:
        return bool(self._records[0].logits)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """A log is several arrays. Raises NoArray."""
        if not self._has_logits:
            raise check.NoArray(self._no_probabilities())
        raise check.NoArray("is a log; give its arrays, as log.logits, log.answers, groups=log.groups")

    @cached_property
    def logits(self) -> Any:
        """[n, k] float64. Raises ValueError if the log holds texts alone."""
        if not self._has_logits:
            raise ValueError(self._no_probabilities())
        width = max(len(record.logits) for record in self._records)
        return np.array(
            [[*record.logits, *[-np.inf] * (width - len(record.logits))] for record in self._records]
        )

    def _no_probabilities(self) -> str:
        why = next((f" ({id} {one.problem})" for id, one in self._rows if one.problem), "")
        return f"{self.source}: holds texts and no probabilities{why}; {self._no_logits}"

    @cached_property
    def answers(self) -> Any:
        """[n] int64, or [n, k] bool. Raises ValueError if an answer is to an open question."""
        open_questions = [id for id, record in self._rows if not record.correct]
        if open_questions:
            raise ValueError(
                f"{self.source}: {len(open_questions)} of {self.rows} answers have no options with a known "
                f"correct one, {open_questions[0]} first; use .correct"
            )
        if all(len(record.correct) == 1 for record in self._records):
            return np.array([min(record.correct) for record in self._records], dtype=np.int64)
        width = max(max(len(record.logits), len(record.options)) for record in self._records)
        return np.array([[each in record.correct for each in range(width)] for record in self._records])

    @property
    def correct(self) -> Any:
        """[n] float64. Raises ValueError if nothing says which answers are correct."""
        unknown = np.flatnonzero(np.isnan(self._correct))
        if len(unknown):
            raise ValueError(
                f"{self.source}: nothing says whether {len(unknown)} of {self.rows} answers are correct, "
                f"{self.ids[unknown[0]]} first; score them with the harness, or use .texts"
            )
        return self._correct

    @property
    def options(self) -> list[tuple[str, ...]]:
        """[n] texts of the options, empty if unknown."""
        return [record.options for record in self._records]

    @property
    def targets(self) -> list[str]:
        """[n] the correct answer as the log writes it."""
        return [record.target for record in self._records]

    @property
    def texts(self) -> list[str]:
        """[n] the generated texts. Raises ValueError if the log has only scores of options."""
        if not any(record.texts for record in self._records):
            raise ValueError(f"{self.source}: holds scores of options and no generated texts; use .logits")
        return [record.texts[0] if record.texts else "" for record in self._records]

    @property
    def filtered(self) -> dict[str, list[str]]:
        """[n] by filter or scorer, what the harness read."""
        names = dict.fromkeys(chain.from_iterable(record.filtered for record in self._records))
        return {name: [record.filtered.get(name, "") for record in self._records] for name in names}

    @property
    def scores(self) -> dict[str, Any]:
        """[n] by name, the harness's scores."""
        names = dict.fromkeys(chain.from_iterable(record.scores for record in self._records))
        return {
            name: np.array([record.scores.get(name, np.nan) for record in self._records]) for name in names
        }

    @cached_property
    def samples(self) -> Samples:
        """Several answers to each question. Raises ValueError if each has one."""
        of: dict[str, list[int]] = {}
        for row, record in enumerate(self._records):
            of.setdefault(record.question, []).append(row)
        drawn = {
            name: [(row, text) for row in rows for text in self._records[row].texts]
            for name, rows in of.items()
        }
        if not any(len(each) > 1 for each in drawn.values()):
            raise ValueError(f"{self.source}: has one text for each question; samples need repeats or epochs")
        answered = {
            name: [self._sample(row, text, len(self._records[row].texts) > 1) for row, text in each]
            for name, each in drawn.items()
        }
        verdicts = [[correct for _, correct in each] for each in answered.values()]
        known = [[bool(correct) for correct in each if correct is not None] for each in verdicts]
        return Samples(
            list(of),
            [self._records[rows[0]].group for rows in of.values()],
            [[text for _, text in each] for each in drawn.values()],
            [[answer for answer, _ in each] for each in answered.values()],
            known if known == verdicts else None,
        )

    def _sample(self, row: int, text: str, several: bool) -> tuple[str, bool | None]:
        """What a sample answers, and whether that is correct. several: whether its record has others."""
        record = self._records[row]
        if record.correct and record.options:
            option = reading(record, text)
            return "none" if option is None else ascii_uppercase[option], option in record.correct
        read_by = next(iter(record.filtered.values()), text)
        score = next(iter(record.scores.values()), np.nan)
        return (text, None) if several else (read_by, None if np.isnan(score) else bool(score == 1))


def from_log(*paths: str | Path, targets: str = "") -> Log:
    """A log of lm-evaluation-harness, lmms-eval, Inspect or VLMEvalKit as a `Log`; no harness is imported.

    paths: one file, or those of several tasks of one model and harness. Files are samples_*.jsonl (written
    with --log_samples), *.eval and *.json of Inspect, and VLMEvalKit's predictions (xlsx, tsv, csv, json),
    whose `_result`, `_auxmatch` and `_acc` files are found beside them. targets: `index` or `text` says how
    lm-evaluation-harness writes the targets of choices, if the log's own score leaves that open; of other
    logs it is refused.

    Log-likelihoods of options and log-probabilities of the letters become `logits`; a generated text is read
    by `read_answer`'s reader. Raises ValueError in one line, which names the file and the line or sample.
    """
    if not paths or not all(isinstance(path, str | Path) and str(path) for path in paths):
        raise ValueError(f"paths is {check.shown(paths)}; give the path of a log")
    if targets not in ("", "index", "text"):
        raise ValueError(f"targets is {check.shown(targets)}; give 'index' or 'text'")
    read_files = [_records(Path(path), targets) for path in paths]
    files = [os.path.realpath(path) for path in paths]
    if again := next((path for n, path in enumerate(paths) if files[n] in files[:n]), None):
        raise ValueError(f"{again}: is given twice; give each file once")
    source = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    return _log(source, _joined(read_files, [str(path) for path in paths]))


def _records(path: Path, targets: str) -> Records:
    """The records of one file. Raises ValueError."""
    where = str(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ValueError(f"{where}: not readable ({error!s:.120})") from None
    if path.suffix.lower() in (".pkl", ".pickle"):
        raise ValueError(f"{where}: is a pickle, which can run code; give the log as xlsx, tsv, csv or json")
    if not data.strip():
        raise ValueError(f"{where}: is empty; the run wrote nothing")
    try:
        return _read(path, data, targets)
    except UserError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError(f"{where}: nested too deep; correct the file") from None


def _read(path: Path, data: bytes, targets: str) -> Records:
    """By the reader that the name and the first bytes call for. Raises UserError."""
    suffix = path.suffix.lower()
    if inspect_logs.is_inspect(suffix, data):
        records = inspect_logs.records(path, data)
    elif suffix in vlmevalkit_logs.TABLES or (suffix == ".json" and vlmevalkit_logs.is_table(data)):
        records = vlmevalkit_logs.records(path, data)
    else:
        return lm_eval_logs.records(path, data, targets)
    if targets:
        raise UserError(
            f"{path}: is of {records.harness}, but targets is for lm-evaluation-harness; leave it out"
        )
    return records


def _joined(files: Sequence[Records], names: Sequence[str]) -> Records:
    """The records of several tasks as those of one; a name that two tasks use gets that of its task."""
    first = files[0]
    for each, name in zip(files[1:], names[1:], strict=True):
        for what in ("harness", "model", "circular"):
            ours, theirs = getattr(first, what), getattr(each, what)
            if ours != theirs:
                raise ValueError(
                    f"{name}: {what} {theirs}, but {names[0]} {what} {ours}; read each by itself"
                )
    if len(files) == 1:
        return first
    tasks = [each.task or name for each, name in zip(files, names, strict=True)]
    if len(set(tasks)) < len(tasks):
        tasks = list(names)
    records = [
        replace(one, question=f"{task}:{one.question}", group=_own_group(one, task))
        for each, task in zip(files, tasks, strict=True)
        for one in each.records
    ]
    remarks = [f"{name}: {each.remark}" for each, name in zip(files, names, strict=True) if each.remark]
    return first._replace(
        task=", ".join(tasks)[:200], records=records, reported=None, remark="; ".join(remarks)
    )


def _own_group(record: Record, task: str) -> str:
    """A document that two tasks share keeps its group; what is named after the question is the task's own."""
    return f"{task}:{record.group}" if record.group == record.question else record.group


def _log(source: str, given: Records) -> Log:
    kept, left_out = _kept(source, given)
    ids, records = [id for id, _ in kept], [record for _, record in kept]
    verdicts = [verdict(record) for record in records]
    correct = np.array([np.nan if each is None else each for each in verdicts])
    own, judged = np.array(list(map(own_score, records))), np.array(list(map(is_judged, records)))
    names, groups = [record.question for record in records], [record.group for record in records]
    ours = _by_question(correct, names) if given.circular else correct
    off = judged & (np.abs(own - ours) > 1e-9)  # False if the harness gave no score, which is NaN
    return Log(
        harness=given.harness,
        source=source,
        task=given.task,
        model=given.model,
        rows=len(records),
        questions=len(set(names)),
        accuracy=None if None in verdicts else mean_of(correct, check.groups(groups, len(groups))),
        score=_mean(given),
        score_name=next(iter(next((record.scores for record in records if record.scores), {})), ""),
        ids=ids,
        groups=groups,
        differing=[id for id, each in zip(ids, off.tolist(), strict=True) if each],
        left_out=left_out,
        readings=[None if record.logits else chosen(record) for record in records],
        _records=records,
        _correct=correct,
        _no_logits=given.no_logits,
        remark=given.remark,
    )


def _kept(source: str, given: Records) -> tuple[list[tuple[str, Record]], dict[str, str]]:
    """The records that are in the arrays, with their ids, and why the others are not. Raises ValueError."""
    if not given.records:
        raise ValueError(f"{source}: holds no samples; run the harness with its log of samples")
    has_logits = any(record.logits for record in given.records)
    scored = any(verdict(record) is not None for record in given.records)
    kept, left_out = [], {}
    for id, record in _named(given.records):
        problem = _problem(record, has_logits)
        if not problem and scored and verdict(record) is None:
            problem = "nothing says whether it is correct"
        if problem:
            left_out[id] = problem
        else:
            kept.append((id, record))
    if not kept:
        reason = Counter(left_out.values()).most_common(1)[0][0]
        raise ValueError(f"{source}: none of its {len(left_out)} answers can be used: {reason}")
    return kept, left_out


def _mean(given: Records) -> float | None:
    """The mean of the harness's score, over questions if a score is that of all copies of one."""
    scores = {
        record.question if given.circular else str(n): own_score(record)
        for n, record in enumerate(given.records)
    }
    known = [score for score in scores.values() if not np.isnan(score)]
    return float(np.mean(known)) if known else given.reported


def _named(records: Sequence[Record]) -> list[tuple[str, Record]]:
    """Each record with an id: its question's name, with a number where a question has several."""
    count, numbers = Counter(record.question for record in records), Counter[str]()
    named = []
    for record in records:
        numbers[record.question] += 1
        several = count[record.question] > 1
        named.append(
            (f"{record.question}/{numbers[record.question]}" if several else record.question, record)
        )
    return named


def _problem(record: Record, has_logits: bool) -> str:
    """Why a record is in no array; empty if it is in them."""
    if has_logits and not record.logits:
        return record.problem or "has no scores of its options"
    if has_logits and not record.correct:
        return record.problem or f"target {record.target[:40]!r} names no option"
    if len(record.logits) > check.MOST or len(record.options) > check.MOST:
        return f"has more than {check.MOST} options"
    return "" if has_logits or record.texts else record.problem or "has no answer"


def _by_question(correct: Any, names: Sequence[str]) -> Any:
    """[n] 1 if all answers to the question are correct."""
    worst: dict[str, float] = {}
    for name, each in zip(names, correct.tolist(), strict=True):
        worst[name] = min(each, worst.get(name, 1.0))
    return np.array([worst[name] for name in names])
