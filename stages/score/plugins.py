"""Scores and metrics are files; the file name is the registration."""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def load(package: str) -> dict[str, ModuleType]:
    """The modules of stages/score/PACKAGE by name, in the order of their names."""
    parent = import_module(f"stages.score.{package}")
    names = sorted(module.name for module in pkgutil.iter_modules(parent.__path__))
    return {name: import_module(f"{parent.__name__}.{name}") for name in names}
