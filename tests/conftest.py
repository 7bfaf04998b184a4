"""For all tests: how long a test takes depends on what else the machine does, so none fails for it.

DVC reports nothing: in a project that a test makes, each of its commands would start a process that tries to.
A run that a shell began in the background ignores SIGINT, and so would all that a test starts and interrupts.
"""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.checkouts.edits", "tests.checkouts.exchanged")
os.environ["DVC_NO_ANALYTICS"] = "1"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole pipelines first: a long file that one worker begins last would leave the others idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny LLaVA; tests must not change it."""
    from tests.models.tiny import save_llava

    return save_llava(tmp_path_factory.mktemp("models") / "tiny")
