"""Loading an encoder from a folder: safetensors, no code from the folder, no network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin

DIGITS = 12
"""Digits of a pin's digest that name it in a table."""
UNREAD = "pooler."
"""Weights that text encoders are often saved without; nothing here reads what they compute."""


def encoder_name(pin: Pin) -> str:
    """A pinned encoder as the tables name it."""
    return f"{pin.model} {pin.digest[:DIGITS]}"


def prepare_device(device: str, threads: int) -> str:
    """cpu or cuda, with everything set that could move a bit."""
    import torch

    from vouch.models.loading.model_loading import choose_device, hush

    hush()
    torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    return choose_device(device)


def loaded(folder: Path, dtype: str, device: str) -> Any:
    """The model of a folder in evaluation mode. Raises UserError, one line, whatever is wrong with it."""
    import torch
    import transformers

    from vouch.models.loading.model_loading import LOCAL

    try:
        model, report = transformers.AutoModel.from_pretrained(
            folder, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True, **LOCAL
        )
    except Exception as error:  # the loaders of many model classes raise many kinds
        raise unusable(folder, error) from None
    missing = sorted(name for name in report["missing_keys"] if not name.startswith(UNREAD))
    if missing:
        raise UserError(
            f"{folder}: the weights lack {missing[0]} ({len(missing)} in all); save the model anew"
        )
    return model.eval().to(device)


@dataclass(frozen=True)
class LoadedText:
    """A model that reads texts, with its tokenizer. context: most tokens it can read."""

    model: Any
    tokenizer: Any
    device: str
    context: int | None

    def batches(self, texts: Sequence[str], size: int) -> Iterator[tuple[list[int], Any]]:
        """Rows of texts that have equally many tokens, at most `size`, and their tokens [rows, tokens]."""
        import torch

        cut = {"truncation": True, "max_length": self.context} if self.context else {}
        tokens = self.tokenizer(list(texts), **cut)["input_ids"] if len(texts) else []
        by_length: dict[int, list[int]] = {}
        for row, ids in enumerate(tokens):
            by_length.setdefault(len(ids), []).append(row)
        for _, rows in sorted(by_length.items()):
            for start in range(0, len(rows), size):
                chosen = rows[start : start + size]
                yield chosen, torch.tensor([tokens[row] for row in chosen], device=self.device)


def load_text(folder: Path, model: Any, device: str) -> LoadedText:
    """The text side of a loaded model. Raises UserError where the folder has no tokenizer."""
    import transformers

    from vouch.models.loading.model_loading import LOCAL

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
    except Exception as error:
        raise unusable(folder, error) from None
    places = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    # Some tokenizers say how much of it may be used (RoBERTa keeps two places for itself).
    limits = [limit for limit in (places, tokenizer.model_max_length) if limit]
    return LoadedText(model, tokenizer, device, min(limits) if limits else None)


def unusable(folder: Path, error: Exception) -> UserError:
    """What a loader of the library had to say about a folder, in one line."""
    why = " ".join(str(error).split())[:200]
    return UserError(
        f"{folder}: cannot be loaded as an encoder ({type(error).__name__}: {why}); take a model such as "
        "CLIP or BERT in the form of transformers"
    )
