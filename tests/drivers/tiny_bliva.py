"""A tiny random BLIVA of the authors' own classes, and their own functions. Runs in the driver's environment.

python tiny_bliva.py CODE FOLDER make FORM       see tiny_lavis
python tiny_bliva.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
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
CHECKPOINT = "bliva_vicuna7b"


def build():
    """See tiny_lavis.make."""
    from bliva.models import BLIVAVicuna

    names = {"llm_model": str(FOLDER / "model"), "finetuned": str(FOLDER / f"pickled/{CHECKPOINT}.pth")}
    sizes = {"image_size": 224, "num_query_token": 32, "vit_precision": "fp32"}  # bliva_vicuna7b.yaml
    return BLIVAVicuna.from_config({**sizes, **names}).float().eval()


def ask(question):
    """As ReForm-Eval's interface asks, greedily."""
    from bliva import models
    from bliva.processors import load_processor
    from PIL import Image

    tiny_lavis.prepare(FOLDER, models)
    model, labels = build(), question["labels"]
    processor = load_processor("blip_image_eval", {"image_size": 224})
    image = processor(Image.open(question["image"]).convert("RGB"))[None]
    greedy = {"num_beams": 1, "repetition_penalty": 1.0, "max_length": 7}  # one for the beginning
    tiny_lavis.say(
        question,
        f"Question: {question['text']} Answer:",
        model.llm_tokenizer,
        model.llm_model,
        lambda prompt: model.predict_class({"image": image, "prompt": [prompt]}, labels),
        lambda prompt: model.generate({"image": image, "prompt": [prompt]}, **greedy)[0],
    )


def make():
    from bliva import models

    tiny_lavis.make(FOLDER, models, CHECKPOINT, build, apart=False)


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
