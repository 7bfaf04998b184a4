"""The prompts of the five papers, as they were published: literal texts by digest, whole prompts by
equality."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
import pytest

from tests.prompts.rows import item_rows, template_of
from tests.refusals import refused
from vouch.models.config import ExtractConfig
from vouch.pipeline.yaml12 import load
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import TEMPLATES, Template

CHATS = Path(__file__).resolve().parents[2] / "vouch/models/chat/templates"
ITEM = Item("q", "g", "Which?", None, ("x", "y"), (1,), ("d1",), "choice")

# Digests of the five instructions of each task family, joined by line breaks: of generation, of likelihood and
# of free answers; and of the sample's question and answer.
DIALOG = ("17c4c8fd15083e25", "508b48f5072418de")
SHAPES = "2d899729eea35ebe"
FAMILIES: dict[str, tuple[str | None, str | None, str]] = {
    "vqa": ("2f0c3afaf2110588", "271546866aaaff44", "15115cbfa10aeb13"),
    "kvqa": ("459fe7dcb9e29b72", "ce15c5a3506a8118", "1195e7d87d3f969b"),
    "vqra": ("2d5c1de4d39c523d", "c412cd314052ad8b", "6567cf77963b489e"),
    "vqar": ("81feaf136f3c699b", "50ce968f0ec2303a", "cf5914064c484ea5"),
    "cls": ("47d8364b444a43d6", "276038fbcd522876", "815a6005d0327dd9"),
    "dialog_sc": (*DIALOG, SHAPES),
    "medic": ("09689dab8ddeee9a", "1574159df3811caf", SHAPES),
    "ref": ("1791a2857416bab5", "3e5eeb79633d7eb8", "167ecaafbc20f62b"),
    "itm": ("6cfde0d90f4cf254", "a0f7faf6dae2ac18", "7a2abe968ea0ab2c"),
    "its": ("f5406d27a18c191a", "3a0aca96479cbcc6", "8498ac825eb1e3b4"),
    "wiki": ("3214bce8bc2de5b3", "dc80094c936234d5", "ba410ebf9290b321"),
    "snli": ("24f2bfe3f61fb1dc", "a01131ddf62ddff6", "fa42ba7ccaeb5cb1"),
    "wino": ("063434decb499f08", "17351e0ba44415ad", "aaf6cec30eb342db"),
    "mocheg": ("17a9df30e65d7794", "b0c161badbf00813", "f6af9fb827ee1c10"),
    "visdial": (*DIALOG, "7720de54a7bf23b3"),
    "clevr": (None, None, SHAPES),  # its instructions stand in its data file
}
SAME_AS = {"cls_bare": ("cls", None), "visdial_plain": ("visdial", "815a6005d0327dd9")}
TEXTS = {
    "dialog_txt": DIALOG[0],
    "ocrvqa": "271546866aaaff44",
    "cap": "af343ad433582ec0",
    "textcap": "bf98e2429dd47c20",
}
SIMPLE = {"dialog_txt_simple", "ocrvqa_simple", "visdial_plain_simple"}
NOT_PREFIXED = ("cls_bare",)
INSTRUCTED_ABOVE = ("vqa", "kvqa", "vqra", "vqar", "cls", "dialog_sc", "wino", "mocheg", "visdial")
IDK = "I don\u2019t know"
TAIL = " Please answer supported, refuted or not enough information."


def digest(*texts: str) -> str | None:
    return sha256("\n".join(texts).encode()).hexdigest()[:16] if texts else None


def literal(name: str, tail: str = "") -> str | None:
    """Digest of a template's instructions as the authors wrote them, with `{}` for what is put in."""
    wordings = template_of(name).instructions
    assert len(wordings) in (0, 5) and all(text.endswith(tail) for text in wordings)
    return digest(*(text.removesuffix(tail).replace("{hint}", "{}") for text in wordings))


