"""A tiny random Lynx of the authors' own classes, and their own generation. Runs in the driver's environment.

python tiny_lynx.py CODE FOLDER make FORM       FOLDER/model, llm and vision; FOLDER/own/data, as the authors have it
python tiny_lynx.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import os
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2]).absolute()
FORMS = {
    "plain": {"parts": ["llm", "vision"], "settings": {"vit": {"embed_dim": 88, "depth": 2, "num_heads": 1}}}
}
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
VIT = FORMS["plain"]["settings"]["vit"]


def built():
    """The authors' model and their configuration, with a smaller vision transformer."""
    import yaml
    from models.lynx import LynxBase
    from models.vits import eva_vit

    config = yaml.safe_load((Path(sys.argv[1]) / "configs/LYNX.yaml").read_text("utf-8"))
    whole = eva_vit.VisionTransformer
    eva_vit.VisionTransformer = lambda **given: whole(**{**given, **VIT})
    os.chdir(FOLDER / "own")
    return LynxBase(config, load_bridge=False).eval(), config


def make():
    import torch
    from models.llms.llama.modeling_llama import LlamaConfig, LlamaForCausalLM
    from models.vits.eva_vit import VisionTransformer

    torch.manual_seed(1)
    words, own = save_words(FOLDER / "llm"), FOLDER / "own/data"
    own.mkdir(parents=True)
    (own / "vicuna-7b").symlink_to(FOLDER / "llm")
    llama = LlamaConfig(vocab_size=len(words), initializer_range=0.4, pad_token_id=0, **SIZE)
    own_keys = {"use_flash_attn": False, "use_adapter": False, "freeze_params": False, "label_smoothing": 0}
    llama.update(own_keys)
    LlamaForCausalLM(llama).save_pretrained(FOLDER / "llm", safe_serialization=True)

    # EVA's own file: for smaller images, and queries, keys and values in one matrix
    vision = VisionTransformer(img_size=224, patch_size=14, mlp_ratio=4.3637, qkv_bias=True, **VIT)
    old = vision.state_dict()
    for block in [f"blocks.{index}.attn" for index in range(VIT["depth"])]:
        parts = [old.pop(f"{block}.{name}_proj.weight") for name in "qkv"]
        old[f"{block}.qkv.weight"] = torch.cat(parts)
        old.update({f"{block}.{name}_bias": old.pop(f"{block}.{name}_proj.bias") for name in "qv"})
    save({name: torch.randn_like(value) * 0.2 for name, value in old.items()}, "eva_vit_g.pth", "vision")
    model, _ = built()
    trained = {name: value for name, value in model.state_dict().items() if not name.startswith("vision_")}
    trained = {
        f"model.{name}": value for name, value in trained.items() if "LLM" not in name or "adapter" in name
    }
    save(
        {name: torch.randn_like(value) * 0.2 for name, value in trained.items()}, "finetune_lynx.pt", "model"
    )


def save(values, name, folder):
    """As a pickle for the authors' code, and as safetensors."""
    import torch
    from safetensors.torch import save_file

    (FOLDER / folder).mkdir(exist_ok=True)
    torch.save({"model": values} if folder == "model" else values, FOLDER / "own/data" / name)
    nested = {f"model.{key}": value for key, value in values.items()} if folder == "model" else values
    save_file(nested, FOLDER / folder / f"{Path(name).stem}.safetensors", {"format": "pt"})


def ask(question):
    """As ReForm-Eval's lynx_interface.py asks; the logits are those of LynxBase.generate's first step."""
    import torch
    from dataset import get_image_transform
    from PIL import Image

    model, config = built()
    tokenizer, steps = model.tokenizer, []
    model.LLM.register_forward_hook(lambda module, given, out: steps.append(out.logits[0, -1]))
    prompt = f"User: {question['text']}\nBot:".strip().lower()
    words = [tokenizer.bos_token, *tokenizer.tokenize(prompt)]
    ids = torch.LongTensor([tokenizer.convert_tokens_to_ids(words)])
    image = get_image_transform(config)[1](Image.open(question["image"]).convert("RGB"))[None]
    options = {"num_beams": 1, "min_length": 0, "no_repeat_ngram_size": 0, "max_new_tokens": 6}
    (text,) = model.generate(image, ids, torch.ones_like(ids), **options)
    letters = {}
    for label in question["labels"]:
        whole = tokenizer.tokenize(f"{prompt} {label.lower()}")
        assert whole[:-1] == words[1:], whole
        letters[label] = float(steps[0][tokenizer.convert_tokens_to_ids(whole[-1])])
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
