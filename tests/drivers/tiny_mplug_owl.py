"""A tiny random mPLUG-Owl of the authors' own classes, and their own forward pass. Runs in the driver's environment.

python tiny_mplug_owl.py CODE FOLDER make FORM       FOLDER/model
python tiny_mplug_owl.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

from tiny_words import save_words

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2])
FORMS = {"plain": {"parts": [], "settings": {}}}
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def make():
    import torch
    from mplug_owl.configuration_mplug_owl import MplugOwlConfig
    from mplug_owl.modeling_mplug_owl import MplugOwlForConditionalGeneration
    from mplug_owl.processing_mplug_owl import MplugOwlImageProcessor

    torch.manual_seed(1)
    words = save_words(FOLDER / "model")
    config = MplugOwlConfig(
        vision_config={**SIZE, "image_size": 28, "patch_size": 14},
        visual_abstractor_config={**SIZE, "encoder_hidden_size": 32},
        text_config={"model_type": "llama", **SIZE, "vocab_size": len(words), "initializer_range": 0.4},
        num_query_tokens=64,
    )
    model = MplugOwlForConditionalGeneration(config)
    with torch.no_grad():
        model.query_tokens.normal_()
    model.save_pretrained(FOLDER / "model", safe_serialization=True)
    MplugOwlImageProcessor(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}).save_pretrained(
        FOLDER / "model"
    )


def ask(question):
    """As pipeline/interface.py asks; the logits are those of its greedy text's first step."""
    import torch
    from mplug_owl.modeling_mplug_owl import MplugOwlForConditionalGeneration
    from mplug_owl.processing_mplug_owl import MplugOwlImageProcessor, MplugOwlProcessor
    from PIL import Image
    from transformers import AutoTokenizer

    model = MplugOwlForConditionalGeneration.from_pretrained(
        FOLDER / "model", torch_dtype=torch.float32
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "model")
    processor = MplugOwlProcessor(MplugOwlImageProcessor.from_pretrained(FOLDER / "model"), tokenizer)
    prompt = (
        "The following is a conversation between a curious human and AI assistant. The assistant gives helpful, "
        f"detailed, and polite answers to the user's questions.\nHuman: <image>\nHuman: {question['text']}\nAI: "
    )
    images = [Image.open(question["image"]).convert("RGB")]
    options = {
        "do_sample": False,
        "max_new_tokens": 6,
        "output_scores": True,
        "return_dict_in_generate": True,
    }
    with torch.no_grad():
        written = model.generate(**processor(text=[prompt], images=images, return_tensors="pt"), **options)
        # where a letter is read, the space is the letter's
        bare = model.generate(**processor(text=[prompt[:-1]], images=images, return_tensors="pt"), **options)
    letters = {}
    for label in question["labels"]:
        (token,) = tokenizer(label, add_special_tokens=False)["input_ids"]
        letters[label] = float(bare.scores[0][0, token])
    text = tokenizer.decode(written.sequences[0][-len(written.scores) :], skip_special_tokens=True)
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