def prompt(template: str | Template, item: Item = ITEM) -> dict[str, Any]:
    chosen = template_of(template) if isinstance(template, str) else template
    (row,) = item_rows(item, [load_variation("original")], chosen, "own", 7, before={})
    return row


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.mark.parametrize("family", FAMILIES)
def test_instructions_of_reform_eval(family: str) -> None:
    generation, likelihood, _ = FAMILIES[family]
    assert literal(f"reform_{family}") == literal(f"reform_{family}_simple") == generation
    tail = TAIL if family == "mocheg" else ""
    names = [f"reform_{family}_likelihood"]
    names += [f"reform_{family}_simple_likelihood"] if family in INSTRUCTED_ABOVE else []
    assert {literal(name, tail) for name in names} == {likelihood} == {literal(f"reform_{family}_free")}


# build/MOCHEG/mcv_dataset.py of FudanDISC/ReForm-Eval @df1cfa7: its list of instructions, to each of which lines 158
# and 159 append TAIL `if self.args.infer_method == 'likelihood'`.
MOCHEG = (
    "Based on the text and image evidence, predict the truthfulness of the claim.",
    "Using textual and visual evidence, make an educated guess about the accuracy of the statement.",
    "Assess the credibility of the assertion by analyzing both the text and image proof.",
    "Evaluate the validity of the claim by considering both textual and visual evidence.",
    "Determine the likelihood of the statement being true based on the provided text and image.",
)


def test_likelihood_instructions_of_mocheg_to_the_letter() -> None:
    assert template_of("reform_mocheg_free").instructions == MOCHEG
    for name in ("reform_mocheg_likelihood", "reform_mocheg_simple_likelihood"):
        assert template_of(name).instructions == tuple(text + TAIL for text in MOCHEG)


@pytest.mark.parametrize("family", [*FAMILIES, *SAME_AS])
def test_samples_of_reform_eval(family: str) -> None:
    like, sample = SAME_AS.get(family, (family, None))
    names = [f"reform_{family}"] + ([f"reform_{family}_simple"] if family in FAMILIES else [])
    for name in names:
        template, turn = template_of(name), template_of(name).sample_turn()
        assert template.sample is not None and turn is not None
        shown = template.sample.answer.removeprefix("{response}")
        assert digest(template.sample.question, shown) == (sample or FAMILIES[like][2])
        prefixed = name == f"reform_{family}" and family not in NOT_PREFIXED
        assert turn[1] == ("The answer is " if prefixed else "") + shown
        assert template.response == ("The answer is" if name == f"reform_{family}" else None)
        assert literal(name) == FAMILIES[like][0]


@pytest.mark.parametrize("family", TEXTS)
def test_instructions_of_open_questions_of_reform_eval(family: str) -> None:
    assert literal(f"reform_{family}") == TEXTS[family]
    assert template_of(f"reform_{family}").max_tokens == ("references" if "cap" in family else None)


def test_every_file_belongs_to_a_family() -> None:
    found = set()
    for path in TEMPLATES.glob("reform_*.yaml"):
        family = path.stem.removeprefix("reform_")
        found |= {family, *[f"{family}_{variant}" for variant in load(path).get("variants", {})]}
    choice = {f"{family}{end}" for family in FAMILIES for end in ("", "_simple", "_likelihood", "_free")}
    above = {f"{family}_simple_likelihood" for family in INSTRUCTED_ABOVE}
    assert found == choice | above | set(SAME_AS) | set(TEXTS) | SIMPLE
    for name in found:
        template = template_of(f"reform_{name}")
        outputs = ("likelihood",) if name.endswith("likelihood") else ("text",)
        assert template.outputs == outputs or (
            template.outputs == ("letters", "text") and template.shows_options
        )
        assert template.shows_options == bool(template.sample)


