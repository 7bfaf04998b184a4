"""Generated texts joined with their prompts and items, with their tokens and the confidence that they state.

`text_blocks` refuses what does not fit together. `Tokens` holds the log-likelihood and entropy of every token
as flat arrays. `stated` reads verbalised confidence (Tian et al. 2023, Xiong et al. 2024): only texts to
prompts of a template or variant called `verbalised` are read so, because elsewhere a percentage may be the
answer. The stated confidence is removed from the text before anything else reads it.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.metrics.join import AGAIN, Aligned, VariationPrompts, aligned, cells, lengths, refuse
from vouch.metrics.responses import Bools, Ints
from vouch.metrics.text.numbers import number
from vouch.metrics.text.reader.options import Choices
from vouch.pipeline.errors import UserError
from vouch.tables.asked import KEPT, STATED_LIKELIHOODS, TEXT, VERBALISED, read_as
from vouch.tables.thoughts import apart

_NUMBER = re.compile(
    r"(?<!\d)(?<!\d[.,/:^\u2013-])(?<!\d\s[\u2013-]\s)(?<!\d\sto\s)(?<!\d\sand\s)(?<!\s[-\u2212<>])(?P<share>\d{1,3}(?:[.,]\d{1,6})?|\.\d{1,6})"
    r"(?:\s?(?P<percent>%|\uff05|percent\b|per cent\b)"
    r"|\s?(?:/|(?:out\s)?of|in)\s?(?P<whole>\d{1,3})(?![\d%/]))?"
    r"(?![\d/]|[.,:]\d|\s?(?:[-\u2013]|to\s|and\s)\s?\d)",
    re.IGNORECASE,
)
"""`80 %`, `.8`, `8/10`, `8 out of 10`; no part of a range, a date or a longer number."""
_SCALE = re.compile(
    r"\d{1,3}\s?(?:-|\u2013|to)\s?(\d{1,3})\b(?=[^\w\n]{0,6}$)"
    r"|\bscale\D{0,12}\d{1,3}\s?(?:-|\u2013|to)\s?(?P<named>\d{1,3})\b",
    re.IGNORECASE,
)
_LEAD = re.compile(r"(?:(?:\b(?:my|with|and|the|i am|i'm|a|at)\s+|[*_\"']+)+)$", re.IGNORECASE)
_HEDGE = re.compile(
    r"(?:\b(?:about|approximately|around|roughly|nearly|almost)|[~\u2248])\s*$", re.IGNORECASE
)
_SURE_AT_END = re.compile(
    r"\s?(?:confident|confidence|certain|certainty|sure|probability|likelihood|chance)\W*$", re.IGNORECASE
)
_LABEL = re.compile(
    r"(?<!\w)(?:confidence|confident|certainty|certain|probability|likelihood)\b([^\d\n;]{0,60})$",
    re.IGNORECASE,
)
_SCALE_BEHIND = re.compile(
    r"\s?(?:,\s)?on (?:a|the) scale\D{0,12}\d{1,3}\s?(?:-|\u2013|to)\s?(\d{1,3})\b\W*", re.IGNORECASE
)
_IS_ANSWER = re.compile(r"\banswer\s?(?:is|:|=)[\s*]{0,4}(?:about |approximately )?$", re.IGNORECASE)
_SURE = re.compile(
    r"\s?(?:confident|confidence|certain|certainty|sure)\b"
    r"|\s?(?:chance|probability|likelihood|likely)\b[^.\n]{0,40}?\b(?:answer|correct|right|it is|it's)\b",
    re.IGNORECASE,
)
_UNSURE = r"(?:uncertain|unsure|doubt|wrong|incorrect|error|mistake)"
_UNSURE_BEFORE = re.compile(rf"\b{_UNSURE}\w*[^\d.,;\n]{{0,30}}$", re.IGNORECASE)
_UNSURE_AFTER = re.compile(
    rf"[^\w.,;\n]{{0,3}}{_UNSURE}|\W?(?:chance|risk|probability|likelihood|likely)\b[^.,\n]{{0,30}}\b{_UNSURE}",
    re.IGNORECASE,
)
_SAID = """is are was of in on at the a my this that it i am m d s level scale score rating value
percentage from about approximately around roughly nearly almost only very overall estimated say be high
medium low moderate"""
_LINKS = frozenset(_SAID.split())
_OURS = frozenset(("answer", "answers", "correct", "right", "choice", "option", "true"))
_AROUND, _NEAR, _LONGEST_LEAD, _MOST = 120, 60, 20, 500
_SET_OFF = (",", ";", ":", "(", "[", "|", "\n", " -", " \u2013", " \u2014")
_BEFORE = " \t\n,;:-([|\u2013\u2014"
_RANK_LABELLED, _RANK_SURE, _RANK_ASIDE = 3, 2, 1


def asking_likelihoods(prompts: pa.Table) -> pa.Table:
    """The prompts whose template or variant asks for the likelihood of every option (likelihoods.py)."""
    names = prompts["template"].to_pylist()
    return prompts.filter(pa.array([read_as(name) == STATED_LIKELIHOODS for name in names], pa.bool_()))


def stated(text: str) -> tuple[str, float | None]:
    """The text without its confidence, and that as a share; or the unchanged text and None. The confidence in
    a thought is ignored."""
    given, text = text, apart(text).answer
    last = len(text.rstrip(" \t\n.)]*|!"))
    numbers = deque(_NUMBER.finditer(text), maxlen=_MOST)
    finds = [found for match in numbers if (found := _found(text, match, last))]
    if not finds:
        return given, None
    _, begin, end, share = max(finds)
    before, after = _HEDGE.sub("", text[:begin]).rstrip(_BEFORE), text[end:].lstrip(" \t)]*|")
    if not after.strip(" \t\n."):
        return before.strip(), share
    if not before:
        return after.removeprefix(".").strip(" \t\n;,"), share
    return f"{before}{'' if after[0] in '.,;' else ' '}{after}".strip(), share


def _found(text: str, match: re.Match[str], last: int) -> tuple[int, int, int, float] | None:
    """How plainly a number states a confidence, where that begins and ends, and the share; None if it
    states none. last: the end of the text, where a confidence is expected if it was asked for."""
    begin, end = match.span()
    before, after = text[max(0, begin - _AROUND) : begin], text[end : end + _NEAR]
    if _UNSURE_BEFORE.search(before) or _UNSURE_AFTER.match(after):
        return None
    scale, behind = _SCALE.search(before), _SCALE_BEHIND.match(after)
    share = _share(match, behind[1] if behind else scale[1] or scale["named"] if scale else None)
    end, after = (end + behind.end(), after[behind.end() :]) if behind else (end, after)
    if share is None:
        return None
    label = _LABEL.search(_SCALE.sub("", before))
    if label and _of_the_answer(label[1]):
        return _RANK_LABELLED, begin - len(before) + _start(before[: label.start()]), end, share
    if _IS_ANSWER.search(before) and not _SURE.match(after):
        return None
    plain = match["percent"] or match["whole"] or match["share"].startswith((".", "0."))
    apart = (
        not before.strip() or before.rstrip(" \t*").endswith(_SET_OFF) or before.endswith(("- ", "\u2013 "))
    )
    if end >= last and (plain or apart):
        return _RANK_LABELLED, begin, end, share
    if plain and len(after) < _NEAR and _SURE_AT_END.match(after):
        return _RANK_SURE, begin - len(before) + _start(before), len(text), share
    if plain and _SURE.match(after):
        return _RANK_SURE, begin, end, share
    return (_RANK_ASIDE, begin, end, share) if plain and apart and after[:1] in ",;.)\n" else None


def _share(match: re.Match[str], scale: str | None) -> float | None:
    """The share that a number states. scale: the number for certain, unless `%` or `of 10` says it."""
    value = number(match["share"])
    if value is None:
        return None
    whole = match["whole"] or (None if match["percent"] else scale)
    if whole is not None:
        value = value / float(whole) if float(whole) else 2.0
    elif match["percent"] or value > 1:
        value /= 100
    return value if value <= 1 else None


def _of_the_answer(gap: str) -> bool:
    """Whether the words between `probability` and a number concern only the answer."""
    words = set(re.findall(r"[^\W\d_]+", gap.lower()))
    return words <= _LINKS or bool(words & _OURS)


def _start(before: str) -> int:
    """The start of the words that lead to a label: `my`, `with`, asterisks."""
    lead = _LEAD.search(before[-_LONGEST_LEAD:])
    return len(before) - len(lead.group() if lead else "")


Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Tokens:
    """n texts; text i has the counts[i] values from starts[i] on.

    ended [n]: whether one more value follows, for the token that ends the sequence.

    nll      negative log-likelihood of each token, nats
    entropy  of the full vocabulary before each token, 0 ... 1; NaN if unknown
    """

    nll: Numbers
    entropy: Numbers
    starts: Ints
    counts: Ints
    ended: Bools

    def with_end(self) -> "Tokens":
        """The same with the token that ends the sequence counted as one of the text."""
        return replace(self, counts=self.counts + self.ended, ended=np.zeros_like(self.ended))

    def first(self, values: Numbers) -> Numbers:
        """[n] the value at the first token; NaN if there is none."""
        return self._at(values, self.starts)

    def last(self, values: Numbers) -> Numbers:
        """[n] the value at the last token; NaN if there is none."""
        return self._at(values, self.starts + self.counts - 1)

    def largest(self, values: Numbers) -> Numbers:
        """[n] the largest value; NaN if there is none."""
        return self._reduced(np.maximum, values)

    def mean(self, values: Numbers) -> Numbers:
        """[n] the mean; NaN if there is no token."""
        return self._reduced(np.add, values) / np.maximum(self.counts, 1)

    def _at(self, values: Numbers, places: Ints) -> Numbers:
        taken = np.full(len(self.counts), np.nan)
        some = self.counts > 0
        taken[some] = values[places[some]]
        return taken

    def _reduced(self, reduce: np.ufunc, values: Numbers) -> Numbers:
        reduced = np.full(len(self.counts), np.nan)
        some = np.flatnonzero(self.counts)
        if len(some):
            # Every second part is the gap between one text and the next.
            ends = self.starts[some] + self.counts[some]
            edges = np.stack([self.starts[some], ends], axis=1).ravel()
            reduced[some] = reduce.reduceat(np.append(values, 0.0), edges)[::2]
        return reduced


@dataclass(frozen=True)
class TextQuestion:
    """The question that a text answers.

    choices: the options as shown, None for an open question. order: for each its index among the item's
    options. answers: positions of the correct ones; native: the item's own, which a variation may have
    flipped into wrong ones. references: correct texts of an open question, asked: that question.
    """

    choices: Choices | None
    order: tuple[int, ...]
    answers: frozenset[int]
    native: frozenset[int]
    references: tuple[str, ...]
    asked: str = ""


@dataclass(frozen=True)
class TextBlock:
    """The n answered prompts of one variation in the order of the items.

    samples: by temperature, the texts sampled for each row, empty if there are none. stated [n]: the
    confidence that a text states, NaN if it states none, None if no text was asked for it; texts and
    samples are without it. numbers, defective [n]: as groups and defective of VariationPrompts.
    """

    output: ClassVar[str] = TEXT
    variation: str
    asked: VariationPrompts
    prompts: list[str]
    items: list[str]
    groups: list[str]
    effects: list[str]
    questions: list[TextQuestion]
    texts: list[str]
    tokens: Tokens
    samples: Mapping[float, Sequence[Sequence[str]]]
    stated: Numbers | None = None

    @property
    def numbers(self) -> Ints:
        """[n] number of the row's group."""
        return self.asked.groups[self.asked.answered]

    @property
    def defective(self) -> Bools:
        """[n] whether cleaning found a defect."""
        return self.asked.defective[self.asked.answered]


