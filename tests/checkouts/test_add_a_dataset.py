"""docs/add-a-dataset.md, done as it says: files, tables and entries are taken from the page."""

import json
import re
import shutil
import sys

import pyarrow.parquet as pq
import pytest

from tests.checkouts.checkout import ROOT, Checkout
from tests.datasets.loaders.built import coded, png, tsv
from tests.docs.page import blocks

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs/add-a-dataset.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
ROW = {"question": "Which?", "A": "red", "B": "blue", "C": "green", "answer": "B", "image": coded(1)}


def block(kind: str, holding: str) -> str:
    """The one code block of a kind that holds a text."""
    (found,) = (text for text in blocks(PAGE, kind) if holding in text)
    return found


def _with_signs(root, checkout, loader):
    """The loader changed to a table with pictures beside it and two or three options, as the page says."""
    for old, new in (
        ('images=row.images("image")', r"`(images=\[row\.text.*?)`"),
        ("options=[row.text(letter) for letter in LETTERS]", r"`(options=\[text for.*?)`"),
    ):
        assert old in loader
        loader = loader.replace(old, re.search(new, PAGE)[1])
    loader = re.sub(r"def expected.*?\n\n\n", "", loader, flags=re.DOTALL)
    (checkout.path / "vouch/datasets/loaders/signs.py").write_text(loader, "utf-8")
    folder = root / "my-data/signs"
    tsv(folder / "quiz.tsv", {**ROW, "image": "a.png"}, {**ROW, "C": "", "image": "pictures/b.png"})
    for name, number in (("a.png", 1), ("pictures/b.png", 2)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(png(number))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout with the datasets of the page, and their data beside it, where the page has them."""
    root = tmp_path_factory.mktemp("added")
    checkout = Checkout(root / "vouch")
    (line,) = (line.strip() for line in PAGE.splitlines() if '"id": "kite-1"' in line)
    picture = root / "my-data/kites/pictures/kite.png"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(png())
    (root / "my-data/kites/items.jsonl").write_text(f"{line}\n", "utf-8")
    tsv(root / "my-data/quiz/quiz.tsv", ROW, {**ROW, "answer": "A", "image": coded(2)})
    loader = block("python", '"""quiz: ')
    (checkout.path / "vouch/datasets/loaders/quiz.py").write_text(loader, "utf-8")
    _with_signs(root, checkout, loader)
    quiz = block("yaml", "  quiz: ")
    for entry in (block("yaml", "  kites: "), quiz, quiz.replace("quiz", "signs")):
        checkout.edit("params.yaml", "datasets:\n", entry)
    checkout.commit("three datasets")
    return checkout


def test_the_plan_lists_them_and_they_are_prepared_and_varied(checkout):
    lines = [line.split() for line in checkout.vouch("plan").stdout.splitlines()]
    counts = {line[0]: line[1:6] for line in lines if line[:1] in (["kites"], ["quiz"])}
    assert counts == {
        "kites": ["jsonl", "1", "at", "most", "1"],
        "quiz": ["quiz", "2", "at", "most", "2"],
    }
    names = [*counts, "signs"]
    checkout.stages(*(f"{stage}@{name}" for stage in ("prepare", "rewrite", "vary") for name in names))
    tables = {name: pq.read_table(checkout.path / f"data/items/{name}.parquet") for name in names}
    assert tables["kites"]["id"].to_pylist() == ["kite-1"]
    assert tables["quiz"]["answers"].to_pylist() == [[1], [0]]
    assert tables["signs"]["options"].to_pylist() == [["red", "blue", "green"], ["red", "blue"]]
    assert [len(images) for images in tables["signs"]["images"].to_pylist()] == [1, 1]
    assert not {"empty_option", "missing_option"} & {
        flag for flags in tables["signs"]["flags"].to_pylist() for flag in flags
    }
    prompts = pq.read_table(checkout.path / "data/prompts/quiz.parquet")
    assert prompts["item"].to_pylist() == ["0", "1"] and "blue" in prompts["text"].to_pylist()[0]
    assert checkout.vouch("plan").stdout.count("about") == 2, "only the datasets that were there before"


def test_what_the_page_gives_is_in_the_style_of_the_house(checkout):
    checkout.run("ruff", "check", "vouch/datasets/loaders/quiz.py")
    checkout.run("ruff", "format", "--check", "vouch/datasets/loaders/quiz.py")


def test_another_count_stops_it(checkout):
    checkout.edit("vouch/datasets/loaders/quiz.py", '"items": {2}', '"items": {500}')
    done = checkout.stages("prepare@quiz", check=False)
    assert done.returncode and "datasets.quiz: items: 500 expected, 2 found" in done.stderr


def test_a_folder_with_braces_in_its_name_is_no_pattern(checkout):
    folder = checkout.path.parent / "my-data/kites"
    (source,) = re.findall(r"source: (\S*kites)\b", (checkout.path / "params.yaml").read_text("utf-8"))
    folder.rename(folder.with_name("{kites}"))
    checkout.edit("params.yaml", f"source: {source}", f"source: '{source.replace('kites', '{kites}')}'")
    checkout.run("snakemake", "--cores", "1", "prepare-kites")
    assert "Running" not in checkout.dvc("repro", "prepare@kites").stdout


def test_three_commands_of_the_readme_lead_from_data_and_a_model_to_the_report(tiny, tmp_path):
    """`vouch new`, `vouch use`, `dvc repro`, as the README has them, offline; more data then score nothing again."""
    (lines,) = re.findall(r"\n((?:    \S.*\n)+)", README.partition("## Your data, your model")[2])[:1]
    commands = [line.split("  ")[0].split() for line in map(str.strip, lines.splitlines())]
    assert [command[:2] for command in commands] == [["vouch", "new"], ["vouch", "use"], ["dvc", "repro"]]
    checkout = Checkout(tmp_path / "vouch")
    data, model = (tmp_path / commands[0][commands[0].index(word) + 1][3:] for word in ("--data", "--model"))
    questions(data, 24)
    shutil.copytree(tiny, model)
    for command in commands:
        checkout.run(
            *([sys.executable, "-m", "vouch.cli.main"] if command[0] == "vouch" else ["dvc"]), *command[1:]
        )
    assert data.name in checkout.vouch("show").stdout
    assert (checkout.path / "reports/index.html").is_file() and checkout.planned() == set()
    questions(tmp_path / "signs", 12)
    checkout.edit(
        "params.yaml",
        "models:\n",
        "  signs: {source: ../signs, loader: jsonl, template: kostumov}\nmodels:\n",
    )
    stages = ("prepare", "rewrite", "vary", "embed", "judge", "score", "browse")
    own = {f"{stage}@signs" for stage in stages} | {f"extract@{model.name.replace('-', '_')}-signs"}
    assert checkout.stale() == own | {"embed_texts", "compare", "report"}


def questions(folder, count):
    """A folder of so many questions about pictures that are all different."""
    folder.mkdir()
    lines = []
    for number in range(count):
        (folder / f"{number}.png").write_bytes(png(number + 7 * count))
        lines.append(
            {
                "question": f"What is {number}?",
                "options": ["a", "b"],
                "answer": number % 2,
                "image": f"{number}.png",
            }
        )
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
