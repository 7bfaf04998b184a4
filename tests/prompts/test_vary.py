import pytest

from tests.prompts.rows import item_rows
from tests.refusals import refused
from vouch.pipeline.yaml12 import load
from vouch.prompts.build import ItemBuilder, Rewrites, read_items
from vouch.prompts.combination import Variation, VariationPart, load_variation
from vouch.prompts.draft import Item, ShownImage, Step, prompt_id
from vouch.prompts.exchange import Exchanges
from vouch.prompts.template import TEMPLATES, parse_template
from vouch.prompts.variations import Declaration
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE
from vouch.tables.asked import items_path, prompts_path

ALL = ItemBuilder(Rewrites([]), Exchanges([]), lambda _: True)
INSTRUCTION = "Answer with the option's letter from the given choices directly."


def test_one_prompt(project, item):
    (prompt,) = project.vary([item(hint="Look up.", images=["d1"])])
    assert prompt == {
        "id": "q1/original",
        "item": "q1",
        "variation": "original",
        "family": "",
        "effect": "kept",
        "template": "kostumov",
        "system": None,
        "turns": [],
        "text": "Look up.\nWhat is shown?\nA. a kite\nB. a hat\nC. I don\u2019t know\nD. None of the above\n"
        + INSTRUCTION,
        "response": None,
        "earlier": [],
        "options": ["a kite", "a hat", "I don\u2019t know", "None of the above"],
        "order": [0, 1, DONT_KNOW, NONE_OF_ABOVE],
        "labels": ["A", "B", "C", "D"],
        "answers": [1],
        "images": [{"images": ["d1"], "steps": []}],
        "outputs": ["letters"],
        "max_tokens": None,
    }


def test_hints(project, item):
    """`nan` is none for kostumov, and an empty hint an empty line; plain adds no option."""
    starts = {None: "What", "nan": "What", "NaN": "What", "": "\nWhat", "h": "h\nWhat"}
    for template in ("kostumov", "plain"):
        rows = project.vary([item(id=str(number), hint=hint) for number, hint in enumerate(starts)], template)
        for row, (hint, start) in zip(rows, starts.items(), strict=True):
            assert row["text"].startswith(start if template == "kostumov" or hint == "h" else "What")
    assert rows[0]["text"] == f"What is shown?\nA. a kite\nB. a hat\n{INSTRUCTION}"
    assert rows[0]["order"] == [0, 1] and rows[0]["labels"] == ["A", "B"]


@pytest.mark.parametrize(
    ("way", "operation"), [("first", None), ("joined", "side_by_side"), ("merged", "merged")]
)
def test_where_marks_and_images_go(project, item, way, operation):
    text = (project.templates / "kostumov.yaml").read_text(encoding="utf-8")
    text = text.replace("images: first", f"images: {way}")
    (project.templates / "joining.yaml").write_text(text, encoding="utf-8")
    rows = project.vary(
        [
            item(id="a", question="Is it <image 2>?", images=["d1", "d2"], options=["<image 1>", "x"]),
            item(id="b", question="Which?\n<image1>"),
            item(id="c", images=["d1", "d2", "d3"]),
            item(id="d", question="Which?\n<image1>", images=[]),
        ],
        "joining",
    )
    recipes = [row["images"] for row in rows]
    one_by_one = [{"images": [name], "steps": []} for name in ("d1", "d2", "d3")]
    step = {"operation": operation, "severity": 0, "revision": 1}
    assert recipes[0] == ([{"images": ["d1", "d2"], "steps": [step]}] if operation else one_by_one[:2])
    assert recipes[1:] == [one_by_one[:1], one_by_one, []]
    assert rows[0]["text"].startswith("Is it image 2?\nA. image 1\n") and rows[0]["options"][0] == "image 1"
    assert rows[1]["text"].startswith("Which?\nA. " if way == "first" else "Which?\n")
    assert rows[3]["text"].startswith("Which?\nimage 1\n" if way == "first" else "Which?\n")
    assert rows[3]["outputs"] == ["letters"]


def test_several_answers_and_what_is_asked(project, item):
    rows = project.vary(
        [
            item(id="a", answers=[0, 1]),
            item(id="b", images=[]),
            item(id="c", kind="text", options=[], answers=[], references=["7"], hint="h"),
            item(id="d", images=[], question=""),
            item(id="e", question=""),
        ]
    )
    assert [row["answers"] for row in rows] == [[0, 1], [1], [], [1], [1]]
    assert [row["outputs"] for row in rows] == [["letters"], ["letters"], ["text"], [], ["letters"]]
    assert rows[2]["text"] == "h\nWhat is shown?" and rows[2]["options"] == []


