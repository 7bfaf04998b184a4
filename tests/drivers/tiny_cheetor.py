"""A tiny random Cheetor, and ReForm-Eval's own interface to it. Runs in the driver's environment.

python tiny_cheetor.py CODE FOLDER make FORM       see tiny_lavis
python tiny_cheetor.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

import tiny_lavis

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "vicuna": {
        "parts": ["bert", "weights"],
        "settings": {"vision": {"embed_dim": 32, "depth": 3, "num_heads": 2}, "language": "vicuna"},
    },
    "llama2": {
        "parts": ["bert", "weights"],
        "settings": {"vision": {"embed_dim": 32, "depth": 3, "num_heads": 2}, "language": "llama2"},
    },
}


def interface(language):
    """ReForm-Eval's, and what writes its prompts."""
    from models.interfaces.cheetor_interface import get_cheetor
    from omegaconf import OmegaConf

    pickled = FOLDER / "pickled"
    model = {
        "arch": f"cheetah_{language}",
        "model_type": f"pretrain_{language}",
        "vit_precision": "fp32",
        "llama_model": str(FOLDER / "model"),
        "q_former_model": str(pickled / f"{tiny_lavis.QFORMER}.pth"),
        "ckpt": str(pickled / f"cheetah_{language}_7b.pth"),
    }
    name = f"{language}.yaml"  # the interface reads the language from it
    OmegaConf.save(OmegaConf.create({"model": model}), FOLDER / "own" / name)
    opened, prompts = get_cheetor({"model_name": name, "device": "cpu", "inference_method": "likelihood"})
    return opened.float().eval(), prompts


def ask(question):
    """As run_eval.py asks; nucleus sampling from one token is greedy."""
    from models.interfaces.Cheetah.cheetah import models

    tiny_lavis.prepare(FOLDER, models)
    opened, prompts = interface(question["settings"]["language"])
    shown = question["image"]
    tiny_lavis.say(
        question,
        prompts({"question": question["text"]}),
        opened.model.llama_tokenizer,
        opened.model.llama_model,
        lambda prompt: opened.raw_predict(shown, prompt, question["labels"]),
        lambda prompt: opened.raw_generate(shown, prompt, max_new_tokens=6, top_p=1e-9),
    )


def make(language):
    from models.interfaces.Cheetah.cheetah import models

    tiny_lavis.make(FOLDER, models, f"cheetah_{language}_7b", lambda: interface(language)[0].model)


if __name__ == "__main__":
    make(sys.argv[4]) if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
