"""A driver that asks Vouch's own engine of transformers: whatever differs comes from the way there and back."""

import os
import sys
from pathlib import Path

import vouch_driver

sys.path.insert(0, str(Path(__file__).parents[4]))


class Model(vouch_driver.Model):
    def load(self):
        from vouch.models.config import ExtractConfig
        from vouch.models.decoder.engine import load_model, shared_prefix

        config = ExtractConfig(**self.start.settings, threads=self.start.threads, device="cpu")
        folder = Path(self.start.folder)
        self.engine = shared_prefix(load_model(folder, self.start.dtype, None, config), None, config)

    def ask(self, question, **wanted):
        from PIL import Image

        from vouch.models import engine

        asked = engine.Question(
            "q",
            question.system,
            question.text,
            turns=question.turns,
            response=question.response,
            images=[Image.open(path) for path in question.images],
            **wanted,
        )
        (one,) = self.engine.answer([engine.Pack(question.output, [asked])])
        if isinstance(one.answer, engine.Refusal):
            raise vouch_driver.Refused(one.answer.problem)
        said = {name: value for name, value in vars(one.answer).items() if value is not None}
        return {**said, "flags": [flag for flag in one.flags if flag not in ("low_mass", "close")]}

    def letters(self, question):
        return self.ask(question, labels=question.labels)

    def likelihood(self, question):
        return self.ask(question, options=question.options)

    def text(self, question):
        from vouch.models.engine import Decoding

        decoding = Decoding(question.temperature, int(question.temperature > 0), question.seed)
        return self.ask(question, max_tokens=question.max_tokens, decodings=[decoding], stop=question.stop)


assert "SECRET_KEY" not in os.environ
