import pytest

from stages.runtime.errors import UserError
from stages.vary.style import Style, parse_style
from stages.yaml12 import load, loads

GOOD = {"body": "{hint}{question}\n{options}", "hint": "{hint}\n", "option": "{mark}) {text}"}
QWEN = r"""
body: "Context: {hint}\nQuestion: {question}\nOptions: \n{options}\nAnswer:"
hint: "{hint}"
no_hint: N/A
option: "{mark}. {text}"
"""


def test_defaults():
    style = parse_style(GOOD, "s.yaml")
    assert style.render(None, "q", [("A", "x"), ("B", "y")]) == "q\nA) x\nB) y"
    assert style.render("h", "q", [("A", "x")]) == "h\nq\nA) x"
    assert style.render("h", "q", []) == "h\nq"
    assert (style.system, style.added, style.pictures) == (None, {}, "first")
    assert (style.asks, style.open_asks, style.response, style.max_tokens) == (
        ("letters",),
        ("text",),
        None,
        None,
    )


def test_other_layouts_are_data():
    style = parse_style(loads(QWEN, "s.yaml"), "s.yaml")
    assert style.render(None, "q", [("A", "x")]) == "Context: N/A\nQuestion: q\nOptions: \nA. x\nAnswer:"
    assert style.render("h", "q", [("A", "x")]).startswith("Context: h\n")


def test_braces_in_an_item_are_text():
    style = parse_style(GOOD, "s.yaml")
    assert style.render("{hint}", "{options} {0}", [("A", "{mark}")]) == "{hint}\n{options} {0}\nA) {mark}"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"optoin": "x"}, r"s\.yaml: optoin: .*did you mean option"),
        ({"body": "{question}"}, r"body: .*must hold \{hint\} and \{question\} and \{options\} once each"),
        ({"body": "{hint}{question}{question}{options}"}, "once each"),
        ({"body": "{hint}{question}{options}{answer}"}, "no other braces"),
        ({"body": "{hint}{question}{options"}, "not a template"),
        ({"option": "{mark!r}. {text}"}, "no other braces"),
        ({"option": "{mark:>9}. {text}"}, "no other braces"),
        ({"option": "{mark.__class__}. {text}"}, "no other braces"),
        ({"hint": "{hint} {}"}, "no other braces"),
        ({"added": {"dunno": "?"}}, "added.dunno"),
        ({"pictures": "last"}, "pictures: .*'first', 'marks', 'joined' or 'merged'"),
        ({"absent_hints": "nan"}, "absent_hints"),
        ({"body": ...}, "body: Field required"),
        ({"asks": ["leters"]}, r"asks: .*unknown name leters; .*did you mean letters\?"),
        ({"asks": ["text", "text"]}, "asks: .*each once"),
        ({"asks": []}, "asks: .*name one or several of letters, likelihood, text"),
        ({"asks": "letters"}, "asks: "),
        ({"open_asks": ["letters"]}, "open_asks: .*unknown name letters; valid: text"),
        ({"max_tokens": 0}, "max_tokens: .*1 to 4096, or references"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"max_tokens": [7]}, "max_tokens"),
        ({"response": 3}, "response"),
    ],
)
def test_bad_style(changes, reason):
    values = {key: value for key, value in {**GOOD, **changes}.items() if value is not ...}
    with pytest.raises(UserError, match=reason) as caught:
        parse_style(values, "s.yaml")
    assert "\n" not in str(caught.value)


def test_no_keys_at_all():
    with pytest.raises(UserError, match="holds no keys"):
        parse_style(None, "s.yaml")


def test_every_style_of_the_project_loads(project):
    for path in sorted(project.styles.glob("*.yaml")):
        assert isinstance(parse_style(load(path), str(path)), Style)
