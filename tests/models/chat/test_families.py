"""Every prompt of the papers through the chat template of every family, rebuilt here: what each writes around a
role and which form of content it reads, a list of parts or a string. The files themselves are not copied.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.prompts.rows import item_rows, template_of
from vouch.models.chat.chat import ChatTemplate, dropped, messages
from vouch.models.requests.engine import Question
from vouch.pipeline.yaml12 import load
from vouch.prompts.build.combination import load_variation
from vouch.prompts.build.template import TEMPLATES
from vouch.prompts.build.variation import Item

ROOT = Path(__file__).parents[3]
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
IMAGE = "<image>"


def parts(image: str = IMAGE, name: str = "m") -> str:
    """A list of parts, pictures and texts in their order."""
    return (
        f"{{% for p in {name}.content %}}{{{{ '{image}' if p.type == 'image' else p.text }}}}{{% endfor %}}"
    )


def either(image: str = IMAGE, name: str = "m") -> str:
    """A string, or a list of parts."""
    return f"{{% if {name}.content is string %}}{{{{ {name}.content }}}}{{% else %}}{parts(image, name)}{{% endif %}}"


def loop(body: str, end: str, over: str = "messages") -> str:
    return f"{{% for m in {over} %}}{body}{{% endfor %}}{{% if add_generation_prompt %}}{end}{{% endif %}}"


IMAGES_FIRST = (
    "{% for p in m.content if p.type == 'image' %}<image>\n{% endfor %}"
    "{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}"
)
HEADER = "<|{0}|>{{{{ m.role }}}}<|{1}|>\n\n"
CHATML = "<|im_start|>{{ m.role }}\n"
ASK_CHATML = "<|im_start|>assistant\n"
ALTERNATE = "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
SPLIT = (
    "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"
)
FAMILIES = {
    "llava": loop("{{ m.role.upper() }}: " + IMAGES_FIRST + " ", "ASSISTANT:"),
    # adds the system message and answers to other strings
    "pixtral": SPLIT
    + "{{ bos_token }}"
    + loop(
        ALTERNATE
        + "{% if m.role == 'user' %}[INST]"
        + "{% if loop.last and system is defined %}{{ system + '\n\n' }}{% endif %}"
        + either("[IMG]")
        + "[/INST]{% else %}{{ m.content + eos_token }}{% endif %}",
        "",
        "rest",
    ),
    "qwen": "{% if messages[0].role != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}"
    + loop(CHATML + either("<|vision_start|><|image_pad|><|vision_end|>") + "<|im_end|>\n", ASK_CHATML),
    "internvl": loop(CHATML + either("<IMG_CONTEXT>\n") + "<|im_end|>\n", ASK_CHATML),
    # the system message opens the first turn; a list is known by its first part
    "gemma3": SPLIT
    + "{{ bos_token }}"
    + loop(
        ALTERNATE
        + "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        + "{% if loop.first and system is defined %}"
        + "{{ (system if system is string else system[0].text) + '\n\n' }}{% endif %}"
        + either("<start_of_image>")
        + "<end_of_turn>\n",
        "<start_of_turn>model\n",
        "rest",
    ),
    "llama4": "{{ bos_token }}"
    + loop(
        HEADER.format("header_start", "header_end") + either("<|image|>") + "<|eot|>",
        "<|header_start|>assistant<|header_end|>\n\n",
    ),
    # reads strings alone and would print a list as Python writes it
    "llama3": "{{ bos_token }}"
    + loop(
        HEADER.format("start_header_id", "end_header_id") + "{{ m.content | trim }}<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    # Mantis' too: reads lists alone
    "idefics2": loop(
        "{{ m.role.capitalize() }}{{ ':' if m.content[0].type == 'image' else ': ' }}"
        + parts()
        + "<end_of_utterance>\n",
        "Assistant:",
    ),
}
OURS = {path.stem: path.read_text("utf-8") for path in (ROOT / "vouch/models/chat/templates").glob("*.jinja")}
STRINGS = {"pixtral": {"system", "assistant"}, "llama3": {"user", "system", "assistant"}}
TOKENS = {
    "pixtral": "[IMG]",
    "qwen": "<|image_pad|>",
    "internvl": "<IMG_CONTEXT>",
    "gemma3": "<start_of_image>",
    "llama4": "<|image|>",
}
# the first reads no pictures; the processors of the others put them in front
TOKENLESS = ("llama3", "question_answer", "plain")


def chat(text: str) -> ChatTemplate:
    tokenizer: Any = SimpleNamespace(special_tokens_map=SPECIAL)
    return ChatTemplate(SimpleNamespace(chat_template=text, tokenizer=tokenizer), None, False)


def published() -> dict[str, Question]:
    """One prompt by every template of the papers and every variant of it."""
    item = Item("q", "g", "Which?", "A hint.", ("x", "y"), (1,), ("d1",), "choice")
    found = {}
    for path in sorted(TEMPLATES.glob("*.yaml")):
        for name in (path.stem, *(f"{path.stem}_{variant}" for variant in load(path).get("variants", {}))):
            for row in item_rows(item, [load_variation("original")], template_of(name), "own", 7, before={}):
                turns = [(turn["question"], turn["answer"]) for turn in row["turns"]]
                shown: Any = row["pictures"]
                found[name] = Question(
                    name, row["system"], row["text"], turns, row["response"], pictures=shown
                )
    return found


@pytest.mark.parametrize("family", [*FAMILIES, *OURS])
def test_every_prompt_of_the_papers_is_written_whole(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    template, asked = chat({**FAMILIES, **OURS}[family]), published()
    assert (
        len(asked) >= 100
        and any(one.system for one in asked.values())
        and any(one.turns for one in asked.values())
    )
    for name, question in asked.items():
        if family == "llama3":
            question = Question(name, question.system, question.text, question.turns)
        written = template.render(messages(question)[0])
        assert dropped(question, written) is None and "'type'" not in written, name
        pictures = 0 if family in TOKENLESS else len(question.pictures)
        assert written.count(TOKENS.get(family, IMAGE)) == pictures, name
    assert template._strings == STRINGS.get(family, set())


def test_pixtral_with_a_system_message() -> None:
    """As Azad et al. ask it: the template adds the system message to a string, which fails on a list of parts."""
    asked: Any = Question("q", "Be brief.", "Which?", [("Where?", "Here.")], pictures=[None])
    assert chat(FAMILIES["pixtral"]).render(messages(asked)[0]) == (
        "<s>[INST][IMG]Where?[/INST]Here.</s>[INST]Be brief.\n\nWhich?[/INST]"
    )


def test_a_template_that_knows_no_system_message_refuses_it_as_before() -> None:
    strict = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    template = chat(strict + FAMILIES["internvl"])
    with pytest.raises(ValueError, match="no system role"):
        template.render(messages(Question("q", "Be brief.", "Which?"))[0])
    assert "Which?" in template.render(messages(Question("q", None, "Which?"))[0])
