"""Plain engine: right-padded batches of whole prompts through a model of the transformers library."""

from stages.contracts.pins import Pin
from stages.extract.config import Config
from stages.extract.engine import Engine
from stages.extract.model_folder import pinned_folder

REVISION = 1


def load(pin: Pin, config: Config) -> Engine:
    """The pinned model. Raises UserError where its files are not those pinned or cannot be loaded."""
    folder = pinned_folder(pin)
    from stages.extract.letter_scorer import LetterScorer
    from stages.extract.model_loading import load_model

    return LetterScorer(load_model(folder, pin.dtype, config), config)
