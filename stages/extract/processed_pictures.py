"""Pictures through a processor once, though many prompts show them: resizing costs more than asking."""

import copy
import hashlib
from collections import OrderedDict
from typing import Any

import torch
from PIL import Image
from torch.utils.weak import WeakTensorKeyDictionary

HELD = 8  # results

_digests = WeakTensorKeyDictionary()


class ProcessedPictures:
    """An image processor that remembers its last results. Pictures are told apart by identity."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._results: OrderedDict[str, tuple[list[Any], Any]] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        """The processor's result; further arguments are its own."""
        pictures = _flat(images)
        if not all(isinstance(one, Image.Image) for one in pictures):
            return self._processor(images, *args, **kwargs)
        key = f"{_identities(images)} {args} {sorted(kwargs.items())}"
        if key not in self._results:
            # The pictures are kept as well, so that no other one can come to bear their identity.
            self._results[key] = pictures, self._processor(images, *args, **kwargs)
            if len(self._results) > HELD:
                self._results.popitem(last=False)
        self._results.move_to_end(key)
        return copy.copy(self._results[key][1])  # callers take entries out of it


def tensor_digest(value: torch.Tensor) -> bytes:
    """SHA-256 of a tensor's bytes; computed once for each tensor."""
    if value not in _digests:
        raw = value.contiguous().view(torch.uint8).numpy()
        _digests[value] = hashlib.sha256(raw.tobytes()).digest()
    digest: bytes = _digests[value]
    return digest


def _flat(images: Any) -> list[Any]:
    return [one for part in images for one in _flat(part)] if isinstance(images, (list, tuple)) else [images]


def _identities(images: Any) -> Any:
    return [_identities(one) for one in images] if isinstance(images, (list, tuple)) else id(images)