def rendered(template: str, row: dict[str, Any]) -> str:
    """A prompt in a model's chat template, up to what the model writes."""

    def said(text: str, pictures: int = 0) -> list[dict[str, str]]:
        return [{"type": "image"}] * pictures + [{"type": "text", "text": text}]

    messages: list[dict[str, Any]] = []
    if row["system"] is not None:
        messages.append({"role": "system", "content": said(row["system"])})
    for turn in [*row["turns"], {"question": row["text"], "answer": None}]:
        first = not any(message["role"] == "user" for message in messages)
        messages.append({"role": "user", "content": said(turn["question"], len(row["images"]) * first)})
        if turn["answer"] is not None:
            messages.append({"role": "assistant", "content": said(turn["answer"])})
    made = jinja2.Environment().from_string((CHATS / template).read_text("utf-8"))
    text = made.render(messages=messages, add_generation_prompt=True)
    return text if row["response"] is None else f"{text} {row['response']}"


def test_a_conversation_of_reform_eval() -> None:
    """The instruction stands before the sample, the answer begins with the prefix."""
    whole = rendered("vicuna_v1.jinja", prompt("reform_vqa")).partition("USER: ")[2]
    assert whole == (
        "<image>\nPlease analyze the image and the question, then select the correct option. can you see the "
        "image? Options: (A) yes; (B) no; (C) not sure; (D) maybe. ASSISTANT: The answer is (A) yes</s>"
        "USER: Which? Options: (A) x; (B) y. ASSISTANT: The answer is"
    )
    whole = rendered("vicuna_v1.jinja", prompt("reform_vqa_likelihood")).partition("USER: ")[2]
    assert whole == "<image>\nAssess this image and provide an answer to the question. Which? ASSISTANT:"


def test_question_and_answer_of_reform_eval() -> None:
    assert rendered("question_answer.jinja", prompt("reform_vqa_simple")) == (
        "Please analyze the image and the question, then select the correct option.\nQuestion: can you see the "
        "image? Options: (A) yes; (B) no; (C) not sure; (D) maybe. Answer: (A) yes\n"
        "Question: Which? Options: (A) x; (B) y. Answer:"
    )
    assert rendered("question_answer.jinja", prompt("reform_vqa_simple_likelihood")) == (
        "Assess this image and provide an answer to the question.\nQuestion: Which? Answer:"
    )


def test_instructblip_of_tu_et_al() -> None:
    """VLMEvalKit hands InstructBLIP the text of the prompt and nothing else."""
    row = prompt("tu_choice_llava")
    assert rendered("plain.jinja", row) == row["text"] and row["system"] is None
    assert rendered("plain.jinja", prompt("tu_open")) == (
        "Which?\nAnswer the question using a single word or phrase."
    )


@pytest.mark.parametrize(
    ("template", "hint", "text"),
    [
        ("reform_kvqa", "c", "Which? Context: c Options: (A) x; (B) y."),
        ("reform_vqra_simple", "c", "Which? Rationale: c Options: (A) x; (B) y."),
        ("reform_vqar", "c", "Which? Answer: c Options: (A) x; (B) y."),
        ("reform_mocheg", "c", "Which? Text Evidence: c Options: (A) x; (B) y."),
        ("reform_itm", "c", "Does the image match the following caption 'c'? Please select one option to answer the "
         "question. Options: (A) x; (B) y."),
        ("reform_itm_likelihood", "{x}", "Does the image match the following caption '{x}'?"),
        ("reform_medic_likelihood", None, "What disaster happens in the image?"),
        ("reform_wino", None, "Which description matches this image? Options: (A) x; (B) y."),
        ("reform_wino_likelihood", None, "Kindly examine the image and provide a response to the question. Please "
         "generate a sentence to describe this image."),
        ("reform_clevr_likelihood", None, "Which?"),
        ("reform_mocheg_likelihood", "c", "Based on the text and image evidence, predict the truthfulness of the "
         "claim. Please answer supported, refuted or not enough information. Which? Text Evidence: c"),
    ],
)  # fmt: skip
def test_texts_of_task_families(template: str, hint: str | None, text: str) -> None:
    row = prompt(template, replace(ITEM, hint=hint))
    assert row["text"] == text
    assert row["labels"] == ([] if "likelihood" in template else ["A", "B"])
    assert row["options"] == ["x", "y"] and row["answers"] == [1]
    assert len(row["turns"]) == ("likelihood" not in template)


