"""A pinned model under one setting: its engine, loaded when first needed, and the keys of its answers."""

from functools import cached_property
from pathlib import Path

from vouch.images import pictures
from vouch.models.requests.answers import remembered
from vouch.models.requests.config import Config
from vouch.models.requests.engine import Engine, engine_file
from vouch.models.requests.keys import Keys
from vouch.models.requests.work_cache import ROOT, WorkCache
from vouch.tables.pins import Pin
from vouch.tables.responses import RESPONSES


class Session:
    """One model under one setting, for as many datasets as ask it.

    revision: of everything that can change its answers beside the pin and the settings.
    """

    def __init__(self, pin: Pin, config: Config) -> None:
        self.name, self.config = pin.model, config
        self._pin = pin
        self._engine_file = engine_file(pin.engine)
        revisions = [self._engine_file.REVISION, pictures.REVISION]
        self.revision = f"{pin.engine}/{'.'.join(map(str, revisions))}"
        self._settings = {name: getattr(config, name) for name in self._engine_file.SETTINGS}
        base = {"pin": pin.digest, "engine": self.revision, "settings": self._settings}
        self.keys = Keys(base, config)

    @cached_property
    def engine(self) -> Engine:
        """The loaded model. Raises UserError."""
        return self._engine_file.load(self._pin, self.config)

    @property
    def loaded(self) -> bool:
        """Whether the engine was needed so far."""
        return "engine" in vars(self)

    def cache(self, output: str, dataset: str) -> WorkCache:
        """The work cache of one kind of answer, with a folder of its own for the dataset."""
        settings = [f"{name}{value}" for name, value in self._settings.items()]
        asked = "-".join([self._pin.digest[:16], *settings])
        folder = Path(self.revision.replace("/", "-"), asked, dataset)
        return WorkCache(ROOT / f"{output}-{RESPONSES[output].table.version}" / folder, remembered(output))
