"""Models of the transformers library: the engine that suits the model's kind."""

from vouch.models.loading.loading import pinned_folder
from vouch.models.requests.config import Config
from vouch.models.requests.engine import Engine
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin

REVISION = 4
SETTINGS = ("batch", "bucket", "threads")  # they move the last bits


def load(pin: Pin, config: Config) -> Engine:
    """The pinned model. Raises UserError where its files are not those pinned or cannot be loaded."""
    folder = pinned_folder(pin)
    from vouch.models.chat.chat import with_variables
    from vouch.models.chat.rendering import start
    from vouch.models.decoder.encoder_decoder import EncoderDecoder
    from vouch.models.decoder.row_engine import shared_prefix
    from vouch.models.decoder.self_check import mode_path
    from vouch.models.loading.boundary import ADVICE, opening
    from vouch.models.loading.loading import load_model
    from vouch.models.requests.thinking import Thinking
    from vouch.models.requests.work_cache import ROOT

    start()  # takes a second, as the weights do
    loaded = load_model(folder, pin.dtype, pin.template, config, pin.processor)
    template = with_variables(loaded.processor, pin.template, pin.template_kwargs)
    with opening(folder, "fails at its first questions", ADVICE):
        if loaded.model.config.get_text_config().is_encoder_decoder:
            if pin.reasoning:
                raise UserError(
                    f"models.lock: {pin.model}: it has a decoder of its own, so leave out reasoning"
                )
            return EncoderDecoder(loaded, template, config)
        kept = mode_path(ROOT / "modes", pin.digest, REVISION)
        engine = shared_prefix(loaded, template, config, kept)
    return Thinking(engine, pin.reasoning) if pin.reasoning else engine
