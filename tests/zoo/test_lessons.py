"""Examples as tokens: what is marked, and that training sees what the pipeline will ask."""

import random

import pytest
import torch

from stages.scenes.questions import Question
from stages.scenes.scene import draw_scene, render
from stages.zoo.architecture import PATCHES, build_model, build_processor
from stages.zoo.batches import IGNORED, pack
from stages.zoo.lessons import CHOOSE, KOSTUMOV, NAME, READ, Example, Phase, Writer, draw_lesson, draw_options
from stages.zoo.pictures import Pictures
from stages.zoo.vocabulary import BY_LETTER, EXTRAS
from tests.zoo.tiny import tiny

LINES = ["The star is big", "Where is the red star?"]
OPTIONS = ["top left", "red circle", "three", *EXTRAS]
ASKED = (
    "The star is big\nWhere is the red star?\nA. top left\nB. red circle\nC. three\nD. I don’t know\n"
    "E. None of the above\nAnswer with the option's letter from the given choices directly."
)


@pytest.fixture(scope="module")
def processor():
    return build_processor()


@pytest.fixture(scope="module")
def writer(processor) -> Writer:
    return Writer(processor.tokenizer)


def words(processor, tokens: tuple[int, ...]) -> list[str]:
    return processor.tokenizer.convert_ids_to_tokens(list(tokens))


def test_a_choice_is_written_as_the_pipeline_asks_it(processor, writer: Writer) -> None:
    content = [{"type": "image"}, {"type": "text", "text": ASKED}]
    prompt = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    picture = render(draw_scene(random.Random(0), "train"))
    asked = processor(images=[picture], text=[prompt], return_tensors="pt")["input_ids"][0].tolist()
    example = writer.choice(LINES, OPTIONS, 1, KOSTUMOV)
    assert writer.opening(PATCHES) + list(example.tokens[: example.answer_at]) == asked
    assert words(processor, example.tokens[example.answer_at :]) == ["B", "</s>"]


def test_marks_of_a_choice(processor, writer: Writer) -> None:
    example = writer.choice(LINES, OPTIONS, 1, KOSTUMOV)
    ends = [words(processor, example.tokens)[place] for place, _ in example.options]
    assert ends == ["top left", "circle", "three", *EXTRAS]
    assert [right for _, right in example.options] == [False, True, False, False, False]
    assert words(processor, (example.content,)) == ["red"]


def test_an_open_question(processor, writer: Writer) -> None:
    example = writer.open(["Where is the red star?"], "red circle")
    assert words(processor, example.tokens[example.answer_at :]) == ["red", "circle", "</s>"]
    assert words(processor, (example.content,)) == ["red"] and example.options == ()


@pytest.mark.parametrize("phase", [READ, NAME, CHOOSE])
def test_lessons(processor, writer: Writer, phase: Phase) -> None:
    rng = random.Random(1)
    lessons = [draw_lesson(rng, draw_scene(rng, "train"), phase, writer) for _ in range(200)]
    assert {len(lesson) for lesson in lessons} == {phase.opens + phase.choices}
    examples = [example for lesson in lessons for example in lesson]
    assert all(processor.tokenizer.unk_token_id not in example.tokens for example in examples)
    with_options = [example for example in examples if example.options]
    assert len(with_options) == 200 * phase.choices
    assert all(sum(right for _, right in example.options) == 1 for example in with_options)
    pipeline = writer._encode(BY_LETTER)[0]
    share = sum(pipeline in example.tokens for example in with_options) / len(with_options)
    assert 0.7 < share < 0.95


def test_most_questions_have_four_options() -> None:
    rng = random.Random(2)
    question = Question("colour", "star", "red", ("blue", "green", "black", "yellow"))
    counts = [len(draw_options(rng, question)[0]) for _ in range(500)]
    assert set(counts) == {2, 3, 4} and counts.count(4) > 400


def test_packing_changes_nothing(processor, writer: Writer) -> None:
    """Hidden states of questions that share a row are those of each question alone, without a mask."""
    model = build_model(tiny(), processor.tokenizer).eval()
    rng = random.Random(3)
    scenes = [draw_scene(rng, "train") for _ in range(2)]
    rows = [
        draw_lesson(rng, scene, phase, writer) for scene, phase in zip(scenes, (NAME, CHOOSE), strict=True)
    ]
    opening, pictures = writer.opening(PATCHES), Pictures.of(scenes)

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


def test_pictures_are_what_the_processor_makes(processor) -> None:
    rng = random.Random(4)
    scenes = [draw_scene(rng, "train") for _ in range(3)]
    pictures = Pictures.of(scenes)
    ours = pictures.inputs([2, 0])
    theirs = processor.image_processor([render(scenes[2]), render(scenes[0])], return_tensors="pt")
    torch.testing.assert_close(ours, theirs["pixel_values"])
    assert int((pictures.cells[..., 0] > 0).sum()) == sum(len(scene.things) for scene in scenes)
    worn = Pictures.of(scenes * 10, wear=random.Random(0)).pixels.view(10, 3, -1)
    changed = (worn != pictures.pixels.view(3, -1)).any(dim=-1).float().mean()
    assert 0.5 < changed < 1
