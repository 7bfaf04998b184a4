"""extract: `python -m stages.extract MODEL DATASET` asks one model every prompt of one dataset.

Inputs   data/models/MODEL.json and the model it pins, data/prompts/DATASET.parquet,
         data/images/DATASET.parquet
Outputs  data/responses/MODEL/DATASET.{letters,likelihood,text}.parquet, in the order of the prompts
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa

from stages.contracts.images import ImageStore, images_path
from stages.contracts.letters import LETTERS, letters_path
from stages.contracts.likelihood import LIKELIHOOD, likelihood_path
from stages.contracts.pins import pin_path, read_pin
from stages.contracts.prompts import PROMPTS, prompts_path
from stages.contracts.text import TEXT, text_path
from stages.extract import pictures
from stages.extract.config import Config
from stages.extract.engine import Question, engine_file
from stages.extract.work_cache import ROOT, WorkCache, answer_key
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage

WINDOW = 1024  # prompts in memory at a time
_COLUMNS = ["id", "system", "text", "marks", "pictures", "ask"]
_ANSWER = pa.schema([field for field in LETTERS.schema if field.name not in ("prompt", "engine")])


class Extraction:
    """One model asked one dataset, through its work cache."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._model, self._dataset = run.keys
        self._config = Config.model_validate(run.params["extract"])
        self._pin = read_pin(pin_path(self._model))
        self._engine = engine_file(self._pin.engine)
        settings = "-".join(f"{name}{value}" for name, value in self._config.settings.items())
        folder = f"letters-{LETTERS.version}/{self._pin.engine}-{self._engine.REVISION}"
        asked = ROOT / folder / f"{self._pin.digest[:16]}-{settings}"
        self._cache = WorkCache(asked / self._dataset, _ANSWER)

    @cached_property
    def _images(self) -> ImageStore:
        return ImageStore(images_path(self._dataset))

    def _prompts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(key, prompt) of every prompt that asks for letters, in the order of the table."""
        path, revisions = prompts_path(self._dataset), (self._engine.REVISION, pictures.REVISION)
        pin, settings = self._pin, self._config.settings
        try:
            for batch in PROMPTS.open(path).iter_batches(WINDOW, columns=_COLUMNS, use_threads=False):
                for prompt in batch.to_pylist():
                    if prompt["ask"] == "letters":
                        yield answer_key(prompt, pin.digest, pin.engine, revisions, settings), prompt
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"{path}: damaged ({error}); delete it and run `dvc repro`") from None

    def answer(self) -> None:
        """Asks what the work cache does not know, one run at a time."""
        wanted = {key for key, _ in self._prompts()}
        self._cache.look_up(wanted)
        missing = sum(key not in self._cache for key in wanted)
        if missing:
            with self._cache.claim():
                self._cache.look_up(wanted)  # what another run answered while this one waited
                missing = sum(key not in self._cache for key in wanted)
                if missing:
                    self._ask(missing)
        self._run.note("answers", {"known": len(wanted) - missing, "asked": missing})
        if self._cache.damaged:
            self._run.note("damaged_shards", self._cache.damaged)

    def _ask(self, missing: int) -> None:
        engine = self._engine.load(self._pin, self._config)
        asked: dict[str, tuple[str, str]] = {}
        answers = engine.letters(self._questions(asked))
        label = f"{self._model} {self._dataset}"
        try:
            for prompt, answer in self._run.progress(answers, total=missing, label=label):
                key, pixels = asked.pop(prompt)
                row = {
                    "logits": answer.logits,
                    "letter_mass": answer.letter_mass,
                    "entropy": answer.entropy,
                    "pixels": pixels,
                    "device": engine.device,
                    "flags": answer.flags,
                }
                self._cache.add(key, row)
        finally:
            self._cache.flush()
        self._run.note("engine", {"device": engine.device, **engine.notes})

    def _questions(self, asked: dict[str, tuple[str, str]]) -> Iterator[Question]:
        """What has no answer yet, each content once; fills `asked` with id -> (key, pixel digest)."""
        seen: set[str] = set()
        for key, prompt in self._prompts():
            if key in self._cache or key in seen:
                continue
            seen.add(key)
            try:
                if not prompt["marks"]:
                    raise UserError("asks for letters but has no marks; run `dvc repro` to make it anew")
                shown = [pictures.render(recipe, self._images.read) for recipe in prompt["pictures"]]
            except UserError as error:
                raise UserError(f"{prompts_path(self._dataset)}: prompt {prompt['id']}: {error}") from None
            asked[prompt["id"]] = (key, pictures.pixel_digest(shown))
            yield Question(prompt["id"], prompt["system"], prompt["text"], prompt["marks"], shown)

    def write(self) -> None:
        """Puts the answers together in the order of the prompts."""
        name = f"{self._pin.engine}/{self._engine.REVISION}"
        with LETTERS.writer(letters_path(self._model, self._dataset)) as writer:
            for window in _windows(self._prompts(), WINDOW):
                answers = self._cache.fetch([key for key, _ in window])
                for (_, prompt), answer in zip(window, answers, strict=True):
                    writer.row({"prompt": prompt["id"], "engine": name, **answer})
        LIKELIHOOD.write(likelihood_path(self._model, self._dataset), [])
        TEXT.write(text_path(self._model, self._dataset), [])


def _windows(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    window: list[Any] = []
    for item in items:
        window.append(item)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def main(run: Run) -> None:
    """Answers and writes."""
    extraction = Extraction(run)
    extraction.answer()
    extraction.write()


if __name__ == "__main__":
    run_stage("extract", main)
