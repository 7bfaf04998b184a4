"""A tiny random ShareGPT4V of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_sharegpt4v.py CODE FOLDER make FORM       FOLDER/model, FOLDER/vision_tower
python tiny_sharegpt4v.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_tower import SIZE, save_tower
from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {"plain": {"parts": ["vision_tower"], "settings": {}}}


def make():
    import torch
    from share4v.model import Share4VConfig, Share4VLlamaForCausalLM

    torch.manual_seed(1)
    tower = FOLDER / "vision_tower"
    save_tower(tower)
    words = save_words(FOLDER / "model")
    config = Share4VConfig(
        vocab_size=len(words),
        max_position_embeddings=512,
        initializer_range=0.4,
        pad_token_id=0,
        **SIZE,
        mm_vision_tower=str(tower),
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        mm_projector_type="mlp2x_gelu",
        image_aspect_ratio="pad",
    )
    Share4VLlamaForCausalLM(config).save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As share4v/eval/model_vqa_mmbench.py asks, up to the logits of the next token."""
    import torch
    from PIL import Image
    from share4v.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
    from share4v.conversation import conv_templates
    from share4v.mm_utils import process_images, tokenizer_image_token
    from share4v.model import Share4VLlamaForCausalLM
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model", use_fast=False)
    # share4v/model/builder.py loads in half precision only
    model = Share4VLlamaForCausalLM.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    model.get_vision_tower().load_model()
    talk = conv_templates["vicuna_v1"].copy()
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + "\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    shown = Image.open(question["image"]).convert("RGB")
    pixels = process_images([shown], model.get_vision_tower().image_processor, model.config)[0][None]
    with torch.no_grad():
        logits = model(ids, images=pixels).logits[0, -1]
        written = model.generate(ids, images=pixels, do_sample=False, max_new_tokens=6)
    letters = {}
    for label in question["labels"]:
        whole = tokenizer_image_token(f"{prompt} {label}", tokenizer)
        assert whole[:-1] == ids[0].tolist(), (whole, ids)
        letters[label] = float(logits[whole[-1]])
    text = tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
