"""Whether a model waits for its pictures: `python -m benchmarks.waiting` from the root, after `dvc pull`.

A model of the demo is asked prompts of the demo, disturbed pictures among them, as `extract` asks it but
with an empty work cache. `picture_wait`: the share of the engine's time in which it waits for the next pack
with its pictures; the first ones count, though nothing can be done ahead for them. `pictures_rendered`: how
many distinct pictures the workers render in a second when nothing else runs, against how many the model
consumes.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import chdir
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks._figure import figure
from benchmarks._stage import ROOT
from vouch.models.config import Config
from vouch.models.engine import Answered, Engine, Pack
from vouch.models.packs import KeyedPack
from vouch.models.requests import DatasetRequests, Questions, Session
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import pin_path, read_pin
from vouch.tables.asked import ImageStore, images_path, prompts_path


class Watched:
    """An engine that notes how long it waits for packs. None: takes the packs and answers nothing."""

    device = "cpu"

    def __init__(self, engine: Engine | None) -> None:
        self._engine, self.waited = engine, 0.0
        self.notes: dict[str, Any] = {}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        drawn = self._drawn(iter(packs))
        if self._engine is not None:
            yield from self._engine.answer(drawn)
        for _ in drawn:
            pass

    def _drawn(self, packs: Iterator[Pack]) -> Iterator[Pack]:
        while True:
            start = time.perf_counter()
            pack = next(packs, None)
            self.waited += time.perf_counter() - start
            if pack is None:
                return
            yield pack


def asked(dataset: DatasetRequests, packs: list[KeyedPack], engine: Engine | None) -> tuple[float, float]:
    """Seconds that all packs took, and those of them that the engine waited."""
    watched = Watched(engine)
    images = ImageStore(images_path(dataset.name))
    questions = Questions(dataset.caches, images.read, dataset.model.config.workers)
    start = time.perf_counter()
    for _ in questions.ask(watched, packs):
        pass
    return time.perf_counter() - start, watched.waited


def measure(model: str, name: str, count: int) -> None:
    """The figures of one model and dataset, in a folder with an empty work cache."""
    config = Config.model_validate(load(ROOT / "params.yaml")["extract"])
    dataset = DatasetRequests(Session(read_pin(pin_path(model)), config), name)
    dataset.look_up()
    packs = list(islice((pack for pack in dataset.packs() if pack.members[0].prompt["pictures"]), count))
    pictures = len(
        {str(one) for pack in packs for member in pack.members for one in member.prompt["pictures"]}
    )
    engine = dataset.model.engine
    asked(dataset, packs[:32], engine)  # what is set up only once
    took, waited = asked(dataset, packs, engine)
    alone, _ = asked(dataset, packs, None)
    label = f"{model}_{name}"
    figure(f"picture_wait_{label}", waited / took, "of the engine's time")
    peer = "what the model consumes"
    figure(f"pictures_rendered_{label}", pictures / alone, "pictures/s", peer, pictures / took, took / alone)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="vouch_s")
    parser.add_argument("--datasets", nargs="+", default=["shapes", "pairs"])
    parser.add_argument("--packs", type=int, default=1000)
    given = parser.parse_args()
    needed = [pin_path(given.model), *map(prompts_path, given.datasets)]
    missing = next((path for path in needed if not (ROOT / path).is_file()), None)
    if missing is not None:
        sys.exit(f"{missing}: no such file; run `dvc pull`, or `make demo`")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        os.symlink(ROOT / "data", Path(folder, "data"))
        for name in given.datasets:
            measure(given.model, name, given.packs)


if __name__ == "__main__":
    main()
