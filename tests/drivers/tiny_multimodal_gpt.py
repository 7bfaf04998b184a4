"""A tiny random Multimodal-GPT, and its authors' own forward pass. Runs in the driver's environment.

python tiny_multimodal_gpt.py CODE FOLDER make FORM       FOLDER/model, FOLDER/clip, FOLDER/pickled
python tiny_multimodal_gpt.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

from tiny_clip import save_clip
from tiny_lavis import SIZE, spread
from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {"plain": {"parts": ["clip", "weights"], "settings": {}}}
SYSTEM = (
    "Below is an instruction that describes a task. "
    "Write a response that appropriately completes the request."
)
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "to_q", "to_kv", "to_out", "ff.1", "ff.3"]


def build(pretrained=None, lora=True):
    """The authors' model, image preparation and tokenizer, with a tower of our own."""
    import open_clip.openai
    from mmgpt.models.open_flamingo import create_model_and_transforms

    open_clip.openai.download_pretrained_from_url = lambda *_, **__: str(FOLDER / "own/clip.pt")
    open_clip.get_model_config = lambda name: {"vision_cfg": {"width": 64}}
    tuning = {"lora_r": 16, "lora_alpha": 16, "lora_target_modules": LAYERS, "lora_dropout": 0.0}
    return create_model_and_transforms(
        clip_vision_encoder_path="ViT-L-14",
        clip_vision_encoder_pretrained="openai",
        lang_encoder_path=str(FOLDER / "model"),
        tokenizer_path=str(FOLDER / "model"),
        pretrained_model_path=pretrained,
        tuning_config=SimpleNamespace(lora=lora, vis=False, unfrozen=[], **tuning),
    )


def make():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    words = save_words(FOLDER / "model")
    sizes = {"vocab_size": len(words), "num_hidden_layers": 8, "max_position_embeddings": 1024}
    LlamaForCausalLM(LlamaConfig(**SIZE, **sizes, initializer_range=0.2)).save_pretrained(
        FOLDER / "model", safe_serialization=True
    )
    save_clip(FOLDER)
    (FOLDER / "pickled").mkdir()
    trained = ("perceiver.", "lang_encoder.gated_cross_attn_layers.", "lang_encoder.model.embed_tokens.")
    first = spread(build(lora=False)[0]).state_dict()
    kept = {name: value for name, value in first.items() if name.startswith(trained)}
    torch.save(kept, FOLDER / "pickled/checkpoint.pt")
    second = spread(build()[0]).state_dict()
    tuned = {f"module.{name}": value for name, value in second.items() if "lora_" in name}
    torch.save({"model_state_dict": tuned}, FOLDER / "pickled/mmgpt-lora-v0-release.pt")


def ask(question):
    """As app.py and ReForm-Eval's mmgpt_interface.py ask."""
    import torch
    from PIL import Image

    torch.manual_seed(0)
    model, processor, tokenizer = build(str(FOLDER / "pickled/checkpoint.pt"))
    tuned = torch.load(FOLDER / "pickled/mmgpt-lora-v0-release.pt")["model_state_dict"]
    tuned = {name[len("module.") :]: value for name, value in tuned.items()}
    assert not model.load_state_dict(tuned, strict=False).unexpected_keys
    model.eval()
    tokenizer.padding_side, tokenizer.add_eos_token = "left", False
    prompt = "\n\n### ".join([SYSTEM, "Image:\n<image>", f"Instruction:\n{question['text']}", "Response:\n"])
    shown = processor(Image.open(question["image"]).convert("RGB"))[None].unsqueeze(1).unsqueeze(0)
    asked = tokenizer([prompt], return_tensors="pt")
    letters = {}
    with torch.inference_mode():
        for label in question["labels"]:
            candidate = tokenizer([label], return_tensors="pt").input_ids[:, 1:]
            assert candidate.shape == (1, 1)
            tokens = torch.cat([asked["input_ids"], candidate], dim=1)
            out = model(vision_x=shown, lang_x=tokens, attention_mask=torch.ones_like(tokens))
            letters[label] = float(out.logits[0, -2, candidate[0, 0]])
        written = model.generate(
            vision_x=shown,
            lang_x=asked["input_ids"],
            attention_mask=asked["attention_mask"],
            max_new_tokens=6,
        )
    text = tokenizer.decode(written[0], skip_special_tokens=True).split("### Response:")[-1].strip()
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
