"""Names stay in their folders, and small files stay small in memory."""

import json
import zipfile
from pathlib import Path

import pytest

from vouch.datasets.fetch.hub import choose
from vouch.datasets.fetch.origin import Download, check_name
from vouch.datasets.loaders.jsonl import Settings, count
from vouch.datasets.raw import Unusable
from vouch.datasets.read.files import SourceFiles, Tree
from vouch.datasets.read.images import read_image
from vouch.datasets.read.json_rows import _unique, json_object
from vouch.params.check import check_params
from vouch.pipeline.errors import LONGEST, UserError
from vouch.pipeline.files import PART
from vouch.pipeline.yaml12 import load, loads
from vouch.tables.answered import INDEX, indexed_files
from vouch.tables.table import Table

LEADING_OUT = ("../x.png", "a/../../x.png", "/etc/passwd", "..", "", "a/..", "x\0.png")
SMALL = Path(__file__).parents[2] / "profiles/small.yaml"


def _image(name: str, root: Path) -> None:
    read_image(name, root)


def _items(name: str, root: Path) -> None:
    count(SourceFiles(root), "mine", Settings(file=name))


def _member(name: str, root: Path) -> None:
    with zipfile.ZipFile(root / "a.zip", "w") as archive:
        archive.writestr(name.replace("\0", "\1") or "/", b"x")
    with Tree(SourceFiles(root)) as tree:
        assert tree.names == []
        raise Unusable("nothing of that name")


def _weights(name: str, root: Path) -> None:
    (root / INDEX).write_text(json.dumps({"weight_map": {"a": name}}), "utf-8")
    indexed_files(root / INDEX)


def _download(name: str, root: Path) -> None:
    Download(url="https://h/x", name=name or "/")


def _listed(name: str, root: Path) -> None:
    check_name(name)


@pytest.mark.parametrize("name", LEADING_OUT)
@pytest.mark.parametrize("take", [_image, _items, _member, _weights, _download, _listed])
def test_a_name_that_leads_out(take: object, name: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "x.png").write_bytes(b"outside")
    with pytest.raises((UserError, ValueError)):
        take(name, root)  # type: ignore[operator]
    assert (tmp_path / "x.png").read_bytes() == b"outside"


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "A", "a.b", "a-b", "a\0", "a\n", "", "é", "a" * 101])
@pytest.mark.parametrize("key", ["datasets", "train", "models", "helpers"])
def test_names_of_datasets_and_models_are_slugs(key: str, name: str) -> None:
    """They become names of files: in lower case, so that none can be taken for another where case is lost."""
    values = load(SMALL)
    values[key] = {name: next(iter(values[key].values()), "models.lock")}
    with pytest.raises(UserError, match=rf"small\.yaml: {key}"):
        check_params(values, "small.yaml")


def test_a_link_out_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.png").write_bytes(b"outside")
    (tmp_path / "root/1.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(Unusable, match="leads out"):
        read_image("1.png", tmp_path / "root")


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


def test_aliases_that_stand_for_billions() -> None:
    assert len(loads(bomb(3), "x")["a2"]) == 10
    for levels in (9, 90):
        with pytest.raises(UserError, match=r"x line 1: .*its aliases stand for more than 100,000 values"):
            loads(bomb(levels), "x")
    with pytest.raises(UserError, match="an alias stands inside of what it stands for"):
        loads("a: &a [x, *a]", "x")
    with pytest.raises(UserError, match="aliases stand for more"):
        choose([], f"---\n{bomb(9)}configs: [{{config_name: *a8}}]\n---\n", None, "test", "o/n")


def test_metadata_of_a_card_too_long_to_be_read() -> None:
    with pytest.raises(UserError, match=r"o/n: README\.md has more than 262,144 characters of metadata"):
        choose([], f"---\nconfigs: [{'1, ' * 100_000}]\n---\n", None, "test", "o/n")


def test_a_member_without_a_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a/", b"")
        archive.writestr("b", b"")
    whole = (tmp_path / "a.zip").read_bytes()
    with Tree(SourceFiles(tmp_path)) as tree:
        assert tree.names == ["b"]
    central = whole.index(b"PK\1\2", whole.index(b"PK\1\2") + 1)  # the second entry: of b
    nameless = whole[: central + 28] + bytes(2) + whole[central + 30 : central + 46] + whole[central + 47 :]
    end = nameless.index(b"PK\5\6") + 12
    size = int.from_bytes(nameless[end : end + 4], "little") - 1
    (tmp_path / "a.zip").write_bytes(nameless[:end] + size.to_bytes(4, "little") + nameless[end + 4 :])
    with (
        pytest.raises(UserError, match=r"a\.zip: '' is not a file name inside a folder"),
        Tree(SourceFiles(tmp_path)),
    ):
        pass


def test_a_key_that_stands_twice_among_many() -> None:
    """Told after looking each up a few times, not once for each of the others."""
    looked_up = 0

    class Key(str):
        def __hash__(self) -> int:
            nonlocal looked_up
            looked_up += 1
            return super().__hash__()

    pairs = [(Key(f"k{number}"), 0) for number in range(2000)]
    with pytest.raises(Unusable, match="duplicate key 'k1999'"):
        _unique([*pairs, pairs[-1]])
    assert looked_up <= 4 * 2001
    with pytest.raises(Unusable, match="duplicate key 'b'"):
        json_object(b'{"a": 0, "b": 1, "b": 2}')


def test_an_error_is_one_line_of_bounded_length() -> None:
    told = str(UserError(f"items.jsonl line 3: no column {'x' * 100_000}\n\x1b[2J; correct the file"))
    assert len(told) <= LONGEST and "\n" not in told and "\x1b" not in told
    assert told.startswith("items.jsonl line 3: no column xxx") and told.endswith("; correct the file")


def test_a_table_whose_mark_is_no_text(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": [1]}).replace_schema_metadata({b"vouch": b"\xff\xfe"})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(UserError, match=r"t\.parquet: holds .*, expected items/1"):
        Table("items", 1, pa.schema([("a", pa.int64())])).read(tmp_path / "t.parquet")
    assert not PART.fullmatch("t.parquet")
