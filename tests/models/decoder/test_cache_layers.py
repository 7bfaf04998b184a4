"""Cache layers by rows; what cannot be statistics apart by rows is refused."""

import pytest
import torch
from transformers.cache_utils import DynamicLayer

from vouch.models.decoder.passes import join, row_of
from vouch.models.decoder.rows import Unsupported


def layer(rows: int = 3) -> DynamicLayer:
    made = DynamicLayer()
    made.update(torch.randn(rows, 2, 5, 4), torch.randn(rows, 2, 5, 4))
    return made


def test_rows_apart_and_together() -> None:
    whole = layer()
    whole.cumulative_length = torch.tensor(5)  # of all rows alike
    again = join([row_of(whole, row) for row in range(3)])
    assert torch.equal(again.keys, whole.keys) and torch.equal(again.values, whole.values)
    assert again.cumulative_length == 5


@pytest.mark.parametrize("more", [torch.zeros(3), torch.zeros(3, 5)])
def test_what_may_belong_to_rows_is_refused(more: torch.Tensor) -> None:
    whole = layer()
    whole.lengths = more
    with pytest.raises(Unsupported, match="DynamicLayer is of an unknown kind"):
        row_of(whole, 1)
    whole.lengths = {"first": more}
    with pytest.raises(Unsupported):
        row_of(whole, 1)
