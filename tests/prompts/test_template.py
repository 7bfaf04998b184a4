""""""

import pytest

from tests.prompts.rows import laid_out
from tests.refusals import refused
from vouch.pipeline.yaml12 import load, loads
from vouch.prompts.template import Template, parse_template, read_template

GOOD = {"body": "{hint}{question}\n{options}", "hint": "{hint}\n", "option": "{label}) {text}"}
QWEN = r"""
body: "Context: {hint}\nQuestion: {question}\nOptions: \n{options}\nAnswer:"
hint: "{hint}"
no_hint: N/A
option: "{label}. {text}"
"""


def test_defaults():
    template = parse_template(GOOD, "s.yaml")
    assert laid_out(template, None, "q", ("A", "x"), ("B", "y")) == "q\nA) x\nB) y"
    assert laid_out(template, "h", "q", ("A", "x")) == "h\nq\nA) x"
    assert laid_out(template, "h", "q") == "h\nq"
    assert (template.system, template.added, template.images) == (None, {}, "first")
    assert (template.outputs, template.response, template.max_tokens) == (("letters",), None, None)


def test_other_layouts_are_data():
    template = parse_template(loads(QWEN, "s.yaml"), "s.yaml")
    assert laid_out(template, None, "q", ("A", "x")) == "Context: N/A\nQuestion: q\nOptions: \nA. x\nAnswer:"
    assert laid_out(template, "h", "q", ("A", "x")).startswith("Context: h\n")


def test_braces_in_an_item_are_text():
    template = parse_template(GOOD, "s.yaml")
    assert (
        laid_out(template, "{hint}", "{options} {0}", ("A", "{label}")) == "{hint}\n{options} {0}\nA) {label}"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"optoin": "x"}, r"s\.yaml: optoin: .*did you mean option"),
        ({"body": "{question}"}, r"the template: .*body must hold \{options\}, because outputs names letters"),
        ({"body": "{hint}{question}{question}{options}"}, r"body: .*no braces but .*each at most once"),
        ({"body": "{hint}{question}{options}{answer}"}, "body: .*no braces but"),
        ({"body": "{hint}{question}{options"}, "not a template"),
        ({"option": "{text}"}, r"option: .*must hold \{label\} and \{text\} once"),
        ({"option": "{label!r}. {text}"}, "option: .*no braces but"),
        ({"option": "{label:>9}. {text}"}, "option: .*no braces but"),
        ({"option": "{label.__class__}. {text}"}, r"option: .*must hold \{label\}"),
        ({"hint": "{hint} {}"}, "hint: .*no braces but"),
        ({"labels": "roman"}, "labels: .*'upper', 'lower' or 'digits'"), ({"pad_to": 1}, "pad_to: "),
        ({"system": "<image 1>"}, "a template holds no `<image 1>`"),
        ({"sample": {"question": "<image 2>", "answer": "A"}}, "a template holds no"),
        ({"instructions": ["a"]}, r"must stand in one of opening, system and body"),
        ({"opening": "{instruction} "}, r"must stand .*only with instructions"),
        ({"opening": "{instruction}", "system": "{instruction}", "instructions": ["a"]}, "must stand in one"),
        ({"opening": "{instruction}", "instructions": ["{options}"]}, r"instructions\.0: .*no braces but"),
        ({"open_body": "{instruction}", "opening": "{instruction}", "instructions": ["a"]}, "only where body"),
        ({"sample": {"question": "q", "answer": "{label}"}}, r"sample\.answer: .*no braces but"),
        ({"sample": {"question": "q"}}, r"sample\.answer: Field required"),
        ({"equal_options": "maybe"}, "equal_options: "), ({"added": {"dunno": "?"}}, "added.dunno"),
        ({"images": "last"}, "images: .*'first', 'interleaved', 'joined' or 'merged'"),
        ({"absent_hints": "nan"}, "absent_hints"), ({"body": ...}, "body: Field required"),
        ({"outputs": ["leters"]}, r"outputs: .*unknown name leters; .*did you mean letters\?"),
        ({"outputs": ["text", "text"]}, "outputs: .*text is a duplicate; name it once"),
        ({"outputs": []}, "outputs: .*name one or several of letters, likelihood, text"),
        ({"outputs": "letters"}, "outputs: "), ({"variants": ["free"]}, "variants: must map each name"),
        ({"variants": {"free": "body"}}, "variants: must map each name"),
        ({"max_tokens": 0}, "max_tokens: .*1 to 4096, or references"), ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"), ({"max_tokens": [7]}, "max_tokens"),
        ({"response": 3}, "response"),
    ],
)  # fmt: skip
def test_bad_template(changes, reason):
    values = {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}
    with refused(reason):
        parse_template(values, "s.yaml")


