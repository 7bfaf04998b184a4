"""An engine whose model thinks before it answers.

Each decoding of a text, and each question about letters or options, is asked twice: for a thought, up to its
closing tag or text, and then for the answer after it, as if the model had begun its answer with the thought.
So an answer's numbers are those of the answer only, and letters are read after the thought. Prompts of one
window share greedy thoughts. A thought that is cut short by its budget leaves the question without an answer;
a model that ends its text without a thought is asked again without one.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from vouch.models.engine import Answered, Decoding, Engine, Pack, Question, Refusal, TextAnswer
from vouch.tables.answered import Reasoning
from vouch.tables.asked import TEXT

WINDOW = 64  # packs whose thoughts come before their answers
_GREEDY = Decoding()
_ANSWER_SEED = 0x9E3779B97F4A7C15  # so that an answer draws other random numbers than its thought
_NOTHING = Refusal("the engine gave no thought", transient=True)

_Thoughts = Mapping[tuple[Hashable, Decoding], TextAnswer | Refusal]
_Asked = dict[str, tuple[str, Decoding | None, str | None]]  # id -> question, decoding, its thought


class Thinking:
    """An Engine around another, see engine.py."""

    def __init__(self, engine: Engine, reasoning: Reasoning) -> None:
        self._engine, self._reasoning = engine, reasoning
        self.device = engine.device
        self.notes: dict[str, Any] = {}
        self._counts = {"thoughts": 0, "over_budget": 0, "none": 0}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        waiting = iter(packs)
        while window := list(islice(waiting, WINDOW)):
            thoughts = self._thoughts(window)
            refused: list[Answered] = []
            asked: _Asked = {}
            again = [one for pack in window for one in self._after(pack, thoughts, refused, asked)]
            yield from refused
            for one in self._engine.answer(again):
                question, decoding, thought = asked[one.question]
                answer = replace(one.answer, reasoning=thought)
                yield replace(one, question=question, decoding=decoding, answer=answer)
            self.notes.update(self._engine.notes, reasoning=self._counts)

    def _thoughts(self, packs: Iterable[Pack]) -> _Thoughts:
        """The thought about every question and decoding, each asked once."""
        wanted = {
            (_content(question), decoding): question
            for pack in packs
            for question in pack.questions
            for decoding in (question.decodings if pack.output == TEXT else (_GREEDY,))
        }
        by_name = {f"thought {number} of {one.id}": key for number, (key, one) in enumerate(wanted.items())}
        asked = (Pack(TEXT, [self._thought(name, wanted[key], key[1])]) for name, key in by_name.items())
        thoughts: dict[tuple[Hashable, Decoding], TextAnswer | Refusal] = {}
        for one in self._engine.answer(asked):
            assert isinstance(one.answer, TextAnswer | Refusal)
            thoughts[by_name[one.question]] = one.answer
        for thought in thoughts.values():
            if isinstance(thought, TextAnswer):
                ended = "thoughts" if thought.stopped else "over_budget" if thought.eos is None else "none"
                self._counts[ended] += 1
        return thoughts

    def _thought(self, name: str, question: Question, decoding: Decoding) -> Question:
        return replace(
            question,
            id=name,
            response=None,
            labels=(),
            options=(),
            max_tokens=self._reasoning.tokens,
            decodings=(decoding,),
            stop=self._reasoning.ends,
        )

    def _after(
        self, pack: Pack, thoughts: _Thoughts, refused: list[Answered], asked: _Asked
    ) -> Iterator[Pack]:
        """The packs of the second round; questions that have no answer go to `refused`."""
        whole: list[Question] = []
        for question in pack.questions:
            for decoding in question.decodings if pack.output == TEXT else (None,):
                thought = thoughts.get((_content(question), decoding or _GREEDY), _NOTHING)
                if isinstance(thought, TextAnswer) and thought.eos is None:
                    problem = f"no answer within the {self._reasoning.tokens} tokens of its thought"
                    thought = Refusal(problem, reasoning=self._reasoning.bare(thought.text))
                if isinstance(thought, Refusal):
                    refused.append(Answered(question.id, thought, decoding))
                    continue
                name, (kept, begun) = f"{question.id}, {len(asked)}", self._closed(thought)
                asked[name] = question.id, decoding, kept
                again = replace(question, id=name, thought=begun)
                if decoding is None:
                    whole.append(again)
                else:
                    seeded = replace(decoding, seed=decoding.seed ^ _ANSWER_SEED)
                    yield Pack(TEXT, [replace(again, decodings=(seeded,))])
        if whole:
            yield Pack(pack.output, whole)

    def _closed(self, thought: TextAnswer) -> tuple[str | None, str]:
        """The bare thought, and the whole text before the answer; None and empty without a thought."""
        if not thought.stopped:
            return None, ""
        before, _, _ = thought.text.partition(self._reasoning.ends)
        return self._reasoning.bare(before), before + self._reasoning.closes.lstrip()


def _content(question: Question) -> Hashable:
    """Everything that a thought depends on; images by identity, because the packs of an item share them."""
    shown = tuple(map(id, question.images))
    return question.system, question.text, tuple(question.turns), shown
