"""Model folders that lie, are damaged or ask for too much, as edits of the tiny LLaVA's folder."""

import json
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Edit = Callable[[Path], object]
GONE: Any = object()


def values(name: str, key: str, value: Any = GONE) -> Edit:
    """One value of a JSON file, by a dotted key; GONE removes it."""

    def edit(folder: Path) -> None:
        path = folder / name
        whole = json.loads(path.read_text("utf-8")) if path.exists() else {}
        *parents, last = key.split(".")
        level = whole
        for parent in parents:
            level = level[int(parent)] if isinstance(level, list) else level.setdefault(parent, {})
        if value is GONE:
            del level[last]
        else:
            level[int(last) if isinstance(level, list) else last] = value
        path.write_text(json.dumps(whole), "utf-8")

    return edit


def all_of(*edits: Edit) -> Edit:
    def edit(folder: Path) -> None:
        for one in edits:
            one(folder)

    return edit


def config(key: str, value: Any = GONE) -> Edit:
    return values("config.json", key, value)


def processor(key: str, value: Any = GONE) -> Edit:
    return values("processor_config.json", key, value)


def images(key: str, value: Any = GONE) -> Edit:
    return processor(f"image_processor.{key}", value)


def tokens(key: str, value: Any = GONE) -> Edit:
    return values("tokenizer.json", key, value)


def text(name: str, content: str) -> Edit:
    return lambda folder: (folder / name).write_text(content, "utf-8")


def template(content: str) -> Edit:
    return text("chat_template.jinja", content)


