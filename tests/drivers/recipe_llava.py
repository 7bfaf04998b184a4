"""A tiny random LLaVA of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python recipe_llava.py CODE FOLDER make            FOLDER/model, FOLDER/vision_tower
python recipe_llava.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])


def make():
    import torch
    from llava.model.language_model.llava_llama import LlavaConfig, LlavaLlamaForCausalLM
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModel

    torch.manual_seed(1)
    tower, size = (
        FOLDER / "vision_tower",
        {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2},
    )
    vision = CLIPVisionModel(CLIPVisionConfig(image_size=28, patch_size=14, **size))
    vision.save_pretrained(tower, safe_serialization=True)
    CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}).save_pretrained(
        tower
    )
    tokenizer = save_words(FOLDER / "model")
    config = LlavaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=512,
        initializer_range=0.4,
        pad_token_id=0,
        **size,
        mm_vision_tower=str(tower),
        mm_hidden_size=32,
        mm_vision_select_layer=-2,
        mm_projector_type="linear",
        image_aspect_ratio="pad",
        tokenizer_model_max_length=512,
    )
    model = LlavaLlamaForCausalLM(config)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As llava/eval/model_vqa_loader.py asks, up to the logits of the next token."""
    import torch
    from llava.constants import DEFAULT_IMAGE_TOKEN, IMAGE_TOKEN_INDEX
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
    talk = conv_templates["vicuna_v1"].copy()
    talk.append_message(talk.roles[0], DEFAULT_IMAGE_TOKEN + "\n" + question["text"])
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
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
