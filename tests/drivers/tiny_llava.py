"""A tiny random LLaVA of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_llava.py CODE FOLDER make FORM       FOLDER/model, FOLDER/vision_tower
python tiny_llava.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_tower import SIZE, save_tower
from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "v1_5": {"parts": ["vision_tower"], "settings": {}},
    "first": {"parts": ["vision_tower"], "settings": {"conversation": "llava_v0", "im_start_end": True}},
    "first_llama2": {"parts": ["vision_tower"], "settings": {"conversation": "llava_llama_2"}},
}


def make(form):
    import torch
    from llava.model.language_model.llava_llama import LlavaConfig, LlavaLlamaForCausalLM

    torch.manual_seed(1)
    tower = FOLDER / "vision_tower"
    save_tower(tower)
    tokenizer, own = save_words(FOLDER / "model"), {"image_aspect_ratio": "pad"}
    if form != "v1_5":  # the first LLaVA does not pad images
        own = {"image_aspect_ratio": None, "mm_use_im_start_end": form == "first"}
    if form == "first":
        tokenizer.add_tokens(["<im_patch>", "<im_start>", "<im_end>"], special_tokens=True)
        tokenizer.save_pretrained(FOLDER / "model")
    config = LlavaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=512,
        initializer_range=0.4,
        pad_token_id=0,
        **SIZE,
        mm_vision_tower=str(tower),
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        mm_projector_type="linear",
        tokenizer_model_max_length=512,
        **own,
    )
    model = LlavaLlamaForCausalLM(config)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As llava/eval/model_vqa_loader.py asks, up to the logits of the next token."""
    import torch
    from llava.constants import (
        DEFAULT_IM_END_TOKEN,
        DEFAULT_IM_START_TOKEN,
        DEFAULT_IMAGE_TOKEN,
        IMAGE_TOKEN_INDEX,
    )
    from llava.conversation import conv_templates
    from llava.mm_utils import process_images, tokenizer_image_token
    from llava.model.language_model.llava_llama import LlavaLlamaForCausalLM
    from PIL import Image
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model", use_fast=False)
    # llava/model/builder.py loads in half precision only
    model = LlavaLlamaForCausalLM.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    model.get_vision_tower().load_model()
    processor = model.get_vision_tower().image_processor
    talk = conv_templates[question["settings"].get("conversation", "vicuna_v1")].copy()
    mark = DEFAULT_IMAGE_TOKEN
    if getattr(model.config, "mm_use_im_start_end", False):
        mark = DEFAULT_IM_START_TOKEN + mark + DEFAULT_IM_END_TOKEN
    talk.append_message(talk.roles[0], mark + "\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    shown = Image.open(question["image"]).convert("RGB")
    pixels = process_images([shown], processor, model.config)
    with torch.no_grad():
        logits = model(ids, images=pixels, image_sizes=[shown.size]).logits[0, -1]
        written = model.generate(
            ids, images=pixels, image_sizes=[shown.size], do_sample=False, max_new_tokens=6
        )
    letters = {}
    for label in question["labels"]:
        whole = tokenizer_image_token(f"{prompt} {label}", tokenizer)
        assert whole[:-1] == ids[0].tolist(), (whole, ids)
        letters[label] = float(logits[whole[-1]])
    text = tokenizer.decode(written[0], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make(sys.argv[4]) if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
