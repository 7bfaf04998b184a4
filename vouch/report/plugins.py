"""Parts of the report that register by their file name: figures, tables, sections."""

import importlib
import pkgutil
from types import ModuleType


def plugins(package: ModuleType) -> dict[str, ModuleType]:
    """Module of every file of a package, by name, in alphabetical order."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return {name: importlib.import_module(f"{package.__name__}.{name}") for name in names}
