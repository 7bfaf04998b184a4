"""Lessons as tokens and tensors: which positions count, and that training sees what the pipeline will ask."""

import random
from dataclasses import replace

import pytest
import torch

from tests.demo.test_training import tiny
from vouch.demo.families import FAMILIES, Family, build_model
from vouch.demo.lessons import (
    CHOOSE,
    IGNORED,
    NAME,
    READ,
    Images,
    Phase,
    draw_lesson,
    draw_options,
    draw_system,
    pack,
)
from vouch.demo.scenes.questions import Question
from vouch.demo.scenes.scene import Pair, draw_pair, draw_scene, render, render_pair
from vouch.demo.training import Examination
from vouch.demo.writing import BY_LETTER, EXTRAS, KOSTUMOV, OTHER_FORMS, Example, Form, Writer

LINES = ["The star is big", "Where is the red star?"]
OPTIONS = ["top left", "red circle", "three", *EXTRAS]
ASKED = (
    "The star is big\nWhere is the red star?\nA. top left\nB. red circle\nC. three\nD. I don’t know\n"
    "E. None of the above\nAnswer with the option's letter from the given choices directly."
)


@pytest.fixture(scope="module")
def processor():
    return FAMILIES["llava"].build_processor()


@pytest.fixture(scope="module")
def writer(processor) -> Writer:
    return Writer(processor)


def words(processor, tokens: tuple[int, ...]) -> list[str]:
    return processor.tokenizer.convert_ids_to_tokens(list(tokens))


def drawn_sights(rng: random.Random, count: int):
    return [draw_pair(rng, "train") if i % 2 else draw_scene(rng, "train") for i in range(count)]


def prompt_tokens(processor, messages: list[dict]) -> list[int]:
    prompt = processor.apply_chat_template(messages, add_generation_prompt=True)
    picture = render(draw_scene(random.Random(0), "train"))
    return processor(images=[[picture]], text=[prompt], return_tensors="pt")["input_ids"][0].tolist()


def user(text: str, picture: bool = True) -> dict:
    return {"role": "user", "content": [{"type": "image"}] * picture + [{"type": "text", "text": text}]}


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=list(FAMILIES))
def test_a_choice_is_written_as_the_pipeline_asks_it(family: Family) -> None:
    processor = family.build_processor()
    writer = Writer(processor)
    asked = prompt_tokens(processor, [user(ASKED)])
    example = writer.choice(writer.lines(LINES), OPTIONS, 1, KOSTUMOV)
    assert writer.opening() + list(example.tokens[: example.answer_at]) == asked
    assert words(processor, example.tokens[example.answer_at :]) == ["B", "</s>"]


def test_a_system_message_and_earlier_turns_are_written_as_the_pipeline_asks_them(processor, writer) -> None:
    system = draw_system(random.Random(0), writer)
    text = " ".join(words(processor, tuple(system))).replace("<unk>", "word")
    reply = {"role": "assistant", "content": [{"type": "text", "text": "red star"}]}
    asked = prompt_tokens(
        processor,
        [
            {"role": "system", "content": [{"type": "text", "text": text}]},
            user("What can you see?"),
            reply,
            user("And where is it?", picture=False),
        ],
    )
    before = writer.turn(writer.lines(["What can you see?"]), "red star")
    example = writer.open([*before, *writer.lines(["And where is it?"])], "top left")
    assert writer.opening(system) + list(example.tokens[: example.answer_at]) == asked


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_other_forms(processor, writer: Writer, form: Form) -> None:
    example = writer.choice(writer.lines(LINES), ["red", "blue", *form.extras], 1, form)
    ends = [words(processor, example.tokens)[place] for place, _ in example.options]
    assert ends == ["red", "blue", *form.extras]
    assert words(processor, example.tokens[example.answer_at :]) == ["B", "</s>"]
    assert words(processor, example.tokens[: example.answer_at])[-1] == (form.reply or ":")


