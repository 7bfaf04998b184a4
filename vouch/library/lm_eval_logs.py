"""Logs of samples of lm-evaluation-harness and lmms-eval (--log_samples), as records.

A line is an answer under one filter: doc_id, target, resps, filtered_resps and metrics; lm-evaluation-harness
adds doc, arguments and the filter's name, lmms-eval the prompt (`input`). Lines of one doc_id are one record.

A target is a text, whatever it was: an index of the choices, one of them, or a list. Which of the two a task
means follows from the log's own score, since a target `2` may be both.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

from vouch.library.records import Record, Records
from vouch.models.released.objects import behind_question, is_pair, number_of, objects
from vouch.pipeline.errors import UserError

Line = Mapping[str, Any]
NOT_METRICS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "input"),
    *("doc_hash", "prompt_hash", "target_hash", "token_counts", "input_media", "schedule"),
}
FIRST = ("acc", "exact_match", "acc_norm", "score")
"""Metrics that count first, in this order."""
MOST_CONTRADICTED = 0.05
"""The most answers that a reading of the targets may score otherwise than the log, as a share."""
_FILE = re.compile(r"^(?:\d{8}_\d{6}_)?samples_(.*?)(?:_\d{4}-\d\d-\d\dT[\d.:-]+)?(?:\.jsonl?|\.gz)+$")
_OPTION = re.compile(r"^[ \t]*\(?([A-Z])[.):][ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_LETTER = re.compile(r"\(?([A-Z])\)?[.:]?", re.IGNORECASE)
NO_LOGITS = "only multiple_choice tasks log the log-likelihoods of their choices"


class LoggedChoices(NamedTuple):
    """A sample's choices: log-likelihoods, their texts, and whether these were contexts of one text."""

    scores: tuple[float, ...]
    texts: tuple[str, ...]
    by_context: bool


def records(path: Path, data: bytes, targets: str) -> Records:
    """The records of a log. targets: `index`, `text`, or empty if the log's own score decides."""
    where = str(path)
    lines = list(objects(data, where))
    if not any("doc_id" in values for _, values in lines[:1]):
        held = ", ".join(lines[0][1])[:120] if lines else "nothing"
        raise UserError(
            f"{where}: no log of lm-evaluation-harness, lmms-eval, Inspect or VLMEvalKit; it holds {held}. "
            "A table of scores is for `vouch compare` and vouch.compare_scores"
        )
    documents = _documents(lines, where)
    firsts = [next(iter(filters.values())) for filters in documents.values()]
    choices = [_choices(values, f"{where}: doc_id {values['doc_id']}") for values in firsts]
    kinds = {choice is not None for choice, values in zip(choices, firsts, strict=True) if _answered(values)}
    if len(kinds) > 1:
        raise UserError(f"{where}: holds texts and scores of choices; read one task at a time")
    if True in kinds:
        made = _scored(choices, list(documents.values()), where, targets)
    elif targets:
        raise UserError(f"{where}: holds texts, but targets is for log-likelihoods of choices; leave it out")
    else:
        made = _generated(list(documents.values()), where)
    named = _FILE.match(path.name)
    flat = path.name[:8].isdecimal() or any("input" in values for values in firsts)
    harness = "lmms-eval" if flat else "lm-evaluation-harness"
    model = path.absolute().parent.name if named else ""
    return Records(harness, named[1] if named else path.stem, model, made, NO_LOGITS)


def _documents(lines: Iterable[tuple[str, Line]], where: str) -> dict[str, dict[str, Line]]:
    """The lines of each doc_id by filter. lmms-eval names no filter: its lines are numbered."""
    documents: dict[str, dict[str, Line]] = {}
    first: dict[tuple[str, str], str] = {}
    numbered = False
    for location, values in lines:
        doc_id, name = values.get("doc_id"), values.get("filter")
        if isinstance(doc_id, bool) or not isinstance(doc_id, int | str):
            raise UserError(f"{where} {location}: doc_id is {str(doc_id)[:40]!r}; correct the line")
        filters = documents.setdefault(str(doc_id), {})
        key = str(name) if isinstance(name, str) else str(len(filters) + 1)
        numbered = numbered or not isinstance(name, str)
        if first.setdefault((str(doc_id), key), location) != location:
            raise UserError(
                f"{where} {location}: doc_id {doc_id} duplicates {first[str(doc_id), key]}; keep one"
            )
        filters[key] = values
    sizes = {len(filters) for filters in documents.values()}
    if numbered and len(sizes) > 1:
        doc_id = next(name for name, filters in documents.items() if len(filters) > min(sizes))
        raise UserError(f"{where}: doc_id {doc_id} occurs {max(sizes)} times, others {min(sizes)}; keep one")
    return documents