def test_no_keys_at_all():
    with refused("holds no keys"):
        parse_template(None, "s.yaml")


def test_every_template_of_the_project_loads(project):
    for path in sorted(project.templates.glob("*.yaml")):
        value = load(path)
        for variant in (None, *value.get("variants", {})):
            assert isinstance(parse_template(value, str(path), variant), Template)


def test_a_variant_replaces_keys():
    values = GOOD | {"system": "s", "variants": {"bare": {"option": "{label} {text}", "system": None}}}
    template = parse_template(values, "s.yaml", "bare")
    assert (template.option, template.system, template.body) == ("{label} {text}", None, GOOD["body"])
    assert parse_template(values, "s.yaml").system == "s"
    with refused(r"s\.yaml: no variant bear; .*did you mean bare"):
        parse_template(values, "s.yaml", "bear")
    values["variants"]["bare"]["optoin"] = "x"
    with refused(r"s\.yaml: variants\.bare: optoin: .*did you mean option"):
        parse_template(values, "s.yaml", "bare")


@pytest.mark.parametrize("name", ["plain", "parc"])
def test_a_variant_that_a_key_replaced_names_the_key(project, name):
    with refused(
        rf"{name}\.yaml: has no variant spoken any more; write `outputs: \[letters, likelihood, text\]`"
    ):
        read_template(name, "spoken")
    assert read_template("kostumov", "spoken").max_tokens == 6


def test_what_is_added_up_to_a_number():
    template = parse_template(
        GOOD | {"added": {"dont_know": "?", "none_of_above": "-"}, "pad_to": 5}, "s.yaml"
    )
    assert [list(template.added_to(count).values()) for count in (2, 3, 4, 5, 6)] == [
        ["?", "-"],
        ["?", "-"],
        ["?"],
        [],
        [],
    ]


def test_a_sample_answers_as_the_response_begins():
    sample = {"question": "ok? Options: (A) yes.", "answer": "{response}(A) yes"}
    with_response = parse_template(GOOD | {"sample": sample, "response": "It is"}, "s.yaml")
    assert with_response.sample_turn() == ("ok? Options: (A) yes.", "It is (A) yes")
    assert parse_template(GOOD | {"sample": sample}, "s.yaml").sample_turn() == (
        sample["question"],
        "(A) yes",
    )
    assert parse_template(GOOD, "s.yaml").sample_turn() is None


@pytest.mark.parametrize("variant", [None, "free"])
def test_outputs_may_replace_those_of_the_template(variant):
    values = GOOD | {"outputs": ["letters"], "variants": {"free": {"outputs": ["text"]}}}
    replaced = parse_template(values, "s.yaml", variant, ["likelihood", "text"])
    assert replaced.outputs == ("likelihood", "text")
    own = parse_template(values, "s.yaml", variant)
    assert replaced.model_dump(exclude={"outputs"}) == own.model_dump(exclude={"outputs"})
    with refused("body must hold .*because outputs names letters"):
        parse_template({"body": "{question}", "outputs": ["text"]}, "s.yaml", None, ["letters"])