def test_marks_of_a_choice(processor, writer: Writer) -> None:
    example = writer.choice(writer.lines(LINES), OPTIONS, 1, KOSTUMOV)
    ends = [words(processor, example.tokens)[place] for place, _ in example.options]
    assert ends == ["top left", "circle", "three", *EXTRAS]
    assert [right for _, right in example.options] == [False, True, False, False, False]
    assert words(processor, (example.content,)) == ["red"]


def test_an_open_question(processor, writer: Writer) -> None:
    example = writer.open(writer.lines(["Where is the red star?"]), "red circle")
    assert words(processor, example.tokens[example.answer_at :]) == ["red", "circle", "</s>"]
    assert words(processor, (example.content,)) == ["red"] and example.options == ()


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=list(FAMILIES))
def test_a_thought_counts_up_or_names_the_answer(family: Family) -> None:
    """It stands after the prompt that the pipeline asks, and what is learned begins with it."""
    processor = family.build_processor(thinks=True)
    writer = Writer(processor)
    asked, where = prompt_tokens(processor, [user(ASKED)]), writer.lines(["Where is the red star?"])
    example = writer.choice(writer.lines(LINES), OPTIONS, 2, KOSTUMOV)
    assert writer.opening() + list(example.tokens[: example.reply_at]) == asked
    reply = ["<think>", "one", "two", "three", "</think>"]
    assert words(processor, example.tokens[example.reply_at :]) == [*reply, "C", "</s>"]
    batch = pack([], [[example]], padding=0)
    assert [token for token in batch.targets[0].tolist() if token != IGNORED] == list(
        example.tokens[example.reply_at :]
    )
    example = writer.open(where, "zero")
    assert words(processor, example.tokens[example.reply_at :]) == [
        *("<think>", "zero", "</think>", "zero", "</s>")
    ]
    begun = next(form for form in OTHER_FORMS if form.reply)
    assert writer.choice(where, ["red", "blue"], 1, begun).thought == 0, "a begun answer has none"


def test_an_examination_wants_the_thought_as_well_as_the_letter() -> None:
    """A model that says one token whatever it is asked is right only where that is all of the answer."""
    processor = FAMILIES["llava"].build_processor(thinks=True)
    writer, config = Writer(processor), tiny(thinks=True)
    model = build_model(config, processor.tokenizer).eval()
    tested = Examination(0, ("colour",), writer, FAMILIES["llava"], processor.tokenizer.pad_token_id)
    plain = [replace(one, thought=0) for one in tested._examples]
    strict = tested.accuracy(model)
    tested._examples = plain
    assert strict == 0 < tested.accuracy(model), "untrained, it thinks nothing right but guesses letters"


@pytest.mark.parametrize("phase", [READ, NAME, CHOOSE])
def test_lessons(processor, writer: Writer, phase: Phase) -> None:
    rng = random.Random(1)
    lessons = [draw_lesson(rng, sight, phase, writer) for sight in drawn_sights(rng, 200)]
    assert {len(lesson) for lesson in lessons} == {phase.opens + phase.choices}
    examples = [example for lesson in lessons for example in lesson]
    unknown = [example for example in examples if processor.tokenizer.unk_token_id in example.tokens]
    assert len(unknown) < 0.08 * len(examples)
    with_options = [example for example in examples if example.options]
    assert len(with_options) == 200 * phase.choices
    assert all(sum(right for _, right in example.options) == 1 for example in with_options)
    pipeline = writer.encode(BY_LETTER)[0]
    share = sum(pipeline in example.tokens for example in with_options) / len(with_options)
    assert 0.6 < share < 0.95


def test_negation_is_rare_and_dialogues_are_there(processor, writer: Writer) -> None:
    rng = random.Random(4)
    sights = drawn_sights(rng, 400)
    texts = [words(processor, e.tokens) for sight in sights for e in draw_lesson(rng, sight, CHOOSE, writer)]
    assert 0.02 < sum("not" in text for text in texts) / len(texts) < 0.15
    assert 0.03 < sum(text.count("ASSISTANT") > 1 for text in texts) / len(texts) < 0.12


