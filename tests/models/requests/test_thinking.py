"""Models that think before they answer: real ones of random weights, whose thought ends with one of their words."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.models.engines import (
    alone,
    answered,
    ids_of,
    letters_of,
    packs_of,
    plain_logits,
    question,
    refusal,
    shared,
    text_of,
    written,
)
from tests.models.project import MODEL, Project, quiz
from tests.refusals import refused
from vouch.models.chat.chat import with_variables
from vouch.models.config import ExtractConfig
from vouch.models.engine import Answered, Decoding, Pack, Question, TextAnswer
from vouch.models.requests import DatasetRequests, Session
from vouch.models.responses import restore
from vouch.models.thinking import Thinking
from vouch.tables.answered import Reasoning, pin_path, read_pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

BUDGET = 24


@cache
def said(folder: Path) -> dict[str, TextAnswer]:
    """What the model says of its own accord to some questions."""
    asked = [replace(one, labels=(), max_tokens=BUDGET, decodings=(Decoding(),)) for one in questions()]
    return {one: text_of(answer) for (one, *_), answer in alone(shared(folder), TEXT, asked).items()}


def questions() -> list[Question]:
    return [question(number, 3 + number) for number in range(6)]


@cache
def closing(folder: Path) -> str:
    """A word that ends some thoughts and not others."""
    return ending([answer.text for answer in said(folder).values()])


def ending(texts: Sequence[str]) -> str:
    words = [set(text.split()) for text in texts]
    shared_by = {word: sum(word in own for own in words) for own in words for word in own}
    return min(
        word
        for word, count in shared_by.items()
        if 2 <= count < len(words) and word.isalpha() and sum(word in other for other in shared_by) == 1
    )


def plainly(thought: str | None) -> list[str]:
    """The words of a thought without special tokens, of which it keeps the names."""
    return [word for word in (thought or "").split() if not word.startswith("<")]


def thinking(folder: Path, **changes: Any) -> Thinking:
    given = {"tokens": BUDGET, "closes": closing(folder), **changes}
    return Thinking(shared(folder), Reasoning(**given))


def test_letters_are_those_after_the_thought(tiny: Path) -> None:
    """transformers' own logits of the whole conversation, the thought written out."""
    closes, engine = closing(tiny), thinking(tiny)
    found = alone(engine, LETTERS, questions())
    thought = {name: answer.text.split() for name, answer in said(tiny).items()}
    checked = 0
    for one in questions():
        words = thought[one.id]
        if closes in words:
            thought_of = letters_of(found[one.id]).reasoning
            assert plainly(thought_of) == words[: words.index(closes)]
            logits = plain_logits(tiny, f"{written(one)} {thought_of} {closes}", one.images)[-1]
            assert letters_of(found[one.id]).logits == pytest.approx(
                logits[ids_of(tiny, one.labels)], abs=1e-4
            )
            checked += 1
        elif said(tiny)[one.id].eos is None:
            assert refusal(found[one.id]) == f"no answer within the {BUDGET} tokens of its thought"
            assert plainly(found[one.id].answer.reasoning) == words
        else:
            plain = alone(shared(tiny), LETTERS, [one])[one.id]
            assert letters_of(found[one.id]) == letters_of(plain), "without a thought it is asked as ever"
    counts = engine.notes["reasoning"]
    assert counts["thoughts"] == checked >= 2 and sum(counts.values()) == len(questions())


def test_a_text_is_what_follows_the_thought_and_so_are_its_numbers(tiny: Path) -> None:
    closes = closing(tiny)
    decodings = (Decoding(), Decoding(1.5, 1, 7), Decoding(1.5, 2, 8))
    asked = [replace(one, labels=(), max_tokens=3, decodings=decodings) for one in questions()]
    found = alone(thinking(tiny), TEXT, asked)
    assert len(found) == len(asked) * len(decodings)
    whole = [
        one.answer for one in found.values() if isinstance(one.answer, TextAnswer) and one.answer.reasoning
    ]
    assert len({answer.reasoning for answer in whole}) > len(asked) // 2, "every sample has its own thought"
    for one in asked:
        answer = found[one.id, 0.0, 0].answer
        if not isinstance(answer, TextAnswer) or answer.reasoning is None:
            continue
        begun = f"{answer.reasoning} {closes}".strip()
        plain = replace(one, response=begun, decodings=(Decoding(),))
        again = text_of(alone(shared(tiny), TEXT, [plain])[one.id, 0.0, 0])
        assert answer.text == again.text
        assert answer.logprobs == pytest.approx(again.logprobs, abs=1e-5)
        assert closes not in answer.text.split()[:1] or len(answer.logprobs) <= 3


