"""A tiny random InternVL2 of the authors' own classes, and their own chat. Runs in the driver's environment.

python tiny_internvl2.py CODE FOLDER make FORM       FOLDER/model; FORM is the kind of its language model
python tiny_internvl2.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
FORMS = {
    "qwen2": {"parts": [], "settings": {}},
    "internlm2": {"parts": [], "settings": {}},
    "phi3": {"parts": [], "settings": {}},
    "llama": {"parts": [], "settings": {}},
}
KINDS = {  # form: class of the language model, template, ends of a turn, other values of its configuration
    "qwen2": ("Qwen2ForCausalLM", "Hermes-2", ["<|im_start|>", "<|im_end|>"], {}),
    "internlm2": ("InternLM2ForCausalLM", "internlm2-chat", ["<|im_start|>", "<|im_end|>"], {"bias": False}),
    "phi3": ("Phi3ForCausalLM", "phi3-chat", ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"], {}),
    "llama": ("LlamaForCausalLM", "Hermes-2", ["<|im_start|>", "<|im_end|>"], {}),
}


def save_bytes(folder):
    """A tokenizer like Qwen2's, of bytes."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import Qwen2Tokenizer

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=384, initial_alphabet=alphabet)
    words.train_from_iterator(["Which animal is shown?\nA. cat\nB. dog A B C D"] * 9, trainer)
    folder.mkdir()
    words.model.save(str(folder))
    return Qwen2Tokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))


def make(form):
    import torch
    from internvl.model.internlm2.tokenization_internlm2 import InternLM2Tokenizer
    from internvl.model.internvl_chat import InternVLChatConfig, InternVLChatModel

    torch.manual_seed(1)
    name, template, ends, others = KINDS[form]
    words = save_bytes(FOLDER / "model") if form == "qwen2" else save_words(FOLDER / "model")
    if form == "internlm2":
        words = InternLM2Tokenizer(str(FOLDER / "model/tokenizer.model"))
    marks = ["<img>", "</img>", "<IMG_CONTEXT>", *ends]
    words.add_special_tokens({"additional_special_tokens": marks})
    words.save_pretrained(FOLDER / "model")
    language = {
        "architectures": [name],
        **SIZE,
        "num_key_value_heads": 2,
        "vocab_size": len(words),
        "pad_token_id": words.eos_token_id,
        "bos_token_id": words.eos_token_id,  # with embeddings, generate begins its output with it
        "eos_token_id": words.eos_token_id,
        "max_position_embeddings": 2048,
        "initializer_range": 0.4,
        **others,
    }
    seen = {"architectures": ["InternVisionModel"], **SIZE, "image_size": 56, "patch_size": 14}
    config = InternVLChatConfig(
        vision_config={**seen, "initializer_range": 0.4},
        llm_config=language,
        force_image_size=56,
        dynamic_image_size=True,
        use_thumbnail=True,
        ps_version="v2",
        template=template,
    )
    model = InternVLChatModel(config)
    with torch.no_grad():
        for value in model.parameters():
            value.normal_(std=0.2)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As eval/mmbench/evaluate_mmbench.py asks with --dynamic; the logits are those of the first step of `chat`."""
    import torch
    from internvl.conversation import get_conv_template
    from internvl.model.internlm2.tokenization_internlm2 import InternLM2Tokenizer
    from internvl.model.internvl_chat import InternVLChatModel
    from internvl.train.dataset import build_transform, dynamic_preprocess
    from PIL import Image
    from transformers import AutoTokenizer

    # internvl/model/__init__.py loads in half precision only
    model = InternVLChatModel.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    if model.llm_arch_name == "InternLM2ForCausalLM":  # the hub has this file of the code beside the weights
        tokenizer = InternLM2Tokenizer.from_pretrained(FOLDER / "model")
    else:
        tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model", use_fast=False)
    side = model.config.force_image_size
    shown = Image.open(question["image"]).convert("RGB")
    tiles = dynamic_preprocess(shown, image_size=side, use_thumbnail=model.config.use_thumbnail, max_num=6)
    transform = build_transform(is_train=False, input_size=side)
    pixels, steps = torch.stack([transform(tile) for tile in tiles]), []
    model.language_model.register_forward_hook(lambda module, given, out: steps.append(out.logits[0, -1]))
    options = {"num_beams": 1, "max_new_tokens": 6, "min_new_tokens": 1, "do_sample": False}
    text = model.chat(tokenizer, pixels, question["text"], options)
    talk = get_conv_template(model.template)
    talk.append_message(talk.roles[0], "<image>\n" + question["text"])
    talk.append_message(talk.roles[1], None)
    prompt = talk.get_prompt()
    letters = {}
    for label in question["labels"]:
        whole = tokenizer(prompt + label)["input_ids"]
        assert whole[:-1] == tokenizer(prompt)["input_ids"], whole
        letters[label] = float(steps[0][whole[-1]])
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text, "tiles": len(tiles)}))


if __name__ == "__main__":
    make(sys.argv[4]) if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
