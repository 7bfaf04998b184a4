"""A tiny random mPLUG-Owl2 of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_mplug_owl2.py CODE FOLDER make FORM       FOLDER/model
python tiny_mplug_owl2.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {"plain": {"parts": [], "settings": {}}}
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def make():
    import torch
    from mplug_owl2.model.configuration_mplug_owl2 import MPLUGOwl2Config
    from mplug_owl2.model.modeling_mplug_owl2 import MPLUGOwl2LlamaForCausalLM
    from transformers import CLIPImageProcessor

    torch.manual_seed(1)
    words = save_words(FOLDER / "model")
    seen = {"image_size": 28, "patch_size": 14, "initializer_range": 0.4}
    read = {"encoder_hidden_size": 32, "num_learnable_queries": 4, "grid_size": 2, "initializer_range": 0.4}
    config = MPLUGOwl2Config(
        visual_config={"visual_model": {**SIZE, **seen}, "visual_abstractor": {**SIZE, **read}},
        **SIZE,
        vocab_size=len(words),
        initializer_range=0.4,
    )
    model = MPLUGOwl2LlamaForCausalLM(config)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)
    CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}).save_pretrained(
        FOLDER / "model"
    )


def ask(question):
    """As input_utils/text_utils.py of EnSec-AI/VLM-Uncertainty-Bench asks, with the authors' functions."""
    import torch
    from mplug_owl2.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
    from mplug_owl2.conversation import conv_templates
    from mplug_owl2.mm_utils import process_images, tokenizer_image_token
    from mplug_owl2.model.modeling_mplug_owl2 import MPLUGOwl2LlamaForCausalLM
    from PIL import Image
    from transformers import AutoTokenizer, CLIPImageProcessor

    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model", use_fast=False)
    # mplug_owl2/model/builder.py loads in half precision only
    model = MPLUGOwl2LlamaForCausalLM.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    processor = CLIPImageProcessor.from_pretrained(FOLDER / "model")
    talk = conv_templates["mplug_owl2"].copy()
    image = Image.open(question["image"]).convert("RGB")
    image = image.resize((max(image.size), max(image.size)))
    pixels = process_images([image], processor)
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    with torch.no_grad():
        logits = model(input_ids=ids, images=pixels).logits[0, -1]
        written = model.generate(input_ids=ids, images=pixels, do_sample=False, max_new_tokens=6)
    letters = {label: float(logits[tokenizer.encode(label)[-1]]) for label in question["labels"]}
    text = tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
