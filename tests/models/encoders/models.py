"""Tiny random encoders, saved as transformers saves them, and what BERTScore is by hand."""

from pathlib import Path

import numpy as np

from vouch.tables.answered import Pin, Source, folder_digests

WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "."),
    *("what", "colour", "is", "the", "circle", "red", "blue", "how", "many", "are", "there"),
]


def save_tokenizer(folder: Path, limit: int) -> None:
    """Whole words, with a token at both ends."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokens = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokens.normalizer = normalizers.Lowercase()
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokens.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokens, model_max_length=limit, **special).save_pretrained(
        folder
    )


def save_clip(folder: Path) -> Path:
    """Images of 32 x 32, texts of up to 8 tokens, 6 numbers for either."""
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    torch.manual_seed(0)
    side = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = side | {
        "vocab_size": len(WORDS),
        "max_position_embeddings": 8,
        "eos_token_id": 3,
        "bos_token_id": 2,
    }
    vision = side | {"image_size": 32, "patch_size": 16}
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=6)).save_pretrained(folder)
    size = {"height": 32, "width": 32}
    CLIPImageProcessor(size=size, crop_size=size).save_pretrained(folder)
    save_tokenizer(folder, 1000)
    return folder


def save_bert(folder: Path, pooler: bool = False) -> Path:
    """Two layers of 16 numbers, texts of up to 12 tokens."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=12, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config, add_pooling_layer=pooler).save_pretrained(folder)
    save_tokenizer(folder, 12)
    return folder


def pin(name: str, folder: Path) -> Pin:
    """The pin of a folder as it is."""
    source = Source(kind="folder", path=str(folder))
    return Pin(model=name, engine="transformers", source=source, files=folder_digests(folder))


def by_hand(folder: Path, candidate: str, reference: str) -> tuple[float, float]:
    """BERTScore F1 and the cosine of the mean vectors, one token after the other."""
    from transformers import AutoTokenizer, BertModel

    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    states = [
        model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].detach().numpy()
        for text in (candidate, reference)
    ]

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    def best(of: np.ndarray, among: np.ndarray) -> float:
        return float(np.mean([max(cosine(a, b) for b in among) for a in of[1:-1]]))

    precision, recall = best(states[0], states[1]), best(states[1], states[0])
    return 2 * precision * recall / (precision + recall), cosine(
        states[0].mean(axis=0), states[1].mean(axis=0)
    )
