"""Model folders with code of their own, as repositories of the hub have it."""

import json
from pathlib import Path

from tests.models.tiny import tokenizer

PROMPT = "{images}{text} Answer"
MODELING = """
import torch
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

print("a model that prints")


class OwnConfig(PreTrainedConfig):
    model_type = "own"

    def __init__(self, vocab_size=80, width=16, **others):
        self.vocab_size, self.width = vocab_size, width
        self.num_hidden_layers = 1
        super().__init__(**others)


class OwnModel(PreTrainedModel, GenerationMixin):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.words = torch.nn.Embedding(config.vocab_size, config.width)
        self.colours = torch.nn.Linear(3, config.width)
        self.head = torch.nn.Linear(config.width, config.vocab_size)
        self.post_init()

    def _init_weights(self, module):
        if hasattr(module, "weight"):
            module.weight.data.normal_(0, 1.0)

    def forward(self, input_ids=None, pixel_values=None, attention_mask=None, **others):
        hidden = self.words(input_ids)
        places = torch.arange(1, hidden.shape[1] + 1)[:, None]
        hidden = hidden.cumsum(1) / places
        if pixel_values is not None:
            hidden = hidden + self.colours(pixel_values.mean((0, 2, 3)))
        return CausalLMOutputWithPast(logits=self.head(torch.tanh(hidden)))

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        return {"input_ids": input_ids, "pixel_values": kwargs.get("pixel_values")}

    def chat(self, tokenizer, query, image=None, history=(), max_new_tokens=8, do_sample=False, **others):
        from PIL import Image
        import numpy as np

        pixels = None
        if image is not None:
            array = np.asarray(Image.open(image).convert("RGB"), dtype="float32") / 255
            pixels = torch.tensor(array).permute(2, 0, 1)[None]
        said = []
        ids = torch.tensor([tokenizer(query)["input_ids"]])
        for _ in range(max_new_tokens):
            ids = torch.cat([ids, self(ids, pixels).logits[:, -1:].argmax(-1)], 1)
        return tokenizer.decode(ids[0, -max_new_tokens:]), [*history, query]
"""
IMAGES = """
import numpy as np
import torch
from transformers import BatchFeature
from transformers.image_processing_base import ImageProcessingMixin


class OwnImages(ImageProcessingMixin):
    model_input_names = ["pixel_values"]

    def __init__(self, brightness=1.0, **others):
        super().__init__(**others)
        self.brightness = brightness

    def __call__(self, images, return_tensors=None, **others):
        arrays = [np.asarray(one, dtype="float32")[:8, :8] / 255 * self.brightness for one in images]
        return BatchFeature({"pixel_values": torch.tensor(np.stack(arrays)).permute(0, 3, 1, 2)})
"""
PROCESSING = """
from transformers import ProcessorMixin


class OwnProcessor(ProcessorMixin):
    attributes = ["image_processor", "tokenizer"]
    image_processor_class, tokenizer_class = "AutoImageProcessor", "AutoTokenizer"

    def __init__(self, image_processor=None, tokenizer=None, **others):
        super().__init__(image_processor, tokenizer, **others)

    def __call__(self, text, images=None, return_tensors=None, **others):
        widened = [one.replace("<image>", "<image><image>") for one in text]
        given = dict(self.tokenizer(widened, return_tensors=return_tensors))
        return {**given, **(self.image_processor(images) if images else {})}
"""


def own_model(folder: Path, form: str) -> Path:
    """A folder with code: of the model alone (`chat`), of an image processor too (`images`), and of a processor
    (`processor`)."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    words = tokenizer()
    words.save_pretrained(folder)
    size, width = len(words), 16
    maps = {"AutoConfig": "modeling_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.OwnModel"}
    config = {
        "model_type": "own",
        "auto_map": maps,
        "vocab_size": size,
        "width": width,
        "architectures": ["OwnModel"],
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "modeling_own.py").write_text(MODELING, "utf-8")
    if form != "chat":
        (folder / "images_own.py").write_text(IMAGES, "utf-8")
        own = {
            "image_processor_type": "OwnImages",
            "auto_map": {"AutoImageProcessor": "images_own.OwnImages"},
        }
        (folder / "preprocessor_config.json").write_text(json.dumps({**own, "brightness": 0.5}), "utf-8")
    if form == "processor":
        (folder / "processing_own.py").write_text(PROCESSING, "utf-8")
        own = {
            "processor_class": "OwnProcessor",
            "auto_map": {"AutoProcessor": "processing_own.OwnProcessor"},
        }
        (folder / "processor_config.json").write_text(json.dumps(own), "utf-8")
    made = torch.Generator().manual_seed(3)
    shapes = {"words.weight": (size, width), "colours.weight": (width, 3), "colours.bias": (width,)}
    shapes |= {"head.weight": (size, width), "head.bias": (size,)}
    weights = {name: torch.randn(shape, generator=made) for name, shape in shapes.items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder
