"""A tiny random Shikra of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_shikra.py CODE FOLDER make FORM       FOLDER/model, FOLDER/vision_tower
python tiny_shikra.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {"plain": {"parts": ["vision_tower"], "settings": {}}}
SIZE = {"intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def make():
    import torch
    from mllm.models.shikra.shikra import ShikraConfig, ShikraLlamaForCausalLM
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModel

    torch.manual_seed(1)
    tower = FOLDER / "vision_tower"
    # the authors' forward pass multiplies zeros of this width
    vision = CLIPVisionConfig(image_size=28, patch_size=14, hidden_size=1024, **SIZE)
    CLIPVisionModel(vision).save_pretrained(tower, safe_serialization=True)
    CLIPImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}).save_pretrained(
        tower
    )
    words = save_words(FOLDER / "model")
    words.add_tokens(["<im_patch>", "<im_start>", "<im_end>"], special_tokens=True)
    words.save_pretrained(FOLDER / "model")
    config = ShikraConfig(
        vocab_size=len(words),
        hidden_size=32,
        initializer_range=0.4,
        mm_vision_tower=str(tower),
        mm_hidden_size=1024,
        mm_vision_select_layer=-2,
        use_mm_proj=True,
        pad_token_id=0,
        **SIZE,
    )
    ShikraLlamaForCausalLM(config).save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """The conversation and the image as mllm/dataset/single_image_interactive.py makes them."""
    import torch
    from mllm.conversation import get_conv_template
    from mllm.models.builder.build_shikra import load_pretrained_shikra
    from PIL import Image

    arguments = {"model_name_or_path": str(FOLDER / "model"), "vision_tower": str(FOLDER / "vision_tower")}
    arguments |= {"cache_dir": None, "model_max_length": 2048, "version": "v1", "mm_vision_select_layer": -2}
    arguments |= {"pretrain_mm_mlp_adapter": None, "freeze_backbone": False, "tune_mm_mlp_adapter": False}
    arguments |= {"freeze_mm_mlp_adapter": False, "mm_use_im_start_end": True, "image_token_len": 4}
    training = SimpleNamespace(fp16=False, bf16=False, device="cpu", fsdp=None)
    model, made = load_pretrained_shikra(
        SimpleNamespace(**arguments, sep_image_conv_front=False), training, torch_dtype=torch.float32
    )
    model.eval()
    talk = get_conv_template("vicuna_v1.1")
    talk.append_message(talk.roles[0], "<im_start>" + "<im_patch>" * 4 + "<im_end> " + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt, tokenizer = talk.get_prompt(), made["text"]
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    image = Image.open(question["image"]).convert("RGB")  # Expand2square of mllm/dataset/utils/transform.py
    square = Image.new("RGB", (max(image.size),) * 2, (255, 255, 255))
    square.paste(image, tuple((max(image.size) - side) // 2 for side in image.size))
    pixels = made["image"].preprocess(square, return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        logits = model(ids, images=pixels).logits[0, -1]
        written = model.generate(ids, images=pixels, do_sample=False, max_new_tokens=6, use_cache=True)
    letters = {}
    for label in question["labels"]:
        whole = tokenizer(f"{prompt} {label}").input_ids
        assert whole[:-1] == ids[0].tolist(), (whole, ids)
        letters[label] = float(logits[whole[-1]])
    text = tokenizer.decode(written[0][ids.shape[1] :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
