"""A tiny random Yi-VL of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_yi_vl.py CODE FOLDER make FORM       FOLDER/model, with its tower below vit/
python tiny_yi_vl.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_tower import SIZE, save_tower
from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {"plain": {"parts": [], "settings": {}}}


def make():
    import torch
    from llava.model import LlavaConfig, LlavaLlamaForCausalLM
    from llava.model.constants import key_info

    torch.manual_seed(1)
    key_info["model_path"] = str(FOLDER / "model")
    words = save_words(FOLDER / "model")
    save_tower(FOLDER / "model/vit/clip")
    config = LlavaConfig(
        vocab_size=len(words),
        max_position_embeddings=512,
        initializer_range=0.4,
        pad_token_id=0,
        **SIZE,
        mm_vision_tower="./vit/clip",
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        mm_projector_type="mlp2x_gelu_Norm",
        image_aspect_ratio="pad",
    )
    model = LlavaLlamaForCausalLM(config)
    model.config.mm_vision_tower = "./vit/clip"  # the authors' code wrote the whole path into it
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As single_inference.py asks, and input_utils/text_utils.py of EnSec-AI/VLM-Uncertainty-Bench."""
    import torch
    from llava.conversation import conv_templates
    from llava.mm_utils import expand2square, tokenizer_image_token
    from llava.model import LlavaLlamaForCausalLM
    from llava.model.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX, key_info
    from PIL import Image
    from transformers import AutoTokenizer

    key_info["model_path"] = str(FOLDER / "model")
    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model", use_fast=False)
    # load_pretrained_model of llava/mm_utils.py loads in bfloat16 only
    model = LlavaLlamaForCausalLM.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    model.get_vision_tower().load_model()
    processor = model.get_vision_tower().image_processor
    talk = conv_templates["mm_default"].copy()
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + "\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    ids = tokenizer_image_token(prompt, tokenizer, IMAGE_TOKEN_INDEX, return_tensors="pt")[None]
    shown = Image.open(question["image"]).convert("RGB")
    shown = expand2square(shown, tuple(int(x * 255) for x in processor.image_mean))
    pixels = processor.preprocess(shown, return_tensors="pt")["pixel_values"][0][None]
    with torch.no_grad():
        logits = model(ids, attention_mask=torch.ones_like(ids, dtype=torch.bool), images=pixels).logits[
            0, -1
        ]
        written = model.generate(ids, images=pixels, do_sample=False, max_new_tokens=6)
    letters = {label: float(logits[tokenizer(" " + label).input_ids[-1]]) for label in question["labels"]}
    text = tokenizer.decode(written[0, ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text.split(talk.sep)[0]}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