def test_26_letters(project, item):
    options = [f"o{number}" for number in range(24)]
    (prompt,) = project.vary([item(options=options)])
    assert prompt["labels"][-1] == "Z" and prompt["text"].split("\n")[-2] == "Z. None of the above"
    options.append("one more")
    before = prompts_path("toy").read_bytes()
    with refused(r"^data/items/.*\.parquet: item q1: 27 options with the 2 "):
        project.vary([item(id="q0"), item(options=options)])
    assert prompts_path("toy").read_bytes() == before
    assert len(project.vary([item(options=[*options, "last"])], "plain")[0]["labels"]) == 26


def test_a_draft_in_another_order(project):
    """What a variation that rotates the options would hand in."""
    source = Item("q", "g", "What?", None, ("x", "y", "z"), (0,), ("d1", "d2"), "choice")
    template = parse_template(load(TEMPLATES / "kostumov.yaml"), "kostumov.yaml")

    def vary(draft):
        return draft._replace(order=(2, 0), images=(ShownImage("d1", (Step("blur", 3),)), ShownImage("d2")))

    own = [
        Variation("own", (VariationPart(Declaration("own", changes=("order", "images"), vary=vary), None),))
    ]
    (row,) = item_rows(source, own, template, "kostumov", None, before={})
    assert row["id"] == "q/own" and row["order"] == [2, 0, DONT_KNOW, NONE_OF_ABOVE]
    assert row["options"][:2] == ["z", "x"] and row["answers"] == [1]
    step = {"operation": "blur", "severity": 3, "revision": 1}
    assert row["images"] == [{"images": ["d1"], "steps": [step]}, {"images": ["d2"], "steps": []}]
    joined = template.model_copy(update={"images": "joined"})
    with refused(r"item q: .* disturbs two images differently, .*first`"):
        item_rows(source, own, joined, "kostumov", None, before={})


def test_order_of_items_and_same_bytes(project, item):
    items = [item(id=f"q{number}") for number in range(50, 0, -1)]
    assert [row["item"] for row in project.vary(items)] == [row["id"] for row in items]
    first = prompts_path("toy").read_bytes()
    project.vary(items)
    assert prompts_path("toy").read_bytes() == first


