"""What is asked of an engine, where its answers go, and response tables taken back into the work cache."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.models.project import DATASET, MODEL, Project, image, prompt, quiz, recipe
from tests.refusals import refused
from vouch.models.config import ExtractConfig, Sampling
from vouch.models.engine import Answered, Decoding, LetterAnswer, Pack, Question, Refusal, TextAnswer
from vouch.models.executor import Executor
from vouch.models.packs import KeyedPack, Keys, groups
from vouch.models.replies import OwnReply
from vouch.models.requests import DatasetRequests, Session, answer, write
from vouch.models.responses import restore
from vouch.models.work_cache import WorkCache, remembered, to_remember
from vouch.tables.answered import RESPONSES, pin_path, read_pin
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT

CONFIG = ExtractConfig(batch=4, bucket=8, threads=1, sampling=(Sampling(temperature=0.5, samples=2),))
NOISE, BROKEN = image(1), b"not an image"
IMAGES = {recipe(data)["images"][0]: data for data in (NOISE, BROKEN)}
TRANSIENT = Refusal("no memory", transient=True)
Answers = Callable[[Question], Iterable[Answered]]


class Told:
    """An Engine whose answers a function gives, a pack late: what it holds at the end still comes."""

    device = "cpu"

    def __init__(self, answers: Answers) -> None:
        self.notes: dict[str, Any] = {}
        self._answers = answers
        self.packs: list[Pack] = []

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        held: list[Pack] = []
        for pack in packs:
            self.packs.append(pack)
            held.append(pack)
            if len(held) > 1:
                yield from self._of(held.pop(0))
        for pack in held:
            yield from self._of(pack)

    def _of(self, pack: Pack) -> Iterator[Answered]:
        for question in reversed(pack.questions):
            yield from self._answers(question)


def normal(question: Question) -> Iterator[Answered]:
    if question.labels:
        yield Answered(question.id, LetterAnswer([float(len(question.text))]))
    for decoding in question.decodings:
        text = f"{question.text} at {decoding.temperature}, {decoding.sample}"
        yield Answered(question.id, TextAnswer(text, [-1.0], [0.5], None), decoding)


@pytest.fixture
def caches(tmp_path: Path) -> dict[str, WorkCache]:
    return {output: WorkCache(tmp_path / output / "quiz", remembered(output)) for output in OUTPUTS}


def wanted(*rows: dict[str, Any]) -> list[KeyedPack]:
    whole = [{"system": None, "response": None, "max_tokens": 5, "row": 0, **row} for row in rows]
    return [pack for group in groups(whole, {}, Keys({}, CONFIG)) for pack in group]


def ask(
    caches: dict[str, WorkCache], packs: list[KeyedPack], answers: Answers = normal
) -> tuple[Told, list[Any]]:
    """Keeps what is not transient; the engine, and all that came."""
    engine = Told(answers)
    came = []
    executor = Executor(lambda output, key: key not in caches[output], IMAGES.__getitem__, 2)
    for answered, slots in executor.ask(engine, packs):
        came.append((answered, slots))
        for slot in slots:
            if not (isinstance(answered.answer, Refusal) and answered.answer.transient):
                caches[slot.output].add(slot.key, to_remember(answered, slot.pixels, "cpu"))
    return engine, came


def test_every_answer_goes_to_its_own_key(caches: dict[str, WorkCache]) -> None:
    packs = wanted(*(prompt(f"q{n}/a", "x" * n, [NOISE], outputs=(LETTERS, TEXT)) for n in range(1, 30)))
    engine, _ = ask(caches, packs)
    assert len(engine.packs) == 58
    for pack in packs:
        for member in pack.members:
            rows = caches[pack.output].fetch(member.keys)
            text = member.prompt["text"]
            if pack.output == LETTERS:
                assert rows[0]["logits"] == [len(text)] and len(rows[0]["pixels"]) == 64
            else:
                assert [row["text"] for row in rows] == [
                    f"{text} at {one.temperature}, {one.sample}" for one in member.decodings
                ]
    again, came = ask(caches, packs)
    assert again.packs == [] and came == []


def test_equal_contents_are_asked_once_even_while_the_first_is_on_its_way(
    caches: dict[str, WorkCache],
) -> None:
    engine, came = ask(caches, wanted(*(prompt(f"q{n}/a", "who") for n in range(40))))
    assert len(engine.packs) == 1 and len(came) == 1


def test_a_pack_half_known_is_asked_whole_and_only_the_unknown_is_kept(caches: dict[str, WorkCache]) -> None:
    packs = wanted(prompt("q/a/1", "one"), prompt("q/a/2", "three"))
    known = packs[0].members[0].keys[0]
    caches[LETTERS].add(known, {"logits": [7.0]})
    engine, came = ask(caches, packs)
    assert [[one.known for one in pack.questions] for pack in engine.packs] == [[True, False]]
    assert [slot.key for _, slots in came for slot in slots] == [packs[0].members[1].keys[0]]
    assert caches[LETTERS].fetch([known])[0]["logits"] == [7.0]


def test_only_unknown_samples_are_drawn(caches: dict[str, WorkCache]) -> None:
    (pack,) = wanted(prompt("q/a", "who", outputs=[TEXT]))
    member = pack.members[0]
    caches[TEXT].add(member.keys[1], {"text": "known"})
    engine, _ = ask(caches, [pack])
    (question,) = engine.packs[0].questions
    assert question.decodings == (Decoding(), member.decodings[2])


def test_images_that_cannot_be_shown_do_not_stop_the_others(caches: dict[str, WorkCache]) -> None:
    rows = [prompt("q/a/1", "one", [NOISE]), prompt("q/a/2", "two", [BROKEN]), prompt("r/a", "six", [BROKEN])]
    packs = wanted(*rows)
    engine, came = ask(caches, packs)
    assert [[question.text for question in pack.questions] for pack in engine.packs] == [["one"]]
    assert len(came) == 3
    problems = [caches[LETTERS].fetch(member.keys)[0]["problem"] for pack in packs for member in pack.members]
    assert [bool(problem) for problem in problems] == [False, True, True]
    assert "cannot be decoded" in problems[1]
    assert ask(caches, packs)[1] == [], "a damaged image is an answer too"


def test_a_recipe_that_is_not_understood_ends_the_run(caches: dict[str, WorkCache]) -> None:
    row = prompt("q/a", "who", [NOISE])
    row["images"][0]["steps"] = [{"operation": "blurr", "severity": 3, "revision": 1}]
    with refused("operation blurr is unknown"):
        ask(caches, wanted(row))


def test_a_refused_text_is_refused_for_every_sample(caches: dict[str, WorkCache]) -> None:
    (pack,) = wanted(prompt("q/a", "who", outputs=[TEXT]))
    ask(caches, [pack], lambda question: [Answered(question.id, Refusal("too long"))])
    assert [row["problem"] for row in caches[TEXT].fetch(pack.members[0].keys)] == ["too long"] * 3


def test_what_did_not_come_is_transient_and_asked_again(caches: dict[str, WorkCache]) -> None:
    packs = wanted(*(prompt(f"q{n}/a", "x" * n, outputs=(LETTERS, TEXT)) for n in range(1, 4)))

    def some(question: Question) -> Iterator[Answered]:
        if question.text == "x":
            return
        for answered in normal(question):
            refused = question.text == "xx" and answered.decoding in (None, Decoding())
            yield replace(answered, answer=TRANSIENT) if refused else answered

    _, came = ask(caches, packs, some)
    lost = [slot for answered, slots in came if isinstance(answered.answer, Refusal) for slot in slots]
    assert len(lost) == 4 + 2
    engine, _ = ask(caches, packs)
    assert [(pack.output, pack.questions[0].text) for pack in engine.packs] == [
        (LETTERS, "x"),
        (TEXT, "x"),
        (LETTERS, "xx"),
        (TEXT, "xx"),
    ]
    assert engine.packs[3].questions[0].decodings == (Decoding(),)


def test_a_image_is_rendered_once_for_adjacent_packs(caches: dict[str, WorkCache]) -> None:
    other = image(2)
    IMAGES[recipe(other)["images"][0]] = other
    rows = [
        prompt(f"q{n}/a", "x" * n, [other if n == 3 else NOISE], outputs=(LETTERS, TEXT)) for n in range(1, 5)
    ]
    packs = wanted(*rows)
    engine, _ = ask(caches, packs)
    shown = [id(one) for pack in engine.packs for question in pack.questions for one in question.images]
    assert len(shown) == 8 and len(set(shown)) == 2
    pixels = [
        caches[pack.output].fetch(member.keys)[0]["pixels"] for pack in packs for member in pack.members
    ]
    assert len(set(pixels)) == 2 and pixels.count(pixels[0]) == 6


def asked(project: Project) -> DatasetRequests:
    config = ExtractConfig.model_validate(project.params["extract"])
    return DatasetRequests(Session(read_pin(pin_path(MODEL)), config), DATASET)


def test_an_answer_that_is_gone_from_the_work_cache_is_named(project: Project) -> None:
    project.ask(*quiz(2))
    with refused(f"{MODEL} {DATASET}: the letters of prompt q0/original are missing .*; run it again"):
        write(asked(project))


def test_what_was_written_can_be_taken_over_and_written_again(project: Project) -> None:
    project.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 2}]
    prompts, images = quiz(14, outputs=OUTPUTS)
    repeats = {"outputs": OUTPUTS, "turns": [("what", "{answer 1}")]}
    prompts += [
        prompt("long/original", "what " * 300, [images[0]], outputs=OUTPUTS),
        prompt("damaged/original", "what", [b"no image"], outputs=OUTPUTS),
        prompt("unmarked/original", "what", [images[0]], labels="", outputs=[LETTERS]),
        prompt("talk/original", "why", [images[0]], earlier=[["q3/original"]], **repeats),
        prompt("unsupported/original", "why", [images[0]], earlier=[["long/original"]], **repeats),
        prompt("unasked/original", "why", outputs=()),
    ]
    project.ask(prompts, [*images, b"no image"])
    asked_first = project.extract().measured["answers"]["asked"]
    before = project.bytes()
    assert restore(asked(project)) == 0, "all is known"
    shutil.rmtree(".vouch")
    assert restore(asked(project)) == asked_first
    shutil.rmtree("data/responses")
    run = project.extract()
    assert run.measured["answers"] == {"known": asked_first, "asked": 0} and "engine" not in run.measured
    assert project.bytes() == before


def test_rows_that_do_not_fit_are_one_line(project: Project) -> None:
    prompts, images = quiz(5, outputs=[TEXT])
    project.ask(prompts, images)
    project.extract()
    path = RESPONSES[TEXT].path(MODEL, DATASET)
    rows = project.rows(TEXT)
    for bad, reason in [
        (rows[:3], "prompt q3/original"),
        (rows[::-1], "prompt q0/original"),
        ([{**row, "engine": "transformers/1.1"} for row in rows], "prompt q0/original"),
    ]:
        shutil.rmtree(".vouch", ignore_errors=True)
        RESPONSES[TEXT].table.write(path, bad)
        with refused(rf"^{path}: not the answers of transformers/[0-9.]+ to {reason}"):
            restore(asked(project))
    path.write_bytes(path.read_bytes()[:-9])
    with refused(r"tiny\.text\.parquet: not readable"):
        restore(asked(project))
    assert not list(Path(".vouch").rglob("*.parquet"))


def test_a_text_of_another_revision_is_not_repeated(project: Project) -> None:
    prompts, images = quiz(3, outputs=[TEXT])
    talk = {"outputs": [TEXT], "turns": [("what", "{answer 1}")], "earlier": [["q1/original"]]}
    project.ask([*prompts, prompt("talk/original", "why", [images[0]], **talk)], images)
    project.extract()
    right = {row["prompt"]: row["text"] for row in project.rows(TEXT)}["q1/original"]
    rows = [
        {**row, "text": "other words", "engine": "transformers/1.1"}
        if row["prompt"] == "q1/original"
        else row
        for row in project.rows(TEXT)
    ]
    RESPONSES[TEXT].table.write(RESPONSES[TEXT].path(MODEL, DATASET), rows)
    shutil.rmtree(".vouch")
    dataset = asked(project)
    with refused("nothing further is taken"):
        restore(dataset)
    assert dataset.replies == {}
    answer(dataset, lambda answers, total, label: answers)
    assert dataset.replies == {"q1/original": OwnReply(right)}