def test_most_questions_have_four_options() -> None:
    rng = random.Random(2)
    question = Question("colour", "star", "red", ("blue", "green", "black", "yellow"))
    counts = [len(draw_options(rng, question)[0]) for _ in range(500)]
    assert set(counts) == {2, 3, 4} and counts.count(4) > 400


def test_packing_changes_nothing(processor, writer: Writer) -> None:
    """Hidden states of questions that share a row are those of each question alone, without a mask."""
    model = build_model(tiny(), processor.tokenizer).eval()
    rng = random.Random(3)
    sights = drawn_sights(rng, 2)
    rows = [
        draw_lesson(rng, sight, phase, writer) for sight, phase in zip(sights, (NAME, CHOOSE), strict=True)
    ]
    opening, pictures = writer.opening(), Images.of(sights)

    def hidden(tokens, pixels, **more):
        return model.model(input_ids=tokens, pixel_values=pixels, use_cache=False, **more).last_hidden_state

    with torch.no_grad():
        batch = pack(opening, rows, processor.tokenizer.pad_token_id)
        packed = hidden(
            batch.tokens, pictures.inputs([0, 1]), attention_mask=batch.mask, position_ids=batch.positions
        )
        for b, row in enumerate(rows):
            begin = len(opening)
            for example in row:
                alone = hidden(torch.tensor([opening + list(example.tokens)]), pictures.inputs([b]))
                end = begin + len(example.tokens)
                torch.testing.assert_close(
                    packed[b, begin:end], alone[0, len(opening) :], atol=1e-5, rtol=1e-4
                )
                begin = end


def test_targets_of_a_batch() -> None:
    first = Example((11, 12, 13, 14), answer_at=2, content=9, options=((0, True), (1, False)))
    batch = pack([5, 5], [[first, first], [first]], padding=0)
    i = IGNORED
    assert batch.tokens.tolist() == [
        [5, 5, 11, 12, 13, 14, 11, 12, 13, 14],
        [5, 5, 11, 12, 13, 14, 0, 0, 0, 0],
    ]
    assert batch.positions[0].tolist() == [0, 1, 2, 3, 4, 5, 2, 3, 4, 5]
    assert batch.targets[0].tolist() == [i, i, i, 13, 14, i, i, 13, 14, i]
    assert batch.contents[1].tolist() == [i, i, i, 9, i, i, i, i, i, i]
    assert batch.options[0].tolist() == [i, i, 1, 0, i, i, 1, 0, i, i]


def test_images_are_what_the_processor_makes(processor) -> None:
    rng = random.Random(4)
    sights = drawn_sights(rng, 4)
    images = [render_pair(sight) if isinstance(sight, Pair) else render(sight) for sight in sights]
    pictures = Images.of(sights)
    theirs = processor.image_processor([images[3], images[0]], return_tensors="pt")
    torch.testing.assert_close(pictures.inputs([3, 0]), theirs["pixel_values"])
    worn = Images.of(sights * 10, distortions=random.Random(0)).pixels.view(10, 4, -1)
    changed = (worn != pictures.pixels.view(4, -1)).any(dim=-1).float().mean()
    assert 0.5 < changed < 1


def test_cells_of_a_pair_are_where_its_things_are() -> None:
    pair = draw_pair(random.Random(5), "train")
    cells = Images.of([pair]).cells.view(4, 4, 2)
    taken = {(t.row, t.column) for t in pair.left.things} | {(t.row, t.column + 2) for t in pair.right.things}
    assert {(row, column) for row in range(4) for column in range(4) if cells[row, column, 0]} == taken


@pytest.mark.parametrize("family", list(FAMILIES.values()), ids=list(FAMILIES))
def test_a_family_takes_images_as_its_processor_gives_them(family: Family) -> None:
    processor = family.build_processor()
    scenes = [draw_scene(random.Random(6), "train")]
    prompt = processor.apply_chat_template([user("?")])
    theirs = processor(images=[[render(scenes[0])]], text=[prompt], return_tensors="pt")["pixel_values"]
    torch.testing.assert_close(family.pixel_values(Images.of(scenes).inputs([0])), theirs)
