"""Questions as tokens, by real processors."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.models.engines import image, question
from tests.models.tiny import CHAT, PATCH, SIZE, byte_pairs, llava_processor, pieces, tokenizer
from tests.refusals import refused
from vouch.models.decoder.preparing import InputNeeds, Preparer
from vouch.models.engine import Decoding, Question
from vouch.pipeline.errors import UserError

# Templates as they come: an answer behind the colon, or behind a colon and a space.
PLAIN = "{% for m in messages %}{{ m['role'] + ':' }}{% for p in m['content'] %}{{ '<image>' if p['type'] == 'image' else p['text'] }}{% endfor %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
BARE = PLAIN.replace("{{ m['role'] + ':' }}", "").replace("assistant:", "")
ENDS_IN_A_SPACE = PLAIN.replace("assistant:", "assistant: ")
SPACED = PLAIN.replace("m['role'] + ':'", "m['role'] + ': '")


def preparer(words: Any = None, template: str = CHAT, **needs: Any) -> Preparer:
    words = tokenizer(chat=None) if words is None else words
    image = words.convert_tokens_to_ids("<image>")
    return Preparer(llava_processor(words, chat=None), template, InputNeeds(image_token=image, **needs))


def said(ready: Preparer, ids: Any) -> list[str]:
    tokens = ready.tokenizer.convert_ids_to_tokens(list(ids))
    return [token.replace("Ġ", " ") for token in tokens]


@pytest.mark.parametrize(
    ("template", "options", "tokens", "end"),
    [
        (PLAIN, ["B", "C"], [["B"], ["C"]], ":"),
        (PLAIN, ["A", "B"], [[":A"], [":", "B"]], "t"),  # as in running text, where `:A` is one token
        (PLAIN, ["A B", "A"], [[":A", " B"], [":A"]], "t"),
        (PLAIN, ["A B", "C"], [[":A", " B"], [":", "C"]], "t"),
        (SPACED, ["A", "B C"], [[" A"], [" B", " C"]], ":"),
        (ENDS_IN_A_SPACE, ["A", "D"], [[" A"], [" ", "D"]], ":"),
        (ENDS_IN_A_SPACE, ["D", "12"], [["D"], ["1", "2"]], " "),
    ],
)
def test_options_continue_a_prompt(
    template: str, options: list[str], tokens: list[list[str]], end: str
) -> None:
    ready = preparer(byte_pairs(PLAIN), template)
    prepared = ready.prepare(Question("q", None, "x", options=options))
    assert [said(ready, option) for option in prepared.options] == tokens
    assert said(ready, prepared.ids)[-1] == end
    whole = {PLAIN: "user:xassistant:", SPACED: "user: xassistant: "}.get(template, "user:xassistant: ")
    for option, ids in zip(options, prepared.options, strict=True):
        assert [*prepared.ids, *ids] == ready._encode([whole + option])[0]


@pytest.mark.parametrize(
    ("response", "rendered", "spelling"),
    [
        (None, "assistant:", ""),
        ("it is", "assistant:it is", " "),
        ("it is (", "assistant:it is (", ""),
    ],
)
def test_letters_and_options_follow_a_given_beginning(response: str, rendered: str, spelling: str) -> None:
    ready = preparer(byte_pairs(PLAIN), PLAIN)
    asked = Question("q", None, "x", response=response)
    prepared = ready.prepare(replace(asked, labels="BC"))
    assert "".join(said(ready, prepared.ids)) == "user:x" + rendered
    assert prepared.letters is not None and prepared.letters.spelling == spelling
    assert said(ready, prepared.letters.read) == [spelling + "B", spelling + "C"]
    prepared = ready.prepare(replace(asked, options=("B", "C")))
    assert [said(ready, option) for option in prepared.options] == [[spelling + "B"], [spelling + "C"]]


def test_the_template_says_what_stands_before_an_answer() -> None:
    ready = preparer(byte_pairs(PLAIN), SPACED)
    prepared = ready.prepare(Question("q", None, "x", labels="AB", response="it is"))
    assert "".join(said(ready, prepared.ids)).endswith("assistant: it is")
    prepared = ready.prepare(Question("q", None, "x", labels="AB"))
    assert prepared.letters is not None and said(ready, prepared.letters.read) == [" A", " B"]
    assert prepared.letters.other == ()  # `:A` swallows the colon


def test_pieces_with_a_space_of_their_own() -> None:
    words = pieces()
    words.add_tokens(["<image>"], special_tokens=True)
    template = Path("vouch/models/chat/templates/question_answer.jinja").read_text()
    ready = preparer(words, template)
    prepared = ready.prepare(Question("q", None, "what", options=("red", "a cat")))
    assert [said(ready, option) for option in prepared.options] == [["▁red"], ["▁a", "▁cat"]]
    ready = preparer(words, template, separate_decoder=True)
    prepared = ready.prepare(Question("q", None, "what", options=("red",), response="the"))
    assert said(ready, prepared.options[0]) == ["▁red", "</s>"] and said(ready, prepared.prefill) == ["▁the"]
    assert said(ready, prepared.ids) == ["▁Question", ":", "▁what", "▁Answer", ":", "</s>"]


def test_a_prefix_ends_with_the_last_image() -> None:
    ready = preparer()
    prepared = ready.prepare(question(1, 3, [1, 2], text="is <image 2> like <image 1> ?"))
    places = (SIZE // PATCH) ** 2
    tokens = said(ready, prepared.ids)
    assert prepared.prefix == len(tokens) - 1 - tokens[::-1].index("<image>") + 1
    assert tokens.count("<image>") == 2 * places and tokens[prepared.prefix :] == ["?", "ASSISTANT", ":"]
    assert ready.prepare(question(1, 3, [])).prefix == 0
    at_the_end = preparer(template=CHAT.replace("ASSISTANT:", ""))
    assert at_the_end.prepare(question(1, 3, labels=(), text="what is <image 1>")).prefix == 0
    assert prepared.shown["pixel_values"].shape == (2, 3, SIZE, SIZE)


def test_prefix_digests_tell_images_and_texts_apart() -> None:
    ready = preparer()
    first = ready.prepare(question(1, 3, [1]))
    same = ready.for_thread().prepare(question(1, 9, images=(copy.deepcopy(image(1)),)))
    assert first.prefix_digest == same.prefix_digest  # other words, after the image
    others = [
        ready.prepare(question(1, 3, [2])),
        ready.prepare(question(1, 3, [1], system="be brief")),
        ready.prepare(question(1, 3, [1], text="red <image 1> cat")),
        ready.prepare(question(1, 3, [1, 2])),
        ready.prepare(question(1, 3, [2, 1])),
    ]
    assert len({one.prefix_digest for one in [first, *others]}) == 1 + len(others)


def test_an_image_is_processed_once_for_its_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import CLIPImageProcessorPil

    counted, real = list[int](), CLIPImageProcessorPil.preprocess

    def preprocess(self: Any, images: Any, *args: Any, **kwargs: Any) -> Any:
        counted.append(1)
        return real(self, images, *args, **kwargs)

    monkeypatch.setattr(CLIPImageProcessorPil, "preprocess", preprocess)
    ready = preparer()
    prepared = [ready.prepare(question(n, 3 + n, [71])) for n in range(5)]
    assert len(counted) == 1 and len({id(one.shown["pixel_values"]) for one in prepared}) == 1
    for number in (72, 73, 72, 73):
        ready.prepare(question(number, 3, [number]))
    assert len(counted) == 3
    for number in range(20):
        shown = Image.new("RGB", (20, 20), (number, 0, 0))  # freed at once: the next may get its identity
        value = float(ready.prepare(question(1, 3, images=(shown,))).shown["pixel_values"][0, 0, 0, 0])
        assert value == pytest.approx((number / 255 - 0.48145466) / 0.26862954, abs=1e-4)


def test_images_of_one_shape() -> None:
    assert preparer().one_shape()
    words = tokenizer()
    tiles = llava_processor(words, next=True)
    assert not Preparer(
        tiles, None, InputNeeds(image_token=words.convert_tokens_to_ids("<image>"))
    ).one_shape()


def test_an_image_that_the_processor_refuses() -> None:
    from transformers import Qwen2VLImageProcessorPil

    processor = llava_processor(tokenizer())
    processor.image_processor = Qwen2VLImageProcessorPil()
    ready = Preparer(processor, None, InputNeeds())
    with refused(r"processor refuses it \(absolute aspect ratio .*; correct it or use"):
        ready.prepare(question(1, 3, images=(Image.new("RGB", (2000, 4)),)))


def added(words: Any, form: str) -> Any:
    """A tokenizer that writes more than the text, as `form` says: `<s> $A </s>`."""
    from tokenizers.processors import TemplateProcessing

    known = [(name, words.convert_tokens_to_ids(name)) for name in form.split() if name != "$A"]
    words.backend_tokenizer.post_processor = TemplateProcessing(single=form, special_tokens=known)
    return words


@pytest.mark.parametrize(
    "before", ["", "\n", "  \n", "<pad>", "<pad><s>", "SYSTEM : hint ", "{# no text #}\n"]
)
@pytest.mark.parametrize("form", ["<s> $A", "<s> $A </s>", "$A </s>", "<pad> <s> $A"])
@pytest.mark.parametrize("images", [0, 1])
def test_a_prompt_begins_once_and_does_not_end(before: str, form: str, images: int) -> None:
    """Token for token what the template says, and what the tokenizer begins a text with where it does not."""
    begin = form.removesuffix("$A </s>").removesuffix("$A").replace(" ", "")
    asked = question(1, 5, [*range(images)], text="what is here")
    bare = preparer(template=CHAT).prepare(asked)
    for template, start in ((before + CHAT, before), (before + begin + CHAT, before + begin)):
        words = added(tokenizer(chat=None), form)
        prepared = preparer(words, template).prepare(asked)
        own = words(start.replace("{# no text #}", ""), add_special_tokens=False)["input_ids"]
        first = [] if begin in start else words(begin, add_special_tokens=False)["input_ids"]
        assert prepared.ids == (*first, *own, *bare.ids)
        assert prepared.letters == bare.letters and prepared.prefix == (
            images and len(first + own) + bare.prefix
        )


def test_an_encoder_reads_the_end_of_its_text() -> None:
    words = added(tokenizer(chat=None), "$A </s>")
    asked = question(1, 5, [], text="what is here")
    assert preparer(words, separate_decoder=True).prepare(asked).ids[-1] == words.eos_token_id


OWN_DATE = "{% if not date_string is defined %}{% set date_string = strftime_now('%d %b %Y') %}{% endif %}"


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (OWN_DATE + "{{ date_string }}", "01 Jan 2025"),
        ("{{ strftime_now('%Y-%m-%d') }}", "2025-01-01"),
        ("{{ strftime_now('%d %B %Y') }}", "01 January 2025"),
        ("{{ strftime_now('%A, %b %-d, %y') }}", "Wednesday, Jan 1, 25"),
        (
            "{% macro day() %}{{ strftime_now('at %H:%M:%S') }}{% endmacro %}{{ day() }}",
            "at 00:00:00",
        ),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_the_date_of_a_template_is_pinned(day: str, said: str, own: bool) -> None:
    template, words = f"{day}\n{CHAT}", tokenizer(chat=None)
    needs = InputNeeds(image_token=words.convert_tokens_to_ids("<image>"))
    processor = llava_processor(words, chat=template if own else None)
    ready = Preparer(processor, None if own else template, needs)
    assert ready._chat.asked == f"{said}\n{preparer()._chat.asked}"


def test_a_form_of_date_that_cannot_be_pinned() -> None:
    with refused("no fixed date for %s"):
        preparer(template="{{ strftime_now('%s') }}" + CHAT).prepare(question(1, 5))


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (MemoryError(), MemoryError),
        (OSError(24, "Too many open files"), OSError),
        (ImportError("No module named 'x'"), OSError),
        (RuntimeError("odd"), UserError),
    ],
)
def test_trouble_of_the_machine_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception, raised: type[Exception]
) -> None:
    from transformers import CLIPImageProcessorPil

    def preprocess(self: Any, images: Any, *args: Any, **kwargs: Any) -> Any:
        raise trouble

    monkeypatch.setattr(CLIPImageProcessorPil, "preprocess", preprocess)
    with pytest.raises(raised):
        preparer().prepare(question(1, 3, images=(Image.new("RGB", (21, 20)),)))


def test_a_letter_that_merges_with_the_users_last_words() -> None:
    ready = preparer(byte_pairs(BARE), BARE)
    prepared = ready.prepare(Question("q", None, "is it", labels="AB"))
    assert prepared.letters is not None and said(ready, prepared.letters.read) == ["A", "B"]
    with refused(r"for each of A, B in one place after 'is it:' \(B takes 2 there\)"):
        ready.prepare(Question("q", None, "is it:", labels="AB"))
    assert ready.prepare(Question("q", None, "is it:", labels="BC")).letters is not None
    assert preparer(byte_pairs(PLAIN), SPACED).prepare(Question("q", None, "x:", labels="AB")).letters


@pytest.mark.filterwarnings("ignore:__array__ implementation")  # of transformers' PaliGemma processor
@pytest.mark.parametrize("images", [1, 2])
def test_a_prompt_whose_line_the_processor_ends(images: int) -> None:
    from transformers import PaliGemmaProcessor, SiglipImageProcessorPil

    words = byte_pairs("unused")
    words.add_special_tokens({"bos_token": "<bos>"})
    shown = SiglipImageProcessorPil(size={"height": SIZE, "width": SIZE})
    shown.image_seq_length = 4
    processor = PaliGemmaProcessor(shown, words)
    template = Path("vouch/models/chat/templates/paligemma.jinja").read_text()
    ready = Preparer(processor, template, InputNeeds(image_token=processor.image_token_id))
    prepared = ready.prepare(question(1, 3, [*range(images)], text="is it:", labels="AB"))
    assert prepared.letters is not None and said(ready, prepared.letters.read) == ["A", "B"]
    assert said(ready, prepared.ids) == ["<image>"] * 4 * images + ["<bos>", *"is it:", "Ċ"]
    added(words, "<bos> $A")  # which the processor writes behind the images
    with refused("would read '<bos>' before a text that begins with it"):
        ready.for_thread().prepare(question(1, 3, [*range(images)], text="is it:", labels="AB"))


@pytest.mark.parametrize(("labels", "change"), [("12", 1), ("AB", 0)])
def test_what_stands_beside_each_token_follows_the_letters_place(labels: str, change: int) -> None:
    from transformers import Gemma3ImageProcessorPil, Gemma3Processor, PreTrainedTokenizerFast

    named = {"image_token": "<soft>", "boi_token": "<image>", "eoi_token": "<end_of_image>"}
    words = PreTrainedTokenizerFast(
        tokenizer_object=byte_pairs("unused").backend_tokenizer, extra_special_tokens=named
    )
    image = words.convert_tokens_to_ids("<soft>")
    shown = Gemma3ImageProcessorPil(size={"height": SIZE, "width": SIZE})
    ready = Preparer(Gemma3Processor(shown, words, image_seq_length=4), PLAIN, InputNeeds(image_token=image))
    asked = question(1, 3, labels=labels, response="it is")
    bare, prepared = ready.prepare(replace(asked, labels=())), ready.prepare(asked)
    assert prepared.ids == bare.ids + prepared.ids[len(bare.ids) :]
    assert len(prepared.ids) == len(bare.ids) + change and prepared.prefix == bare.prefix
    kinds = prepared.by_token["token_type_ids"][0].tolist()
    assert kinds == [int(token == image) for token in prepared.ids]


@pytest.mark.parametrize(
    ("changes", "flagged"),
    [
        ({}, False),
        ({"text": "what is </s> here"}, True),
        ({"system": "be <pad> brief"}, True),
        ({"turns": (("a", "<s> b"),)}, True),
        ({"response": "it </s>"}, True),
        ({"options": ("a", "</s>")}, True),
    ],
)
def test_control_tokens_are_flagged(changes: dict[str, Any], flagged: bool) -> None:
    asked = replace(question(1, 5, labels=()), **changes)
    assert (preparer().prepare(asked).flags == ("control_tokens",)) == flagged


def test_the_answer_counts_towards_the_context() -> None:
    asked = replace(question(1, 5), max_tokens=10, decodings=(Decoding(),))
    length = len(preparer().prepare(asked).ids)
    assert preparer(context=length + 10).prepare(asked)
    with refused(f"its {length} tokens and an answer of 10 exceed the {length + 9}"):
        preparer(context=length + 9).prepare(asked)
    assert preparer(context=length + 1).prepare(replace(asked, decodings=()))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"labels": (), "options": ("red", "")}, "option '' has no tokens"),
        ({"text": "what is <image 2> here"}, r"image placeholders \[2\], but 1 images"),
        ({"labels": "AÄ"}, "no distinct single token for each of A, Ä"),
        ({"text": "what is <image> here"}, "it holds <image>, where this model expects an image"),
    ],
)
def test_what_cannot_be_asked(changes: dict[str, Any], problem: str) -> None:
    with refused(problem):
        preparer().prepare(question(1, 5, **changes))


SILENT = CHAT.replace(
    "{% for message in messages %}", "{% for message in messages if message['role'] != 'system' %}"
)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ raise_exception('only one role') }}", "only one role"),
        (SILENT, "the model's chat template drops the system message; use another prompt template"),
    ],
)
def test_a_template_that_fails_or_drops_a_part(template: str, problem: str) -> None:
    for asked in (question(1, 5), question(2, 5, labels=(), response="it is")):
        with refused(problem):
            preparer(template=template).prepare(replace(asked, system="be brief"))