def _answered(values: Line) -> bool:
    return bool(values.get("filtered_resps") or values.get("resps"))


def _choices(values: Line, where: str) -> LoggedChoices | None:
    """The scores of a sample's choices; None if it holds texts. Raises UserError."""
    given = values.get("filtered_resps")
    pairs = given if isinstance(given, list) else []
    if not pairs or not all(map(is_pair, pairs)):
        pairs = _raw_pairs(values.get("resps"))
        if not pairs:
            return None
    pairs = behind_question(values, pairs)
    requests = _requests(values)[: len(pairs)]
    scores = [number_of(pair[0]) for pair in pairs]
    if any(score is None for score in scores):
        raise UserError(f"{where}: log-likelihood {str(pairs[scores.index(None)][0])[:40]!r} is no number")
    contexts = [request[0] for request in requests]
    texts = [request[1] for request in requests]
    by_context = len(texts) > 1 and len(set(texts)) == 1 and len(set(contexts)) > 1
    shown = contexts if by_context else [text.strip() for text in texts]
    return LoggedChoices(
        tuple(score for score in scores if score is not None),
        tuple(shown) if len(shown) == len(scores) else (),
        by_context,
    )


def _raw_pairs(given: Any) -> list[Any]:
    """The pairs of unfiltered responses: [[pair], ...], or [pair, ...] of some; empty if they are none."""
    raw = given if isinstance(given, list) else []
    pairs = (
        raw
        if len(raw) > 1 and all(map(is_pair, raw))
        else [each[0] for each in raw if isinstance(each, list) and each]
    )
    return (
        pairs
        if len(pairs) == len(raw) and all(is_pair(each) and number_of(each[0]) is not None for each in pairs)
        else []
    )


def _requests(values: Line) -> list[tuple[str, str]]:
    """Context and continuation of each request. To version 0.4.2 they are a list of pairs, then a mapping."""
    given = values.get("arguments")
    every = list(given.values()) if isinstance(given, dict) else given if isinstance(given, list) else []
    pairs = [list(each.values()) if isinstance(each, dict) else each for each in every]
    return [
        (str(each[0]), each[1] if isinstance(each[1], str) else "")
        for each in pairs
        if isinstance(each, list) and len(each) > 1
    ]


def _scored(
    choices: Sequence[LoggedChoices | None], documents: Sequence[Mapping[str, Line]], where: str, targets: str
) -> list[Record]:
    """Records of a multiple_choice task."""
    lines = [next(iter(filters.values())) for filters in documents]
    correct = _correct(choices, lines, where, targets)
    made = []
    for choice, filters, values, right in zip(choices, documents, lines, correct, strict=True):
        common = _common(values, filters)
        if choice is None:
            made.append(Record(**common, problem="has no scores of its choices"))
            continue
        finite = any(math.isfinite(score) for score in choice.scores)
        sound = finite and not any(math.isnan(score) for score in choice.scores)
        # -inf stands for an option that is not there, and last: an impossible one among others is very small
        logits = tuple(score if score > -math.inf else -1e9 for score in choice.scores) if sound else ()
        problem = "" if sound else "has a log-likelihood that is NaN, or none that is finite"
        made.append(Record(**common, logits=logits, options=choice.texts, correct=right, problem=problem))
    return made


def _correct(
    choices: Sequence[LoggedChoices | None], lines: Sequence[Line], where: str, targets: str
) -> list[frozenset[int]]:
    """[n] the correct choices, by the reading of the targets that the log's own score allows."""
    readings = []
    for kind in [targets] if targets else ["index", "text"]:
        answers = [
            frozenset() if choice is None else _target(values, choice, kind)
            for choice, values in zip(choices, lines, strict=True)
        ]
        against = [
            index
            for index, (choice, values, right) in enumerate(zip(choices, lines, answers, strict=True))
            if choice and right and not _agrees(choice, values, right)
        ]
        known = sum(map(bool, answers))
        readings.append((len(against) > MOST_CONTRADICTED * known, len(against), -known, answers, against))
    readings.sort(key=lambda each: each[:3])
    barred, *_, answers, against = readings[0]
    if not any(answers):
        target = str(lines[0].get("target"))[:60]
        raise UserError(f"{where}: no target names a choice; doc_id {lines[0]['doc_id']} has {target!r}")
    if barred:
        raise UserError(
            f"{where}: doc_id {lines[against[0]]['doc_id']}: no choice fits target and acc, like "
            f"{len(against)} of {len(lines)}; correct the log, or say targets='index' or 'text'"
        )
    if any(each[:3] == readings[0][:3] and each[3] != answers for each in readings[1:]):
        raise UserError(f"{where}: targets may be indices or choices; say targets='index' or targets='text'")
    return answers


