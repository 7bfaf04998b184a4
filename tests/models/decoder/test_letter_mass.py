"""The probability on letters is what transformers' own softmax gives to all tokens that spell them."""

from pathlib import Path

import pytest
import torch

from tests.models.decoder.test_preparing import PLAIN
from tests.models.engines import letters_of, loaded, shared
from tests.models.tiny import byte_pairs, save_llava
from vouch.models.requests.engine import Pack, Question


@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-4), ("bfloat16", 0.2)])
def test_both_spellings_count_once_each(tmp_path: Path, dtype: str, close: float) -> None:
    """B and C with and without a space are tokens of their own; random weights begin with other tokens."""
    folder = save_llava(tmp_path / "model", words=byte_pairs(PLAIN), chat=PLAIN)
    asked = [Question(f"q{n}", None, "x" * (n + 1), marks="BC") for n in range(4)]
    model, processor = loaded(folder)
    ids = processor.tokenizer.convert_tokens_to_ids(["B", "C", "ĠB", "ĠC"])
    assert len(set(ids)) == 4
    for found in shared(folder, dtype).answer([Pack("letters", asked)]):
        one = next(one for one in asked if one.id == found.question)
        inputs = processor(text=f"user:{one.text}assistant:", return_tensors="pt")
        with torch.no_grad():
            logits = model.to(getattr(torch, dtype))(**inputs).logits[0, -1].float()
        expected = float(logits[: len(processor.tokenizer)].softmax(-1)[ids].sum())
        assert letters_of(found).letter_mass == pytest.approx(
            expected, rel=close
        )  # one spelling is about half of it
        assert "low_mass" in found.flags
