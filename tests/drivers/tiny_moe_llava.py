"""Tiny random MoE-LLaVAs of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_moe_llava.py CODE FOLDER make FORM       FOLDER/model, FOLDER/vision_tower
python tiny_moe_llava.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import base64
import json
import sys
from importlib import import_module
from pathlib import Path

from tiny_tower import SIZE, save_tower

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "phi": {"parts": ["vision_tower"], "settings": {}},
    "qwen": {"parts": ["vision_tower"], "settings": {}},
    "stablelm": {"parts": ["vision_tower"], "settings": {}},
}
NAMES = {"phi": "Phi", "qwen": "QWen", "stablelm": "Stablelm"}
OTHERS = {  # form: values of its configuration
    "phi": {},
    "qwen": {"kv_channels": 16, "seq_length": 2048, "use_flash_attn": False},
    "stablelm": {"num_key_value_heads": 2},
}


def tokenizer_of(form, folder):
    """The tokenizer in a folder, by the class that the authors' builder takes."""
    if form == "phi":
        from transformers import CodeGenTokenizer as words
    elif form == "qwen":
        from moellava.model.language_model.qwen.tokenization_qwen import QWenTokenizer as words
    else:
        from moellava.model.language_model.stablelm.tokenization_arcade100k import (
            Arcade100kTokenizer as words,
        )
    return words.from_pretrained(folder)


def save_words(form, folder):
    """A vocabulary of bytes and a few pairs of them."""
    folder.mkdir()
    pairs = [b" " + bytes([letter]) for letter in b"ABCDabcdefghijklmnopqrstuvwxyz"]
    if form == "phi":
        from tokenizers import pre_tokenizers

        pieces = [
            *sorted(pre_tokenizers.ByteLevel.alphabet()),
            *(f"\u0120{pair[1:].decode()}" for pair in pairs),
        ]
        vocabulary = {piece: index for index, piece in enumerate([*pieces, "<|endoftext|>"])}
        (folder / "vocab.json").write_text(json.dumps(vocabulary), "utf-8")
        merges = ["#version: 0.2", *(f"\u0120 {pair[1:].decode()}" for pair in pairs)]
        (folder / "merges.txt").write_text("\n".join(merges) + "\n", "utf-8")
    else:
        pieces = [bytes([value]) for value in range(256)] + pairs
        whole = {"qwen": 151643, "stablelm": 100256}[form]  # special tokens begin behind these
        pieces += [b"\xff" + index.to_bytes(3, "big") for index in range(whole - len(pieces))]
        lines = [f"{base64.b64encode(piece).decode()} {rank}" for rank, piece in enumerate(pieces)]
        name = {"qwen": "qwen.tiktoken", "stablelm": "arcade100k.tiktoken"}[form]
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    words = tokenizer_of(form, folder)
    words.save_pretrained(folder)
    return words


def prepared(form, dtype=None):
    """The authors' class of a model, whose tower lies in FOLDER; on a processor instead of a graphics card."""
    import torch
    from deepspeed.moe import sharded_moe
    from moellava.model import llava_arch
    from moellava.model.multimodal_encoder.clip_encoder import CLIPVisionTower

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{FOLDER}/group-{sys.argv[3]}", rank=0, world_size=1
    )
    sharded_moe.dist = torch.distributed  # deepspeed.comm wants a graphics card
    tower = str(FOLDER / "vision_tower")
    llava_arch.build_image_tower = lambda config, **given: CLIPVisionTower(tower, config, **given)
    module = import_module(f"moellava.model.language_model.llava_{form}_moe")
    return getattr(module, f"EvalMoELLaVA{NAMES[form]}ForCausalLM")


def make(form):
    import torch

    torch.manual_seed(1)
    save_tower(FOLDER / "vision_tower")
    words, owner = save_words(form, FOLDER / "model"), prepared(form)
    experts = {"moe_layers_idx": [1], "ep_size": 1, "top_k_experts": 2, "capacity_factor": 1.5}
    config = owner.config_class(
        **SIZE,
        **experts,
        **OTHERS[form],
        vocab_size=(len(words) + 63) // 64 * 64,
        eval_capacity_factor=2.0,
        min_capacity=0,
        mm_image_tower="openai/clip-vit-large-patch14-336",
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        image_projector_type="mlp2x_gelu",
        image_aspect_ratio="pad",
        eos_token_id=words.convert_tokens_to_ids("<|endoftext|>"),
        tokenizer_model_max_length=2048,
    )
    config.moe["num_experts"] = [4]
    model = owner(config)
    with torch.no_grad():
        for value in model.parameters():
            value.normal_(std=0.2)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As input_utils/text_utils.py and models_utils of EnSec-AI/VLM-Uncertainty-Bench ask, with a seed."""
    import torch
    from moellava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
    from moellava.conversation import conv_templates
    from moellava.mm_utils import tokenizer_image_token
    from PIL import Image

    config = json.loads((FOLDER / "model/config.json").read_text("utf-8"))
    form = config["model_type"].rpartition("_")[2]
    # moellava/model/builder.py loads in half precision only
    model = prepared(form).from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    tower = model.get_image_tower()
    tower.load_model()
    tokenizer = tokenizer_of(form, FOLDER / "model")
    shown = Image.open(question["image"]).convert("RGB")
    pixels = tower.image_processor.preprocess(shown, return_tensors="pt")["pixel_values"]
    talk = conv_templates[form].copy()
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + "\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    ends = dict.fromkeys(("pad_token_id", "eos_token_id"), tokenizer.convert_tokens_to_ids("<|endoftext|>"))
    with torch.no_grad():
        torch.manual_seed(0)  # the second expert of each token is drawn
        logits = model(input_ids=ids, images=pixels, return_dict=True).logits[0, -1]
        torch.manual_seed(0)
        written = model.generate(ids, images=pixels, do_sample=False, max_new_tokens=6, **ends)
    letters = {label: float(logits[tokenizer(" " + label).input_ids[-1]]) for label in question["labels"]}
    text = tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make(sys.argv[4]) if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