def _target(values: Line, choice: LoggedChoices, kind: str) -> frozenset[int]:
    """The choices that a target names, indices before texts or after them; empty if it names none."""
    if choice.by_context:  # the target is what all of them are followed by
        return _by_score(values, choice)
    target = str(values.get("target", "")).strip()
    several = _listed(target)
    indices = [_one(str(each).strip(), choice, kind) for each in several] if several else []
    if indices and None not in indices:
        return frozenset(each for each in indices if each is not None)
    one = _one(target, choice, kind)
    return frozenset() if one is None else frozenset([one])


def _listed(text: str) -> list[Any]:
    """The elements of a list that was written as a text."""
    if not (text.startswith("[") and text.endswith("]")):
        return []
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _one(target: str, choice: LoggedChoices, kind: str) -> int | None:
    count = len(choice.scores)
    letter = _LETTER.fullmatch(target)
    by_text = [choice.texts.index(target)] if target in choice.texts else []
    if not choice.texts and letter:  # lmms-eval logs no choices: they are the letters
        by_text = [ascii_uppercase.index(letter[1].upper())]
    by_index = [int(target)] if target.isascii() and target.isdecimal() and len(target) < 4 else []
    order = by_index + by_text if kind == "index" else by_text + by_index
    return next((each for each in order if each < count), None)


def _by_score(values: Line, choice: LoggedChoices) -> frozenset[int]:
    """The correct one of several contexts: the chosen one if the log scores 1, of two else the other."""
    score, chosen = _own(values, choice)
    if score == 1:
        return frozenset([chosen])
    return frozenset([1 - chosen]) if score == 0 and len(choice.scores) == 2 else frozenset()


def _own(values: Line, choice: LoggedChoices) -> tuple[float | None, int]:
    """The log's own score of a sample, and the choice by its rule: by sum, per character or per byte."""
    sizes: Mapping[str, Callable[[str], int]] = {
        "acc": lambda text: 1,
        "acc_norm": len,
        "acc_bytes": lambda text: len(text.encode("utf-8", "replace")),
    }
    texts = choice.texts or ("",) * len(choice.scores)
    for metric, size in sizes.items():
        score = _score(values.get(metric))
        if score is not None and not math.isnan(score) and (choice.texts or metric == "acc"):
            ranked = [each / max(size(text), 1) for each, text in zip(choice.scores, texts, strict=True)]
            return score, ranked.index(max(ranked))
    return None, choice.scores.index(max(choice.scores))


def _agrees(choice: LoggedChoices, values: Line, correct: frozenset[int]) -> bool:
    score, chosen = _own(values, choice)
    known = score is not None and not any(map(math.isnan, choice.scores))
    return not known or score == float(chosen in correct)


def _common(values: Line, filters: Mapping[str, Line]) -> dict[str, Any]:
    """What records of both kinds have."""
    doc_id, target = str(values["doc_id"]), values.get("target", "")
    document = values.get("doc_hash")
    return {
        "question": doc_id,
        "group": document if isinstance(document, str) and document else doc_id,
        "target": str(target),
        "scores": _scores(filters),
    }


def _scores(filters: Mapping[str, Line]) -> dict[str, float]:
    """The scores of a document, as `acc,none`: by metric and filter, those that count first before others."""
    scores = {
        (metric, name): score
        for name, values in filters.items()
        for metric, value in values.items()
        if metric not in NOT_METRICS and (score := _score(value)) is not None
    }

    def rank(key: tuple[str, str]) -> int:
        return FIRST.index(key[0]) if key[0] in FIRST else len(FIRST)

    return {",".join(key): scores[key] for key in sorted(scores, key=rank)}


def _score(value: Any) -> float | None:
    """A score: a number, or of lmms-eval a mapping with a score, or with an answer and what was read."""
    if isinstance(value, dict):
        if isinstance(value.get("score"), int | float):
            return float(value["score"])
        read = next((value[key] for key in ("parsed_pred", "pred_answer", "pred") if key in value), None)
        answer = next((value[key] for key in ("answer", "target", "gt_ans") if key in value), None)
        both = isinstance(read, str | int) and isinstance(answer, str | int)
        return float(str(read).strip().lower() == str(answer).strip().lower()) if both else None
    return float(value) if isinstance(value, int | float) else None


