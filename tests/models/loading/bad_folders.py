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


def pictures(key: str, value: Any = GONE) -> Edit:
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
    "vision layers a million": config(VISION + "num_hidden_layers", MANY),
    "vision layers negative": config(VISION + "num_hidden_layers", -1),
    "width huge": config(TEXT + "hidden_size", HUGE),
    "inner width huge": config(TEXT + "intermediate_size", HUGE),
    "vision width huge": config(VISION + "hidden_size", HUGE),
    "vocabulary huge": config(TEXT + "vocab_size", HUGE),
    "heads huge": config(TEXT + "num_attention_heads", HUGE),
    "head width huge": config(TEXT + "head_dim", HUGE),
    "image size huge": config(VISION + "image_size", HUGE),
    "patch huge": config(VISION + "patch_size", HUGE),
    "channels huge": config(VISION + "num_channels", HUGE),
    "generation config cut": text("generation_config.json", '{"eos_token_id"'),
    "labels many": config("num_labels", HUGE),
    "end tokens many": values("generation_config.json", "eos_token_id", list(range(100_000))),
    "config empty": text("config.json", ""),
    "adapters": text("adapter_config.json", "{}"),
    "processor cut": text("processor_config.json", '{"image_proc'),
    "processor tokens huge": processor("num_additional_image_tokens", HUGE),
    "tokenizer config cut": text("tokenizer_config.json", '{"bos'),
    "weights a header alone": header({"a": {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 0]}}),
    "weights overlapping": header({"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, "b": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}),
    "weights sparse": sparse("model.safetensors", 10**11),
    "pipe for the config": pipe("config.json"),
    "pipe for the weights": pipe("model.safetensors"),
    "pipe for the tokenizer": pipe("tokenizer.json"),
    "pipe for the index": pipe("model.safetensors.index.json"),
    "pipe for the template": pipe("chat_template.jinja"),
    "pipe beside": pipe("notes"),
    "pipe by a link": all_of(pipe("notes"), link("vocab.json", "notes")),
    "socket": a_socket("generation_config.json"),
    "device": link("added_tokens.json", "/dev/zero"),
    "device of weights": link("model-2.safetensors", "/dev/zero"),
    "folder for the config": folder("config.json"),
    "link to itself": link("config.json", "config.json"),
    "link out of reach": link("vocab.json", "/proc/1/mem"),
    "sparse config": sparse("config.json", 10**11),
    "sparse tokenizer": sparse("tokenizer.json", 10**11),
    "sparse vocabulary beside": sparse("vocab.txt", 10**11),
}  # fmt: skip
# Refused where it is loaded, or at the first questions.
LATER: dict[str, Edit] = {
    "layers a text": config(TEXT + "num_hidden_layers", "two"),
    "layers a fraction": config(TEXT + "num_hidden_layers", 1.5),
    "layers null": config(TEXT + "num_hidden_layers", None),
    "width zero": config(TEXT + "hidden_size", 0),
    "width negative": config(TEXT + "hidden_size", -32),
    "width other": config(TEXT + "hidden_size", 48),
    "vision width zero": config(VISION + "hidden_size", 0),
    "vocabulary zero": config(TEXT + "vocab_size", 0),
    "vocabulary small": config(TEXT + "vocab_size", 7),
    "heads zero": config(TEXT + "num_attention_heads", 0),
    "heads odd": config(TEXT + "num_attention_heads", 5),
    "key heads zero": config(TEXT + "num_key_value_heads", 0),
    "key heads odd": config(TEXT + "num_key_value_heads", 3),
    "head width odd": config(TEXT + "head_dim", 7),
    "positions negative": config(TEXT + "max_position_embeddings", -1),
    "activation unknown": config(TEXT + "hidden_act", "exec"),
    "rope unknown": config(TEXT + "rope_parameters", {"rope_type": "endless", "rope_theta": 1}),
    "rope a text": config(TEXT + "rope_parameters", "default"),
    "rope factors": config(TEXT + "rope_parameters", {"rope_type": "longrope", "rope_theta": 1e4, "factor": 2, "short_factor": [1] * 99, "long_factor": []}),
    "image size zero": config(VISION + "image_size", 0),
    "patch zero": config(VISION + "patch_size", 0),
    "patch negative": config(VISION + "patch_size", -16),
    "patch one": config(VISION + "patch_size", 1),
    "feature layer out of range": config("vision_feature_layer", -99),
    "feature layer a text": config("vision_feature_layer", "last"),
    "feature strategy unknown": config("vision_feature_select_strategy", "some"),
    "image token null": config("image_token_index", None),
    "image token negative": config("image_token_index", -5),
    "image token beyond": config("image_token_index", 10**12),
    "image token a letter": config("image_token_index", 40),
    "pad token beyond": config(TEXT + "pad_token_id", 10**6),
    "end token a text": values("generation_config.json", "eos_token_id", "</s>"),
    "generation config a list": text("generation_config.json", "[]"),
    "model type a list": config("model_type", ["llava"]),
    "model type of texts": config("model_type", "bert"),
    "text model unknown": config(TEXT + "model_type", "unheard_of"),
    "text model itself": config(TEXT + "model_type", "llava"),
    "text config a text": config("text_config", "llama"),
    "text config a list": config("text_config", []),
    "vision config null": config("vision_config", None),
    "dtype unknown": config("dtype", "float3"),
    "dtype a list": config("dtype", ["float32"]),
    "quantised": config("quantization_config", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "quantised a text": config("quantization_config", "yes"),
    "attention unknown": config("_attn_implementation", "sparkling"),
    "names of labels": config("id2label", {"a": 1}),
    "config of a list": text("config.json", "[]"),
    "config deep": config("deep", json.loads("[" * 900 + "]" * 900)),
    "config nan": config(TEXT + "initializer_range", float("nan")),
    "sliding window zero": config(TEXT + "sliding_window", 0),
    "layer types wrong": config(TEXT + "layer_types", ["endless", "endless"]),
    "layer types many": config(TEXT + "layer_types", ["full_attention"] * 10_000),
    "projector unknown": config("projector_hidden_act", "none"),
    "processor class of a tokenizer": processor("processor_class", "PreTrainedTokenizerFast"),
    "processor class unknown": processor("processor_class", "EndlessProcessor"),
    "processor class of sounds": processor("processor_class", "WhisperProcessor"),
    "processor without pictures": all_of(processor("image_processor"), processor("processor_class", "LlamaTokenizer"), values("tokenizer_config.json", "processor_class", "LlamaTokenizer")),
    "no processor at all": lambda folder: (folder / "processor_config.json").unlink(),
    "processor a list": text("processor_config.json", "[]"),
    "processor patch zero": processor("patch_size", 0),
    "processor patch text": processor("patch_size", "16"),
    "processor patch small": processor("patch_size", 1),
    "processor strategy": processor("vision_feature_select_strategy", "none"),
    "processor tokens negative": processor("num_additional_image_tokens", -9),
    "pictures huge": all_of(pictures("size", {"height": 60_000, "width": 60_000}), pictures("crop_size", {"height": 60_000, "width": 60_000})),
    "pictures of many places": all_of(pictures("size", {"height": 2048, "width": 2048}), pictures("crop_size", {"height": 2048, "width": 2048}), processor("patch_size", 1)),
    "pictures edge huge": pictures("size", {"shortest_edge": HUGE}),
    "pictures zero": pictures("size", {"height": 0, "width": 0}),
    "pictures negative": pictures("size", {"height": -32, "width": 32}),
    "pictures of another size": pictures("size", {"height": 48, "width": 48}),
    "pictures crop huge": all_of(pictures("do_center_crop", True), pictures("crop_size", {"height": 10**6, "width": 10**6})),
    "pictures crop odd": all_of(pictures("do_center_crop", True), pictures("crop_size", {"height": 7, "width": 31})),
    "pictures size a text": pictures("size", "large"),
    "pictures mean short": pictures("image_mean", [0.5]),
    "pictures mean empty": pictures("image_mean", []),
    "pictures mean texts": pictures("image_mean", ["a", "b", "c"]),
    "pictures scale text": pictures("rescale_factor", "1/255"),
    "pictures resampling unknown": pictures("resample", 99),
    "pictures class unknown": pictures("image_processor_type", "EndlessImageProcessor"),
    "pictures class of tiles": pictures("image_processor_type", "LlavaNextImageProcessor"),
    "pictures class of videos": pictures("image_processor_type", "Qwen2VLImageProcessor"),
    "tokenizer gone": lambda folder: (folder / "tokenizer.json").unlink(),
    "tokenizer empty": text("tokenizer.json", ""),
    "tokenizer a list": text("tokenizer.json", "[]"),
    "tokenizer null": text("tokenizer.json", "null"),
    "tokenizer cut": lambda folder: (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes()[:900]),
    "tokenizer deep": text("tokenizer.json", "[" * 100_000),
    "tokenizer version": tokens("version", "99"),
    "tokenizer model unknown": tokens("model.type", "Endless"),
    "tokenizer model empty": tokens("model.vocab", {}),
    "tokenizer ids negative": tokens("model.vocab.cat", -1),
    "tokenizer ids huge": tokens("model.vocab.cat", 2**31),
    "tokenizer ids beyond the model": tokens("model.vocab.cat", 5000),
    "tokenizer without unknown": tokens("model.unk_token", "<nothing>"),
    "tokenizer without image token": all_of(tokens("added_tokens", added(*SPECIAL[:4])), tokens("model.vocab.<image>"), values("tokenizer_config.json", "image_token")),
    "tokenizer merges image tokens": tokens("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(<image>)+"}, "behavior": "Isolated", "invert": False}),
    "tokenizer drops everything": tokens("normalizer", {"type": "Replace", "pattern": {"Regex": "."}, "content": ""}),
    "tokenizer grows": tokens("normalizer", replacing("a", "a" * 100_000, 3)),
    "tokenizer grows slowly": tokens("normalizer", replacing("e", "ee", 12)),
    "tokenizer grows at letters": tokens("normalizer", replacing("[A-Z]", "Q" * 100_000, 3)),
    "tokenizer prepends": tokens("normalizer", {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "x" * 100_000}] * 20}),
    "tokenizer cuts": tokens("truncation", {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}),
    "tokenizer cuts with a stride": tokens("truncation", {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 9}),
    "tokenizer pattern broken": tokens("pre_tokenizer.pattern", {"Regex": "(((("}),
    "tokenizer pattern without end": tokens("pre_tokenizer.pattern", {"Regex": "(?:(.|.)+)+$(?!.|)"}),
    "tokenizer pattern of backreferences": tokens("pre_tokenizer.pattern", {"Regex": r"(.*)(.*)(.*)(.*)\1\2\3\4x"}),
    "tokenizer template many": tokens("post_processor.single", [{"SpecialToken": {"id": "<s>", "type_id": 0}}] * 10_000),
    "tokenizer template empty": tokens("post_processor.single", []),
    "tokenizer template unknown": tokens("post_processor.single", [{"SpecialToken": {"id": "<none>", "type_id": 0}}]),
    "tokenizer class a list": values("tokenizer_config.json", "tokenizer_class", ["LlamaTokenizer"]),
    "tokenizer config a list": text("tokenizer_config.json", "[]"),
    "tokenizer special a number": values("tokenizer_config.json", "bos_token", 1),
    "tokenizer special a list": values("tokenizer_config.json", "eos_token", ["</s>"]),
    "tokenizer longest text": values("tokenizer_config.json", "model_max_length", "long"),
    "sentencepiece empty": all_of(lambda folder: (folder / "tokenizer.json").unlink(), text("tokenizer.model", "")),
    "sentencepiece noise": all_of(lambda folder: (folder / "tokenizer.json").unlink(), text("tokenizer.model", "noise" * 99)),
    "merges broken": all_of(lambda folder: (folder / "tokenizer.json").unlink(), text("merges.txt", "#version\na"), text("vocab.json", "{}")),
    "template without pictures": template("{{ messages[0]['content'] }}"),
    "template with two pictures": template("<image><image>" + "{% for m in messages %}{% for p in m['content'] %}{{ p['text'] if p['type'] == 'text' else '<image>' }}{% endfor %}{% endfor %}"),
    "template long": template("{{ 'x' * 99999999999 }}"),
    "template include": template("{% include 'config.json' %}"),
    "template not UTF-8": lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff\xfe"),
    "template null bytes": template("\0" * 99),
    "template undefined": template("{{ nothing.at.all }}"),
    "template empty": template(""),
    "template of the config a number": all_of(lambda folder: (folder / "chat_template.jinja").unlink(), processor("chat_template", 3)),
    "weights zero": every(lambda one: one * 0),
    "weights whole numbers": every(lambda one: one.int()),
    "weights of 8 bits": every(lambda one: one.char()),
    "weights turned": every(lambda one: one.T if one.ndim == 2 else one),
    "weights empty": tensors(lambda found: found.clear()),
    "weights of other names": tensors(lambda found: [found.update({"x" + name: found.pop(name)}) for name in list(found)]),
    "weights without elements": every(lambda one: one[:0]),
    "weights of scalars": every(lambda one: one.flatten()[0].clone()),
    "weights of many axes": header({"a": {"dtype": "F32", "shape": [1] * 9000 + [0], "data_offsets": [0, 0]}}),
    "folder for the tokenizer": folder("tokenizer.json"),
    "folder for the template": folder("chat_template.jinja"),
    "link to nothing": link("tokenizer.json", "nowhere"),
}  # fmt: skip
# Odd, and yet the model answers; where its numbers are none, each question is refused.
ANSWERING: dict[str, Edit] = {
    "layers none": config(TEXT + "num_hidden_layers", 0),
    "positions huge": config(TEXT + "max_position_embeddings", 10**15),
    "positions zero": config(TEXT + "max_position_embeddings", 0),
    "epsilon nan": config(TEXT + "rms_norm_eps", float("nan")),
    "rope theta zero": config(TEXT + "rope_parameters", {"rope_type": "default", "rope_theta": 0}),
    "architecture other": config("architectures", ["LlamaForCausalLM"]),
    "architecture many": config("architectures", ["A"] * 10_000),
    "quantised unknown": config("quantization_config", {"quant_method": "endless"}),
    "processor patch negative": processor("patch_size", -16),
    "processor patch null": processor("patch_size", None),
    "processor image token other": processor("image_token", "cat"),
    "processor image token empty": processor("image_token", ""),
    "pictures deviation zero": pictures("image_std", [0, 0, 0]),
    "pictures deviation nan": pictures("image_std", [float("nan")] * 3),
    "pictures scale infinite": pictures("rescale_factor", float("inf")),
    "tokenizer ids twice": tokens("model.vocab.cat", 7),
    "tokenizer added beyond": tokens("added_tokens", [*added(*SPECIAL), {**added("<more>")[0], "id": HUGE}]),
    "tokenizer splits the image token": all_of(tokens("added_tokens", added(*SPECIAL[:4])), tokens("pre_tokenizer", SPLIT)),
    "tokenizer splits everything": tokens("pre_tokenizer", SPLIT),
    "tokenizer pads huge": tokens("padding", {"strategy": {"Fixed": 10**12}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
    "tokenizer pads to a multiple": tokens("padding", {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": 10**12, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
    "tokenizer class unknown": values("tokenizer_config.json", "tokenizer_class", "EndlessTokenizer"),
    "tokenizer class other": values("tokenizer_config.json", "tokenizer_class", "BertTokenizer"),
    "tokenizer special null": values("tokenizer_config.json", "eos_token", None),
    "tokenizer further special": values("tokenizer_config.json", "extra_special_tokens", {"a" * 200: "b" * 100_000}),
    "tokenizer longest zero": values("tokenizer_config.json", "model_max_length", 0),
    "weights nan": every(lambda one: one * float("nan")),
    "weights infinite": every(lambda one: one + float("inf")),
    "weights of 64 bits": every(lambda one: one.double()),
    "many files": lambda at: [(at / f"{n}.json").write_text("{}") for n in range(300)],
}  # fmt: skip
BAD = {**AT_THE_PIN, **LATER, **ANSWERING}
