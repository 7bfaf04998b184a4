"""Logs of samples of lm-evaluation-harness and lmms-eval."""

import gzip
import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.refusals import refused
from vouch.models.released import objects
from vouch.models.released import samples as reader
from vouch.models.released.samples import HARNESSES, read_samples
from vouch.pipeline.errors import UserError
from vouch.tables.answered import LIKELIHOOD, TEXT, likelihood_path, text_path

# The project's items in their order: 5, 3, 9, whose prompts show 4, 3 and 4 options.
CHOICES = {"5": [-1.5, -0.25, -3.0, -4.0], "3": [-0.1, -20.5, -7.0], "9": [-2.0, -2.0, -1e-9, -5.0]}


def choice(doc_id, values, **more):
    """A line of lm-evaluation-harness for a multiple_choice task."""
    pairs = [[str(value), str(value == max(values))] for value in values]
    return {
        "doc_id": doc_id,
        "doc": {"question": "q", "nested": {"name": list(CHOICES)[doc_id]}},
        "target": "1",
        "arguments": {f"gen_args_{n}": {"arg_0": "q", "arg_1": " x"} for n in range(len(pairs))},
        "resps": [[pair] for pair in pairs],
        "filtered_resps": pairs,
        "filter": "none",
        "metrics": ["acc"],
        "acc": 1.0,
        **more,
    }


def generated(doc_id, text, **more):
    """A line of lm-evaluation-harness for a generate_until task."""
    return {"doc_id": doc_id, "doc": {}, "resps": [[text]], "filtered_resps": [text.upper()], **more}


LINES = [choice(number, values) for number, values in enumerate(CHOICES.values())]
TEXTS = [generated(number, text) for number, text in enumerate(("A dog.", "", "Zwei\nHüte \U0001f3a9"))]


def likelihoods():
    rows = LIKELIHOOD.read(likelihood_path("m", "toy")).to_pylist()
    return {(row["prompt"], row["option"]): row["nll"] for row in rows}


def texts():
    return {row["prompt"]: row["text"] for row in TEXT.read(text_path("m", "toy")).to_pylist()}


EXPECTED = {
    (f"{item}/original", option): -value
    for item, values in CHOICES.items()
    for option, value in enumerate(values)
}


@pytest.mark.parametrize("name", ["samples.jsonl", "samples_toy_2026.jsonl.gz"])
@pytest.mark.parametrize("form", ["lm_eval", "lmms_eval"])
def test_choices_become_likelihoods(project, name, form):
    letters = project.ingest(project.log(*LINES[::-1], name=name), form=form)
    assert letters.num_rows == 0 and texts() == {}
    assert likelihoods() == EXPECTED and list(likelihoods()) == list(EXPECTED)
    rows = LIKELIHOOD.read(likelihood_path("m", "toy")).to_pylist()
    rest = {
        "tokens": None,
        "bytes": None,
        "pixels": "",
        "engine": "released/1",
        "mode": None,
        "rows": None,
        "device": "released",
        "flags": [],
        "problem": None,
    }
    assert all({name: row[name] for name in rest} == rest for row in rows)
    assert project.rows == 11


def test_texts_are_those_before_any_filter(project):
    project.ingest(project.log(*TEXTS), form="lm_eval")
    assert texts() == {"5/original": "A dog.", "3/original": "", "9/original": "Zwei\nHüte \U0001f3a9"}
    assert likelihoods() == {}
    rows = TEXT.read(text_path("m", "toy")).to_pylist()
    assert {(row["temperature"], row["sample"], row["logprobs"], row["eos"]) for row in rows} == {
        (0.0, 0, None, None)
    }


def without(line, *names):
    return {name: value for name, value in line.items() if name not in names}


@pytest.mark.parametrize(
    "shape",
    [
        lambda line: line,
        lambda line: without(line, "doc", "arguments", "resps"),
        lambda line: line | {"resps": [[[float(v), g == "True"]] for v, g in line["filtered_resps"]]},
    ],
)
def test_shapes_of_choices(project, shape):
    project.ingest(project.log(*map(shape, LINES)), form="lmms_eval")
    assert likelihoods() == EXPECTED