def text_blocks(
    texts: pa.Table, prompts: pa.Table, items: pa.Table, where: str, released: bool
) -> Iterator[TextBlock]:
    """One block per variation that has texts. A row with a problem is an unanswered prompt.

    Raises UserError as `join` does, and for a row that holds neither a text nor a problem.
    """
    greedy = texts.filter(pc.equal(texts["temperature"], 0))
    sampled = texts.filter(pc.and_(pc.greater(texts["temperature"], 0), pc.is_valid(texts["text"])))
    samples = _samples(sampled)
    for variation, rows in aligned(greedy, prompts, items, where, TEXT, released):
        answered = np.asarray(pc.is_null(rows.answers["problem"]))
        nothing = answered & np.asarray(pc.is_null(rows.answers["text"]))
        refuse(nothing, rows.prompts["id"], lambda _: f"has neither a text nor a problem; {AGAIN}", where)
        yield _block(variation, rows, answered, samples, where)


def _samples(texts: pa.Table) -> dict[float, dict[str, list[str]]]:
    """By temperature and prompt: the texts in the order of their sample numbers."""
    samples: dict[float, dict[str, list[str]]] = {}
    columns = (texts[name].to_pylist() for name in ("temperature", "prompt", "sample", "text"))
    for temperature, prompt, _, text in sorted(zip(*columns, strict=True)):
        samples.setdefault(temperature, {}).setdefault(prompt, []).append(text)
    return samples


