"""A tiny random PandaGPT, and its authors' own forward pass. Runs in the driver's environment.

python tiny_pandagpt.py CODE FOLDER make FORM       FOLDER/model, FOLDER/pickled
python tiny_pandagpt.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from unittest.mock import MagicMock

import torch
from tiny_lavis import SIZE, spread
from tiny_words import save_words
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "plain": {
        "parts": ["weights"],
        "settings": {
            "lora_r": 4,
            "vision": {
                "vision_embed_dim": 32,
                "vision_num_blocks": 2,
                "vision_num_heads": 2,
                "text_embed_dim": 32,
                "text_num_blocks": 2,
                "text_num_heads": 2,
                "audio_embed_dim": 32,
                "audio_num_blocks": 2,
                "audio_num_heads": 2,
                "depth_embed_dim": 32,
                "depth_num_blocks": 2,
                "depth_num_heads": 2,
                "thermal_embed_dim": 32,
                "thermal_num_blocks": 2,
                "thermal_num_heads": 2,
                "imu_embed_dim": 32,
                "imu_num_blocks": 2,
                "imu_num_heads": 2,
            },
        },
    }
}
SETTINGS = FORMS["plain"]["settings"]


def build():
    """The authors' model, with an ImageBind of few parameters, on the CPU."""
    for name in ("peft", "transformers.deepspeed"):
        import_module(name)  # before deepspeed seems to be there
    sys.modules.update({name: MagicMock() for name in ("data", "deepspeed", "ipdb")})
    from model import openllama

    for name in ("data", "deepspeed", "ipdb"):
        del sys.modules[name]
    torch.cuda.current_device = lambda: "cpu"
    tower = openllama.imagebind_model
    sized = tower.ImageBindModel
    tower.ImageBindModel = lambda **given: sized(**{**given, **SETTINGS["vision"]})
    return openllama.OpenLLAMAPEFTModel(
        imagebind_ckpt_path=str(FOLDER / "pickled"),
        vicuna_ckpt_path=str(FOLDER / "model"),
        max_tgt_len=128,
        stage=2,
        lora_r=SETTINGS["lora_r"],
        lora_alpha=32,
        lora_dropout=0.1,
    )


def make():
    torch.manual_seed(1)
    words = save_words(FOLDER / "model")
    sizes = {"vocab_size": len(words), "num_hidden_layers": 2, "max_position_embeddings": 1024}
    LlamaForCausalLM(LlamaConfig(**SIZE, **sizes, initializer_range=0.2)).save_pretrained(
        FOLDER / "model", safe_serialization=True
    )
    (FOLDER / "pickled").mkdir()
    load = torch.nn.Module.load_state_dict
    torch.nn.Module.load_state_dict = lambda *_, **__: None  # there is no ImageBind yet
    torch.save({}, FOLDER / "pickled/imagebind_huge.pth")
    model = spread(build())
    torch.nn.Module.load_state_dict = load
    torch.save(model.visual_encoder.state_dict(), FOLDER / "pickled/imagebind_huge.pth")
    tuned = {name: one for name, one in model.state_dict().items() if "lora_" in name or "llama_proj" in name}
    torch.save(tuned, FOLDER / "pickled/pytorch_model.pt")


def ask(question):
    """As web_demo.py and ReForm-Eval's pandagpt_interface.py ask."""
    model = build()
    model.load_state_dict(torch.load(FOLDER / "pickled/pytorch_model.pt"), strict=False)
    model.eval()
    words = model.llama_tokenizer
    after = f"</Img> {question['text']}\n### Assistant:"
    tokens = words(after, return_tensors="pt", add_special_tokens=False).input_ids
    letters = {}
    with torch.no_grad():
        image, _ = model.encode_image([question["image"]])
        for label in question["labels"]:
            candidate = words([label], return_tensors="pt").input_ids[:, 1:]
            assert candidate.shape == (1, 1)
            whole = torch.cat([tokens, candidate], dim=1)
            embeds, _, mask = model.prompt_wrap(image, whole, whole, torch.ones_like(whole))
            out = model.llama_model(inputs_embeds=embeds, attention_mask=mask)
            letters[label] = float(out.logits[0, -2, candidate[0, 0]])
        asked = {"prompt": question["text"], "image_paths": [question["image"]], "modality_embeds": []}
        asked |= dict.fromkeys(("audio_paths", "video_paths", "thermal_paths"))
        # the nucleus is one token; of the tokens that are written, two are left out
        text = model.generate({**asked, "top_p": 1e-3, "temperature": 1.0, "max_tgt_len": 8})
    print(json.dumps({"prompt": f"### Human: <Img>{after}", "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
