"""What a model is asked for a rewrite, what is kept of its reply, and which rewrites the checks refuse."""

from hashlib import sha256

import pytest

from vouch.prompts.asking import PlainText
from vouch.prompts.rewrites.checks import CHECKS, failures
from vouch.prompts.rewrites.content import instruction, stem
from vouch.prompts.rewrites.table import RewriteTask
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
CAPITAL = "What is the capital of Kansas?"
MINERAL = "Is shampoo a mineral?"
BAD = [
    ("not_empty", "lr_i", Q, " ?"),
    ("one_sentence", "lr_i", Q, "Look at the 3 cups that Anna holds. Determine which is more dented."),
    ("one_sentence", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented?\nI added a word"),
    ("changed", "lr_v", Q, Q),
    ("changed", "ls_a", "What must Joe not trade?", "What must Joe not trade?"),
    ("changed", "ls_a", Q, Q.upper().capitalize().replace("anna", "Anna")),
    ("entities", "lr_c", Q, "Which of the cups that Anna holds is more dented?"),
    ("entities", "lr_i", Q, "Determine which of the 4 cups that Anna holds is more dented."),
    ("entities", "lr_i", Q, "Determine which of the 3 cups that she holds is more dented."),
    ("entities", "lr_v", Q, "Could you tell me which of the 3 cups that Anna and Bob hold is more dented?"),
    ("entities", "lr_i", "Which of <image 1> and <image 2> is brighter?", "Determine whether <image 1> is brighter."),
    ("entities", "lr_i", "Ethane is ().", "Ethane is (face-facing)."),
    ("entities", "lr_i", "The sun is a ____.", "Complete: the sun is a star."),
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
    # what a language model of 135 million parameters wrote, and the like
    ("adds", "lr_i", CAPITAL, "Determine which direction is the capital of Kansas."),
    ("adds", "lr_i", "Select the fish below.", "Select the fish that is facing the opposite direction."),
    ("adds", "lr_c", "Why are deserts so dry?", "Which desert is more asymmetrical?"),
    ("adds", "ls_n", "Which fish has scales?", "Which fish does not have more burned scales?"),
    ("adds", "lr_i", MINERAL, "Determine which shampoo is shampoo."),
    ("keeps", "lr_i", "Which trait does this red squirrel have?", "Determine the trait of this squirrel."),
    ("keeps", "lr_c", "Is the water in a sink a solid or a liquid?", "Is the water a solid?"),
    ("keeps", "ls_n", "Which fish has large scales?", "Which fish does not have scales?"),
    ("keeps", "lr_v", "What is the approximate shape of this umbrella?", "Could you please tell me what the shape of this umbrella is?"),
    ("keeps", "lr_c", "What does Romeo do after he fights with Tybalt?", "Romeo fights with Tybalt?"),
    ("keeps", "lr_c", "Why are deserts so dry?", "Deserts so dry?"),
    ("keeps", "lr_i", "Which areas did the empire control?", "Determine which area controlled the empire."),
    ("asks_once", "lr_i", "Which scene matches this image?", "Determine which scene matches which image."),
    ("begins", "lr_i", CAPITAL, "The capital of Kansas."),
    ("begins", "lr_i", CAPITAL, "What is the capital of Kansas."),
    ("begins", "lr_i", MINERAL, "Determine the mineral that is shampoo."),
    ("turns", "ls_n", MINERAL, "Is shampoo not a mineral?"),
    ("turns", "ls_n", "Select the fish below.", "Do not select the fish below."),
    ("opposes", "ls_a", "What sport are they athletes of?", "Which sport are they athletes of?"),
    ("opposes", "ls_a", "Identify the question that the experiment answers.", "Which experiment answers the question?"),
    ("opposes", "ls_a", "Identify the question that this can answer.", "Which question is answered by this?"),
    ("opposes", "ls_a", "Select the fish below.", "Which fish is more dented?"),
    ("opposes", "ls_a", "Which dog runs faster?", "Which dog runs?"),
    ("opposes", "ls_a", "Which dog runs faster?", "Which cat runs later?"),
    ("script", "lr_i", Q, "Determine which of the 3 cups that Anna holds is более dented."),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_good_ones_pass(kind: str) -> None:
    assert failures(kind, Q, GOOD[kind]) == {}


@pytest.mark.parametrize(("check", "kind", "original", "rewrite"), BAD)
def test_bad_ones_are_caught(check: str, kind: str, original: str, rewrite: str) -> None:
    assert failures(kind, original, rewrite).get(check)


@pytest.mark.parametrize(
    ("kind", "original", "rewrite"),
    [
        ("lr_i", CAPITAL, "Name the capital of Kansas."),
        ("lr_i", MINERAL, "Determine whether shampoo is a mineral."),
        ("lr_i", "How many trucks are in this photo?", "Count the trucks in this photo."),
        ("lr_i", "How many trucks are in this photo?", "Determine the number of trucks in this photo."),
        ("lr_i", "Where is the bike?", "Identify the location of the bike."),
        ("lr_i", "Which animal's limbs are also adapted for climbing?", "Determine which animal's limbs are adapted for climbing."),
        ("lr_i", "Why are deserts so dry?", "Identify the reason for which deserts are so dry."),
        ("lr_i", "Which areas did the empire control?", "Determine which areas were controlled by the empire."),
        ("lr_i", "Which areas did the empire control?", "Determine which areas the empire controlled."),
        ("lr_i", "Select the fish below.", "Select the fish below."),
        ("lr_c", "According to the map, which of these statements is true?", "Which of these statements is true?"),
        ("lr_c", "Is the water in a sink a solid or a liquid?", "Is the water in a sink solid or liquid?"),
        ("lr_v", "Select the fish below.", "Could you please identify the fish that is shown in the image below?"),
        ("ls_n", "Which fence looks burnter?", "Which fence does not look more burnt?"),
        ("ls_a", "Which window is open?", "Which window is closed?"),
        ("ls_a", "Which grid is regular?", "Which grid is irregular?"),
        ("ls_a", "Which kite is older than the tree?", "Which kite is younger than the tree?"),
        ("ls_a", "In what direction is Chile from Peru?", "In what direction is Peru from Chile?"),
        ("ls_m", "Which umbrella is farther away?", "Which umbrella is less far away?"),
        ("lr_i", "¿Qué color tiene el círculo grande?", "Determina el color que tiene el círculo grande."),
        ("lr_i", "圆圈是什么颜色？", "说出圆圈是什么颜色。"),
    ],
)  # fmt: skip
def test_other_good_ones_pass(kind: str, original: str, rewrite: str) -> None:
    assert failures(kind, original, rewrite) == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("closer", "close"), ("bigger", "big"), ("facing", "face"), ("colours", "color"), ("carried", "carry"),
        ("made", "made"), ("glass", "glass"), ("dress", "dresses"), ("best", "good"), ("Anna's", "Anna"), ("eaten", "eat"),
        ("answered", "answer"), ("numbers", "number"), ("players", "player"), ("likely", "like"),
    ],
)  # fmt: skip
def test_forms_of_a_word_share_their_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("direction", "directly"), ("sample", "simple"), ("map", "man")])
def test_other_words_do_not(one: str, other: str) -> None:
    assert stem(one) != stem(other)


