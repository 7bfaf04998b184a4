"""A tiny random Prismatic VLM of the authors' own classes, and their own generation. Runs in the driver's environment.

python tiny_prismatic.py CODE FOLDER make FORM       FOLDER/model, llm, vision and dino; a checkpoint for the authors' code
python tiny_prismatic.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2]).absolute()
FORMS = {
    "plain": {
        "parts": ["llm", "vision", "dino"],
        "settings": {"vit": {"embed_dim": 48, "depth": 3, "num_heads": 2}},
    }
}
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
VIT = FORMS["plain"]["settings"]["vit"]
CONFIG = {
    "model_id": "tiny",
    "arch_specifier": "no-align+fused-gelu-mlp",
    "vision_backbone_id": "dinosiglip-vit-so-224px",
    "llm_backbone_id": "vicuna-v15-7b",
    "image_resize_strategy": "resize-naive",
}


def built(weights):
    """The authors' backbones; weights: whether their towers' files exist."""
    import timm
    from prismatic.models import get_llm_backbone_and_tokenizer, get_vision_backbone_and_transform
    from prismatic.models.backbones.llm.llama2 import LLAMA2_MODELS

    created = timm.create_model

    def create(name, pretrained, **given):
        file = FOLDER / ("dino" if "dino" in name else "vision") / "model.safetensors"
        return created(name, pretrained=weights, pretrained_cfg_overlay={"file": str(file)}, **given, **VIT)

    timm.create_model = create
    LLAMA2_MODELS["vicuna-v15-7b"]["hf_hub_path"] = str(FOLDER / "llm")
    vision, _ = get_vision_backbone_and_transform(
        CONFIG["vision_backbone_id"], CONFIG["image_resize_strategy"]
    )
    language, _ = get_llm_backbone_and_tokenizer(CONFIG["llm_backbone_id"], inference_mode=True)
    return vision, language


def make():
    import torch
    from prismatic.models import get_vlm
    from safetensors.torch import save_file
    from transformers import LlamaConfig

    torch.manual_seed(1)
    words = save_words(FOLDER / "llm", "True False Yes No " + " ".join(map(chr, range(65, 91))) + " ")
    LlamaConfig(vocab_size=len(words), initializer_range=0.4, **SIZE).save_pretrained(FOLDER / "llm")
    vision, language = built(weights=False)
    for name, tower in (("dino", vision.dino_featurizer), ("vision", vision.siglip_featurizer)):
        (FOLDER / name).mkdir()
        values = {key: value + torch.randn_like(value) * 0.1 for key, value in tower.state_dict().items()}
        save_file(values, FOLDER / name / "model.safetensors")
    vlm = get_vlm(CONFIG["model_id"], CONFIG["arch_specifier"], vision, language)
    state = {name: getattr(vlm, name).state_dict() for name in ("projector", "llm_backbone")}
    (FOLDER / "model/checkpoints").mkdir(parents=True)
    (FOLDER / "model/config.json").write_text(json.dumps({"model": CONFIG}))
    torch.save({"model": state}, FOLDER / "latest-checkpoint.pt")
    flat = {
        f"model.{name}.{key}": value.clone()
        for name, values in state.items()
        for key, value in values.items()
    }
    save_file(flat, FOLDER / "model/checkpoints/latest-checkpoint.safetensors")


def ask(question):
    """As generate_batch of prismatic/models/vlms/prismatic.py reads option letters, and as it writes texts."""
    import torch
    from PIL import Image
    from prismatic.models.vlms import PrismaticVLM

    vlm = PrismaticVLM.from_pretrained(
        FOLDER / "latest-checkpoint.pt", "tiny", *built(weights=True), arch_specifier=CONFIG["arch_specifier"]
    )
    builder, steps = vlm.get_prompt_builder(), []
    builder.add_turn("human", question["text"])
    prompt, image = builder.get_prompt(), Image.open(question["image"]).convert("RGB")
    vlm.llm_backbone.llm.register_forward_hook(lambda module, given, out: steps.append(out.logits[0, -1]))
    with torch.no_grad():
        text = vlm.generate(image, prompt, do_sample=False, max_new_tokens=6)
    letters = {label: float(steps[0][vlm.string2idx[label]]) for label in question["labels"]}
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
