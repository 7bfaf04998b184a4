"""Processes an image once, though many prompts show it: resizing costs more than asking."""

import copy
import hashlib
from typing import Any

import torch
from PIL import Image
from torch.utils.weak import WeakTensorKeyDictionary

from vouch.images.opening import LruCache, weight

HELD = 8  # results that are kept

_digests = WeakTensorKeyDictionary()
# Shared by all threads: each has its own processor, with the same settings, and they show the same images.
_results: LruCache[tuple[Any, Any, Any]] = LruCache(HELD, lambda result: sum(map(weight, result[0])))


class ProcessedImages:
    """An image processor that shares its last results with others of the same settings.

    Images are compared by identity, so they must not be changed.
    """

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._settings = f"{type(processor)} {processor!r}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        """The processor's result; further arguments are its own."""
        flat = _flat(images)
        if not all(isinstance(image, Image.Image) for image in flat):
            return self._processor(images, *args, **kwargs)
        key = f"{self._settings} {_identities(images)} {args} {sorted(kwargs.items())}"
        # Images and processor are kept as well, so that no other object can get their identity.
        _, _, processed = _results.get(
            key, lambda: (flat, self._processor, self._processor(images, *args, **kwargs))
        )
        return copy.copy(processed)  # callers remove entries


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
