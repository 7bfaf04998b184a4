"""What a model is told, as PARC prints it (Schmalfuss et al. 2025, A7.2 and A7.4): the whole texts by digest,
and by equality where a copy goes wrong without being seen. And what is taken of its reply.
"""

from hashlib import sha256

import pytest

from vouch.prompts.asking import Text
from vouch.prompts.rewrites.table import Task, instruction
from vouch.tables.asked import KINDS

TEXTS = {
    "clean": "4c38f4126e5ade4e",
    "lr_i": "2ba8b2bc0e30f779",
    "lr_c": "476cdb02e593eb05",
    "lr_v": "0b67c19d12c9f1aa",
    "ls_n": "29f08d13e357334d",
    "ls_a": "03621cf768305ed8",
    "ls_m": "011e7c8dbdf91a2f",
}
CLOSING = (
    "Keep the question as close to the original as possible. Ensure correct grammar. Return a single, complete "
    "question. Do NOT abbreviate parts of the question. Do NOT give additional explanations."
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_text_is_the_papers(kind: str) -> None:
    assert sha256(Task("<Prompt to alter>", kind).prompt.encode()).hexdigest()[:16] == TEXTS[kind]


def test_a_whole_text_in_plain_sight() -> None:
    assert Task("Which cat is longer?", "ls_n").prompt == (
        "Change the following questions to ask for the opposite by negating them with ‘not’. "
        + CLOSING
        + "\n"
        'Q: "Which road is more paved?"\nA: "Which road is not more paved?"\n'
        'Q: "Which umbrella is yellower?"\nA: "Which umbrella is not yellower?"\n'
        'Q: "Which cat is staring more directly at the camera?"\n'
        'A: "Which cat is not staring more directly at the camera?"\n'
        'Q: "Which fence is burnter?"\nA: "Which fence is not more burnt?"\n'
        'Q: "Which cat is longer?"\nA:'
    )
    assert Task("Which?", "lr_v").prompt == (
        "Rephrase the following question to make it more verbose. Make sure the meaning of the question stays the "
        "same, do NOT invent additional details. For your context, the question is about an image that is not "
        "provided here. Ensure correct grammar. Only return a single new question, do NOT give additional "
        'explanations.\nQ: "Which?"\nA:'
    )


def test_three_of_them_close_with_the_same_five_sentences() -> None:
    heads = {kind: instruction(kind).head.strip() for kind in KINDS}
    assert [kind for kind in KINDS if heads[kind].endswith(CLOSING)] == ["ls_n", "ls_a", "ls_m"]
    assert heads["ls_a"].removesuffix(CLOSING) == (
        "Change the following questions to ask for the opposite by using antonyms or words with opposite meanings. "
    )
    assert heads["ls_m"].removesuffix(CLOSING) == (
        "Change the following questions to ask for the opposite by switching the word ‘more’ for ‘less’ or ‘fewer’. "
    )


def test_what_copies_lose() -> None:
    """Curly quotation marks, a doubled mark, words that are none, an example that stays the same."""
    pairs = {kind: [(one.q, one.a) for one in instruction(kind).examples] for kind in KINDS}
    assert pairs["lr_i"][2] == (
        "Which pants’ fit is more regular?",
        "Determine which pants’ fit is more regular.",
    )
    assert pairs["lr_c"][3] == ("Which jacket is more asymmetrical??", "More asymmetrical jacket?")
    mustnt = "What musn’t Joe and Alice trade to each get what they want?"
    assert pairs["ls_a"][5] == (mustnt, mustnt)
    assert pairs["clean"][3] == (
        "Complete the sentence.\nThe African elephant is the () land animal in the world.",
        "How do you complete the following sentence? ‘The African elephant is the () land animal in the world.’",
    )
    assert [len(pairs[kind]) for kind in KINDS] == [5, 4, 4, 0, 4, 9, 6]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Which?", "Which?"),
        (' A: "Which?"\n', "Which?"),
        ("“Which?”\nQ: And which?\nA: That.", "Which?"),
        ("‘Which?’", "Which?"),
        ('<think>Shorter?</think>\n\nA: "Which?"', "Which?"),
        ("[THINK]Shorter", ""),
        ('Is "this" it?', 'Is "this" it?'),
        ('"Which?" or "That?"', '"Which?" or "That?"'),
        ('"', '"'),
        ("", ""),
    ],
)
def test_a_reply_without_the_form_of_the_examples(said: str, text: str) -> None:
    assert Task("Which?", "lr_i").read(said) == text
    assert Text("Which?").read(said) == said.strip(), "a judge's `A: ...` is its letter"
