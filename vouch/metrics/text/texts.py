"""Generated texts joined with their prompts and items; what does not fit together is refused here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.join import AGAIN, Aligned, Asked, aligned, refuse
from vouch.metrics.lists import cells, lengths
from vouch.metrics.responses import Bools, Ints
from vouch.metrics.text.parsers.marks import Choices
from vouch.metrics.text.stated import asks_confidence, stated
from vouch.metrics.text.tokens import Numbers, Tokens
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import KEPT, TEXT


@dataclass(frozen=True)
class Question:
    """What a text answers.

    choices: the options as shown, None for an open question. order: for each its index among the item's
    options. answers: places of the correct ones; native: of the item's own, which a variation may have
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

    samples: by temperature, the texts sampled for each row, empty where there are none. stated [n]: the
    confidence that a text states, NaN where it states none, None where no text was asked for it; texts and
    samples are without it. numbers, defective [n]: as groups and defective of Asked.
    """

    output: ClassVar[str] = TEXT
    variation: str
    asked: Asked
    prompts: list[str]
    items: list[str]
    groups: list[str]
    effects: list[str]
    questions: list[Question]
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
    for variation, found in aligned(greedy, prompts, items, where, TEXT, released):
        answered = np.asarray(pc.is_null(found.answers["problem"]))
        nothing = answered & np.asarray(pc.is_null(found.answers["text"]))
        refuse(nothing, found.prompts["id"], lambda _: f"has neither a text nor a problem; {AGAIN}", where)
        yield _block(variation, found, answered, samples, where)


def _samples(texts: pa.Table) -> dict[float, dict[str, list[str]]]:
    """By temperature and prompt, the texts in the order of their numbers."""
    found: dict[float, dict[str, list[str]]] = {}
    columns = (texts[name].to_pylist() for name in ("temperature", "prompt", "sample", "text"))
    for temperature, prompt, _, text in sorted(zip(*columns, strict=True)):
        found.setdefault(temperature, {}).setdefault(prompt, []).append(text)
    return found


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
    asked = [asks_confidence(name) for name in prompts["template"].to_pylist()]
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


def _questions(prompts: pa.Table, items: pa.Table, where: str) -> list[Question]:
    columns = [prompts[name].to_pylist() for name in ("id", "options", "order", "marks", "answers", "effect")]
    columns += [items[name].to_pylist() for name in ("kind", "answers", "references", "question")]
    questions = []
    for name, options, order, marks, answers, effect, kind, native, references, asked in zip(
        *columns, strict=True
    ):
        if kind != "choice":
            known = tuple(references or ())
            questions.append(Question(None, (), frozenset(), frozenset(), known, asked or ""))
            continue
        if not options or not answers:
            raise UserError(
                f"{where}: prompt {name} has no answer among its options; correct the dataset's answers"
            )
        own = frozenset(place for place, index in enumerate(order) if index in set(native or ()))
        choices = choices_of(marks, options, effect, asked)
        questions.append(Question(choices, tuple(order), frozenset(answers), own, ()))
    return questions


def choices_of(
    marks: Sequence[str], options: Sequence[str], effect: str | None, asked: str | None
) -> Choices:
    """Options as shown, with the item's question; a variation that turns the answer asks something else."""
    return Choices(tuple(marks), tuple(options), (asked if effect == KEPT else "") or "")


def _tokens(answers: pa.Table) -> Tokens:
    """What is known of the tokens; a number that is not finite counts as unknown."""
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