def test_a_dialogue_of_reform_eval() -> None:
    """The instruction stands before the sample; earlier answers begin with the prefix as well."""
    first = replace(ITEM, id="p", question="Is it one?", options=("No", "Yes"), goes_on=True)
    item = replace(ITEM, question="Which?", turns=(first,), index=4)
    variation, before = load_variation("dialogue_gold"), dict[str, Any]()
    template = template_of("reform_visdial")
    _, row = (row for one in (first, item) for row in item_rows(one, [variation], template, "own", 7, before))
    assert [(turn["question"], turn["answer"]) for turn in row["turns"]] == [
        (
            "Respond to the following questions according to the image and the dialogue history. Can you see "
            "the image? Options: (A) Yes; (B) No; (C) Maybe; (D) Not sure.",
            "The answer is (A) Yes",
        ),
        ("Is it one? Options: (A) No; (B) Yes.", "The answer is (B) Yes"),
    ]
    assert (row["text"], row["response"]) == ("Which? Options: (A) x; (B) y.", "The answer is")
    template = template_of("reform_visdial_likelihood")
    _, row = (row for one in (first, item) for row in item_rows(one, [variation], template, "own", 7, {}))
    assert [(turn["question"][-11:], turn["answer"]) for turn in row["turns"]] == [(" Is it one?", "Yes")]


def test_captions_of_reform_eval() -> None:
    row = prompt("reform_cap", replace(ITEM, kind="text", options=(), answers=(), index=7))
    assert row["text"] == "Generate a brief descriptive statement for the image's content."
    assert (row["outputs"], row["response"], row["turns"]) == (["text"], None, [])
    assert ExtractConfig().max_tokens == 30, "of all other texts"
    row = prompt("reform_dialog_txt", replace(ITEM, kind="text", options=(), answers=()))
    assert row["text"].endswith("and the conversation history. Which?") and row["response"] == "The answer is"


def test_instructions_go_round() -> None:
    starts = [prompt("reform_vqa_free", replace(ITEM, index=index))["text"][:6] for index in range(6)]
    assert starts == ["Assess", "Take a", "Please", "Analyz", "Your t", "Assess"]


def test_an_instruction_about_a_hint_needs_one() -> None:
    with refused("item q: has no hint, which the template's instruction needs"):
        prompt("reform_itm")


@pytest.mark.parametrize(
    ("name", "system", "letters", "word", "options", "shown"),
    [
        ("ai2d", "01afe190c9994f13", "A, B, C, D, E, F", "scientific diagram", 4, 6),
        ("scienceqa", "66a62c4162f3e389", "A, B, C, D, E", "science", 2, 5),
        ("scienceqa", "66a62c4162f3e389", "A, B, C, D, E", "science", 3, 5),
        ("scienceqa", "66a62c4162f3e389", "A, B, C, D, E", "science", 4, 5),
        ("scienceqa", "66a62c4162f3e389", "A, B, C, D, E", "science", 5, 5),
        ("mathvision", "dc8cc3daf2fbaea9", "A, B, C, D, E, F", "math", 5, 6),
        ("worldmedqa_v", "a01210c1b5f1f3bb", "A, B, C, D, E, F", "medical image", 4, 6),
        ("mmmu", "eef5a43001d79f80", "A, B, C, D, E", "multi-disciplinary", 2, 5),
        ("mmmu_pro", "f41498bc0f162253", "A, B, C, D, E, F, G, H, I, J", "multi-disciplinary", 10, 10),
    ],
)
def test_prompts_of_azad_et_al(
    name: str, system: str, letters: str, word: str, options: int, shown: int
) -> None:
    own = tuple(f"o{number}" for number in range(options))
    row = prompt(f"azad_{name}", replace(ITEM, options=own, hint="unused"))
    assert digest(row["system"]) == system and row["outputs"] == ["letters", "text"]
    assert row["options"] == [*own, IDK, "None of them", "Cannot be determined"][:shown]
    assert row["order"] == [*range(options), -1, -2, -1][:shown]
    lines = row["text"].split("\n")
    assert lines[:4] == [
        f"I will show you an image along with a multiple-choice {word} question.",
        "Please select the correct answer from the given options.",
        f"Only respond with the option letter ({letters}).",
        "Which?",
    ]
    assert lines[4:] == [
        f"{label}. {text}" for label, text in zip("ABCDEFGHIJ", row["options"], strict=False)
    ]


