"""Families with transformers' own processors: prompts by their chat templates pass the engine's self-check, and
those without an image are asked as well.

Those are tried whose processors do without torchvision. The tokenizers have a token a word.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as t
from PIL import Image

from tests.models.chat.templates import TEMPLATES
from tests.models.families.family import CONFIG, fresh
from tests.models.families.table import FAMILIES, QUERIES
from vouch.models.decoder.engine import shared_prefix
from vouch.models.decoder.preparing import LoadedModel
from vouch.models.engine import LetterAnswer, Pack, Question
from vouch.tables.asked import LETTERS

SIDE = {"height": 56, "width": 56}


def words(*special: str, **named: str) -> Any:
    """A tokenizer of 300 words; the first special token is the image's."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split

    known = ["<pad>", "<s>", "</s>", "<unk>", "Which", "A", "B", "a", "b", "?"]
    known += [f"w{number}" for number in range(300 - len(known))]
    ids = {word: number for number, word in enumerate([*known, *special])}
    whole = Tokenizer(WordLevel(ids, unk_token="<unk>"))
    whole.pre_tokenizer = Split(Regex(r"\w+|[^\w\s]"), behavior="removed", invert=True)
    ends = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    made = t.PreTrainedTokenizerFast(tokenizer_object=whole, **ends, extra_special_tokens=named)
    made.add_special_tokens({"additional_special_tokens": list(special)})
    return made


def aya() -> Any:
    marks = ("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_LINE_BREAK|>", "TILE", "TILE_GLOBAL", "<image>")
    images = t.GotOcr2ImageProcessorPil(size=SIDE, crop_to_patches=True, min_patches=1, max_patches=2)
    tokens = words("<|IMG_PATCH|>", *marks)
    return t.AyaVisionProcessor(images, tokens, patch_size=14, img_size=56, downsample_factor=2)


def deepseek() -> Any:
    tokens = words("<image_placeholder>", image_token="<image_placeholder>")
    return t.DeepseekVLProcessor(
        t.DeepseekVLImageProcessorPil(size=SIDE, min_size=14), tokens, num_image_tokens=16
    )


def gemma3() -> Any:
    named = {"image_token": "<soft>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    return t.Gemma3Processor(
        t.Gemma3ImageProcessorPil(size=SIDE), words(*named.values(), **named), image_seq_length=4
    )


def idefics(kind: str, **settings: Any) -> Callable[[], Any]:
    def made() -> Any:
        named = {"image_token": "<image>", "image_boundary_token": "<fake_token_around_image>"}
        tokens = words(*named.values(), "<global-img>", **named)
        tokens.fake_image_token = named["image_boundary_token"]
        return getattr(t, f"{kind}Processor")(
            getattr(t, f"{kind}ImageProcessorPil")(**settings),
            tokens,
            image_seq_len=QUERIES if "2" in kind else 4,
        )

    return made


def ovis2() -> Any:
    tokens = words(
        "<IMG_ATOM>", *(f"<IMG_{name}>" for name in ("START", "GRID", "COL", "ROW", "END")), "<image>"
    )
    images = t.Ovis2ImageProcessorPil(size=SIDE, crop_to_patches=True, max_patches=2)
    return t.Ovis2Processor(images, tokens, image_seq_length=4)


PROCESSORS = {
    "aya_vision": aya,
    "deepseek_vl": deepseek,
    "gemma3": gemma3,
    "idefics2": idefics("Idefics2", size={"shortest_edge": 28, "longest_edge": 56}, do_image_splitting=False),
    "idefics3": idefics("Idefics3", size={"longest_edge": 112}, max_image_size={"longest_edge": 56}),
    "ovis2": ovis2,
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_real_processors_pass_the_self_check(name: str) -> None:
    one, processor = fresh(name), PROCESSORS[name]()
    engine = shared_prefix(LoadedModel(one.model, processor, "cpu"), TEMPLATES[FAMILIES[name].chat], CONFIG)
    assert engine._mode == one.mode, engine.notes["self_check"]
    shown = [Image.new("RGB", (90, 60), "red"), Image.new("RGB", (300, 200), "blue")]
    asked = [Question(str(n), None, "Which ? A a B b", labels="AB", images=shown[:n]) for n in (0, 1, 2)]
    answers = list(engine.answer(Pack(LETTERS, [question]) for question in asked))
    logits = [found.answer.logits for found in answers if isinstance(found.answer, LetterAnswer)]
    assert len(logits) == 3 and torch.tensor(logits).isfinite().all()
    assert len(set(map(tuple, logits))) == 3, "without an image, with one, with two"
