"""Writes the table of architectures into docs/architectures.md: `python -m tools.model_table`.

One row for each family of tests/models/families/table.py, and for each on an encoder of text. Tests hold the
modes; what the processor needs is read off transformers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import transformers
from PIL import Image
from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES as IMAGES
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as CLASSES
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES as PROCESSORS

from tests.models.chat.templates import TEMPLATES
from tests.models.families.table import FAMILIES
from vouch.models.chat.chat import ChatTemplate, dropped, messages
from vouch.models.engine import Question

PAGE = Path("docs/architectures.md")
HEAD = "| architecture | class | mode | several images | system text | torchvision | entries |\n"
LINE = "|---" * 7 + "|\n"
# FlanT5 has a decoder of its own: vouch/models/decoder/encoder_decoder.py
ON_T5 = {"blip-2": "blip2_flan_*", "instructblip": "instructblip_flan_*"}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


def table() -> str:
    """The table, sorted by architecture."""
    return HEAD + LINE + "".join(f"| {' | '.join(row)} |\n" for row in sorted(_rows()))


def _rows() -> Iterator[list[str]]:
    for name, kind in FAMILIES.items():
        if not name.endswith("_narrow"):  # the same model once more
            text = kind.text.get("model_type", "")
            on = (
                " on Pixtral's tower"
                if name == "llava_pixtral"
                else " on Gemma 2"
                if text == "gemma2"
                else ""
            )
            several, system = kind.joined is not None, takes_system(TEMPLATES[kind.chat])
            video = needs_torchvision(kind.model_type, "PixtralProcessor" if "Pixtral" in on else None)
            yield _row(kind.model_type + on, kind.model_type, kind.mode, several, system, video, kind.entries)
    for model_type, entries in ON_T5.items():
        system = takes_system(TEMPLATES["question_answer"])
        yield _row(f"{model_type} on T5", model_type, "encoder and decoder", False, system, False, entries)


def _row(
    name: str, model_type: str, mode: str, several: bool, system: bool, torchvision: bool, entries: str
) -> list[str]:
    named = ", ".join(f"`{one}`" for one in entries.split())
    said = ("yes" if one else "no" for one in (several, system, torchvision))
    return [name, f"`{CLASSES[model_type]}`", mode, *said, named]


def takes_system(template: str) -> bool:
    """Whether a chat template writes a system message before a question about an image."""
    tokenizer: Any = SimpleNamespace(special_tokens_map=SPECIAL)
    chat = ChatTemplate(SimpleNamespace(chat_template=template, tokenizer=tokenizer), None, False)
    asked = Question("q", "Be brief.", "Which?", images=[Image.new("RGB", (8, 8))])
    try:
        return dropped(asked, chat.render(messages(asked)[0])) is None
    except ValueError:
        return False


def needs_torchvision(model_type: str, processor: str | None = None) -> bool:
    """Whether a processor asks for torchvision: itself, for videos, or for images without Pillow."""
    name = processor or PROCESSORS[model_type]
    module: str = transformers._class_to_module[name]
    source = Path(transformers.__path__[0], *module.split(".")).with_suffix(".py").read_text("utf-8")
    asks = re.search(rf"@requires\([^\n]*torchvision[^\n]*\)\nclass {name}\b", source)
    processors = IMAGES.get(model_type)
    return bool(asks) or "video_processor" in source or (processors is not None and "pil" not in processors)


def written(page: str) -> str:
    """The page with the present table in place of the one that it has."""
    before, _, rest = page.partition(HEAD)
    return before + table() + "\n" + rest.partition("\n\n")[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
