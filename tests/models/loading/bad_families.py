"""Folders of six more families that lie, are damaged or ask for too much: how each is made, used and spoilt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.models.encoders.models import save_bert, save_clip
from tests.models.engines import CONFIG, picture, question
from tests.models.loading.bad_folders import (
    GONE,
    HUGE,
    Edit,
    all_of,
    config,
    every,
    pictures,
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
from vouch.models.engines import transformers
from vouch.models.requests.engine import Decoding, Pack
from vouch.prompts.asking.engines import transformers as rewriting
from vouch.prompts.rewrites.config import Config as Rewriting
from vouch.prompts.rewrites.instruction import Task
from vouch.tables.pins import Pin

TEXT = {"max_tokens": 3, "marks": (), "decodings": (Decoding(),)}
ASKED = [
    Pack("letters", [question(1, 4), question(2, 9, (1, 2))]),
    Pack("text", [question(3, 3, **TEXT)]),
]


def save_idefics3(folder: Path) -> Path:
    from vouch.demo.training.config import Config
    from vouch.demo.training.families.idefics3 import build_model, build_processor

    made = build_processor()
    made.save_pretrained(folder)
    sizes = {"width": 16, "layers": 2, "heads": 2, "pictures": 16, "batch": 4}
    steps = {"read_steps": 1, "name_steps": 1, "choose_steps": 1, "target": 1, "learning_rate": 0.003}
    build_model(Config(family="idefics3", seed=0, **sizes, **steps), made.tokenizer).save_pretrained(folder)
    return folder


def answers(pin: Pin) -> int:
    return len(list(transformers.load(pin, CONFIG).answer(ASKED)))


def vectors(pin: Pin) -> int:
    from vouch.models.encoders.config import Pictures
    from vouch.models.encoders.pinned import load

    encoder = load(pin, Pictures(encoder="data/models/one.json", device="cpu", batch=2))
    texts = ["What colour is the circle", "how many are there, and what"]
    return len(encoder.questions(texts)) + len(
        encoder.images([picture(1), picture(2)]) if encoder.images else ()
    )


def compared(pin: Pin) -> int:
    from vouch.models.encoders.config import Texts
    from vouch.models.encoders.pinned import TextEncoder

    encoder = TextEncoder(pin, Texts(encoder="data/models/one.json", device="cpu", batch=2))
    return len(encoder.encode(["What colour is the circle", "how many are there, and what"]))


def rewritten(pin: Pin) -> int:
    engine = rewriting.load(pin, Rewriting(rewriter="data/models/one.json", device="cpu", max_tokens=4))
    return len(list(engine.ask([Task("What colour is the circle?", "lr_i")])))


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
    "grid huge": all_of(config("image_grid_pinpoints", [[10**5, 10**5]]), pictures("image_grid_pinpoints", [[10**5, 10**5]])),
    "grid large": all_of(config("image_grid_pinpoints", [[20_000, 20_000]]), pictures("image_grid_pinpoints", [[20_000, 20_000]])),
    "grid zero": all_of(config("image_grid_pinpoints", [[0, 0]]), pictures("image_grid_pinpoints", [[0, 0]])),
    "grid negative": pictures("image_grid_pinpoints", [[-32, 64]]),
    "grid empty": all_of(config("image_grid_pinpoints", []), pictures("image_grid_pinpoints", [])),
    "grid of texts": pictures("image_grid_pinpoints", [["32", "64"]]),
    "grid of one side": pictures("image_grid_pinpoints", [[32]]),
    "grid of many": all_of(config("image_grid_pinpoints", [[32, 64]] * 50_000), pictures("image_grid_pinpoints", [[32, 64]] * 50_000)),
    "grid null": config("image_grid_pinpoints", None),
    "grids that differ": config("image_grid_pinpoints", [[32, 96]]),
    "grid no multiple": pictures("image_grid_pinpoints", [[33, 65]]),
    "tiles unpadded": pictures("do_pad", False),
    "crop larger than a tile": pictures("crop_size", {"height": 64, "width": 64}),
    "edges many": pictures("size", {"shortest_edge": 32, "longest_edge": 64, "height": 3, "width": 9}),
    "newline gone": without("image_newline", "model.image_newline"),
    "pictures unread": pictures("do_normalize", "yes"),
    "pictures as they are": all_of(pictures("do_resize", False), pictures("do_center_crop", False)),
    "grows at a word of a question": tokens("normalizer", {"type": "Sequence", "normalizers": [GROWING, *replacing("q", "q" * 100_000, 2)["normalizers"]]}),
    "decoder grows": tokens("decoder", {"type": "Sequence", "decoders": replacing(".", "x" * 100_000, 4)["normalizers"]}),
    "decoder of bytes": tokens("decoder", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}),
    "decoder pattern broken": tokens("decoder", {"type": "Replace", "pattern": {"Regex": "((("}, "content": ""}),
    "decoder unknown": tokens("decoder", {"type": "Endless"}),
    "tokens of surrogates": tokens("model.vocab.\ud800", 90),
    "pad token gone": all_of(values("tokenizer_config.json", "pad_token"), config("text_config.pad_token_id", None)),
    "seed settings of generation": values("generation_config.json", "num_beams", HUGE),
    "forced tokens": values("generation_config.json", "forced_eos_token_id", [2] * 9999),
    "bad words": values("generation_config.json", "bad_words_ids", [[4]] * 99),
    "stops of text": values("generation_config.json", "stop_strings", ["a" * 10**6]),
    "length negative": values("generation_config.json", "max_length", -5),
    "cache unknown": values("generation_config.json", "cache_implementation", "endless"),
    "watermark": values("generation_config.json", "watermarking_config", {"greenlist_ratio": 9}),
    "auto map": config("auto_map", {"AutoModel": "evil.py--Model"}),
    "weights by an index": text("model.safetensors.index.json", '{"weight_map": {"a": "../../other.safetensors"}}'),
    "index of nothing": text("model.safetensors.index.json", '{"weight_map": {}}'),
    "index a list": text("model.safetensors.index.json", '[]'),
    "rope scaling dynamic": config("text_config.rope_parameters", {"rope_type": "dynamic", "factor": 1e300, "rope_theta": 1e4}),
    "rope of yarn": config("text_config.rope_parameters", {"rope_type": "yarn", "factor": -1, "rope_theta": 1e4}),
    "theta a text": config("text_config.rope_parameters", {"rope_type": "default", "rope_theta": "10000"}),
 },
 "idefics3": {
    "scale of zero": config("scale_factor", 0),
    "scale huge": config("scale_factor", HUGE),
    "scale a fraction": config("scale_factor", 1.5),
    "sequence huge": processor("image_seq_len", HUGE),
    "sequence large": processor("image_seq_len", 200_000),
    "sequence zero": processor("image_seq_len", 0),
    "sequence negative": processor("image_seq_len", -16),
    "sequence other": processor("image_seq_len", 7),
    "splitting": pictures("do_image_splitting", True),
    "splitting to one pixel": all_of(pictures("do_image_splitting", True), pictures("max_image_size", {"longest_edge": 1})),
    "splitting to no pixel": all_of(pictures("do_image_splitting", True), pictures("max_image_size", {"longest_edge": 0})),
    "edge huge": pictures("size", {"longest_edge": HUGE}),
    "edge of a text": pictures("size", {"longest_edge": "64"}),
    "edge unknown": pictures("size", {"edge": 64}),
    "tile huge": pictures("max_image_size", {"longest_edge": 10**5}),
    "tile null": pictures("max_image_size", None),
    "fake token gone": values("tokenizer_config.json", "fake_image_token"),
    "fake token of a number": values("tokenizer_config.json", "fake_image_token", 5),
    "image token other": config("image_token_id", 9),
    "vision patch other": config("vision_config.patch_size", 4),
    "vision heads none": config("vision_config.num_attention_heads", 0),
 },
 "blip": {
    "queries huge": processor("num_query_tokens", HUGE),
    "queries many": processor("num_query_tokens", 50_000),
    "queries other": processor("num_query_tokens", 2),
    "queries negative": processor("num_query_tokens", -3),
    "queries null": processor("num_query_tokens", None),
    "queries of the model": config("num_query_tokens", 999),
    "start token beyond": all_of(config("text_config.decoder_start_token_id", 10**6), values("generation_config.json", "decoder_start_token_id", 10**6)),
    "start token null": all_of(config("text_config.decoder_start_token_id", None), values("generation_config.json", "decoder_start_token_id")),
    "buckets zero": config("text_config.relative_attention_num_buckets", 0),
    "distance zero": config("text_config.relative_attention_max_distance", 0),
    "width of keys zero": config("text_config.d_kv", 0),
    "feed unknown": config("text_config.feed_forward_proj", "gated-endless"),
    "decoder layers other": config("text_config.num_decoder_layers", 5),
    "decoder alone": config("use_decoder_only_language_model", True),
    "cross attention never": config("qformer_config.cross_attention_frequency", 0),
    "q-former null": config("qformer_config", None),
    "pieces of nan": tokens("model.vocab.5", ["x", float("nan")]),
    "pieces infinite": tokens("model.vocab.5", ["x", -1e308]),
    "pieces unknown beyond": tokens("model.unk_id", 10**6),
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
    "projection zero": config("projection_dim", 0),
    "projection other": config("projection_dim", 9),
    "places none": config("text_config.max_position_embeddings", 0),
    "places negative": config("text_config.max_position_embeddings", -8),
    "places many": config("text_config.max_position_embeddings", 60_000),
    "end token beyond": config("text_config.eos_token_id", 10**6),
    "picture size huge": preprocessor("size", {"height": 60_000, "width": 60_000}),
    "picture size zero": preprocessor("size", {"shortest_edge": 0}),
    "picture class gone": lambda folder: (folder / "preprocessor_config.json").unlink(),
    "mean a number": preprocessor("image_mean", 0.5),
    "longest text zero": values("tokenizer_config.json", "model_max_length", 0),
    "longest text one": values("tokenizer_config.json", "model_max_length", 1),
    "longest text negative": values("tokenizer_config.json", "model_max_length", -7),
    "longest text nan": values("tokenizer_config.json", "model_max_length", float("nan")),
    "weights nan": every(lambda one: one * float("nan")),
    "vision weights gone": without("vision_model"),
    "a model of sounds": config("model_type", "whisper"),
    "a model of no kind": config("model_type", None),
 },
 "bert": {
    "layers of zero": config("num_hidden_layers", 0),
    "types none": config("type_vocab_size", 0),
    "heads that do not fit": config("num_attention_heads", 3),
    "decoder of itself": config("is_decoder", True),
    "cross attention": all_of(config("is_decoder", True), config("add_cross_attention", True)),
    "chunks odd": config("chunk_size_feed_forward", 7),
    "drop out of all": config("hidden_dropout_prob", 2),
    "ends unknown": tokens("post_processor.special_tokens", {}),
    "tokens to nothing": tokens("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Removed", "invert": False}),
    "words as one token": tokens("pre_tokenizer", None),
    "weights huge": every(lambda one: one * 1e38),
    "norm without sense": config("layer_norm_eps", -1e9),
 },
 "writer": {
    "template without end": template("{% for a in range(10**9) %}{% for b in range(10**9) %}{% endfor %}{% endfor %}"),
    "template of nothing": template(""),
    "end tokens none": values("generation_config.json", "eos_token_id", []),
    "end tokens of texts": values("generation_config.json", "eos_token_id", ["a"]),
    "end token negative": values("generation_config.json", "eos_token_id", [-1]),
    "context one": config("max_position_embeddings", 1),
    "context a text": config("max_position_embeddings", "512"),
    "model of pictures": config("model_type", "clip"),
    "decoder grows": tokens("decoder", {"type": "Sequence", "decoders": replacing(".", "x" * 100_000, 4)["normalizers"]}),
    "weights infinite": every(lambda one: one + float("inf")),
    "tokenizer a folder up": values("tokenizer_config.json", "tokenizer_file", "/etc/passwd"),
    "tied to nothing": config("tie_word_embeddings", True),
 },
}  # fmt: skip
# Odd, and yet the model answers.
READ: dict[str, set[str]] = {
    "next": {"tiles unpadded", "pictures unread", "pictures as they are", "decoder of bytes", "pad token gone", "forced tokens", "bad words", "stops of text", "length negative", "auto map", "index of nothing", "rope scaling dynamic", "rope of yarn"},
    "idefics3": {"splitting", "edge huge", "fake token gone", "fake token of a number"},
    "blip": {"queries other", "queries negative", "queries null", "feed unknown", "decoder alone", "pieces infinite"},
    "instruct": {"q-former ids beyond"},
    "clip": {"end token beyond", "mean a number", "longest text zero", "longest text nan"},
    "bert": {"decoder of itself", "tokens to nothing", "words as one token"},
    "writer": {"end token negative", "context one", "weights infinite", "tokenizer a folder up", "tied to nothing"},
}  # fmt: skip
