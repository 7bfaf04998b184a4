"""A demo model small enough to train within a test."""

from typing import Any

from vouch.demo.config import Config

_TINY = {
    "family": "llava",
    "seed": 0,
    "width": 16,
    "layers": 2,
    "heads": 2,
    "pictures": 12,
    "batch": 4,
    "read_steps": 2,
    "name_steps": 2,
    "choose_steps": 2,
    "target": 1.0,
    "learning_rate": 0.01,
}


def tiny(**changes: Any) -> Config:
    """The configuration with some values changed."""
    return Config.model_validate({**_TINY, **changes})