def _generated(documents: Sequence[Mapping[str, Line]], where: str) -> list[Record]:
    """Records of a task whose answers are texts."""
    lines = [next(iter(filters.values())) for filters in documents]
    targets = [str(values.get("target", "")).strip() for values in lines]
    common = _common_options(targets)
    made = []
    for filters, values, target in zip(documents, lines, targets, strict=True):
        here = f"{where}: doc_id {values['doc_id']}"
        asked = _prompt(values)
        options = options_of(asked) or _of_document(values.get("doc"))
        if not (named := _named(target, options)):
            options, named = common, _named(target, common)
        texts = _texts(values, here)
        made.append(
            Record(
                **_common(values, filters),
                options=options if named else (),
                correct=named,
                texts=texts,
                asked=asked[-2000:],
                filtered={name: _filtered(one.get("filtered_resps")) for name, one in filters.items()},
                problem="" if texts else "has no response",
            )
        )
    return made


def _common_options(targets: Sequence[str]) -> tuple[str, ...]:
    """The options of a log whose prompts list none: yes and no, or letters; empty if targets are others."""
    if {target.lower() for target in targets} <= {"yes", "no"}:
        return ("Yes", "No")
    letters = [target.upper() for target in targets if re.fullmatch("[A-Za-z]", target)]
    most = ascii_uppercase.index(max(letters)) + 1 if len(letters) == len(targets) else 0
    return tuple(ascii_uppercase[: max(most, 2)]) if most else ()


def _prompt(values: Line) -> str:
    """The text of the prompt; that of chat messages without their JSON."""
    requests = _requests(values)
    text = requests[0][0] if requests else values.get("input", "")
    if isinstance(text, str) and text.startswith('[{"'):
        try:
            text = "\n".join(_content(each.get("content", "")) for each in json.loads(text))
        except (ValueError, AttributeError, RecursionError):
            return text
    return text if isinstance(text, str) else ""


def _content(given: Any) -> str:
    """The text of a message, whose content may be a list of parts."""
    parts = given if isinstance(given, list) else [{"text": given}]
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def options_of(prompt: str) -> tuple[str, ...]:
    """The texts behind A, B, ... that a prompt lists last, one a line; empty if it lists fewer than two."""
    options: list[str] = []
    for letter, text in _OPTION.findall(prompt):
        if letter == "A":
            options = [text]
        elif options and len(options) < 26 and letter == ascii_uppercase[len(options)]:
            options.append(text)
    return tuple(options) if len(options) > 1 else ()


def _of_document(doc: Any) -> tuple[str, ...]:
    """The choices of a document, in the forms of most datasets."""
    if not isinstance(doc, dict):
        return ()
    given = doc.get("choices", doc.get("options"))
    if isinstance(given, dict):
        given = given.get("text")
    if isinstance(given, str):
        given = _listed(given)
    if not isinstance(given, list):
        given = [doc[letter] for letter in ascii_uppercase if isinstance(doc.get(letter), str)]
    return tuple(map(str, given)) if len(given) > 1 else ()


def _named(target: str, options: Sequence[str]) -> frozenset[int]:
    """The option that a target names by its letter, text or index; empty if it names none."""
    letter = _LETTER.fullmatch(target)
    if letter and letter[1].upper() in ascii_uppercase[: len(options)]:
        return frozenset([ascii_uppercase.index(letter[1].upper())])
    plain = [option.strip().casefold() for option in options]
    if plain.count(target.casefold()) == 1:
        return frozenset([plain.index(target.casefold())])
    if target.isascii() and target.isdecimal() and len(target) < 4 and int(target) < len(options):
        return frozenset([int(target)])
    return frozenset()


def _texts(values: Line, where: str) -> tuple[str, ...]:
    """All responses to a question, in the order of their repeats."""
    given = values.get("resps", values.get("filtered_resps"))
    flat: list[Any] = []
    stack = [given]
    while stack:
        each = stack.pop()
        if isinstance(each, list):
            stack.extend(reversed(each))
        else:
            flat.append(each)
    texts = [each for each in flat if isinstance(each, str)]
    if any(isinstance(each, dict | int | float) and not isinstance(each, bool) for each in flat):
        raise UserError(f"{where}: responses are neither texts nor scores of choices; read another task")
    return tuple(texts)


def _filtered(given: Any) -> str:
    """What a filter makes of the responses: one text, or several as a list."""
    while isinstance(given, list) and len(given) == 1:
        given = given[0]
    return given if isinstance(given, str) else "" if given is None else str(given)
