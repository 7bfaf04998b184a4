"""A local language model as rewriter: a tiny random Llama that the test writes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.prompts.rewrites.conftest import Project, item
from tests.refusals import refused
from vouch.prompts.asking import PlainText
from vouch.prompts.asking import transformers as engine
from vouch.prompts.rewrites.config import RewriteConfig
from vouch.prompts.rewrites.content import instruction
from vouch.prompts.rewrites.table import RewriteTask
from vouch.tables.answered import Pin, Source, folder_digests, write_pin

TASK = RewriteTask("What colour is the circle?", "lr_i")
WORDS = [
    "<unk>",
    "</s>",
    *("Q", ":", "A", "what", "colour", "is", "the", "circle", "red"),
    *("Rewrite", "Determine", "if", ".", "?", ",", "USER", "phrases"),
]
TURNS = (
    "{% for message in messages %}{{ 'USER ' if message['role'] == 'user' else '' }}{{ message['content'] }} "
    "{% endfor %}"
)
TEMPLATE = "{% for message in messages %}USER {{ message['content'] }}{% endfor %}"


def save(folder: Path, ends: list[int], template: str | None = None, context: int = 512) -> Path:
    """A random Llama; `ends` are its end-of-sequence tokens."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokens = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, unk_token="<unk>", eos_token="</s>")
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=context, initializer_range=1.0,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    # settings that would change greedy text, had they a say
    model.generation_config = GenerationConfig(
        eos_token_id=ends, do_sample=True, temperature=3.0, repetition_penalty=5.0, max_length=700
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def pin(folder: Path, **changes: Any) -> Pin:
    source = Source(kind="folder", path=str(folder))
    return Pin(
        **{
            "model": "writer",
            "engine": "transformers",
            "source": source,
            "files": folder_digests(folder),
            "sees": False,
            **changes,
        }
    )


def greedy(folder: Path, text: str, count: int) -> list[int]:
    """The tokens by hand: the largest logit, one after the other."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    start = ids.shape[1]
    with torch.inference_mode():
        for _ in range(count):
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], 1)
    found: list[int] = ids[0, start:].tolist()
    return found


@pytest.mark.parametrize("template", [None, TEMPLATE])
def test_the_greedy_text_whatever_the_model_says_of_itself(tmp_path: Path, template: str | None) -> None:
    text = TASK.prompt if template is None else f"USER {TASK.prompt}"
    said = greedy(save(tmp_path / "probe", [1]), text, 8)
    folder = save(tmp_path / "model", [said[5]], template)
    ((task, found),) = engine.load(pin(folder), RewriteConfig(max_tokens=8, device="cpu")).ask([TASK])
    expected = said[: said.index(said[5])]
    assert (
        task == TASK
        and found.text == " ".join(WORDS[n] for n in expected if n > 1).removeprefix("A:").strip()
    )
    ((_, cut),) = engine.load(pin(folder), RewriteConfig(max_tokens=len(expected), device="cpu")).ask([TASK])
    assert cut.text is None and cut.reason == "the answer is longer than rewrite.max_tokens"


def test_a_reply_does_not_depend_on_what_else_is_asked(tmp_path: Path) -> None:
    """Passes have a fixed number of rows and lengths in fixed steps."""
    folder = save(tmp_path / "model", [1], context=2048)
    config = RewriteConfig(device="cpu", max_tokens=16)
    asked = [PlainText("what colour is the circle " * n, start_is_enough=True) for n in range(1, 14)]
    together = dict(engine.load(pin(folder), config).ask(asked))
    assert list(together) != asked[::-1] and together.keys() == set(asked)
    for one in (asked[0], asked[6], asked[12]):
        assert dict(engine.load(pin(folder), config).ask([one])) == {one: together[one]}


def test_examples_as_turns_of_the_conversation(tmp_path: Path) -> None:
    task, words = replace(TASK, in_turns=True), instruction(TASK.kind)
    turns = [f"USER {one.q} {one.a}" for one in words.examples]
    folder = save(tmp_path / "model", [1], TURNS, context=2048)
    written = greedy(folder, " ".join([words.head, *turns, f"USER {TASK.question}"]), 8)
    written = written[: written.index(1)] if 1 in written else written
    asked = PlainText(task.prompt, start_is_enough=True, system=task.system, turns=task.turns)
    ((_, reply),) = engine.load(pin(folder), RewriteConfig(device="cpu", max_tokens=8)).ask([asked])
    assert reply.text == " ".join(WORDS[n] for n in written if n > 1)
    assert task == TASK and task.prompt == TASK.question and task.read('A: "Yes?"') == "Yes?"


@pytest.mark.parametrize(
    ("of_system", "problem"),
    [
        ("{{ raise_exception('no system role') }}", r"processor refuses it \(no system role\)"),
        ("", "chat template drops the system message"),
    ],
)
def test_a_template_without_system_messages_stops_the_stage(
    of_system: str, problem: str, tmp_path: Path, project: Project
) -> None:
    """At once and in one line: every question would be refused."""
    system = "{% if message['role'] == 'system' %}" + of_system + "{% else %}"
    template = TURNS.replace("messages %}", "messages %}" + system).replace(
        "{% endfor", "{% endif %}{% endfor"
    )
    project.items(item("a", TASK.question))
    write_pin(Path("data/models/writer.json"), pin(save(tmp_path / "model", [1], template)))
    project.rewrite = {"rewriter": "data/models/writer.json", "device": "cpu", "examples": "turns"}
    with refused(f"writer: cannot be asked with a system message .*{problem}.*rewrite.examples: text"):
        project.rows()
    del project.rewrite["examples"]
    assert project.rows()


def test_a_template_of_the_pin_stands_in_for_the_models_own(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", list(range(len(WORDS))), "{{ raise_exception('own') }}")
    ((_, found),) = engine.load(pin(folder, template=TEMPLATE), RewriteConfig(device="cpu")).ask([TASK])
    assert found.text is not None


def test_a_prompt_that_is_too_long_is_refused_alone(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", list(range(len(WORDS))), context=330)
    longer = RewriteTask("What colour is the circle? " * 60, "lr_v")
    writer = engine.load(pin(folder), RewriteConfig(max_tokens=8, device="cpu"))
    replies = dict(writer.ask([longer, TASK]))
    first, second = replies[longer], replies[TASK]
    assert first.text is None and "exceed the 330 that the model reads" in first.reason
    assert second.text is not None


def test_from_pin_to_table(tmp_path: Path, project: Project) -> None:
    project.items(item("a", TASK.question))
    write_pin(Path("data/models/writer.json"), pin(save(tmp_path / "model", [1])))
    project.rewrite = {"rewriter": "data/models/writer.json", "device": "cpu", "max_tokens": 4}
    rows = project.rows()
    assert [row["status"] for row in rows] == ["rejected"] * 2, "a random model rewrites nothing well"
    assert all(row["reason"] and row["rewriter"].startswith("transformers/2 writer ") for row in rows)
    assert project.measures["rewriter"]["asked"] == 2
    assert project.rows() == rows and project.measures["rewriter"]["asked"] == 0


def test_files_that_are_not_as_pinned_are_refused(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", [1])
    pinned = pin(folder)
    (folder / "generation_config.json").write_text("{}", "utf-8")
    with refused(r"generation_config\.json: not as pinned"):
        engine.load(pinned, RewriteConfig())


def test_a_folder_that_is_no_language_model_is_one_line(tmp_path: Path) -> None:
    folder = save(tmp_path / "model", [1])
    (folder / "config.json").write_text('{"model_type": "clip"}', "utf-8")
    with refused("neither a vision-language model nor a language model"):
        engine.load(pin(folder), RewriteConfig(device="cpu"))
