"""A tiny random MobileVLM V2 of the authors' own classes, and their forward pass. Runs in the driver's environment.

python recipe_mobilevlm.py CODE FOLDER make            FOLDER/model, FOLDER/vision_tower
python recipe_mobilevlm.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def make():
    import torch
    from mobilevlm.model.mobilellama import MobileLlamaForCausalLM, MobileVLMConfig
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModel

    torch.manual_seed(1)
    tower = FOLDER / "vision_tower"
    # the projector expects 24 x 24 patches
    vision = CLIPVisionConfig(image_size=336, patch_size=14, **SIZE)
    CLIPVisionModel(vision).save_pretrained(tower, safe_serialization=True)
    CLIPImageProcessor(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}).save_pretrained(
        tower
    )
    words = save_words(FOLDER / "model")
    config = MobileVLMConfig(
        vocab_size=len(words),
        max_position_embeddings=512,
        initializer_range=0.4,
        pad_token_id=0,
        mm_vision_tower=str(tower),
        vision_tower_type="clip",
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        mm_projector_type="ldpnetv2",
        mm_use_im_patch_token=False,
        image_aspect_ratio="pad",
        **SIZE,
    )
    MobileLlamaForCausalLM(config).save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As scripts/inference.py asks, in single precision on a CPU."""
    import torch
    from mobilevlm.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
    from mobilevlm.conversation import conv_templates
    from mobilevlm.model.mobilellama import MobileLlamaForCausalLM
    from mobilevlm.utils import process_images, tokenizer_image_token
    from PIL import Image
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model", use_fast=False)
    model = MobileLlamaForCausalLM.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    model.get_vision_tower().load_image_processor()
    talk = conv_templates["v1"].copy()
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + "\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    images = [Image.open(question["image"]).convert("RGB")]
    pixels = process_images(images, model.get_vision_tower().image_processor, model.config)
    with torch.no_grad():
        logits = model(ids, images=pixels).logits[0, -1]
        written = model.generate(ids, images=pixels, do_sample=False, max_new_tokens=6, use_cache=True)
    letters = {}
    for label in question["labels"]:
        whole = tokenizer_image_token(f"{prompt} {label}", tokenizer)
        assert whole[:-1] == ids[0].tolist(), (whole, ids)
        letters[label] = float(logits[whole[-1]])
    text = tokenizer.decode(written[0][ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
