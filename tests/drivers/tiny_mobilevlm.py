"""A tiny random MobileVLM of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_mobilevlm.py CODE FOLDER make FORM       FOLDER/model, FOLDER/vision_tower
python tiny_mobilevlm.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_tower import SIZE, save_tower
from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "v1": {"parts": ["vision_tower"], "settings": {}},
    "v2": {"parts": ["vision_tower"], "settings": {}},
}


def make(form):
    import torch
    from mobilevlm.model.mobilellama import MobileLlamaForCausalLM, MobileVLMConfig

    torch.manual_seed(1)
    tower = FOLDER / "vision_tower"
    save_tower(tower, side=336)  # the projectors halve a grid of 24 x 24 patches
    words = save_words(FOLDER / "model")
    config = MobileVLMConfig(
        vocab_size=len(words),
        max_position_embeddings=512,
        initializer_range=0.4,
        pad_token_id=0,
        **SIZE,
        mm_vision_tower=str(tower),
        vision_tower_type="clip",
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        mm_projector_type="ldpnet" if form == "v1" else "ldpnetv2",
        mm_use_im_patch_token=False,
        mm_use_im_start_end=False,
        image_aspect_ratio="pad",
    )
    model = MobileLlamaForCausalLM(config)
    for weight in model.get_model().mm_projector.parameters():
        weight.data.normal_(std=0.4)
    if form == "v2":  # its tower is trained too, and saved with it
        for weight in model.get_vision_tower().parameters():
            weight.data.normal_(std=0.1)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As input_utils/text_utils.py of EnSec-AI/VLM-Uncertainty-Bench asks, with the authors' functions."""
    import torch
    from mobilevlm.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
    from mobilevlm.conversation import conv_templates
    from mobilevlm.model.mobilevlm import load_pretrained_model
    from mobilevlm.utils import process_images, tokenizer_image_token
    from PIL import Image

    torch.float16 = torch.float32  # load_pretrained_model loads in half precision only
    tokenizer, model, processor, _ = load_pretrained_model(
        str(FOLDER / "model"), device_map=None, device="cpu"
    )
    shown = Image.open(question["image"]).convert("RGB")
    pixels = process_images([shown], processor, model.config)
    talk = conv_templates["v1"].copy()
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + "\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    with torch.no_grad():
        logits = model(input_ids=ids, images=pixels).logits[0, -1]
        written = model.generate(ids, images=pixels, do_sample=False, max_new_tokens=6)
    letters = {label: float(logits[tokenizer.encode(label)[-1]]) for label in question["labels"]}
    text = tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make(sys.argv[4]) if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