LIKELIHOODS = """\
You are a medical image diagnostician.
---
I will show you an image along with a multiple-choice medical image question.
For each of the given options (A, B, C, D, E, F), state how likely it is to be the correct answer.
Only respond with one line for each option: its letter, a colon, and a number from 0 to 1. The numbers add up to 1.
Which?
A. o0
B. o1
C. o2
D. o3
E. I don’t know
F. None of them"""


def test_likelihoods_are_asked_for_in_the_place_of_a_letter() -> None:
    """The third version of Azad et al.: one prompt to the letter, of the others what differs from it."""
    own = tuple(f"o{number}" for number in range(4))
    row = prompt("azad_worldmedqa_v_likelihoods", replace(ITEM, options=own, hint="unused"))
    assert f"{row['system']}\n---\n{row['text']}" == LIKELIHOODS
    assert (row["outputs"], row["response"]) == (["text"], None)
    assert template_of("azad_worldmedqa_v_likelihoods").max_tokens == 120
    assert row["labels"] == [*"ABCDEF"] and row["options"] == [*own, IDK, "None of them"]
    for name in ("ai2d", "scienceqa", "mathvision", "worldmedqa_v", "mmmu", "mmmu_pro"):
        item = replace(ITEM, options=tuple(f"o{number}" for number in range(10 if name == "mmmu_pro" else 4)))
        letter, each = prompt(f"azad_{name}", item), prompt(f"azad_{name}_likelihoods", item)
        assert each["options"] == letter["options"] and each["system"] == letter["system"].split("\n")[0]
        (first, _, third, *question), lines = letter["text"].split("\n"), each["text"].split("\n")
        letters = third.removeprefix("Only respond with the option letter ").rstrip(".")
        assert lines[:2] == [
            first, f"For each of the given options {letters}, state how likely it is to be the correct answer."
        ]  # fmt: skip
        assert lines[2] == LIKELIHOODS.split("\n")[4] and lines[3:] == question


@pytest.mark.parametrize(
    ("template", "hint", "text"),
    [
        *(
            ("kostumov", hint, f"{before}Which?\nA. x\nB. y\nC. {IDK}\nD. None of the above\nAnswer with the option's "
             "letter from the given choices directly.")
            for hint, before in (("h", "h\n"), (None, ""), ("nan", ""), ("", "\n"))
        ),
        ("kostumov_qwen", "", f"Context: N/A\nQuestion: Which?\nOptions: \nA. x\nB. y\nC. {IDK}\nD. None of the above"
         "\nAnswer with the option's letter from the given choices directly.\n\nAnswer:"),
        ("kostumov_qwen_nan", None, f"Context: nan\nQuestion: Which?\nOptions: \nA. x\nB. y\nC. {IDK}\nD. None of the "
         "above\nAnswer with the option's letter from the given choices directly.\n\nAnswer:"),
        *(
            (f"kostumov_{name}", hint, f"Context: {hint}\nQuestion: Which?\nOptions: \nA. x\nB. y\nC. {IDK}\nD. None of "
             "the above\nAnswer with the option's letter from the given choices directly.\n\nAnswer:")
            for name, hint in (("qwen", "h"), ("qwen", "nan"), ("qwen_nan", "h"))
        ),
        ("tu_choice", "h", "Hint: h\nQuestion: Which?\nOptions:\nA. x\nB. y\nPlease select the correct answer from the "
         "options above. \n"),
        ("tu_choice", None, "Question: Which?\nOptions:\nA. x\nB. y\nPlease select the correct answer from the options "
         "above. \n"),
        ("tu_choice_llava", "h", "h\nWhich?\nA. x\nB. y\nAnswer with the option's letter from the given choices "
         "directly."),
        ("tu_open", None, "Which?\nAnswer the question using a single word or phrase."),
        ("parc", None, "Which?\n(A) x (B) y\nAnswer with the option's letter from the given choices directly."),
    ],
)  # fmt: skip
def test_prompts_of_the_other_papers(template: str, hint: str | None, text: str) -> None:
    assert prompt(template, replace(ITEM, hint=hint))["text"] == text


