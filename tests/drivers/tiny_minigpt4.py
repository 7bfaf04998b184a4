"""A tiny random MiniGPT-4, and ReForm-Eval's own interface to it. Runs in the driver's environment.

python tiny_minigpt4.py CODE FOLDER make FORM       see tiny_lavis
python tiny_minigpt4.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

import tiny_lavis

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "plain": {
        "parts": ["bert", "weights"],
        "settings": {"vision": {"embed_dim": 32, "depth": 3, "num_heads": 2}},
    }
}
CHECKPOINT = "pretrained_minigpt4_7b"


def interface():
    """ReForm-Eval's, and what writes its prompts."""
    from models.interfaces.minigpt4_interface import get_minigpt4
    from omegaconf import OmegaConf

    pickled = FOLDER / "pickled"
    model = {
        "arch": "mini_gpt4",
        "model_type": "pretrain_vicuna",
        "vit_precision": "fp32",
        "llama_model": str(FOLDER / "model"),
        "q_former_model": str(pickled / f"{tiny_lavis.QFORMER}.pth"),
        "ckpt": str(pickled / f"{CHECKPOINT}.pth"),
    }
    image = {"train": {"name": "blip2_image_eval", "image_size": 224}}  # eval_configs/minigpt4_eval.yaml
    config = {"model": model, "datasets": {"cc_sbu_align": {"vis_processor": image}}}
    OmegaConf.save(OmegaConf.create(config), FOLDER / "own/minigpt4_eval.yaml")
    options = {"model_name": "minigpt4_eval.yaml", "device": "cpu", "inference_method": "likelihood"}
    opened, prompts = get_minigpt4(options)
    return opened.float().eval(), prompts


def ask(question):
    """As run_eval.py asks; nucleus sampling from one token is greedy."""
    from models.interfaces.minigpt4 import models

    tiny_lavis.prepare(FOLDER, models)
    opened, prompts = interface()
    shown = question["image"]
    tiny_lavis.say(
        question,
        prompts({"question": question["text"]}),
        opened.model.llama_tokenizer,
        opened.model.llama_model,
        lambda prompt: opened.raw_predict(shown, prompt, question["labels"]),
        lambda prompt: opened.raw_generate(shown, prompt, max_new_tokens=6, top_p=1e-9),
    )


def make():
    from models.interfaces.minigpt4 import models

    tiny_lavis.make(FOLDER, models, CHECKPOINT, lambda: interface()[0].model)


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
