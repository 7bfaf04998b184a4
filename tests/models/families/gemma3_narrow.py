"""Gemma 3 with a window shorter than the beginning with its picture."""

from tests.models.families import gemma3
from tests.models.families.family import Family


def build() -> Family:
    return gemma3.build(window=12)
