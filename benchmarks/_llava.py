"""A LLaVA-1.5 of random weights in any size, and the floating-point operations that asking it takes.

F(q, past, rows) = 2 N q + 4 L d q (past + q/2) + 2 V d rows for q tokens after `past` others: N weights of
the L layers' projections, d wide; `rows` places whose logits over V tokens are computed. The middle term is
attention; under an explicit mask a kernel computes all of it, so that q stands for q/2.
"""

import copy
import random
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import torch

from vouch.models.decoder.engine import head_in_float32
from vouch.models.decoder.preparing import LoadedModel

PATCH = 14
CONTEXT = 4096  # most tokens of a prompt
HEAD = 128  # width of an attention head of the language model
BEFORE = ("<s>", "USER", ":")  # tokens before the picture
AFTER = ("ASSISTANT", ":")  # tokens after the text
SPECIAL = ("<unk>", "<s>", "</s>", "<pad>", "<image>")
NAMED = (*SPECIAL, "USER", "ASSISTANT", ":", *ascii_uppercase)  # the other tokens are words
CHAT = (
    "<s>{% for message in messages %}{{ message['role'] | upper }}: "
    "{% for part in message['content'] %}"
    "{{ '<image>\n' if part['type'] == 'image' else part['text'] }}"
    "{% endfor %} {% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


@dataclass(frozen=True)
class Shape:
    """Sizes of a model. side: of a picture, pixels."""

    width: int
    inner: int
    layers: int
    vocabulary: int
    vision_width: int
    vision_layers: int
    dtype: str
    side: int = 336

    @property
    def places(self) -> int:
        """Tokens of a picture."""
        return (self.side // PATCH) ** 2

    @property
    def prefix(self) -> int:
        """Tokens up to the end of the picture."""
        return len(BEFORE) + self.places

    @property
    def linear(self) -> int:
        """Weights of the layers' projections."""
        return self.layers * (4 * self.width**2 + 3 * self.width * self.inner)

    @property
    def head(self) -> int:
        """Weights of the last projection."""
        return self.width * self.vocabulary

    @property
    def vision(self) -> int:
        """Weights of the vision tower and of the projector."""
        tower = self.vision_layers * 12 * self.vision_width**2
        return tower + self.vision_width * self.width + self.width**2

    def flops(self, tokens: int, past: int = 0, rows: int = 1, masked: bool = False) -> float:
        """F, see above."""
        seen = past + (tokens if masked else tokens / 2)
        attention = 4 * self.layers * self.width * tokens * seen
        return 2 * self.linear * tokens + attention + 2 * self.head * rows

    def vision_flops(self) -> float:
        """Of one picture."""
        attention = 4 * self.vision_layers * self.vision_width * (self.places + 1) ** 2
        return 2 * self.vision * (self.places + 1) + attention

    def loop_flops(self, suffix: int) -> float:
        """A prompt on its own, logits of every place; suffix: tokens after the picture."""
        tokens = self.prefix + suffix
        return self.flops(tokens, rows=tokens) + self.vision_flops()

    def prefix_flops(self) -> float:
        """What all prompts about a picture share."""
        return self.flops(self.prefix) + self.vision_flops()


# LLaVA-1.5-7B; a small model whose linear work, attention, vocabulary and vision keep about its shares;
# and one that only tries the code.
SEVEN_B = Shape(4096, 11008, 32, 32064, 1024, 24, "bfloat16")
SMALL = Shape(768, 2064, 2, 384, 128, 2, "float32")
DRY = Shape(128, 344, 2, 384, 64, 2, "bfloat16", side=56)


def words(shape: Shape) -> list[str]:
    """Words that a text may be made of."""
    return [f"w{number}" for number in range(shape.vocabulary - len(NAMED))]


def sentence(rng: random.Random, shape: Shape, count: int) -> str:
    """`count` words, a token each."""
    return " ".join(rng.choices(words(shape), k=count))


def _processor(shape: Shape) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import CLIPImageProcessorPil, LlavaProcessor, PreTrainedTokenizerFast

    entries = {word: index for index, word in enumerate((*NAMED, *words(shape)))}
    whole = Tokenizer(WordLevel(entries, unk_token="<unk>"))
    whole.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=whole,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
        chat_template=CHAT,
    )
    pictures = CLIPImageProcessorPil(
        size={"shortest_edge": shape.side}, crop_size={"height": shape.side, "width": shape.side}
    )
    return LlavaProcessor(
        pictures,
        tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )


def _config(shape: Shape) -> Any:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig

    vision = CLIPVisionConfig(
        hidden_size=shape.vision_width,
        intermediate_size=4 * shape.vision_width,
        projection_dim=shape.vision_width,
        num_hidden_layers=shape.vision_layers,
        num_attention_heads=shape.vision_width // 64,
        image_size=shape.side,
        patch_size=PATCH,
    )
    text = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.width // HEAD,
        num_key_value_heads=shape.width // HEAD,
        max_position_embeddings=CONTEXT,
        initializer_range=1.3 / shape.width**0.5,  # logits vary by about 1
        bos_token_id=NAMED.index("<s>"),
        eos_token_id=NAMED.index("</s>"),
        pad_token_id=NAMED.index("<pad>"),
    )
    return LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=NAMED.index("<image>"),
        image_seq_length=shape.places,
        vision_feature_select_strategy="default",
        vision_feature_layer=-2,
    )


def load(shape: Shape, device: str) -> LoadedModel:
    """A model of random weights, made on `device` and made ready as `extract` makes one ready."""
    from transformers import AutoModelForImageTextToText

    torch.manual_seed(0)
    torch.set_num_threads(1)
    with torch.device(device):
        model = AutoModelForImageTextToText.from_config(_config(shape), dtype=getattr(torch, shape.dtype))
    model.eval()
    if shape.dtype != "float32":
        head_in_float32(model)
    return LoadedModel(model, _processor(shape), device)


def as_published(model: Any) -> Any:
    """The model with its last projection in its own dtype, as others run it; all else is shared."""
    head = model.get_output_embeddings()
    if head.weight.dtype == model.dtype:
        return model
    peer = copy.copy(model)
    peer._modules = dict(model._modules)
    own = torch.nn.Linear(head.in_features, head.out_features, bias=False, dtype=model.dtype, device="meta")
    own.weight = torch.nn.Parameter(head.weight.detach().to(model.dtype), requires_grad=False)
    peer.set_output_embeddings(own)
    return peer