def _block(
    variation: str,
    found: Aligned,
    answered: Bools,
    samples: Mapping[float, Mapping[str, list[str]]],
    where: str,
) -> TextBlock:
    mask = pa.array(answered)
    answers, prompts, items = (part.filter(mask) for part in (found.answers, found.prompts, found.items))
    names, texts = prompts["id"].to_pylist(), answers["text"].to_pylist()
    asked = [read_as(name) == VERBALISED for name in prompts["template"].to_pylist()]
    apart = [stated(text) if asks else (text, None) for text, asks in zip(texts, asked, strict=True)]
    with_it = {name for name, asks in zip(names, asked, strict=True) if asks}
    return TextBlock(
        variation,
        found.asked(answered),
        names,
        prompts["item"].to_pylist(),
        found.groups[answered].tolist(),
        prompts["effect"].to_pylist(),
        _questions(prompts, items, where),
        [text for text, _ in apart],
        _tokens(answers),
        {
            temperature: [_plainly(of_prompt.get(name, []), name in with_it) for name in names]
            for temperature, of_prompt in samples.items()
            if not of_prompt.keys().isdisjoint(names)
        },
        np.array([share for _, share in apart], dtype=np.float64) if with_it else None,
    )


def _plainly(texts: list[str], stating: bool) -> list[str]:
    return [stated(text)[0] for text in texts] if stating else texts


