"""Real models of random weights, small enough to build in a test."""

import random
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase
from typing import Any

WORDS = """what is shown here the a cat dog house red blue one two three
USER ASSISTANT SYSTEM : ? , hint be brief""".split()  # noqa: SIM905
SIZE, PATCH = 32, 16
CHAT = (
    "{% for message in messages %}{{ message['role'] | upper + ':' }}"
    "{% for part in message['content'] %}"
    "{{ ' <image>' if part['type'] == 'image' else ' ' + part['text'] }}"
    "{% endfor %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def tokenizer(letters: str = ascii_uppercase, chat: str | None = CHAT) -> Any:
    """One token per word and letter."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<s>", "</s>", "<pad>", "<image>", *WORDS, *letters]
    whole = Tokenizer(
        WordLevel({word: index for index, word in enumerate(dict.fromkeys(words))}, unk_token="<unk>")
    )
    whole.pre_tokenizer = Split(Regex(r"\w+|[^\w\s]"), behavior="removed", invert=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
        chat_template=chat,
    )


def _towers(
    words: Any, context: int = 256, width: int = 32, layers: int = 2, side: int = SIZE
) -> dict[str, Any]:
    from transformers import CLIPVisionConfig, LlamaConfig

    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        projection_dim=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=side,
        patch_size=PATCH,
        initializer_range=0.3,
    )
    text = LlamaConfig(
        vocab_size=len(words) + 3,  # more rows than tokens, as large models have
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=context,
        initializer_range=0.3,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
    )
    return {
        "vision_config": vision,
        "text_config": text,
        "image_token_index": words.convert_tokens_to_ids("<image>"),
        "vision_feature_select_strategy": "default",
        "vision_feature_layer": -1,
        "tie_word_embeddings": True,
    }


def _saved(folder: Path, processor: Any, model: Callable[[], Any], seed: int) -> Path:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_llava(
    folder: Path,
    letters: str = ascii_uppercase,
    chat: str | None = CHAT,
    width: int = 32,
    layers: int = 2,
    context: int = 256,
    seed: int = 0,
    side: int = SIZE,
    words: Any = None,
) -> Path:
    """LLaVA-1.5's classes: every image becomes `side` x `side` pixels, at 32 that is 4 tokens."""
    from transformers import LlavaConfig, LlavaForConditionalGeneration

    words = words or tokenizer(letters, chat)
    config = LlavaConfig(
        image_seq_length=(side // PATCH) ** 2, **_towers(words, context, width, layers, side)
    )
    return _saved(
        folder, llava_processor(words, chat, side), lambda: LlavaForConditionalGeneration(config), seed
    )


GRID = [[SIZE, 2 * SIZE], [2 * SIZE, SIZE], [2 * SIZE, 2 * SIZE]]


SPOKEN = (  # as most language models have it: contents are texts, and the template writes the begin token
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | upper + ': ' + message['content'] + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)


def save_language_model(folder: Path, family: str, chat: str | None = SPOKEN, **changes: Any) -> Path:
    """A causal language model (or one with an encoder) of a family, without a processor or a padding token."""
    import torch
    import transformers as t

    words = byte_pairs(chat) if family == "qwen2" else tokenizer(chat=chat)  # Qwen's tokenizer is of bytes
    words.pad_token = None
    sizes = {
        "vocab_size": len(words) + 3,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 256,
    }
    ends = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id, "pad_token_id": None}
    config = t.AutoConfig.for_model(family, **sizes | ends | changes)
    auto = t.AutoModelForSeq2SeqLM if config.is_encoder_decoder else t.AutoModelForCausalLM

    def model() -> Any:
        made = auto.from_config(config)
        with torch.no_grad():
            for value in made.parameters():
                if value.ndim > 1:
                    value.normal_(0, 1.5 / value.shape[-1] ** 0.5)
        made.generation_config = t.GenerationConfig(**ends)
        return made

    return _saved(folder, words, model, 0)


def save_llava_next(folder: Path) -> Path:
    """LLaVA-NeXT's classes: the number of tokens of an image depends on its size."""
    from transformers import LlavaNextConfig, LlavaNextForConditionalGeneration

    words = tokenizer()
    config = LlavaNextConfig(image_grid_pinpoints=GRID, **_towers(words))
    processor = llava_processor(words, next=True)
    return _saved(folder, processor, lambda: LlavaNextForConditionalGeneration(config), 0)


def pieces() -> Any:
    """A tokenizer as T5 has one: words begin with a mark for the space before them, a text ends with </s>."""
    from tokenizers import Tokenizer
    from tokenizers.decoders import Metaspace as Joined
    from tokenizers.models import Unigram
    from tokenizers.pre_tokenizers import Metaspace
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    characters = sorted({character for word in WORDS for character in word} | set(ascii_uppercase) | {"."})
    words = [f"▁{word}" for word in [*WORDS, *ascii_uppercase, "Question", "Answer"]]
    given = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    scores = [(word, -2.0) for word in words] + [(one, -9.0) for one in ["▁", *characters]]
    whole = Tokenizer(Unigram([*given, *scores], unk_id=2))
    whole.pre_tokenizer, whole.decoder = Metaspace(), Joined()
    whole.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=whole, unk_token="<unk>", eos_token="</s>", pad_token="<pad>"
    )