def test_bad_inputs(project, item):
    with refused(r"vouch/prompts/templates/none\.yaml: no such file"):
        project.vary([item()], "none")
    (TEMPLATES / "broken.yaml").write_text("body: [", encoding="utf-8")
    with refused(r"vouch/prompts/templates/broken\.yaml line"):
        project.vary([item()], "broken")
    project.vary([item()])
    data = items_path("toy").read_bytes()
    items_path("toy").write_bytes(data[: len(data) // 2])
    with refused(r"data/items/toy\.parquet: not readable"):
        list(read_items(items_path("toy"), ALL))


def of_style(project, name="own", **keys):
    """Writes the template `plain` with more keys."""
    plain = (project.templates / "plain.yaml").read_text(encoding="utf-8")
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    (project.templates / f"{name}.yaml").write_text(plain + more, encoding="utf-8")
    return name


def test_a_style_says_what_is_asked(project, item):
    template = of_style(project, outputs="[likelihood, text]", response='"The answer is"', max_tokens=7)
    closed, blank, free = project.vary(
        [
            item(),
            item(id="b", images=[], question=""),
            item(id="c", kind="text", options=[], answers=[]),
        ],
        template,
    )
    assert (closed["outputs"], closed["max_tokens"]) == (["likelihood", "text"], 7)
    assert (blank["outputs"], blank["max_tokens"]) == ([], None)
    assert (free["outputs"], free["max_tokens"]) == (["text"], 7)
    assert {row["response"] for row in (closed, blank, free)} == {"The answer is"}
    (letters,) = project.vary([item()], of_style(project, max_tokens=7))
    assert (letters["outputs"], letters["max_tokens"]) == (["letters"], None)


def test_texts_are_capped_by_the_references(project, item):
    template = of_style(project, max_tokens="references")
    texts = ["a b c d", " a\tb\n", "a b c d e f g h i", "a"]
    shared = {"kind": "text", "options": [], "answers": []}
    rows = project.vary([item(id=text, references=[text], **shared) for text in texts], template)
    # 1, 2, 4, 9 words: the percentile is 4 + (9 - 4) / 4
    assert [row["max_tokens"] for row in rows] == [6] * 4
    assert project.vary([item()], template)[0]["max_tokens"] is None
    with refused(r"prompt q1/original: no item has a reference .*template own a max_tokens"):
        project.vary([item(**shared)], template)


def made(project, *drafts, outputs="[letters, text]"):
    """Rows of `original` and of a variation that asks several times, or once."""
    name = of_style(project, outputs=outputs)
    template = parse_template(load(TEMPLATES / f"{name}.yaml"), name)
    source = Item("q", "g", "What?", None, ("x", "y"), (0,), ("d1",), "choice")

    def vary(draft):
        found = [draft._replace(**changes) for changes in drafts]
        return found[0] if len(found) == 1 and not drafts[0] else found

    dialogue = Variation(
        "dialogue", (VariationPart(Declaration("dialogue", changes="turns", vary=vary), None),)
    )
    variations = [load_variation("original"), dialogue]
    return list(item_rows(source, variations, template, name, None, before={}))


def test_several_drafts_are_numbered(project):
    first, one, two = made(
        project,
        {},
        {
            "turns": (("Sure?", "{answer 1}"),),
            "earlier": ((prompt_id("q", "dialogue", 1), "q/original"),),
        },
    )
    assert [row["id"] for row in (first, one, two)] == ["q/original", "q/dialogue/1", "q/dialogue/2"]
    assert two["turns"] == [{"question": "Sure?", "answer": "{answer 1}"}]
    assert two["earlier"] == [["q/dialogue/1", "q/original"]] and one["earlier"] == one["turns"] == []
    assert [row["id"] for row in made(project, {"order": (1, 0)})][1] == "q/dialogue/1", "a sequence of one"
    assert [row["id"] for row in made(project, {})][1] == "q/dialogue"
    assert len(made(project)) == 1


@pytest.mark.parametrize(
    ("drafts", "reason"),
    [
        (({"earlier": (("q/dialogue/1",),)},), r"1: an answer comes from 'q/dialogue/1', no earlier"),
        (({"earlier": (("q/dialogue/2",),)}, {}), "from 'q/dialogue/2'"),
        (({"earlier": (("p/original",),)},), "from 'p/original'.*correct variation dialogue in vouch"),
        (({"earlier": ((),)},), "from ''"),
    ],
)
def test_bad_drafts(project, drafts, reason):
    with refused(reason):
        made(project, *drafts)


def test_an_answer_that_nobody_asks_for_cannot_be_repeated(project):
    drafts = ({"earlier": (("q/original",),)},)
    assert len(made(project, *drafts)) == 2
    with refused(r"repeats the answer to q/original, .*no text; add it to `outputs` of the dataset"):
        made(project, *drafts, outputs="[letters]")


def test_a_conversation_is_read_with_the_items_before(project, item):
    project.vary([item(id="a"), item(id="b", turns=["a"]), item(id="c", turns=["a", "b"]), item(id="d")])
    a, b, c, d = read_items(items_path("toy"), ALL)
    assert b.turns == (a,) and c.turns == (a, b) and [one.goes_on for one in (a, b, c, d)] == [1, 1, 0, 0]
    with refused(r"toy\.parquet: item b follows a, which is no item of its group"):
        project.vary([item(id="a"), item(id="b", group="h", turns=["a"])])


def test_an_instruction_that_repeats_the_question_does_not_repeat_its_picture(project, item):
    (project.templates / "told.yaml").write_text(
        "images: interleaved\nopening: '{instruction} '\nbody: '{question} {options}'\n"
        "instructions: ['Look: {question}']\n",
        "utf-8",
    )
    (row,) = project.vary([item(question="<image 1> red?")], "told")
    assert row["text"].startswith("Look: image 1 red? <image 1> red? A.")


def test_words_made_once_for_an_item_are_those_made_anew(project, item):
    """With marks in the text they depend on the pictures; without, only on words, style and order."""
    variations = ["original", "option_order", "vr_b", "blank", "text_only", "image_only", "labels", "tests"]
    for template in ("kostumov", "azad_mmmu"):
        items = [item(), item(id="q2", question="What is <image 1>?", hint="See <image 1>")]
        together = project.vary(items, template, variations)
        apart = [row for name in variations for row in project.vary(items, template, [name])]
        assert sorted(together, key=lambda row: row["id"]) == sorted(apart, key=lambda row: row["id"])


@pytest.mark.parametrize(
    ("profile", "entry", "outputs"),
    [
        (None, {}, ["letters"]),
        (["letters", "text"], {}, ["letters", "text"]),
        (["letters", "text"], {"outputs": ["likelihood"]}, ["likelihood"]),
        (["text"], {}, ["text"]),
    ],
)
def test_a_profile_or_an_entry_says_what_questions_with_options_are_asked_for(
    project, item, profile, entry, outputs
):
    """Nothing else of a prompt changes, but for the cap that a text needs."""
    items = [item(id="closed"), item(id="open", options=[], references=["x"], kind="text")]
    (plain, _) = project.vary(items, "plain")
    project.outputs = profile
    closed, free = project.vary(items, "plain", entry=entry)
    assert closed["outputs"] == outputs and free["outputs"] == ["text"]
    assert closed | {"outputs": []} == plain | {"outputs": []}