def pipe(name: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return edit


def a_socket(name: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as one:
            here = os.open(folder, os.O_RDONLY)  # a socket's whole path may have 107 bytes
            one.bind(f"/proc/self/fd/{here}/{name}")
            os.close(here)

    return edit


def folder(name: str) -> Edit:
    def edit(at: Path) -> None:
        (at / name).unlink(missing_ok=True)
        (at / name).mkdir()

    return edit


def link(name: str, to: str) -> Edit:
    def edit(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(to)

    return edit


def sparse(name: str, size: int) -> Edit:
    def edit(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.truncate(size)

    return edit


def tensors(change: Callable[[dict[str, Any]], object]) -> Edit:
    """Other weights."""

    def edit(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(
            {name: one.contiguous() for name, one in weights.items()},
            folder / "model.safetensors",
            metadata={"format": "pt"},
        )

    return edit


def every(change: Callable[[Any], Any]) -> Edit:
    """Each floating point tensor changed."""
    return tensors(lambda found: found.update({name: change(one) for name, one in found.items()}))


def header(data: dict[str, Any]) -> Edit:
    """Weights that are a header alone."""

    def edit(folder: Path) -> None:
        written = json.dumps(data).encode()
        (folder / "model.safetensors").write_bytes(len(written).to_bytes(8, "little") + written)

    return edit


def replacing(pattern: str, content: str, times: int) -> dict[str, Any]:
    """A normalizer that writes a text so many times in the place of each match, again and again."""
    step = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
    return {"type": "Sequence", "normalizers": [step] * times}


def added(*names: str) -> Sequence[dict[str, Any]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [{"id": place, "content": name, "special": True, **flags} for place, name in enumerate(names)]


SPECIAL = ("<unk>", "<s>", "</s>", "<pad>", "<image>")
TEXT, VISION = "text_config.", "vision_config."
HUGE, MANY = 10**9, 10**6
SPLIT = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}

# Refused where the model is pinned: nothing of it is loaded.
AT_THE_PIN: dict[str, Edit] = {
    "layers negative": config(TEXT + "num_hidden_layers", -2),
    "layers a million": config(TEXT + "num_hidden_layers", MANY),
    "layers infinite": text("config.json", '{"model_type": "llava", "text_config": {"model_type": "llama", "num_hidden_layers": Infinity}}'),
    "width huge": config(TEXT + "hidden_size", HUGE),
    "heads huge": config(TEXT + "num_attention_heads", HUGE),
    "head width huge": config(TEXT + "head_dim", HUGE),
    "generation config cut": text("generation_config.json", '{"eos_token_id"'),
    "end tokens many": values("generation_config.json", "eos_token_id", list(range(100_000))),
    "config empty": text("config.json", ""),
    "adapters": text("adapter_config.json", "{}"),
    "processor without images": all_of(processor("image_processor"), processor("processor_class", "LlamaTokenizer"), values("tokenizer_config.json", "processor_class", "LlamaTokenizer")),
    "no processor at all": lambda folder: (folder / "processor_config.json").unlink(),
    "processor a list": text("processor_config.json", "[]"),
    "tokenizer gone": lambda folder: (folder / "tokenizer.json").unlink(),
    "processor tokens huge": processor("num_additional_image_tokens", HUGE),
    "weights a header alone": header({"a": {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 0]}}),
    "weights sparse": sparse("model.safetensors", 10**11),
    "pipe for the config": pipe("config.json"),
    "pipe for the weights": pipe("model.safetensors"),
    "pipe beside": pipe("notes"),
    "pipe by a link": all_of(pipe("notes"), link("vocab.json", "notes")),
    "socket": a_socket("generation_config.json"),
    "device": link("added_tokens.json", "/dev/zero"),
    "folder for the config": folder("config.json"),
    "link to itself": link("config.json", "config.json"),
    "link out of reach": link("vocab.json", "/proc/1/mem"),
    "sparse config": sparse("config.json", 10**11),
    "sparse vocabulary beside": sparse("vocab.txt", 10**11),
}  # fmt: skip
# Refused where it is loaded, or at the first questions.
LATER: dict[str, Edit] = {
    "layers a text": config(TEXT + "num_hidden_layers", "two"),
    "width zero": config(TEXT + "hidden_size", 0),
    "vocabulary small": config(TEXT + "vocab_size", 7),
    "activation unknown": config(TEXT + "hidden_act", "exec"),
    "rope a text": config(TEXT + "rope_parameters", "default"),
    "patch one": config(VISION + "patch_size", 1),
    "feature layer a text": config("vision_feature_layer", "last"),
    "image token negative": config("image_token_index", -5),
    "end token a text": values("generation_config.json", "eos_token_id", "</s>"),
    "model type of texts": config("model_type", "bert"),
    "text config a text": config("text_config", "llama"),
    "dtype unknown": config("dtype", "float3"),
    "quantised": config("quantization_config", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "attention unknown": config("_attn_implementation", "sparkling"),
    "config of a list": text("config.json", "[]"),
    "config deep": config("deep", json.loads("[" * 900 + "]" * 900)),
    "layer types many": config(TEXT + "layer_types", ["full_attention"] * 10_000),
    "processor class of a tokenizer": processor("processor_class", "PreTrainedTokenizerFast"),
    "processor patch zero": processor("patch_size", 0),
    "images huge": all_of(images("size", {"height": 60_000, "width": 60_000}), images("crop_size", {"height": 60_000, "width": 60_000})),
    "images of many places": all_of(images("size", {"height": 2048, "width": 2048}), images("crop_size", {"height": 2048, "width": 2048}), processor("patch_size", 1)),
    "images zero": images("size", {"height": 0, "width": 0}),
    "images crop huge": all_of(images("do_center_crop", True), images("crop_size", {"height": 10**6, "width": 10**6})),
    "images mean short": images("image_mean", [0.5]),
    "images class unknown": images("image_processor_type", "EndlessImageProcessor"),
    "images class of videos": images("image_processor_type", "Qwen2VLImageProcessor"),
    "tokenizer a list": text("tokenizer.json", "[]"),
    "tokenizer cut": lambda folder: (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes()[:900]),
    "tokenizer deep": text("tokenizer.json", "[" * 100_000),
    "tokenizer ids huge": tokens("model.vocab.cat", 2**31),
    "tokenizer ids beyond the model": tokens("model.vocab.cat", 5000),
    "tokenizer without unknown": tokens("model.unk_token", "<nothing>"),
    "tokenizer without image token": all_of(tokens("added_tokens", added(*SPECIAL[:4])), tokens("model.vocab.<image>"), values("tokenizer_config.json", "image_token")),
    "tokenizer merges image tokens": tokens("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(<image>)+"}, "behavior": "Isolated", "invert": False}),
    "tokenizer drops everything": tokens("normalizer", {"type": "Replace", "pattern": {"Regex": "."}, "content": ""}),
    "tokenizer grows": tokens("normalizer", replacing("a", "a" * 100_000, 3)),
    "tokenizer prepends": tokens("normalizer", {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x" * 100_000}] * 20}),
    "tokenizer cuts": tokens("truncation", {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}),
    "tokenizer pattern broken": tokens("pre_tokenizer.pattern", {"Regex": "(((("}),
    "tokenizer pattern without end": tokens("pre_tokenizer.pattern", {"Regex": "(?:(.|.)+)+$(?!.|)"}),
    "tokenizer special a number": values("tokenizer_config.json", "bos_token", 1),
    "sentencepiece empty": all_of(lambda folder: (folder / "tokenizer.json").unlink(), text("tokenizer.model", "")),
    "template without images": template("{{ messages[0]['content'] }}"),
    "template long": template("{{ 'x' * 99999999999 }}"),
    "template include": template("{% include 'config.json' %}"),
    "template not UTF-8": lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff\xfe"),
    "template empty": template(""),
    "template of the config a number": all_of(lambda folder: (folder / "chat_template.jinja").unlink(), processor("chat_template", 3)),
    "weights zero": every(lambda one: one * 0),
    "weights whole numbers": every(lambda one: one.int()),
    "weights empty": tensors(lambda found: found.clear()),
    "weights of many axes": header({"a": {"dtype": "F32", "shape": [1] * 9000 + [0], "data_offsets": [0, 0]}}),
    "folder for the tokenizer": folder("tokenizer.json"),
    "link to nothing": link("tokenizer.json", "nowhere"),
}  # fmt: skip
# Odd, and yet the model answers; where its numbers are none, each question is refused.
ANSWERING: dict[str, Edit] = {
    "layers none": config(TEXT + "num_hidden_layers", 0),
    "positions huge": config(TEXT + "max_position_embeddings", 10**15),
    "positions zero": config(TEXT + "max_position_embeddings", 0),
    "processor patch null": processor("patch_size", None),
    "images deviation zero": images("image_std", [0, 0, 0]),
    "tokenizer splits the image token": all_of(tokens("added_tokens", added(*SPECIAL[:4])), tokens("pre_tokenizer", SPLIT)),
    "tokenizer pads huge": tokens("padding", {"strategy": {"Fixed": 10**12}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
    "tokenizer class unknown": values("tokenizer_config.json", "tokenizer_class", "EndlessTokenizer"),
    "tokenizer special null": values("tokenizer_config.json", "eos_token", None),
    "tokenizer longest zero": values("tokenizer_config.json", "model_max_length", 0),
    "weights nan": every(lambda one: one * float("nan")),
    "weights infinite": every(lambda one: one + float("inf")),
    "many files": lambda at: [(at / f"{n}.json").write_text("{}") for n in range(300)],
}  # fmt: skip
BAD = {**AT_THE_PIN, **LATER, **ANSWERING}
