"""Folders of six more families that lie, are damaged or ask for too much: how each is made, used and spoilt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.encoders.models import save_bert, save_clip
from tests.models.engines import CONFIG, image, question
from tests.models.loading.bad_folders import (
    GONE,
    HUGE,
    Edit,
    all_of,
    config,
    every,
    images,
    processor,
    replacing,
    template,
    tensors,
    text,
    tokens,
    values,
)
from tests.models.tiny import save_blip, save_llava_next
from tests.prompts.rewrites.test_transformers import save as save_writer
from vouch.models.decoder import engine
from vouch.models.engine import Decoding, Pack
from vouch.prompts.asking import transformers as rewriting
from vouch.prompts.rewrites.config import RewriteConfig as Rewriting
from vouch.prompts.rewrites.table import RewriteTask
from vouch.tables.answered import Pin

TEXT = {"max_tokens": 3, "labels": (), "decodings": (Decoding(),)}
ASKED = [
    Pack("letters", [question(1, 4), question(2, 9, (1, 2))]),
    Pack("text", [question(3, 3, **TEXT)]),
]


def save_idefics3(folder: Path) -> Path:
    from vouch.demo.config import Config
    from vouch.demo.families import FAMILIES

    family = FAMILIES["idefics3"]
    processor = family.build_processor()
    processor.save_pretrained(folder)
    sizes = {"width": 16, "layers": 2, "heads": 2, "pictures": 16, "batch": 4}
    steps = {"read_steps": 1, "name_steps": 1, "choose_steps": 1, "target": 1, "learning_rate": 0.003}
    config = Config(family="idefics3", seed=0, **sizes, **steps)
    family.build_model(config, processor.tokenizer).save_pretrained(folder)
    return folder


def answers(pin: Pin) -> int:
    return len(list(engine.load(pin, CONFIG).answer(ASKED)))


def vectors(pin: Pin) -> int:
    from vouch.models.encoders.config import ImageEncoderConfig
    from vouch.models.encoders.pinned import load

    encoder = load(pin, ImageEncoderConfig(encoder="data/models/one.json", device="cpu", batch=2))
    texts = ["What colour is the circle", "how many are there, and what"]
    return len(encoder.questions(texts)) + len(encoder.images([image(1), image(2)]) if encoder.images else ())


def compared(pin: Pin) -> int:
    from vouch.models.encoders.config import TextEncoderConfig
    from vouch.models.encoders.pinned import TextEncoder

    encoder = TextEncoder(pin, TextEncoderConfig(encoder="data/models/one.json", device="cpu", batch=2))
    return len(encoder.encode(["What colour is the circle", "how many are there, and what"]))


def rewritten(pin: Pin) -> int:
    engine = rewriting.load(pin, Rewriting(rewriter="data/models/one.json", device="cpu", max_tokens=4))
    return len(list(engine.ask([RewriteTask("What colour is the circle?", "lr_i")])))


USES: dict[str, tuple[Callable[[Path], Any], Callable[[Pin], int]]] = {
    "next": (save_llava_next, answers),
    "idefics3": (save_idefics3, answers),
    "blip": (save_blip, answers),
    "instruct": (lambda at: save_blip(at, instruct=True), answers),
    "clip": (save_clip, vectors),
    "bert": (save_bert, compared),
    "writer": (lambda at: save_writer(at, [1]), rewritten),
}


def sub(name, edit):
    return lambda folder: edit(folder / name)


def preprocessor(key, value=GONE):
    return values("preprocessor_config.json", key, value)


def without(*names):
    return tensors(lambda found: [found.pop(one) for one in list(found) if one.startswith(names)])


def renamed(old, new):
    return lambda folder: (folder / old).rename(folder / new)


GROWING = {"type": "Replace", "pattern": {"String": "what"}, "content": "q" * 100_000}


# family -> what is done to its folder; all but ANSWERING are refused in one line
SPOILT: dict[str, dict[str, Edit]] = {
 "next": {
    "grid huge": all_of(config("image_grid_pinpoints", [[10**5, 10**5]]), images("image_grid_pinpoints", [[10**5, 10**5]])),
    "grid zero": all_of(config("image_grid_pinpoints", [[0, 0]]), images("image_grid_pinpoints", [[0, 0]])),
    "grid empty": all_of(config("image_grid_pinpoints", []), images("image_grid_pinpoints", [])),
    "grid of many": all_of(config("image_grid_pinpoints", [[32, 64]] * 50_000), images("image_grid_pinpoints", [[32, 64]] * 50_000)),
    "newline gone": without("image_newline", "model.image_newline"),
    "images as they are": all_of(images("do_resize", False), images("do_center_crop", False)),
    "grows at a word of a question": tokens("normalizer", {"type": "Sequence", "normalizers": [GROWING, *replacing("q", "q" * 100_000, 2)["normalizers"]]}),
    "decoder grows": tokens("decoder", {"type": "Sequence", "decoders": replacing(".", "x" * 100_000, 4)["normalizers"]}),
    "decoder pattern broken": tokens("decoder", {"type": "Replace", "pattern": {"Regex": "((("}, "content": ""}),
    "tokens of surrogates": tokens("model.vocab.\ud800", 90),
    "pad token gone": all_of(values("tokenizer_config.json", "pad_token"), config("text_config.pad_token_id", None)),
    "stops of text": values("generation_config.json", "stop_strings", ["a" * 10**6]),
    "auto map": config("auto_map", {"AutoModel": "evil.py--Model"}),
    "index of nothing": text("model.safetensors.index.json", '{"weight_map": {}}'),
    "rope of yarn": config("text_config.rope_parameters", {"rope_type": "yarn", "factor": -1, "rope_theta": 1e4}),
 },
 "idefics3": {
    "scale of zero": config("scale_factor", 0),
    "scale huge": config("scale_factor", HUGE),
    "sequence huge": processor("image_seq_len", HUGE),
    "sequence other": processor("image_seq_len", 7),
    "splitting": images("do_image_splitting", True),
    "splitting to one pixel": all_of(images("do_image_splitting", True), images("max_image_size", {"longest_edge": 1})),
    "tile huge": images("max_image_size", {"longest_edge": 10**5}),
    "fake token gone": values("tokenizer_config.json", "fake_image_token"),
 },
 "blip": {
    "queries huge": processor("num_query_tokens", HUGE),
    "queries many": processor("num_query_tokens", 50_000),
    "queries null": processor("num_query_tokens", None),
    "start token beyond": all_of(config("text_config.decoder_start_token_id", 10**6), values("generation_config.json", "decoder_start_token_id", 10**6)),
    "decoder layers other": config("text_config.num_decoder_layers", 5),
    "decoder alone": config("use_decoder_only_language_model", True),
    "q-former null": config("qformer_config", None),
    "pieces infinite": tokens("model.vocab.5", ["x", -1e308]),
    "pieces none": tokens("model.vocab", []),
 },
 "instruct": {
    "q-former tokenizer gone": renamed("qformer_tokenizer", "other"),
    "q-former tokenizer cut": sub("qformer_tokenizer", text("tokenizer.json", '{"model')),
    "q-former tokenizer grows": sub("qformer_tokenizer", tokens("normalizer", replacing("[a-z]", "q" * 100_000, 3))),
    "q-former ids beyond": sub("qformer_tokenizer", tokens("model.vocab.what", 10**6)),
    "q-former places few": config("qformer_config.max_position_embeddings", 1),
    "q-former tokenizer without end": sub("qformer_tokenizer", tokens("pre_tokenizer.pattern", {"Regex": "(?:(.|.)+)+$(?!.|)"})),
 },
 "clip": {
    "projection other": config("projection_dim", 9),
    "places none": config("text_config.max_position_embeddings", 0),
    "image size huge": preprocessor("size", {"height": 60_000, "width": 60_000}),
    "image class gone": lambda folder: (folder / "preprocessor_config.json").unlink(),
    "mean a number": preprocessor("image_mean", 0.5),
    "longest text zero": values("tokenizer_config.json", "model_max_length", 0),
    "longest text nan": values("tokenizer_config.json", "model_max_length", float("nan")),
    "weights nan": every(lambda one: one * float("nan")),
    "vision weights gone": without("vision_model"),
    "a model of sounds": config("model_type", "whisper"),
 },
 "bert": {
    "layers of zero": config("num_hidden_layers", 0),
    "decoder of itself": config("is_decoder", True),
    "ends unknown": tokens("post_processor.special_tokens", {}),
    "tokens to nothing": tokens("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Removed", "invert": False}),
    "weights huge": every(lambda one: one * 1e38),
 },
 "writer": {
    "template without end": template("{% for a in range(10**9) %}{% for b in range(10**9) %}{% endfor %}{% endfor %}"),
    "template of nothing": template(""),
    "end tokens none": values("generation_config.json", "eos_token_id", []),
    "end token negative": values("generation_config.json", "eos_token_id", [-1]),
    "context one": config("max_position_embeddings", 1),
    "model of images": config("model_type", "clip"),
    "decoder grows": tokens("decoder", {"type": "Sequence", "decoders": replacing(".", "x" * 100_000, 4)["normalizers"]}),
    "weights infinite": every(lambda one: one + float("inf")),
 },
}  # fmt: skip
# Odd, and yet the model answers.
READ: dict[str, set[str]] = {
    "next": {"images as they are", "pad token gone", "stops of text", "auto map", "index of nothing", "rope of yarn"},
    "idefics3": {"splitting", "fake token gone"},
    "blip": {"queries null", "decoder alone", "pieces infinite"},
    "instruct": {"q-former ids beyond"},
    "clip": {"mean a number", "longest text zero", "longest text nan"},
    "bert": {"decoder of itself", "tokens to nothing"},
    "writer": {"template of nothing", "end tokens none", "end token negative", "weights infinite"},
}  # fmt: skip
