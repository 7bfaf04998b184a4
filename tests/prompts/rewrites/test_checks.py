"""What a model is asked for a rewrite, what is kept of its reply, and which rewrites the checks refuse."""

from hashlib import sha256

import pytest

from vouch.prompts.asking import PlainText
from vouch.prompts.rewrites.checks import CHECKS, failures
from vouch.prompts.rewrites.table import RewriteTask, instruction
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
    assert sha256(RewriteTask("<Prompt to alter>", kind).prompt.encode()).hexdigest()[:16] == TEXTS[kind]


def test_a_whole_text_in_plain_sight() -> None:
    assert RewriteTask("Which cat is longer?", "ls_n").prompt == (
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
    assert RewriteTask("Which?", "lr_v").prompt == (
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
        ("Which?", "Which?"), (' A: "Which?"\n', "Which?"), ("“Which?”\nQ: And which?\nA: That.", "Which?"),
        ("‘Which?’", "Which?"), ('<think>Shorter?</think>\n\nA: "Which?"', "Which?"),
        ("[THINK]Shorter", ""), ('Is "this" it?', 'Is "this" it?'),
        ('"Which?" or "That?"', '"Which?" or "That?"'), ('"', '"'), ("", ""),
    ],
)  # fmt: skip
def test_a_reply_without_the_form_of_the_examples(said: str, text: str) -> None:
    assert RewriteTask("Which?", "lr_i").read(said) == text
    assert PlainText("Which?").read(said) == said.strip(), "a judge's `A: ...` is its letter"


Q = "Which of the 3 cups that Anna holds is more dented?"
GOOD = {
    "clean": Q,
    "lr_i": "Determine which of the 3 cups that Anna holds is more dented.",
    "lr_c": "Of Anna’s 3 cups, which is more dented?",
    "lr_v": "Of the 3 cups that Anna holds, could you please tell me which one is more dented?",
    "ls_n": "Which of the 3 cups that Anna holds is not more dented?",
    "ls_a": "Which of the 3 cups that Anna holds is more intact?",
    "ls_m": "Which of the 3 cups that Anna holds is less dented?",
}
BAD = [
    ("not_empty", "lr_i", Q, " ?"),
    ("one_sentence", "lr_i", Q, "Look at the 3 cups that Anna holds. Determine which is more dented."),
    ("one_sentence", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented?\nI added a word"),
    ("changed", "lr_v", Q, Q),
    ("changed", "ls_a", Q, Q.upper().capitalize().replace("anna", "Anna")),
    ("entities", "lr_c", Q, "Which of the cups that Anna holds is more dented?"),
    ("entities", "lr_i", Q, "Determine which of the 4 cups that Anna holds is more dented."),
    ("entities", "lr_i", Q, "Determine which of the 3 cups that she holds is more dented."),
    ("entities", "lr_v", Q, "Could you tell me which of the 3 cups that Anna and Bob hold is more dented?"),
    ("entities", "lr_i", "Which of <image 1> and <image 2> is brighter?", "Determine whether <image 1> is brighter."),
    ("shorter", "lr_c", Q, "Which one of the 3 cups that Anna holds is more dented?"),
    ("longer", "lr_v", Q, "Of Anna’s 3 cups, which is more dented?"),
    ("negated", "ls_n", Q, "Which of the 3 cups that Anna holds is less dented?"),
    ("negated", "ls_n", Q, "Which of the 3 cups that Anna does not hold is not more dented?"),
    ("negated", "ls_n", "Which of these is not shown?", "Which of these is not not shown?"),
    ("unnegated", "lr_i", "Which of these is not shown?", "Determine which of these is shown."),
    ("unnegated", "lr_c", Q, "Which of Anna’s 3 cups isn’t dented?"),
    ("lessened", "ls_m", Q, "Which of the 3 cups that Anna holds is more intact?"),
    ("lessened", "ls_m", Q, "Which of the 3 cups that Anna holds is more or less dented?"),
    ("instructs", "lr_i", Q, Q),
    ("asks", "ls_n", Q, "The 3 cups that Anna holds are not more dented."),
    ("bare", "ls_n", Q, "Answer: Which of the 3 cups that Anna holds is not more dented?"),
    ("bare", "lr_i", Q, "Sure! Determine which of the 3 cups that Anna holds is more dented."),
    ("bare", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented? (A) Left (B) Right"),
    ("bare", "clean", Q, "**Which of the 3 cups that Anna holds is more dented?**"),
    ("related", "lr_i", "Which planet is closest to the sun?", "Mercury."),
    ("related", "ls_a", "Which dog runs faster?", "Which cat sleeps?"),
    ("not_endless", "lr_v", Q, Q.replace("more", "more and more" + " and more" * 70)),
    ("printable", "lr_i", Q, "Determine which of the 3 cups that Anna holds is \u202emore dented."),
    ("printable", "lr_i", Q, "Determine which of the 3 cups that Anna holds is \x1b[2Jmore dented."),
    ("printable", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented\ufffd?"),
    ("script", "lr_i", Q, "Determine which of the 3 cups that Anna holds is более dented."),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_good_ones_pass(kind: str) -> None:
    assert failures(kind, Q, GOOD[kind]) == {}


@pytest.mark.parametrize(("check", "kind", "original", "rewrite"), BAD)
def test_bad_ones_are_caught(check: str, kind: str, original: str, rewrite: str) -> None:
    assert failures(kind, original, rewrite).get(check)


def test_an_endless_rewrite_is_looked_at_no_further() -> None:
    """A million opening quotation marks would keep a pattern busy for hours."""
    assert list(failures("ls_n", Q, "‘" * 1_000_000)) == ["not_endless"]


def test_each_check_is_tested() -> None:
    assert {check for check, *_ in BAD} == set(CHECKS)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_parc_pass_but_the_one_that_stays_the_same(kind: str) -> None:
    for example in instruction(kind).examples:
        same = kind == "ls_a" and example.q == example.a
        assert list(failures(kind, example.q, example.a)) == (["changed"] if same else [])
