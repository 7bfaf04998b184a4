"""For all tests: how long a test takes depends on what else the machine does, so none fails for it.

DVC reports nothing: in a project that a test makes, each of its commands would start a process that tries to.
Tests start hundreds of processes, so bytecode is written even where the environment forbids it, as in `make test`.
A run that a shell began in the background ignores SIGINT, and so would all that a test starts and interrupts.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from vouch.pipeline.processor import fix_kernels

fix_kernels()
os.environ["DVC_NO_ANALYTICS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


# The files that take longest, so that no worker begins one when the others have ended. The first makes the
# checkout that most of them share; the second and third can begin without it.
LONGEST = [
    "runners",
    "tutorials",
    "released",
    "real_data",
    "dvc_commands",
    "edits",
    "crash",
    "pulled",
    "switches",
    "secrets",
    "site",
    "items",
    "real_tokenizers",
    "switching",
    "program",
    "huggingface",
    "processor",
    "completion",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole checkouts first, and of them as of the others the longest files; within a file the order stays."""
    place = {f"test_{name}": number for number, name in enumerate(LONGEST)}

    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, place.get(item.path.stem, len(place))))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny LLaVA; tests must not change it."""
    from tests.models.tiny import save_llava

    return save_llava(tmp_path_factory.mktemp("models") / "tiny")