def test_six_lettered_lines_of_kostumov_et_al() -> None:
    """Four options, as all their datasets have; the two added ones are E and F."""
    row = prompt("kostumov", replace(ITEM, hint="h", options=("w", "x", "y", "z")))
    assert row["text"] == (
        f"h\nWhich?\nA. w\nB. x\nC. y\nD. z\nE. {IDK}\nF. None of the above\n"
        "Answer with the option's letter from the given choices directly."
    )
    assert (row["labels"], row["answers"]) == ([*"ABCDEF"], [1])


XCOMPOSER = """You are an AI assistant whose name is InternLM-XComposer (浦语·灵笔).

        - InternLM-XComposer (浦语·灵笔) is a conversational language model that is developed by Shanghai AI Laboratory \
(上海人工智能实验室). It is designed to be helpful, honest, and harmless.

        - InternLM-XComposer (浦语·灵笔) can understand and communicate fluently in the language chosen by the user such \
as English and 中文."""
YI = (
    "This is a chat between an inquisitive human and an AI assistant. Assume the role of the AI assistant. Read all "
    "the images carefully, and respond to the human's questions with informative, helpful, detailed and polite "
    "answers. 这是一个好奇的人类和一个人工智能助手之间的对话。假设你扮演这个AI助手的角色。仔细阅读所有的图像，"
    "并对人类的问题做出信息丰富、有帮助、详细的和礼貌的回答。"
)


@pytest.mark.parametrize(("family", "system"), [("xcomposer", XCOMPOSER), ("yi", YI)])
@pytest.mark.parametrize("hint", [None, "", "nan", "h"])
def test_system_messages_of_kostumov_et_al(family: str, system: str, hint: str | None) -> None:
    row, common = (prompt(name, replace(ITEM, hint=hint)) for name in (f"kostumov_{family}", "kostumov"))
    assert row == common | {"system": system} and common["system"] is None


def test_two_pictures_of_parc_are_one() -> None:
    row = prompt("parc", replace(ITEM, images=("d1", "d2")))
    (picture,) = row["images"]
    assert (picture["images"], [step["operation"] for step in picture["steps"]]) == (["d1", "d2"], ["merged"])


def test_nine_digits_are_all() -> None:
    template = template_of("plain").model_copy(update={"labels": "digits"})
    item = replace(ITEM, options=tuple("abcdefghij"))
    with refused(r"item q: 10 options with the 0 .* more than the 9 digits"):
        prompt(template, item)


def test_every_template_is_listed_with_its_source() -> None:
    page = Path("docs/prompt-templates.md").read_text("utf-8")
    for path in TEMPLATES.glob("*.yaml"):
        family = path.stem.removeprefix("reform_")
        assert f"`{path.stem}`" in page or (path.stem.startswith("reform_") and f"`{family}`" in page), path
    for key in [*Template.model_fields, "variants"]:
        assert f"| `{key}` |" in page
