"""Scores and metrics are files; the file name is the registration."""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType


def names(package: str) -> list[str]:
    """Names of the modules of vouch/metrics/PACKAGE in order."""
    parent = import_module(f"vouch.metrics.{package}")
    return sorted(module.name for module in pkgutil.iter_modules(parent.__path__))


@cache
def load(package: str) -> dict[str, ModuleType]:
    """The modules of vouch/metrics/PACKAGE by name, in the order of their names."""
    return {name: import_module(f"vouch.metrics.{package}.{name}") for name in names(package)}
