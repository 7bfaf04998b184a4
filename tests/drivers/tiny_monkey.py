"""A tiny random Monkey and Qwen-VL of the authors' own classes, and their own forward pass.

Runs in the driver's environment.

python tiny_monkey.py CODE FOLDER make FORM       FOLDER/model
python tiny_monkey.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import base64
import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {
    "monkey": {"parts": [], "settings": {}},
    "monkey_chat": {"parts": [], "settings": {"bare_letters": True}},
    "qwen_vl": {"parts": [], "settings": {}},
    "qwen_vl_chat": {"parts": [], "settings": {"chat": True}},
}


def save_words():
    """A vocabulary of bytes and a few pairs of them."""
    from monkey_model.tokenization_qwen import QWenTokenizer

    (FOLDER / "model").mkdir()
    pairs = [b" " + bytes([letter]) for letter in b"ABCDabcdefghijklmnopqrstuvwxyz"]
    pieces = [bytes([value]) for value in range(256)] + pairs + [b":A", b":B"]
    lines = [f"{base64.b64encode(piece).decode()} {rank}" for rank, piece in enumerate(pieces)]
    (FOLDER / "model/qwen.tiktoken").write_text("\n".join(lines) + "\n", "utf-8")
    return QWenTokenizer(str(FOLDER / "model/qwen.tiktoken"))


def built(form, config=None):
    """The model of a form: a new one, or that of FOLDER."""
    import torch
    from monkey_model import modeling_monkey, modeling_qwen

    modeling_qwen.use_flash_attention = False  # used in training only
    seen = form.startswith("monkey")
    owner = modeling_monkey.MonkeyLMHeadModel if seen else modeling_qwen.QWenLMHeadModel
    if config:
        return owner(config)
    model = owner.from_pretrained(FOLDER / "model", torch_dtype=torch.float32).eval()
    visual = model.transformer.visual
    if not seen:  # as the code of Qwen-VL's own repository: what is seen, and no windows
        cut = visual.encode
        visual.encode = lambda paths: visual(cut(paths)[1])
    return model


def make(form):
    import torch
    from monkey_model.configuration_qwen import QWenConfig

    torch.manual_seed(1)
    words = save_words()
    words.save_pretrained(FOLDER / "model")
    (FOLDER / "form").write_text(form, "utf-8")
    windows = form.startswith("monkey")
    visual = {"width": 32, "layers": 2, "heads": 2, "mlp_ratio": 2.0, "output_dim": 128, "patch_size": 14}
    visual |= {"image_size": 896 if windows else 448, "lora_repeat_num": 4 if windows else 0}
    config = QWenConfig(
        architectures=["MonkeyLMHeadModel" if windows else "QWenLMHeadModel"],
        vocab_size=len(words),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        kv_channels=64,
        intermediate_size=128,
        seq_length=2048,
        use_flash_attn=False,
        fp32=True,
        visual={**visual, "image_start_id": words.img_start_id},
    )
    model = built(form, config)
    with torch.no_grad():
        for value in model.parameters():
            value.normal_(std=0.1)
    model.save_pretrained(FOLDER / "model", safe_serialization=True)


def ask(question):
    """As input_utils/text_utils.py of EnSec-AI/VLM-Uncertainty-Bench asks, or by the model's own `chat`."""
    import torch
    from monkey_model.qwen_generation_utils import make_context
    from monkey_model.tokenization_qwen import QWenTokenizer
    from transformers import GenerationConfig

    form = (FOLDER / "form").read_text("utf-8")
    tokenizer, model = QWenTokenizer.from_pretrained(FOLDER / "model"), built(form)
    if not form.startswith("monkey"):
        tokenizer.IMG_TOKEN_SPAN = 256  # that of Qwen-VL's own repository
    image, ends = question["image"], dict.fromkeys(("pad_token_id", "eos_token_id"), tokenizer.eod_id)
    options = {"do_sample": False, "num_beams": 1, "max_new_tokens": 6, **ends}
    steps = []
    model.register_forward_hook(lambda module, given, out: steps.append(out.logits[0, -1]))
    if form == "qwen_vl_chat":
        # as from_list_format of Qwen-VL's own repository; Monkey's copy leaves out the space
        query = f"Picture 1: <img>{image}</img>\n{question['text']}"
        prompt, ids = make_context(tokenizer, query, [], "You are a helpful assistant.", 6144, "chatml")
        options["max_new_tokens"] += 1  # of a text without an end, `chat` drops the last token
        config = GenerationConfig(chat_format="chatml", max_window_size=6144, **options)
        text, _ = model.chat(tokenizer, query, None, generation_config=config)
    else:
        prompt = f"<img>{image}</img>{question['text']}\nAnswer:"
        given = tokenizer(prompt, return_tensors="pt")
        ids = given.input_ids[0].tolist()
        with torch.no_grad():
            written = model.generate(
                input_ids=given.input_ids, attention_mask=given.attention_mask, use_cache=True, **options
            )
        text = tokenizer.decode(written[0, len(ids) :], skip_special_tokens=True)
    space = "" if form.endswith("chat") else " "
    letters = {label: float(steps[0][tokenizer(space + label).input_ids[-1]]) for label in question["labels"]}
    assert tokenizer(prompt)["input_ids"] == ids
    print(json.dumps({"prompt": prompt.replace(image, ""), "letters": letters, "text": text}))


if __name__ == "__main__":
    make(sys.argv[4]) if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