def test_likelihoods_come_after_the_thought_and_thoughts_are_shared(tiny: Path) -> None:
    engine = thinking(tiny)
    (first, *_) = [pack for pack in packs_of(LIKELIHOOD) if len(pack) > 1]
    answers = answered(engine, LIKELIHOOD, [first])
    letters = [replace(one, options=(), labels="AB") for one in first]
    again = answered(engine, LETTERS, [letters])
    assert {name: one.answer.reasoning for name, one in answers.items()} == {
        name: one.answer.reasoning for name, one in again.items()
    }
    twice = [replace(one, id=f"{one.id} again") for one in letters]
    before = sum(engine.notes["reasoning"].values())
    answered(engine, LETTERS, [letters, twice])
    assert sum(engine.notes["reasoning"].values()) == before + len(letters), "one thought for both"


def test_what_closes_a_thought_may_be_of_several_tokens(tiny: Path) -> None:
    """The thought goes on past the first of them alone."""
    one = next(one for one in questions() if said(tiny)[one.id].eos is None)
    words = (alone(thinking(tiny, closes="nosuch"), LETTERS, [one])[one.id].answer.reasoning or "").split()
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    at = next(n for n, pair in enumerate(pairs) if n and "<" not in pair and pair not in pairs[:n])
    found = letters_of(alone(thinking(tiny, closes=pairs[at]), LETTERS, [one])[one.id])
    assert (found.reasoning or "").split() == words[:at]
    logits = plain_logits(tiny, f"{written(one)} {found.reasoning} {pairs[at]}", one.images)[-1]
    assert found.logits == pytest.approx(logits[ids_of(tiny, one.labels)], abs=1e-4)


def test_extract_keeps_thoughts_and_takes_them_back(project: Project) -> None:
    """Through the stages: one more column, the same bytes from the work cache, and back into it."""
    outputs = (LETTERS, TEXT)
    project.ask(*quiz(4, outputs=outputs))
    project.params["extract"]["max_tokens"] = BUDGET
    project.pin()
    project.extract()
    assert all("reasoning" not in project.rows(output)[0] for output in OUTPUTS if project.rows(output))
    project.entry["reasoning"] = {
        "tokens": BUDGET,
        "closes": ending([row["text"] for row in project.rows(TEXT)]),
    }
    project.pin()
    asked = project.extract().measured["answers"]
    assert asked["asked"] == 8, "another model, all of it asked anew"
    rows = project.rows(LETTERS) + project.rows(TEXT)
    assert any(row["reasoning"] and row["problem"] is None for row in rows)
    tables = project.bytes()
    assert project.extract().measured["answers"]["asked"] == 0
    assert project.bytes() == tables
    for shard in project.shards():
        shard.unlink()
    config = ExtractConfig.model_validate(project.params["extract"])
    assert restore(DatasetRequests(Session(read_pin(pin_path(MODEL)), config), "quiz")) == 8
    assert project.extract().measured["answers"]["asked"] == 0
    assert project.bytes() == tables


def test_a_template_gets_its_variables(tiny: Path) -> None:
    from vouch.models.chat.chat import ChatTemplate, messages

    class Processor:
        chat_template = "{{ 'think' if enable_thinking else 'go' }}{{ messages[0]['content'][0]['text'] }}"
        tokenizer: Any = type("T", (), {"special_tokens_map": {}})

    one = messages(Question("q", None, "Which?"))[0]
    for value, expected in ((True, "thinkWhich?"), (False, "goWhich?")):
        text = with_variables(Processor, None, {"enable_thinking": value})
        assert ChatTemplate(Processor, text, False).render(one) == expected
    assert with_variables(Processor, None, {}) is None
    with refused("template reads no thinking; correct template_kwargs"):
        with_variables(Processor, None, {"thinking": False})


class Recording:
    """An engine that answers everything alike and keeps the decodings that it was asked for."""

    device = "cpu"

    def __init__(self) -> None:
        self.notes: dict[str, Any] = {}
        self.decodings: list[Decoding] = []

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        for pack in packs:
            for one in pack.questions:
                self.decodings += one.decodings
                text = TextAnswer("so</think>", [0.0], [0.0], 0, stopped=bool(one.stop))
                yield from (Answered(one.id, text, decoding) for decoding in one.decodings)


def test_a_sample_draws_other_random_numbers_than_its_thought() -> None:
    engine, sampled = Recording(), Decoding(1.0, 1, seed=7)
    question = Question("q", None, "Which?", max_tokens=3, decodings=(sampled,))
    thinking = Thinking(engine, Reasoning(tokens=5, closes="</think>"))
    (answer,) = thinking.answer([Pack("text", [question])])
    thought, again = engine.decodings
    assert (thought, answer.decoding) == (sampled, sampled) and again.seed != sampled.seed
