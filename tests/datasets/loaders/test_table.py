"""The loader `table`: every form of table, of answer and of image, what is refused, and Easy-VQA."""

import base64
import csv
import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import (
    Dataset,
    Features,
    Image,
    List,
    Value,
    get_dataset_config_names,
    load_dataset,
    load_dataset_builder,
)
from pydantic import ValidationError

from tests.bounds import bounded
from tests.datasets.loaders.built import archive, coded, png
from tests.models.pins.loopback_hub import Repo, serving
from tests.models.project import ROOT
from vouch.datasets.fetch.hub import choose
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.loaders.table import Settings
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

COLUMNS = {"question": "q", "options": ["A", "B", "C"], "answer": "right", "image": "photo", "id": "no"}
COLUMNS |= {"category": "kind", "group": "scene", "hint": "note"}
ROW = {"no": "007", "q": "Which?", "A": "None", "B": "NA", "C": "x", "right": "B", "photo": "pics/0.png"}
ROW |= {"kind": "colour", "scene": "1", "note": ""}
ROWS = [ROW, {**ROW, "no": "8", "C": "", "right": "A", "photo": "pics/1.png", "note": "Look."}]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """The rows in the form that the file's ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", encoding="utf-8-sig", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif path.suffix == ".parquet":
        Dataset.from_list(rows).to_parquet(path)
    else:
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)


def prepare(project: Any, **settings: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = project.prepare("table", **settings)["items"].to_pylist()
    return items


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.json", "t.parquet", "t.arrow"])
def test_every_form_gives_the_same_items(project: Any, name: str) -> None:
    """`007`, `NA` and `None` stay texts; an empty last option is none; images lie beside the table."""
    for shade in (0, 1):
        project.image(f"pics/{shade}.png", shade=shade)
    write(project.source / name, ROWS)
    first, second = prepare(project, columns=COLUMNS)
    assert (first["id"], first["options"], first["answers"]) == ("007", ["None", "NA", "x"], [1])
    assert (first["category"], first["hint"], second["hint"]) == ("colour", None, "Look.")
    assert (second["options"], second["answers"]) == (["None", "NA"], [0])
    assert first["images"] != second["images"]
    assert first["group"] == second["group"]


@pytest.mark.parametrize(
    ("answer", "cell", "right"),
    [("index", "1", 1), ("number", "1", 0), ("letter", "C", 2), ("text", "A", 1), ("auto", "C", 2)],
)
def test_what_an_answer_is(project: Any, answer: str, cell: str, right: int) -> None:
    """`A` is the text of the second option, and the letter of the first: `auto` would refuse it."""
    write(project.source / "t.csv", [{"q": "Which?", "a": "x", "b": "A", "c": "1", "right": cell}])
    columns = {"question": "q", "options": ["a", "b", "c"], "answer": "right"}
    (item,) = prepare(project, columns=columns, answer=answer)
    assert item["answers"] == [right]


@pytest.mark.parametrize(
    ("answer", "cell", "said"),
    [
        ("index", "3", "is not one of its 3 options"),
        ("number", "0", "is not one of its 3 options"),
        ("letter", "D", "is not one of the letters"),
        ("text", "z", "is the text of none"),
        ("text", "A", "is the text of several"),
        ("auto", "A", "can mean option A or B or C; give the 0-based index"),
        ("auto", "", "neither a letter nor the text"),
    ],
)
def test_answers_that_are_none(project: Any, answer: str, cell: str, said: str) -> None:
    write(project.source / "t.csv", [{"q": "Which?", "a": "x", "b": "A", "c": "A", "right": cell}])
    columns = {"question": "q", "options": ["a", "b", "c"], "answer": "right"}
    with pytest.raises(UserError, match=said):
        prepare(project, columns=columns, answer=answer)


def test_lists_open_questions_and_a_closed_list_of_answers(project: Any) -> None:
    rows: list[dict[str, Any]] = [
        {"q": "Which?", "among": ["a", "b"], "right": [0, 1], "said": None},
        {"q": "What?", "among": [], "right": None, "said": ["stop", "STOP"]},
    ]
    write(project.source / "t.parquet", rows)
    columns = {"question": "q", "options": "among", "answer": "right", "references": "said"}
    choice, text = prepare(project, columns=columns)
    assert (choice["kind"], choice["answers"]) == ("choice", [0, 1])
    assert (text["kind"], text["references"]) == ("text", ["stop", "STOP"])
    write(project.source / "t.parquet", [{"q": "Red?", "right": "no"}])
    (item,) = prepare(project, columns={"question": "q", "answer": "right"}, choices=["yes", "no"])
    assert (item["options"], item["answers"], item["id"]) == (["yes", "no"], [1], "0")


def test_images_in_cells(project: Any) -> None:
    """Those of the hub's image feature stay as they are encoded, as do those in base64."""
    digest = sha256(png(5)).hexdigest()
    features = Features({"q": Value("string"), "said": Value("string"), "photo": Image()})
    rows = [{"q": "What?", "said": "5", "photo": {"bytes": png(5), "path": "5.png"}}]
    Dataset.from_list(rows, features=features).to_parquet(project.source / "t.parquet")
    columns = {"question": "q", "references": "said", "image": "photo"}
    assert prepare(project, columns=columns)[0]["images"] == [digest]
    (project.source / "t.parquet").unlink()
    write(project.source / "t.csv", [{"q": "What?", "said": "5", "photo": coded(5), "more": ""}])
    assert prepare(project, columns=columns | {"image": ["photo", "more"]})[0]["images"] == [digest]