def _questions(prompts: pa.Table, items: pa.Table, where: str) -> list[TextQuestion]:
    columns = [
        prompts[name].to_pylist() for name in ("id", "options", "order", "labels", "answers", "effect")
    ]
    columns += [items[name].to_pylist() for name in ("kind", "answers", "references", "question")]
    questions = []
    for name, options, order, labels, answers, effect, kind, native, references, asked in zip(
        *columns, strict=True
    ):
        if kind != "choice":
            known = tuple(references or ())
            questions.append(TextQuestion(None, (), frozenset(), frozenset(), known, asked or ""))
            continue
        if not options or not answers:
            raise UserError(
                f"{where}: prompt {name} has no answer among its options; correct the dataset's answers"
            )
        own = frozenset(index_shown for index_shown, index in enumerate(order) if index in set(native or ()))
        choices = choices_of(labels, options, effect, asked)
        questions.append(TextQuestion(choices, tuple(order), frozenset(answers), own, ()))
    return questions


def choices_of(
    labels: Sequence[str], options: Sequence[str], effect: str | None, asked: str | None
) -> Choices:
    """Options as shown, with the item's question, which is left out if the variation changes the answer."""
    return Choices(tuple(labels), tuple(options), (asked if effect == KEPT else "") or "")


def _tokens(answers: pa.Table) -> Tokens:
    """The tokens' log-likelihoods and entropies; a number that is not finite counts as unknown."""
    counts = lengths(answers["logprobs"])
    starts = np.cumsum(counts) - counts
    nll = -_floats(answers["logprobs"])
    entropy = np.full(len(nll), np.nan)
    row, column, values = cells(answers["entropies"])
    fitting = (lengths(answers["entropies"]) == counts)[row]
    entropy[starts[row[fitting]] + column[fitting]] = values[fitting]
    eos = pc.fill_null(answers["eos"], -1).to_numpy()
    ended = (eos >= 0) & (eos < counts)
    return Tokens(
        np.where(np.isfinite(nll), nll, np.nan),
        np.where(np.isfinite(entropy), entropy, np.nan),
        starts,
        np.where(ended, eos, counts),
        ended,
    )


def _floats(lists: pa.ChunkedArray) -> Numbers:
    return np.asarray(cells(lists)[2], dtype=np.float64)
