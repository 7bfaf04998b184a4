"""A chat template comes with a model: it may fail, but it neither escapes, nor runs for ever, nor eats the memory."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from vouch.models import sandbox
from vouch.models.chat.chat import ChatTemplate
from vouch.models.sandbox import Endless, Failed, render
from vouch.pipeline.errors import UserError

ASKED = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Which?"}]}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

ESCAPES = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__.__globals__.os.environ }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ self.__init__.__globals__ }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update(role='x') }}",
    "{{ (messages|attr('__class__')).__base__ }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(raise_exception) }}",
    "{{ raise_exception.__globals__ }}",
    "{{ namespace.__init__.__globals__ }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os }}",
    "{% for %}",
    "{{ range(10**9) }}",
    "{{ 'x' * 10**14 }}",
)
BOMBS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",  # no end, in Python
    "{{ 9 ** (9 ** 9) }}",
    "{% set n = namespace(s='xx') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}",
    "{{ 'x'.ljust(10**11) }}",
    "{{ '%099999999999d' % 1 }}",
    "{{ 'x' * 9000000 }}",
)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 0.4)


def rendered(template: str) -> str:
    return render(template, ASKED, TOKENS, answer=False)


def test_what_a_template_writes_and_knows() -> None:
    said = "{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content[1].text }}{% endfor %}"
    assert rendered(said + "{% if add_generation_prompt %}!{% endif %}") == "<s>user:Which?!"
    assert render("{{ add_generation_prompt }}", ASKED, TOKENS, answer=True) == "False"


@pytest.mark.parametrize("template", ESCAPES)
def test_no_escape(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    try:
        text = rendered(template)
    except (Failed, MemoryError) as error:
        text = str(error)
    assert (
        "sk-planted" not in text and "root:" not in text and "uid=" not in text and "<class 'os." not in text
    )


@pytest.mark.parametrize("template", BOMBS)
def test_no_bomb(template: str) -> None:
    with pytest.raises((Failed, MemoryError, Endless)):
        rendered(template)
    assert rendered("{{ messages[0].role }}") == "user", "the next one is rendered again"


def test_the_process_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._renderer.close()
    monkeypatch.setenv("HF_TOKEN", "hf_planted0123456789")
    assert rendered("x") == "x"
    assert sandbox._renderer._process is not None
    environment = Path(f"/proc/{sandbox._renderer._process.pid}/environ")
    if not environment.exists():
        pytest.skip("no /proc here")
    assert b"hf_planted" not in environment.read_bytes()
    assert "HF_TOKEN" in os.environ


def test_the_trial_of_a_tokenizer_knows_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, seen = tmp_path / "python", tmp_path / "seen"
    python.write_text(f"#!/bin/sh\nenv > {seen}\necho '{{}}'\n", "utf-8")
    python.chmod(0o755)
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("HF_TOKEN", "hf_planted0123456789")
    sandbox.check_tokenizer(tmp_path)
    assert "PATH=" in seen.read_text("utf-8") and "hf_planted" not in seen.read_text("utf-8")


class _Processor:
    """As much of a processor as a template is read from."""

    class tokenizer:
        special_tokens_map = TOKENS

    def __init__(self, template: Any) -> None:
        self.chat_template = template


@pytest.mark.parametrize("bomb", [BOMBS[0], ESCAPES[1]])
def test_a_model_with_such_a_template_is_refused_in_one_line(bomb: str) -> None:
    with pytest.raises((UserError, Endless), match=r"chat template .*`template` in models\.lock"):
        _ = ChatTemplate(_Processor({"default": bomb}), None, False).asked
