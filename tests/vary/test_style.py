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
        ({"pictures": "last"}, "pictures: .*'first', 'marks' or 'joined'"),
        ({"absent_hints": "nan"}, "absent_hints"),
        ({"body": ...}, "body: Field required"),
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