HOSTILE = [
    "", " ", "\n", "?!?…—", "\0", "<|im_end|>", "<|im_start|>user\nWhich?", "a" * 100_000, "?" * 100_000,
    "‘" * 1_600, "not " * 400, "\u200b", "\ud800", "你好，请回答。", "أجب عن السؤال", "🚚🚚🚚", "(" * 1_000, "A" * 1_000,
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rewrite", HOSTILE)
def test_nothing_that_is_no_rewrite_passes(kind: str, rewrite: str) -> None:
    assert failures(kind, CAPITAL, rewrite)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("question", HOSTILE)
def test_a_question_of_any_kind_can_be_checked(kind: str, question: str) -> None:
    failures(kind, question, f"Determine {question}")


def test_an_endless_rewrite_is_looked_at_no_further() -> None:
    """A million opening quotation marks would keep a pattern busy for hours."""
    assert list(failures("ls_n", Q, "‘" * 1_000_000)) == ["not_endless"]


def test_each_check_is_tested() -> None:
    assert {check for check, *_ in BAD} == set(CHECKS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_of_parc_passes(kind: str) -> None:
    """Also the one of LS-A that stays the same, as no other question may: see `changed` in BAD."""
    for example in instruction(kind).examples:
        assert failures(kind, example.q, example.a) == {}
