"""Letters and options after the tokenizers of real language models: the tokens read are those of running text.

`make tokenizers` installs them, as tests/models/tokenizers.lock names them; `llama2` holds Mistral's.
"""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.models.chat.templates import FAMILIES, OURS
from tests.models.tiny import llava_processor
from vouch.models.decoder.preparing import InputNeeds, Preparer
from vouch.models.engine import Question
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[3]
LOCKED = [
    line.split()[1:3] for line in (ROOT / "tests/models/tokenizers.lock").read_text("utf-8").splitlines()
]
NAMES = {name.rpartition("-")[2]: version for name, version in LOCKED if name != "gguf"}

# chat format -> its template, and what it writes before an answer
FORMATS = {
    "own": (None, ""),
    "qwen": (FAMILIES["qwen"], ""),
    "gemma3": (FAMILIES["gemma3"], ""),
    "llama3": (FAMILIES["llama3"], ""),
    "smolvlm": (FAMILIES["smolvlm"], " "),
    "deepseek": (FAMILIES["deepseek"], " "),
    "mistral_instruct": (OURS["mistral_instruct"], " "),
    "vicuna_v1": (OURS["vicuna_v1"], " "),
    "question_answer": (OURS["question_answer"], " "),
    "a space at the end": (OURS["vicuna_v1"].replace("'ASSISTANT:' -}}", "'ASSISTANT: ' -}}"), ""),
    "a line of its own": ("{% for m in messages %}{{ m.role }}:\n{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}", "\n"),
}  # fmt: skip
# how an answer begins -> what stands before its next word
BEGUN = {
    None: "", "The answer is": " ", "The answer is:": " ", "Answer:": " ", "**Answer:**": " ", "Option": " ",
    "Answer: ": "", "The answer is option ": "", "Answer:\n": "", "(": "", "The answer is (": "", "[": "",
    "\\boxed{": "", "$\\boxed{": "", '"': "", 'It is "': "", "**": "", "The answer is **": "", "<answer>": "",
    "</think>\n\n": "", "答案是": "", "答案：": "", "정답은": " ", "Choice #": "", "Answer: <": "", "¿": "",
}  # fmt: skip
LABELS = {
    "A-D": "ABCD", "A-Z": [chr(65 + place) for place in range(26)], "a-d": "abcd",
    "a-z": [chr(97 + place) for place in range(26)], "1-4": "1234", "1-9": "123456789",
    "I-IV": ["I", "II", "III", "IV"], "i-iv": ["i", "ii", "iii", "iv"],
    "I-X": ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"],
}  # fmt: skip
OPTIONS = (
    "A", "red", " red", "12", "123456", "-5", "$5", "(a)", '"quoted"', "50%", "左边的狗", "é", "\nnewline", "x\n",
    "trailing ", "I don’t know", "0:4", "\\frac{1}{2}", ".5", "🐕", "'s", "\t tab", "Ａ",
)  # fmt: skip


@cache
def words(name: str) -> Any:
    """A tokenizer, or None where it is not installed."""
    from transformers import AutoTokenizer

    folder = ROOT / f"build/tokenizers/{name}-{NAMES[name]}"
    if not folder.exists():
        return None
    found = AutoTokenizer.from_pretrained(folder)
    found.add_tokens(["<image>"], special_tokens=True)
    return found


@cache
def preparer(name: str, form: str) -> Preparer:
    found = words(name)
    if found is None:
        missing = f"no tokenizer {name}; run `make tokenizers`"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    template = FORMATS[form][0] or found.chat_template
    if not template:
        pytest.skip(f"{name} has no chat template of its own")
    return Preparer(llava_processor(found, chat=None), template, InputNeeds())


def prepared_ids(ready: Preparer, asked: Question) -> tuple[list[int], Sequence[Sequence[int]]]:
    """The tokens that the model gets, and those that are read after them."""
    prepared = ready.prepare(asked)
    return [*prepared.ids], [[one] for one in prepared.letters.read] if prepared.letters else prepared.options


TEXT = "Which one?\nA. a\nB. b"


@cache
def chat(name: str, form: str) -> str:
    """A conversation up to where the model answers."""
    said = [{"role": "user", "content": [{"type": "text", "text": TEXT}]}]
    return preparer(name, form)._chat.render(said)


def running(name: str, form: str, texts: Sequence[str]) -> list[list[int]]:
    """Prompt and answer tokenised as one text, without what begins it."""
    texts = [chat(name, form) + text for text in texts]
    return [list(one) for one in words(name)(texts, add_special_tokens=False)["input_ids"]]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_letters_are_the_tokens_of_running_text(name: str, form: str) -> None:
    ready, natural = preparer(name, form), FORMATS[form][1]
    begin, count = ready._added[0], 0
    for response, space in BEGUN.items():
        for label, labels in LABELS.items():
            given = natural + response + space if response else natural
            whole = running(name, form, [given + label for label in labels])
            before, last = {tuple(one[:-1]) for one in whole}, {one[-1] for one in whole}
            asked = Question("q", None, TEXT, response=response, labels=labels)
            if len(before) > 1 or len(last) < len(labels):
                with pytest.raises(UserError, match="no distinct single token for each of"):
                    ready.prepare(asked)
                assert label not in ("A-D", "1-4", "1-9") or response in ('"', "<answer>"), (response, label)
                continue
            ids, read = prepared_ids(ready, asked)
            told = [[*ids, *one] for one in read]
            assert told in ([[*begin, *one] for one in whole], whole), (response, label)
            count += 1
    assert count > 0.75 * len(BEGUN) * len(LABELS)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_options_are_the_tokens_of_running_text(name: str, form: str) -> None:
    ready, natural = preparer(name, form), FORMATS[form][1]
    begin = ready._added[0]
    for response, space in BEGUN.items():
        for options in (OPTIONS, ("A", "B"), ("1", "2"), ("red", "\nblue")):
            given = natural + response + space if response else natural
            whole = running(name, form, [given + one for one in options])
            asked = Question("q", None, TEXT, response=response, options=options)
            ids, read = prepared_ids(ready, asked)
            told = [[*ids, *one] for one in read]
            assert told in ([[*begin, *one] for one in whole], whole), (response, options)
            assert all(read)


@pytest.mark.parametrize("name", NAMES)
def test_a_digit_after_a_space_is_read_after_the_space(name: str) -> None:
    """None of these byte-pair encoders has ` 1` as one token."""
    ready = preparer(name, "vicuna_v1")
    bare = ready.prepare(Question("q", None, "Which?", response="The answer is")).ids
    digits = ready.prepare(Question("q", None, "Which?", response="The answer is", labels="1234")).ids
    assert digits[:-1] == bare and not ready.decode(digits[-1:]).strip()
    letters = ready.prepare(Question("q", None, "Which?", response="The answer is ", labels="ABCD"))
    assert letters.ids == bare
