"""A model folder in the layout that transformers loads through its Auto classes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vouch.pipeline.files import write_json

if TYPE_CHECKING:
    from transformers import PreTrainedModel, ProcessorMixin


def save(model: "PreTrainedModel", processor: "ProcessorMixin", folder: Path) -> None:
    """Writes weights (safetensors), configuration, tokenizer, chat template and image processor.

    The version of the library is left out: a release of it would otherwise look like another model.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    for path in (folder / "config.json", folder / "generation_config.json"):
        settings = json.loads(path.read_text(encoding="utf-8"))
        del settings["transformers_version"]
        write_json(path, settings)
