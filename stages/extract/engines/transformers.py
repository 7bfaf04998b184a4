"""Models of the transformers library: the engine that suits the model's kind."""

from stages.contracts.pins import Pin
from stages.extract.config import Config
from stages.extract.engine import Engine
from stages.extract.model_folder import pinned_folder

REVISION = 3
SETTINGS = ("batch", "bucket", "threads")  # they move the last bits


def load(pin: Pin, config: Config) -> Engine:
    """The pinned model. Raises UserError where its files are not those pinned or cannot be loaded."""
    folder = pinned_folder(pin)
    from stages.extract.encoder_decoder import encoder_decoder
    from stages.extract.mode_store import mode_path
    from stages.extract.model_loading import load_model
    from stages.extract.rendering import start
    from stages.extract.shared_prefix import shared_prefix
    from stages.extract.work_cache import ROOT

    start()  # takes a second, as the weights do
    loaded = load_model(folder, pin.dtype, pin.template, config)
    apart = loaded.model.config.get_text_config().is_encoder_decoder
    if apart:
        return encoder_decoder(loaded, pin.template, config)
    return shared_prefix(loaded, pin.template, config, mode_path(ROOT / "modes", pin.digest, REVISION))
