"""Pictures through a processor once, though many prompts show them: resizing costs more than asking."""

import copy
import hashlib
from typing import Any

import torch
from PIL import Image
from torch.utils.weak import WeakTensorKeyDictionary

from vouch.images.opening import LruCache, weight

HELD = 8  # results

_digests = WeakTensorKeyDictionary()
# Of all threads: each has a processor of its own, set up like the others, and they show the same pictures.
_results: LruCache[tuple[Any, Any, Any]] = LruCache(HELD, lambda made: sum(map(weight, made[0])))


class ProcessedPictures:
    """An image processor that shares its last results with others of the same settings.

    Pictures are told apart by identity, so they must not be changed.
    """

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._settings = f"{type(processor)} {processor!r}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        """The processor's result; further arguments are its own."""
        pictures = _flat(images)
        if not all(isinstance(one, Image.Image) for one in pictures):
            return self._processor(images, *args, **kwargs)
        key = f"{self._settings} {_identities(images)} {args} {sorted(kwargs.items())}"
        # Pictures and processor are kept as well, so that no other one can come to bear their identity.
        made = _results.get(
            key, lambda: (pictures, self._processor, self._processor(images, *args, **kwargs))
        )
        return copy.copy(made[2])  # callers take entries out of it


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