def test_images_beside_the_table_and_in_its_archive(project: Any) -> None:
    """As an imagefolder of the hub has them: a table in the folder of its images."""
    digest = sha256(png(5)).hexdigest()
    (project.source / "train").mkdir()
    (project.source / "train/5.png").write_bytes(png(5))
    write(project.source / "train/metadata.csv", [{"file_name": "5.png", "q": "What?", "said": "5"}])
    columns = {"question": "q", "references": "said", "image": "file_name"}
    assert prepare(project, columns=columns)[0]["images"] == [digest]
    (project.source / "train/5.png").unlink()
    archive(project.source / "pictures.zip", {"train/5.png": png(5)})
    assert prepare(project, columns=columns)[0]["images"] == [digest]


OPEN = {"question": "q", "references": "said"}
TYPED = {
    "float of 32 bits": (pa.array([0.1, 2.5], pa.float32()), [["0.1"], ["2.5"]]),
    "float of 16 bits": (pa.array(np.array([0.1, 2.5], np.float16)), [["0.1"], ["2.5"]]),
    "float of 64 bits": (pa.array([0.1, 2.5]), [["0.1"], ["2.5"]]),
    "lists of floats of 32 bits": (pa.array([[0.1, 3.3], [7]], pa.list_(pa.float32())), [["0.1", "3.3"], ["7.0"]]),
    "integer": (pa.array([3, -4]), [["3"], ["-4"]]),
    "dictionary": (pa.array(["a", "b"]).dictionary_encode(), [["a"], ["b"]]),
    "nan": (pa.array([1.5, float("nan")]), "row 2: said is empty"),
    "nan of 32 bits": (pa.array([1.5, float("nan")], pa.float32()), "row 2: said is empty"),
    "infinity": (pa.array([1.5, float("inf")]), "row 2: said is infinite; correct it"),
    "minus infinity of 32 bits": (pa.array([1.5, float("-inf")], pa.float32()), "row 2: said is infinite"),
    "truth": (pa.array([True, False]), "row 1: said is a bool, not a text; write the words, such as yes and no"),
    "lists of truths": (pa.array([["a"], ["b"]]), [["a"], ["b"]]),
    "a list with an empty place": (pa.array([["a"], ["b", None]]), "row 2: said is a list with a missing answer"),
    "a list with nan": (pa.array([[1.5], [2.5, float("nan")]]), "row 2: said is a list with a missing answer"),
    "null": (pa.array(["a", None]), "row 2: said is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
@pytest.mark.parametrize("kind", TYPED)
def test_references_of_every_type(project: Any, kind: str, name: str) -> None:
    """A number is the text that a person would write; what is no answer does not become one."""
    said, wanted = TYPED[kind]
    if name == "t.parquet":
        pq.write_table(pa.table({"q": ["What?", "Who?"], "said": said}), project.source / name)
    else:
        write_arrow(project.source / name, pa.table({"q": ["What?", "Who?"], "said": said}))
    if isinstance(wanted, str):
        with pytest.raises(UserError, match=wanted):
            prepare(project, columns=OPEN)
    else:
        assert [item["references"] for item in prepare(project, columns=OPEN)] == wanted


def write_arrow(path: Path, table: pa.Table, packed: str | None = None, indexed: bool = False) -> None:
    how = pa.ipc.IpcWriteOptions(compression=packed)
    new = pa.ipc.new_file if indexed else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as out, new(out, table.schema, options=how) as writer:
        writer.write_table(table, max_chunksize=17)


def of_one_row(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays([0, len(values)], values)


LONG = "x" * 140_000_000


def parquet_bomb(columns: dict[str, Any], **how: Any) -> Callable[[Path], None]:
    return lambda at: pq.write_table(pa.table(columns), at / "t.parquet", **how)


def arrow_bomb(columns: Callable[[], dict[str, Any]], *how: Any) -> Callable[[Path], None]:
    return lambda at: write_arrow(at / "t.arrow", pa.table(columns()), *how)


def dictionary(rows: int, text: str) -> pa.Array:
    return pa.DictionaryArray.from_arrays([0] * rows, [text])


LINES_OF_LONG = {"q": [LONG[: 10**7]] * 16, "said": ["5"] * 16}
BOMBS: dict[str, Callable[[Path], None]] = {
    "one cell of parquet": parquet_bomb(
        {"q": [LONG], "said": ["5"]}, compression="zstd", use_dictionary=False
    ),
    "a dictionary of parquet": parquet_bomb(
        LINES_OF_LONG, compression="zstd", dictionary_pagesize_limit=10**9
    ),
    "a list of parquet": parquet_bomb(
        {"q": ["a"], "said": [[LONG[: 10**6]] * 140]}, compression="gzip", use_dictionary=False
    ),
    "one cell of a stream": arrow_bomb(lambda: {"q": [LONG], "said": ["5"]}, "zstd"),
    "one cell of a file": arrow_bomb(lambda: {"q": [LONG], "said": ["5"]}, "lz4", True),
    "a dictionary of a stream": arrow_bomb(lambda: {"q": dictionary(16, LONG), "said": ["5"] * 16}, "zstd"),
    "a dictionary that is not packed": arrow_bomb(lambda: {"q": dictionary(16, LONG), "said": ["5"] * 16}),
    "a dictionary within a list": arrow_bomb(
        lambda: {"q": ["a"], "said": of_one_row(dictionary(400, LONG[: 10**6]))}
    ),
    "a run within a list": arrow_bomb(
        lambda: {"q": ["a"], "said": of_one_row(pa.RunEndEncodedArray.from_arrays([400_000], ["x" * 1000]))}
    ),
    "a list of nothing": arrow_bomb(lambda: {"q": ["a"], "said": of_one_row(pa.nulls(10**8))}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_becomes_large(project: Any, name: str) -> None:
    """Refused by its size before a text is made of it."""
    BOMBS[name](project.source)
    with (
        bounded(),
        pytest.raises(UserError, match=r"looks like a bomb|has .* bytes, more than 134,217,728"),
    ):
        prepare(project, columns=OPEN)


@pytest.mark.parametrize("packed", ["zstd", "lz4", None])
@pytest.mark.parametrize("indexed", [True, False])
def test_packed_arrow(project: Any, packed: str | None, indexed: bool) -> None:
    words = [" ".join(f"{n}{k}" for k in range(300)) for n in range(40)]
    table = pa.table({"q": words, "said": pa.array(["yes", "no"] * 20).dictionary_encode()})
    write_arrow(project.source / "t.arrow", table, packed, indexed)
    assert [item["question"] for item in prepare(project, columns=OPEN)] == words


def test_names_of_columns_show_their_blanks(project: Any) -> None:
    for head, shown in {
        "q ,said": "'q ', said", "q\u00a0,said": r"'q\xa0', said", "\ufeff q,said": "' q', said",
        "a  b,said": r"'a\x20\x20b', said", "q\u200b,said": r"'q\u200b', said",
        "my question,said": "my question, said", ",said": "'', said",
    }.items():  # fmt: skip
        (project.source / "t.csv").write_text(f"{head}\nWhat?,5\n", "utf-8")
        with pytest.raises(UserError, match=re.escape(f"no column q; it has {shown}; is it")):
            prepare(project, columns=OPEN)


def test_rows_that_are_lists_and_images_that_are_numbers(project: Any) -> None:
    project.image("pics/17.png")
    (project.source / "t.json").write_text('[["What?", "5", 17], ["Who?", "6", null]]')
    columns = {"question": "0", "references": "1", "image": "2"}
    first, second = prepare(project, columns=columns, image="pics/{}.png")
    assert (len(first["images"]), second["images"], second["references"]) == (1, [], ["6"])
    (project.source / "t.json").write_text('[["What?", "5", "../../secret"]]')
    with pytest.raises(UserError, match=r"no image 'pics/\.\./\.\./secret.png'"):
        prepare(project, columns=columns, image="pics/{}.png")


@pytest.mark.parametrize(
    "path", ["../secret.png", "/etc/host.png", "link.png", "none.png", "pics/../../secret.png"]
)
def test_images_that_lead_out(project: Any, path: str) -> None:
    (project.root / "secret.png").write_bytes(png())
    (project.source / "link.png").symlink_to(project.root / "secret.png")
    write(project.source / "t.csv", [{"q": "What?", "said": "5", "photo": path}])
    with pytest.raises(UserError, match=r"no image|leads out"):
        prepare(project, columns={"question": "q", "references": "said", "image": "photo"})


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("t.csv", b"q,said\nWhat?,a,b,c\n", "row 1: does not have one cell for each column"),
        ("t.csv", b"q,said\n\xff\xfe,a\n", "not readable as CSV in UTF-8"),
        ("t.csv", b"q\nWhat?\n", "no column said; it has q"),
        ("t.csv", b"", "no column q, said; it has none"),
        ("t.jsonl", b'{"q": "What?", "said": "a"}\n{"q": \n', "line 2: not JSON"),
        ("t.jsonl", b'{"q": "What?", "q": "Who?"}', "line 1: duplicate key 'q'"),
        ("t.csv", b"q,said,q\nWhat?,a,b\n", "two columns 'q'"),
        ("t.json", b'{"data": [{"q": "What?"}]}', "no column said; it has q"),
        ("t.parquet", b"PAR1 and no more", "not readable as parquet|damaged"),
        ("t.arrow", b"ARROW1", "t.arrow: damaged after row 0"),
        ("t.txt", b"q,said\n", "no table .* among its files"),
    ],
)
def test_tables_that_cannot_be_read(project: Any, name: str, data: bytes, said: str) -> None:
    (project.source / name).write_bytes(data)
    with pytest.raises(UserError, match=said) as error:
        prepare(project, columns={"question": "q", "references": "said"})
    assert "\n" not in str(error.value)


def test_texts_beside_numbers_are_not_changed(project: Any) -> None:
    """An option that is a number is refused, not written as a text."""
    rows = [{"q": "Which?", "among": ["a", "b"], "right": 0}, {"q": "Which?", "among": [1, 2], "right": 0}]
    write(project.source / "t.jsonl", rows)
    with pytest.raises(UserError, match="row 2: among has a int among its texts"):
        prepare(project, columns={"question": "q", "options": "among", "answer": "right"})


def test_a_key_that_one_line_lacks_is_empty(project: Any) -> None:
    """One that all lack is a misspelt column."""
    lines = '{"q": "What?", "said": "a"}\n\n{"q": "Who?", "said": "b", "note": "Look."}\n'
    (project.source / "t.jsonl").write_text(lines, encoding="utf-8")
    columns = {"question": "q", "references": "said"}
    assert [item["hint"] for item in prepare(project, columns=columns | {"hint": "note"})] == [None, "Look."]
    with pytest.raises(UserError, match="no column kind; it has q, said"):
        prepare(project, columns=columns | {"category": "kind"})


def test_tables_of_two_forms(project: Any) -> None:
    rows = [{"q": "What?", "said": "a"}]
    write(project.source / "t.csv", rows)
    write(project.source / "b.jsonl", rows)
    columns = {"question": "q", "references": "said"}
    with pytest.raises(UserError, match=r"several forms \(b\.jsonl, t\.csv\)"):
        prepare(project, columns=columns)
    assert len(prepare(project, columns=columns, files=["*.csv"])) == 1
    write(project.source / "data/test-0.jsonl", rows)
    assert len(prepare(project, columns=columns, files=["test-*.jsonl"])) == 1


def test_a_repository_of_the_hub(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table and its archive of images, at one commit."""
    write(tmp_path / "t.csv", [{"q": "What?", "said": "5", "photo": "pics/5.png"}])
    archive(tmp_path / "pics.zip", {"pics/5.png": png(5)})
    files = {
        "data/t.csv": (tmp_path / "t.csv").read_bytes(),
        "pics.zip": (tmp_path / "pics.zip").read_bytes(),
    }
    commit = "0123456789abcdef0123456789abcdef01234567"
    project.entry = {
        "origin": {"hub": "owner/signs", "revision": commit, "files": ["data/*.csv", "pics.zip"]}
    }
    columns = {"question": "q", "references": "said", "image": "photo"}
    with serving({"owner/signs": Repo({commit: files}, {"main": commit})}, tmp_path / "hf", monkeypatch):
        (item,) = project.prepare("table", REMOTE, columns=columns)["items"].to_pylist()
    assert item["images"] == [sha256(png(5)).hexdigest()]


def card(*configs: str) -> str:
    return "---\nconfigs:\n" + "".join(f"- {config}\n" for config in configs) + "---\n"


def of_test(path: str, name: str = "x") -> str:
    return f"{{config_name: {name}, data_files: [{{split: test, path: {path}}}]}}"


LAYOUTS = {
    "a glob": ("d/test-10 d/test-2 d/test-1 d/train-1", card(of_test("d/test-*"))),
    "a text": ("a b", card("{config_name: x, data_files: a.parquet}")),
    "a list in its own order": ("a b c", card("{config_name: x, data_files: [b.parquet, ./a.parquet]}")),
    "folders": ("en/test-00000-of-00001 cn/test-00000-of-00001", card("{config_name: x, data_dir: en}", "{config_name: y, data_dir: ./cn/}")),
    "two configs": ("a/test-1 b/test-1", card(of_test("a/*"), of_test("b/*", "default"))),
    "any depth": ("d/e/f/test-1 d/test-2 test-3", card(of_test("'**/test-*'"))),
    "any depth in a folder": ("d/e/f/test-1 d/test-2 test-3", card(of_test("d/**/*.parquet"))),
    "classes": ("d/test-1 d/test-2 d/test-x", card(of_test("'d/test-[2-9]*.parquet'"))),
    "hidden files": (".cache/test-1 __old__/test-1 d/.test-1 d/test-2", card(of_test("'**/*test-*'"))),
    "a hidden folder that is named": (".d/test-1 e/test-2", card(of_test(".d/test-*"))),
    "no card": ("data/test-00000-of-00002-1a2b data/test-00001-of-00002-1a2b data/train-00000-of-00001-1a2b", ""),
    "no card, at the top": ("test train", ""),
    "no card, folders": ("test/0 train/0 train/1", ""),
    "the hub's conversion": ("default/test/0000 default/test/0001 default/train/0000", ""),
}  # fmt: skip


def test_the_files_of_a_split_are_those_that_datasets_takes(tmp_path: Path) -> None:
    for number, (layout, (files, text)) in enumerate(LAYOUTS.items()):
        folder = tmp_path / f"repo{number}"
        names = [f"{name}.parquet" for name in files.split()]
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        if text:
            (folder / "README.md").write_text(text)
        for config in get_dataset_config_names(str(folder)):
            built = load_dataset_builder(str(folder), config, cache_dir=str(tmp_path / "cache"))
            assert built.config.data_files, layout
            for split, paths in built.config.data_files.items():
                theirs = [str(Path(path).relative_to(folder)) for path in paths]
                assert choose(names, text, config, str(split), "o/r") == theirs, layout


def test_a_split_of_the_hub_has_the_rows_that_datasets_reads(
    project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files, images in cells and undecoded, lists and numbers, in the same order."""
    monkeypatch.setattr("datasets.config.TORCH_AVAILABLE", False)  # importing it takes seconds
    features = Features({"q": Value("string"), "among": List(Value("string")), "right": Value("int8"),
                         "weight": Value("float32"), "photos": List(Image())})  # fmt: skip
    images = [{"bytes": png(shade), "path": f"{shade}.png"} for shade in range(9)]
    rows = [
        {"q": f"Which {n}?", "among": ["a", "b", "c"][: 2 + n % 2], "right": n % 2, "weight": n / 10,
         "photos": images[n : n + n % 3]}
        for n in range(8)
    ]  # fmt: skip
    folder = tmp_path / "mirror"
    (folder / "data").mkdir(parents=True)
    for number, part in enumerate((rows[:5], rows[5:])):
        path = folder / f"data/test-0000{number}-of-00002.parquet"
        Dataset.from_list(part, features=features).to_parquet(path, batch_size=2)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}
    theirs = load_dataset(str(folder), split="test", streaming=True, cache_dir=str(tmp_path / "cache"))
    theirs = theirs.cast_column("photos", List(Image(decode=False)))
    commit = "0123456789abcdef0123456789abcdef01234567"
    project.entry = {"origin": {"hub": "owner/set", "revision": commit, "split": "test"}}
    columns = {
        "question": "q",
        "options": "among",
        "answer": "right",
        "image": "photos",
        "category": "weight",
    }
    with serving({"owner/set": Repo({commit: files}, {"main": commit})}, tmp_path / "hf", monkeypatch):
        ours = project.prepare("table", REMOTE, columns=columns)["items"].to_pylist()
    for item, row in zip(ours, theirs, strict=True):
        assert (item["question"], item["options"]) == (row["q"], row["among"])
        assert item["answers"] == [row["right"]]
        assert item["images"] == [sha256(image["bytes"]).hexdigest() for image in row["photos"]]
        assert item["category"] == f"{row['weight']:.1f}", "0.1 and not 0.10000000149011612"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"columns": {"question": "q"}}, "give columns.answer for a choice"),
        ({"columns": {"question": "q", "answer": "a"}}, "a choice needs its options"),
        ({"columns": {"question": "q", "options": "o"}}, "a choice needs its options"),
        ({"columns": {"question": "q", "options": "o", "answer": "a"}, "choices": ["x", "y"]}, "not both"),
        ({"columns": {"question": "q", "answers": "a"}}, "answers"),
        ({"columns": {"question": "q", "references": "a"}, "image": "a.png"}, "image"),
    ],
)
def test_maps_that_do_not_fit(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Settings(**settings)


def test_base64_has_no_dot() -> None:
    """That is how a path is told from an image."""
    assert b"." not in base64.b64encode(bytes(range(256)) * 9)


easy_vqa = pytest.importorskip("easy_vqa", reason="the package easy-vqa is not here: `make test` installs it")
PROFILE = load(ROOT / "profiles/easy_vqa.yaml")["datasets"]


def items(project: Any, name: str) -> list[dict[str, Any]]:
    """All items of an entry of the profile."""
    project.source.rmdir()
    project.source.symlink_to(Path(easy_vqa.__file__).parent / "data/test")
    entry = PROFILE[name]
    project.entry = {key: entry[key] for key in ("template", "options") if key in entry}
    found: list[dict[str, Any]] = project.prepare("table", **entry["settings"])["items"].to_pylist()
    return found


def test_the_closed_list_of_answers(project: Any) -> None:
    texts, answers, numbers = easy_vqa.get_test_questions()
    digests = {
        number: sha256(Path(path).read_bytes()).hexdigest()
        for number, path in easy_vqa.get_test_image_paths().items()
    }
    found = items(project, "easy_vqa")
    assert [item["question"] for item in found] == texts
    assert [item["options"][item["answers"][0]] for item in found] == answers
    assert all(item["options"] == easy_vqa.get_answers() for item in found)
    assert [item["images"] for item in found] == [[digests[number]] for number in numbers]
    assert len({item["group"] for item in found}) == len(set(numbers))


def test_four_options(project: Any) -> None:
    _, answers, _ = easy_vqa.get_test_questions()
    found = items(project, "easy_vqa_four")
    assert [item["options"][item["answers"][0]] for item in found] == answers
    for item, answer in zip(found, answers, strict=True):
        options = set(item["options"])
        assert options == {"yes", "no"} if answer in ("yes", "no") else len(options) == 4
