"""The tokenizer of the demo models: one token per word, and per frequent phrase.

Words come from the questions' own tables, so every question of vouch/demo/scenes can be read, held-out
wordings included; any other word becomes `<unk>`. Brackets and full stops are dropped, so that `A.`
and `(A)` are the same single token `A`, and so is a letter right after the generation prompt.
"""

import re
from collections.abc import Mapping
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING

from vouch.demo.scenes.pairs import SIDES
from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import CORNERS, NUMBERS
from vouch.demo.scenes.scene import COLOURS, SHAPES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

LETTERS = ascii_uppercase
NONE_OF_THEM = "None of the above"
EXTRAS = ("I don’t know", NONE_OF_THEM)  # options that the prompt template adds to every question
OTHER_EXTRAS = ("I don't know", "None of them")
BY_LETTER = "Answer with the option's letter from the given choices directly."
BY_LETTER_SHORT = "Answer with the letter."
BY_WORD = "Answer the question using a single word or phrase."
REPLY = "The answer is"
THINKS, THOUGHT = "<think>", "</think>"
IMAGE_TOKEN = "<image>"
UNKNOWN = "<unk>"
NOTHING = "<s>"  # what an empty cell of a picture is called
NO_SPECIAL: Mapping[str, str] = MappingProxyType({})
MAX_TOKENS = 2048

_PHRASES = (
    *EXTRAS,
    *OTHER_EXTRAS,
    BY_LETTER.removesuffix("."),
    BY_LETTER_SHORT.removesuffix("."),
    BY_WORD.removesuffix("."),
    REPLY,
    *CORNERS,
    "in the picture",
    "Please look at the picture carefully and tell me",
    "Please look at the pictures carefully and tell me",
)
# The longest phrase first, then words (with an apostrophe inside), then single marks other than ( ) .
_PIECES = "|".join([*sorted(_PHRASES, key=len, reverse=True), r"\w+['’]\w+", r"\w+", r"[^\w\s().]"])

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ message['role'] | upper + ':' }}"
    "{% if message['content'] is string %}{{ ' ' + message['content'] }}{% else %}"
    "{% for part in message['content'] if part['type'] == 'image' %}{{ ' <image>' }}{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'text' %}{{ '\n' + part['text'] }}{% endfor %}"
    "{% endif %}"
    "{{ '</s>' if message['role'] == 'assistant' else '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)


def _words() -> list[str]:
    wordings = [text for table in (TRAINED, HELD_OUT) for group in table.values() for text in group]
    plurals = [f"{shape}s" for shape in SHAPES]
    texts = [*(text.replace("{subject}", " ") for text in wordings), *SHAPES, *plurals, *COLOURS, *NUMBERS]
    texts += [*SIDES, "object objects yes no", "SYSTEM: USER: ASSISTANT: Options: Not , ; ?", *_PHRASES]
    pieces = {piece for text in texts for piece in re.findall(_PIECES, text)}
    return sorted(pieces | set(LETTERS))


def build_tokenizer(
    special: Mapping[str, str] = NO_SPECIAL, thinks: bool = False
) -> "PreTrainedTokenizerFast":
    """The tokenizer with its chat template; pads on the left, adds no special tokens of its own.

    special: further tokens that a family of models needs, by the name under which it looks for them. thinks:
    with tokens around a thought.
    """
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split
    from transformers import PreTrainedTokenizerFast

    tokens = [UNKNOWN, NOTHING, "</s>", "<pad>", IMAGE_TOKEN, *special.values(), *_words()]
    tokenizer = Tokenizer(WordLevel({token: index for index, token in enumerate(tokens)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Split(Regex(_PIECES), behavior="removed", invert=True)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN,
        bos_token=NOTHING,
        eos_token="</s>",
        pad_token="<pad>",
        # Declared this way the processor finds it; as an additional special token it would be split.
        extra_special_tokens={"image_token": IMAGE_TOKEN, **special},
        padding_side="left",
        model_max_length=MAX_TOKENS,
        clean_up_tokenization_spaces=False,
        chat_template=CHAT_TEMPLATE,
    )
    made.add_tokens([THINKS, THOUGHT] if thinks else [])
    return made