def byte_pairs(chat: str | None) -> Any:
    """A byte-level tokenizer that has learnt `:A`, ` A`, ` B` and ` C` as tokens; A and B alone are bytes."""
    from tokenizers import Tokenizer
    from tokenizers.decoders import ByteLevel as Joined
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    whole = Tokenizer(BPE())
    whole.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    whole.decoder = Joined()
    trainer = BpeTrainer(vocab_size=262, initial_alphabet=ByteLevel.alphabet(), show_progress=False)
    whole.train_from_iterator(["x:A", " A", " B", " C", "y:A"] * 20, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
        chat_template=chat,
    )


def llava_processor(words: Any, chat: str | None = CHAT, side: int = SIZE, next: bool = False) -> Any:
    """LLaVA-1.5's processor for a tokenizer, or LLaVA-NeXT's, which cuts images into tiles."""
    import transformers as t

    size = {"height": side, "width": side}
    if next:
        images = t.LlavaNextImageProcessorPil(
            size={"shortest_edge": side}, crop_size=size, image_grid_pinpoints=GRID
        )
    else:
        images = t.CLIPImageProcessorPil(size=size, crop_size=size, do_center_crop=False)
    return (t.LlavaNextProcessor if next else t.LlavaProcessor)(
        images,
        words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=chat,
    )


def save_blip(folder: Path, instruct: bool = False) -> Path:
    """BLIP-2's classes on T5, or InstructBLIP's; like the real ones without a chat template."""
    import torch
    import transformers as t
    from tokenizers.processors import TemplateProcessing

    kind = "InstructBlip" if instruct else "Blip2"
    words, queries = pieces(), 3
    images = t.BlipImageProcessorPil(size={"height": SIZE, "width": SIZE})
    arguments = [images, words]
    if instruct:
        other = tokenizer(chat=None)
        other.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
        arguments.append(other)
    processor = getattr(t, f"{kind}Processor")(*arguments, num_query_tokens=queries)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = t.T5Config(
        vocab_size=len(words) + 3,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        dropout_rate=0.0,
    )
    shared = {"initializer_range": 0.3}
    vision = getattr(t, f"{kind}VisionConfig")(image_size=SIZE, patch_size=PATCH, **sizes, **shared)
    former = getattr(t, f"{kind}QFormerConfig")(
        vocab_size=200, encoder_hidden_size=16, max_position_embeddings=40, **sizes, **shared
    )
    config = getattr(t, f"{kind}Config")(
        vision_config=vision,
        qformer_config=former,
        text_config=text,
        num_query_tokens=queries,
        image_token_index=words.convert_tokens_to_ids("<image>"),
        **shared,
    )

    def model() -> Any:
        made = getattr(t, f"{kind}ForConditionalGeneration")(config)
        with torch.no_grad():
            made.query_tokens.normal_()
            for name, value in made.language_model.named_parameters():
                if "layer_norm" not in name:
                    value.normal_(0, 0.5)
        return made

    return _saved(folder, processor, model, 0)


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS[:14]) for _ in range(words))