@pytest.mark.parametrize(
    "shape",
    [
        {"resps": [["t"]], "filtered_resps": ["t"]},
        {"filtered_resps": ["t"]},
        {"resps": ["t"], "filtered_resps": "T"},
        {"filtered_resps": "t"},
    ],
)
def test_shapes_of_texts(project, shape):
    project.ingest(project.log(*({"doc_id": n, **shape} for n in range(3))), form="lmms_eval")
    assert set(texts().values()) == {"t"}


def as_logs(lines, **how):
    """As lmms-eval 0.1 wrote it."""
    return json.dumps({"args": {"tasks": "toy", "depth": [[]]}, "logs": lines, "time": 1.5e1}, **how).encode()


DOCUMENTS = {
    "a list": lambda lines: json.dumps(lines).encode(),
    "an indented list": lambda lines: json.dumps(lines, indent=2).encode(),
    "a list, a line each": lambda lines: b"[\n" + b",\n".join(json.dumps(line).encode() for line in lines) + b"\n]\n",
    "a list after a mark and blanks": lambda lines: b"\xef\xbb\xbf \r\n" + json.dumps(lines, indent=1).encode(),
    "logs": as_logs,
    "indented logs": lambda lines: as_logs(lines, indent=4),
    "logs after a line": lambda lines: b'{"time": 1.5,\n"logs":' + json.dumps(lines).encode() + b"}",
    "files one after the other": lambda lines: b"\n".join(b"\xef\xbb\xbf" + json.dumps(line).encode() for line in lines),
    "lines after a mark": lambda lines: b"\xef\xbb\xbf" + b"\n".join(json.dumps(line).encode() for line in lines),
    "lines that end in CRLF": lambda lines: b"\r\n".join(json.dumps(line).encode() for line in lines),
    "long samples": lambda lines: json.dumps([line | {"doc": "x" * 200_000} for line in lines]).encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.json", "samples.jsonl.gz"])
@pytest.mark.parametrize("document", DOCUMENTS)
def test_forms_that_versions_wrote(project, document, name):
    path = project.log(DOCUMENTS[document](LINES), name=name)
    project.ingest(path, form="lm_eval")
    assert likelihoods() == EXPECTED


@pytest.mark.parametrize(
    "empty", [{"resps": [[None]]}, {"resps": [None]}, {"resps": None}, {"filtered_resps": [None]}]
)
def test_a_null_response_is_no_answer(project, empty):
    """Among texts and among choices; where all are null, no answer at all was released."""
    project.ingest(project.log(TEXTS[0], {"doc_id": 1, **empty}, TEXTS[2]), form="lmms_eval")
    rows = {row["prompt"]: row for row in TEXT.read(text_path("m", "toy")).to_pylist()}
    assert [row["text"] for row in rows.values()] == ["A dog.", None, TEXTS[2]["resps"][0][0]]
    assert rows["3/original"]["problem"] == "the released file has no answer"
    project.ingest(project.log({"doc_id": 0, **empty}, *LINES[1:]), form="lmms_eval")
    rows = LIKELIHOOD.read(likelihood_path("m", "toy")).to_pylist()
    assert [row["nll"] for row in rows[:5]] == [None] * 4 + [0.1] and texts() == {}
    assert [row["problem"] for row in rows[3:5]] == ["the released file has no answer", None]
    project.ingest(project.log(*({"doc_id": number, **empty} for number in range(3))), form="lmms_eval")
    assert list(texts().values()) == [None] * 3 and likelihoods() == {}


def test_choices_once_more_without_the_question(project):
    """As tasks log them that score the mutual information of question and choice."""
    twice = [line | {"resps": line["resps"] * 2, "acc_mutual_info": 1.0} for line in LINES]
    project.ingest(project.log(*twice), form="lm_eval")
    assert likelihoods() == EXPECTED


def test_what_cannot_be_is_kept_but_not_alone(project):
    lines = [choice(0, [-1.0, -math.inf, -2.0, -3.0]), *LINES[1:]]
    project.ingest(project.log(*lines), form="lm_eval")
    assert likelihoods()["5/original", 1] == math.inf
    with refused(r"line 1: doc_id 0: all its choices are impossible"):
        project.ingest(project.log(choice(0, [-math.inf] * 4), *LINES[1:]), form="lm_eval")


def test_a_filter_is_chosen_where_there_are_several(project):
    both = [line | {"filter": name} for name in ("strict", "loose") for line in TEXTS]
    path = project.log(*both)
    with refused(r"line 4: doc_id 0: stands already in line 1; .*key filter: loose, strict"):
        project.ingest(path, form="lm_eval")
    project.ingest(path, form="lm_eval", filter="loose")
    assert len(texts()) == 3
    with refused("no samples of filter lose, only of loose, strict"):
        project.ingest(path, form="lm_eval", filter="lose")


class TestJoin:
    def test_a_key_names_items_by_id(self, project):
        shuffled = [LINES[1], LINES[2] | {"doc_id": 70}, LINES[0] | {"doc_id": 1000}]
        path = project.log(*shuffled)
        project.ingest(path, form="lm_eval", key="doc.nested.name")
        assert likelihoods() == EXPECTED
        with refused(r"3 samples up to doc_id 1000, toy has 3 items: .*`key: doc\.id`"):
            project.ingest(path, form="lm_eval")

    def test_or_by_source_id(self, project):
        project.prompts({"a": 4, "b": 3, "c": 4}, "original", sources=list(CHOICES))
        project.ingest(project.log(*LINES), form="lm_eval", key="doc.nested.name")
        assert {key[0] for key in likelihoods()} == {"a/original", "b/original", "c/original"}
        assert likelihoods()["b/original", 1] == 20.5

    def test_but_not_by_either(self, project):
        project.prompts({"5": 4, "3": 3, "9": 4}, "original", sources=["9", "3", "5"])
        with refused(r"line 1: '5' is the id of one item .* source_id of another"):
            project.ingest(project.log(*LINES), form="lm_eval", key="doc.nested.name")

    @pytest.mark.parametrize(
        ("sources", "names", "reason"),
        [
            ("539", "538", r"line 3: doc_id 2: names '8', which is no item of toy"),
            ("539", "535", r"line 3: doc_id 2: names '5', which line 1 names already"),
            ("xxy", "xyz", r"line 1: doc_id 0: names 'x', which is 2 items of toy"),
            ("xyz", "5yz", "now by id, now by source_id"),
        ],
    )
    def test_names_that_do_not_fit(self, project, sources, names, reason):
        project.prompts({"5": 4, "3": 3, "9": 4}, "original", sources=list(sources))
        lines = [line | {"name": name} for line, name in zip(LINES, names, strict=True)]
        with refused(reason):
            project.ingest(project.log(*lines), form="lm_eval", key="name")

    def test_every_item_needs_a_sample(self, project):
        path = project.log(*LINES[:2])
        with refused("no sample for item 9 of toy, like 1 of its 3 items"):
            project.ingest(path, form="lm_eval", key="doc.nested.name")
        with refused("2 samples up to doc_id 1, toy has 3 items"):
            project.ingest(path, form="lm_eval")

    def test_choices_are_the_options(self, project):
        lines = [LINES[0], choice(1, [-1.0, -2.0]), LINES[2]]
        with refused(r"samples\.jsonl line 2: doc_id 1: 2 choices, prompt 3/original shows 3"):
            project.ingest(project.log(*lines), form="lm_eval")


def number(value):
    """A log whose second choice of the second line has this log-likelihood, as JSON."""
    line = b'{"doc_id": 1, "resps": [[["-1", "False"]], [[%s, "False"]], [["-1", "False"]]]}' % value
    return (LINES[0], line, LINES[2])


BAD = {
    "NaN": (number(b"NaN"), "line 2: doc_id 1: log-likelihood 2 is 'nan', which is not a number of at most 0"),
    "nan in a text": (number(b'"nan"'), "log-likelihood 2 is 'nan'"),
    "infinity": (number(b"Infinity"), "log-likelihood 2 is 'inf', which is positive"),
    "a loss": (number(b"2.75"), "log-likelihood 2 is '2.75', which is positive, perhaps a loss"),
    "a loss in a text": (number(b'"2.75"'), "is positive, perhaps a loss"),
    "too large": (number(b"-1e999"), "line 2: not JSON .*the number -1e999 is too large"),
    "too large in a text": (number(b'"-1e999"'), "log-likelihood 2 is '-1e999', which is not a number"),
    "a huge whole number": (number(b"-1" + b"0" * 400), "log-likelihood 2 is '-10000"),
    "more digits than Python reads": (number(b"-1" + b"0" * 9000), "line 2: not JSON"),
    "true": (number(b"true"), "log-likelihood 2 is 'True'"),
    "null": (number(b"null"), "log-likelihood 2 is 'None'"),
    "words": (number(b'"low"'), "log-likelihood 2 is 'low'"),
    "a list": (number(b"[-1]"), "log-likelihood 2 is a list"),
    "python's own spelling": (number(b'"-1_0"'), "log-likelihood 2 is '-1_0'"),
    "deep lists": ((b'{"doc_id": 0, "resps": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",), "line 1: nested too deep"),
    "deep objects": ((b'{"a":' * 100_000,), "line 1: nested too deep"),
    "deep but read": ((b'{"doc_id": 0, "resps": ' + b"[" * 400 + b"]" * 400 + b"}",), "neither one text nor"),
    "not UTF-8": ((b'{"doc_id": 0, "resps": "\xff"}',), "line 1: not JSON in UTF-8"),
    "not JSON": ((LINES[0], b'{"doc_id": 1,'), "line 2: not JSON"),
    "two objects": ((b'{"doc_id": 0}{"doc_id": 1}',), "line 1: not JSON"),
    "no object": ((b"1",), "line 1: holds a int, not an object"),
    "no object in a list": ((b"[1]",), "sample 1: holds a int, not an object"),
    "a list without its end": ((b'[{"doc_id": 0, "resps": "x"}',), "sample 1: not JSON .the end of the file instead of ,"),
    "a list without a comma": ((b'[{"doc_id": 0, "resps": "x"} {"doc_id": 1}]',), "sample 1: not JSON .. instead of ,"),
    "half an object in a list": ((b'[{"doc_id": 0, "resps": "x"}, {"doc_id": 1',), "sample 2: not JSON"),
    "two lists": ((b'[{"doc_id": 0, "resps": "x"}]', b"[]"), "more text after its list of samples"),
    "an empty list": ((b"[]",), "holds no samples"),
    "a deep list": ((b"[" * 100_000,), "sample 1: nested too deep"),
    "a list not in UTF-8": ((b'[{"doc_id": 0, "resps": "\xff"}]',), "not JSON in UTF-8"),
    "twice in a list": ((b'[{"doc_id": 0, "resps": "x"}, {"doc_id": 0, "resps": "x"}]',), "sample 2: doc_id 0: stands already in sample 1"),
    "an object over several lines": ((b'{\n"doc_id": 0,\n"resps": "x"\n}',), "one object without a list of samples under logs"),
    "logs twice": ((b'{\n"logs": [{"doc_id": 0, "resps": "x"}],\n"logs": []\n}',), "logs stands twice; keep one"),
    "no list under logs": ((b'{\n"logs": {}\n}',), "one object without a list of samples under logs"),
    "nothing": ((), "holds no samples"),
    "blank lines": ((b"", b"  "), "holds no samples"),
    "no doc_id": (({"resps": [["x"]]},), "line 1: doc_id is 'None', not a number from 0"),
    "doc_id a text": (({"doc_id": "0", "resps": [["x"]]},), "doc_id is '0'"),
    "doc_id true": (({"doc_id": True, "resps": [["x"]]},), "doc_id is 'True'"),
    "doc_id negative": (({"doc_id": -1, "resps": [["x"]]},), "doc_id is '-1'"),
    "doc_id huge": ((b'{"doc_id": 1' + b"0" * 300 + b"}",), "doc_id is '1000"),
    "doc_id a list": (({"doc_id": [0]},), "doc_id is a list"),
    "doc_id twice": ((LINES[0], LINES[0]), "line 2: doc_id 0: stands already in line 1; keep one"),
    "no responses": (({"doc_id": 0},), "line 1: doc_id 0: has no responses; write the log with --log_samples"),
    "responses a number": (({"doc_id": 0, "resps": 7},), "neither one text nor"),
    "responses an object": (({"doc_id": 0, "resps": {"a": 1}},), "neither one text nor"),
    "empty responses": (({"doc_id": 0, "resps": []},), "neither one text nor"),
    "an empty response": (({"doc_id": 0, "resps": [[]]},), "0 responses to one request"),
    "repeats": (({"doc_id": 0, "resps": [["a", "b"]]},), "2 responses to one request; .*without repeats"),
    "several texts": (({"doc_id": 0, "resps": [["a"], ["b"]]},), "neither one text nor"),
    "text among choices": (({"doc_id": 0, "resps": [["a"], [["-1", "False"]]]},), "neither one text nor"),
    "choices, then texts": ((LINES[0], TEXTS[1]), "line 2: doc_id 1: a log holds either choices or texts"),
    "half a surrogate pair": ((b'{"doc_id": 0, "resps": "\\ud800"}',), "doc_id 0: its text holds half a surrogate"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("form", ["lm_eval", "lmms_eval"])
def test_bad_logs(project, case, form):
    lines, reason = BAD[case]
    with refused(reason) as caught:
        project.ingest(project.log(*lines), form=form)
    message = str(caught.value)
    assert "samples.jsonl" in message and "\n" not in message and len(message) < 400
    assert project.written() == []


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("doc.id", "no field id of key doc.id, it has question, nested"),
        ("doc.question.id", "no field id of key doc.question.id, it has no fields"),
        ("", "key"),
        ("doc", "doc: id is a dict, neither an integer nor a text"),
        ("acc", "acc: id is a float"),
    ],
)
def test_bad_keys(project, key, reason):
    with pytest.raises((UserError, ValueError), match=reason):
        project.ingest(project.log(*LINES), form="lm_eval", key=key)
    assert project.written() == []


def test_sizes_are_bounded(project, monkeypatch):
    monkeypatch.setattr(objects, "MAX_LINE", 1000)
    long = project.log({"doc_id": 0, "resps": "x" * 1000}, name="long.jsonl.gz")
    with refused(r"long\.jsonl\.gz line 1: longer than 1,000 bytes"):
        project.ingest(long, form="lm_eval")
    monkeypatch.setattr(objects, "MAX_UNPACKED", 100_000)
    bomb = project.log(*[{"doc_id": n, "resps": "x" * 900} for n in range(200)], name="bomb.jsonl.gz")
    assert bomb.stat().st_size < 5000
    with refused(r"bomb\.jsonl\.gz line 10\d: longer .* or the file than 100,000"):
        project.ingest(bomb, form="lm_eval")
    with refused(r"long\.json sample 1: not JSON, or longer than 1,000 characters"):
        project.ingest(
            project.log(b'[{"doc_id": 0, "resps": "%s"}]' % (b"x" * 1000), name="long.json"), form="lm_eval"
        )
    monkeypatch.setattr(objects, "MAX_LIST", 100_000)
    bomb = project.log(b"[" + b"1," * 100_000, name="bomb.json.gz")
    with refused(r"bomb\.json\.gz: a list of more than 100,000 bytes"):
        project.ingest(bomb, form="lm_eval")
    monkeypatch.setattr(reader, "MAX_ROWS", 2)
    with refused(r"line 3: .*2 at most"):
        project.ingest(project.log(*TEXTS), form="lm_eval")


def test_damaged_gzip(project):
    whole = gzip.compress(b"".join(b'{"doc_id": %d, "resps": "x"}\n' % n for n in range(300)))
    for data in (whole[:30], whole[:12] + b"\xff" * 12 + whole[24:], whole[:-8] + b"\0" * 8):
        path = project.root / "x.jsonl.gz"
        path.write_bytes(data)
        with refused(r"x\.jsonl\.gz line \d+: not readable as gzip"):
            project.ingest(path, form="lmms_eval")


PAIR = st.tuples(st.floats() | st.floats().map(str), st.sampled_from([True, False, "True", "False"])).map(
    list
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | PAIR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=30)  # tests/fuzz goes on for longer
@example(None, 0, HARNESSES["lm_eval"])
@given(JSON, JSON, st.sampled_from([*HARNESSES.values()]))
def test_anything_is_read_or_refused(responses, name, harness):
    line = json.dumps({"doc_id": 0, "resps": responses, "name": name}).encode()
    try:
        (sample,) = read_samples(line, "x", harness, "name", None)
    except UserError:
        return
    assert sample.text is None or not sample.choices
    assert sample.text is not None or sample.choices or b"null" in line  # null: it gave no answer
    assert all(value <= reader.ROUNDING for value in sample.choices)


def test_same_inputs_same_bytes(project):
    project.ingest(project.log(*LINES), form="lm_eval")
    before = likelihood_path("m", "toy").read_bytes()
    project.ingest(project.log(*LINES[::-1], name="again.jsonl.gz"), form="lm_eval")
    assert likelihood_path("m", "toy").read_bytes() == before
