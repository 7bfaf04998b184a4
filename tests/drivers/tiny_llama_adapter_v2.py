"""A tiny random LLaMA-Adapter V2, and ReForm-Eval's own interface to it. Runs in the driver's environment.

python tiny_llama_adapter_v2.py CODE FOLDER make FORM       FOLDER/model, FOLDER/clip, FOLDER/pickled
python tiny_llama_adapter_v2.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from tiny_clip import save_clip
from tiny_lavis import spread
from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "plain": {
        "parts": ["clip", "weights"],
        "settings": {"vision": {"v_embed_dim": 32, "v_depth": 2, "v_num_heads": 2}},
    }
}
VISION = FORMS["plain"]["settings"]["vision"]
LLAMA = {"dim": 32, "multiple_of": 32, "n_heads": 2, "n_layers": 32, "norm_eps": 1e-05}


def interface():
    """ReForm-Eval's on the CPU, with small layers, and what writes its prompts."""
    import clip.clip
    from models.interfaces import llama_adapterv2_interface as own

    module = own.llama_adapter
    sized = module.LLaMA_adapter
    module.LLaMA_adapter = lambda *names, **given: sized(*names, **{**given, **VISION})
    module._download = lambda *_: str(FOLDER / "pickled/BIAS-7B.pth")
    clip.clip._download = lambda *_: str(FOLDER / "own/clip.pt")
    torch.set_default_tensor_type = lambda kind: None
    torch.Tensor.cuda = lambda tensor: tensor
    options = {"model_type": str(FOLDER / "own"), "device": "cpu", "inference_method": "likelihood"}
    return own.get_llama_adapterv2(options)


def make():
    from safetensors.torch import save_file

    torch.manual_seed(2)
    save_words(FOLDER / "words")
    save_clip(FOLDER)
    for name in ("model", "own"):
        (FOLDER / name / "7B").mkdir(parents=True)
        shutil.copy(FOLDER / "words/tokenizer.model", FOLDER / name)
        (FOLDER / name / "7B/params.json").write_text(json.dumps(LLAMA), "utf-8")
    (FOLDER / "pickled").mkdir()
    torch.save({"model": {}}, FOLDER / "pickled/BIAS-7B.pth")
    model = interface()[0].model
    clip = {name: one.clone() for name, one in model.clip.state_dict().items()}
    tensors = spread(model).state_dict()
    for name, one in tensors.items():
        if "norm" in name and name.endswith("weight"):
            one += 1  # else the text hardly counts
    model.clip.load_state_dict(clip)
    ours = {name for name in tensors if not name.startswith(("llama.", "clip."))}
    ours |= {name for name in tensors if name.startswith("llama.") and ("gate" in name or "bias" in name)}
    ours |= {name for name in tensors if name.startswith("llama.") and "norm" in name}
    torch.save(
        {"model": {name: tensors[name] for name in ours}, "config": {"w_bias": True}},
        FOLDER / "pickled/BIAS-7B.pth",
    )
    llama = {
        name[len("llama.") :]: one
        for name, one in tensors.items()
        if name.startswith("llama.") and (name not in ours or "norm" in name)
    }
    torch.save(llama, FOLDER / "own/7B/consolidated.00.pth")
    save_file(llama, FOLDER / "model/7B/consolidated.00.safetensors")


def ask(question):
    """As run_eval.py asks."""
    opened, prompts = interface()
    prompt = prompts({"question": question["text"]})
    rows = []
    hook = opened.model.llama.output.register_forward_hook(lambda module, given, out: rows.append(out))
    opened.raw_predict(question["image"], prompt, question["labels"])
    hook.remove()
    letters = {}
    for index, label in enumerate(question["labels"]):
        (token,) = opened.tokenizer.encode(label, bos=False, eos=False)
        letters[label] = float(rows[0][index, -1, token])
    opened.model.eval()
    text = opened.raw_generate(question["image"], prompt, temperature=0, max_new_tokens=6)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
