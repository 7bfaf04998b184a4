"""How every script of stages/ starts: `run_stage("NAME", main)`."""

from collections.abc import Callable
from typing import NoReturn

from vouch.params.checked import check_once
from vouch.pipeline.stage import Run
from vouch.pipeline.stage import run_stage as run_checked


def run_stage(name: str, body: Callable[[Run], None]) -> NoReturn:
    """Runs `body` as the stage whose command this process is, once params.yaml and models.lock pass their check.

    Exits with 0, or with one line on stderr that says what is wrong, where, and what to do.
    """
    run_checked(name, body, check_once)
