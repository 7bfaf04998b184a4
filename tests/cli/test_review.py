"""`vouch review rewrites` and `vouch review distract`; `review judge` is tested beside the judge."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stages.prepare import main as prepare
from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.cli.conftest import Vouch, flat, set_params
from tests.cli.reviewed import load, save, stage
from tests.datasets.conftest import SHARED
from tests.models.loopback_server import Loopback, error, serving
from tests.prompts.rewrites.conftest import completion, item
from vouch.cli import counts
from vouch.cli.main import main
from vouch.cli.review import INSTRUCTIONS, read_options
from vouch.cli.rewriting import of_questions
from vouch.datasets.built_choices import read_written
from vouch.datasets.config import DatasetEntry
from vouch.datasets.fetch.origin import REMOTE
from vouch.params.check import check_params
from vouch.pipeline import yaml12
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.run import Run
from vouch.prompts.rewrites.table import read_decisions
from vouch.tables.answered import Pin, Source, write_pin
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

COLOUR, ODD = "What colour is the circle?", 'Red, or "green"?'
DECISIONS = Path("decisions/rewrites/quiz.csv")
FILE = Path("review.csv")


@pytest.fixture
def project(bare: Path) -> None:
    """A checkout whose dataset `quiz` has two questions, rewritten."""
    left = yaml12.load(Path("params.yaml"))["datasets"]["left"]
    set_params(datasets={"quiz": left}, variations=["original", "lr_i", "ls_n"])
    ITEMS.write(items_path("quiz"), [item("a", COLOUR), item("b", ODD)])
    run_stage()


def run_stage() -> dict[tuple[str, str], dict[str, Any]]:
    values = {"datasets.quiz": {}, "rewrite": {}, "variations": ["lr_i", "ls_n"]}
    only = Stage("rewrite@quiz", "python -m stages.rewrite quiz", (), (), {"params.yaml": values})
    rewrite(Run(Dag([only]), only, ["quiz"]))
    return {(row["original"], row["kind"]): row for row in REWRITES.read(rewrites_path("quiz")).to_pylist()}


def rewrites(*words: object) -> None:
    assert main(["review", "rewrites", "quiz", *map(str, words)]) == 0


def exported(*words: str) -> list[dict[str, str]]:
    rewrites(*words, "--export", FILE)
    return load(FILE)


def test_counts_and_what_was_rejected(project: None, vouch: Vouch) -> None:
    lines = vouch("review", "rewrites", "quiz").splitlines()
    kinds = [[kind, status, "1"] for kind in ("lr_i", "ls_n") for status in ("accepted", "rejected")]
    assert [line.split() for line in lines[2:6]] == kinds
    rejected = flat("\n".join(lines[6:-1]))
    assert rejected.count(f"question: {ODD}") == rejected.count("doubt 2.00: the rules refuse") == 2
    assert lines[-1] == "rewrites: 4, 4 of them without a decision"
    assert "What colour is the circle not?" in vouch("review", "rewrites", "quiz", "--all", "--kind", "ls_n")
    REWRITES.write(rewrites_path("quiz"), [])
    assert "no variation of this profile needs them" in vouch("review", "rewrites", "quiz")


def test_out_decided_and_back(project: None, vouch: Vouch) -> None:
    """Decisions about other kinds stay."""
    DECISIONS.parent.mkdir(parents=True)
    DECISIONS.write_text(f"question,kind,decision,text\n{COLOUR},ls_a,reject,\n", "utf-8")
    rows = exported()
    assert [row["decision"] for row in rows] == [""] * 4
    assert [row["doubt"] for row in rows] == ["2.00", "2.00", "0.00", "0.00"], "nothing was proposed for two"
    by_task = {(row["question"], row["kind"]): row for row in rows}
    assert by_task[COLOUR, "lr_i"]["rewrite"] == "Tell me what colour the circle is."
    by_task[COLOUR, "lr_i"] |= {"decision": "accept", "by": "me"}
    by_task[COLOUR, "ls_n"] |= {"decision": "reject", "why": "odd, to me"}
    by_task[ODD, "lr_i"] |= {"decision": "use", "text": 'Say "red" or "green".'}
    save(FILE, rows)
    text = vouch("review", "rewrites", "quiz", "--import", FILE)
    assert "3 decisions taken over, 4 in decisions/rewrites/quiz.csv" in text
    written = DECISIONS.read_text("utf-8").splitlines()
    assert written[0] == "question,kind,decision,text,by,why" and len(written) == 5
    assert f"{COLOUR},lr_i,accept,Tell me what colour the circle is.,me," in written
    assert f"{COLOUR},ls_a,reject,,," in written

    made = run_stage()
    assert made[COLOUR, "lr_i"]["status"] == "by_hand"
    assert made[COLOUR, "ls_n"]["reason"] == "odd, to me"
    assert made[ODD, "lr_i"]["rewrite"] == 'Say "red" or "green".'
    first = DECISIONS.read_bytes()
    decided = [row["decision"] for row in exported()]
    assert decided[0] == "" and sorted(decided) == ["", "accept", "reject", "use"], "undecided first"
    rewrites("--import", FILE)
    assert DECISIONS.read_bytes() == first


def test_what_passes_every_check_is_accepted_at_once_and_taken_back(project: None, vouch: Vouch) -> None:
    DECISIONS.parent.mkdir(parents=True)
    mine = f"{COLOUR},ls_n,reject,,me,odd"
    DECISIONS.write_text(f"question,kind,decision,text,by,why\n{mine}\n", "utf-8")
    before = DECISIONS.read_bytes()
    text = vouch("review", "rewrites", "quiz", "--accept-checked")
    assert "1 accepted that pass every check, 2 undecided" in text, "one was decided, two have no rewrite"
    accepted = (
        f'{COLOUR},lr_i,accept,Tell me what colour the circle is.,checks,"passes every check, doubt 0.00"'
    )
    assert DECISIONS.read_text("utf-8").splitlines()[1:] == [accepted, mine]
    assert "0 accepted" in vouch("review", "rewrites", "quiz", "--accept-checked")
    assert [row["decision"] for row in exported()] == ["", "", "accept", "reject"]
    assert run_stage()[COLOUR, "lr_i"]["status"] == "by_hand"
    assert "0 taken back" in vouch("review", "rewrites", "quiz", "--undo-checked", "--kind", "ls_n")
    assert "1 taken back, 1 decisions left" in vouch("review", "rewrites", "quiz", "--undo-checked")
    assert DECISIONS.read_bytes() == before
    DECISIONS.unlink()
    run_stage()
    vouch("review", "rewrites", "quiz", "--accept-checked")
    assert DECISIONS.exists() and "2 taken back" in vouch("review", "rewrites", "quiz", "--undo-checked")
    assert "0 taken back, 0 decisions left" in vouch("review", "rewrites", "quiz", "--undo-checked")
    assert not DECISIONS.exists()


@pytest.mark.parametrize(
    "change",
    [{"text": "My own words?"}, {"by": "me"}, {"why": "passes every check, doubt 0.00, and reads well"}],
)
@pytest.mark.parametrize("applied", [False, True])
def test_what_a_person_changed_is_not_taken_back(
    project: None, vouch: Vouch, change: dict[str, str], applied: bool
) -> None:
    """Once the next run has applied them, the words are those of the table, too."""
    rewrites("--accept-checked")
    rows = exported()
    (row,) = [row for row in rows if row["kind"] == "lr_i" and row["decision"]]
    row |= change
    save(FILE, rows)
    rewrites("--import", FILE)
    if applied:
        run_stage()
        rewrites("--import", FILE)
    exported()
    assert "1 taken back, 1 decisions left" in vouch("review", "rewrites", "quiz", "--undo-checked")
    (left,) = read_decisions(DECISIONS)
    assert {"text": left.text, "by": left.by, "why": left.why}.items() >= change.items()


def test_words_changed_in_the_decisions_themselves_are_not_taken_back(project: None, vouch: Vouch) -> None:
    rewrites("--accept-checked")
    text = DECISIONS.read_text("utf-8").replace("Tell me what colour the circle is.", "My own words?")
    DECISIONS.write_text(text, "utf-8")
    assert "1 taken back, 1 decisions left" in vouch("review", "rewrites", "quiz", "--undo-checked")
    assert read_decisions(DECISIONS)[0].text == "My own words?"


def test_accepting_stops_at_a_doubt(project: None, vouch: Vouch) -> None:
    row = {"kind": "clean", "status": "accepted", "reason": "", "failed": []}
    texts = {"Is the the cat red?": "Is the cat red?", "Is the cat which is fat red?": "Is the cat red?"}
    REWRITES.write(rewrites_path("quiz"), [{"original": a, "rewrite": b, **row} for a, b in texts.items()])
    assert [line["doubt"] for line in exported()] == ["0.33", "0.00"]
    assert "1 accepted" in vouch("review", "rewrites", "quiz", "--accept-checked", "--doubt", "0.2")
    assert "--doubt: belongs to" in vouch("review", "rewrites", "quiz", "--doubt", "0.2", status=1)


def test_an_export_never_overwrites_decisions_that_were_not_imported(project: None, vouch: Vouch) -> None:
    rows = exported()
    rows[0]["decision"] = "reject"
    save(FILE, rows)
    text = vouch("review", "rewrites", "quiz", "--export", FILE, status=1)
    assert "review.csv line 2: a decision that was not taken over" in text and load(FILE) == rows
    rewrites("--import", FILE)
    rows = exported()
    assert rows[-1]["decision"] == "reject"
    rows[-1] |= {"decision": "use", "text": "Red?", "by": "me", "why": "short"}
    rows[-2]["decision"] = "accept"
    save(FILE, rows)
    rewrites("--import", FILE)
    assert "" not in [row["text"] for row in exported() if row["decision"]], "accepted words were added"
    rows = load(FILE)
    for column in ("text", "by", "why"):
        changed = [row | ({column: "Green?"} if row["decision"] == "use" else {}) for row in rows]
        save(FILE, changed)
        text = vouch("review", "rewrites", "quiz", "--export", FILE, status=1)
        assert "a decision that was not taken over" in text and load(FILE) == changed, column


def test_a_text_that_a_spreadsheet_would_run_comes_back_as_it_was(project: None) -> None:
    hostile = [
        "=HYPERLINK(1)",
        "+1 or -1?",
        "-x",
        "@me",
        "\tTab?",
        "\rBack?",
        "'=quoted",
        "'plain'",
        "''-two",
    ]
    row = {"kind": "lr_i", "status": "rejected", "reason": "=why", "rewrite": None}
    REWRITES.write(rewrites_path("quiz"), [{"original": text, **row} for text in hostile])
    rows = exported()
    assert not any(cell.startswith(tuple("=+-@\t\r\n")) for row in rows for cell in row.values())
    assert rows[0]["question"] == "'=HYPERLINK(1)" and rows[7]["question"] == "'plain'"
    for each in rows:
        each |= {"decision": "use", "text": "-5 degrees", "by": each["question"]}
    save(FILE, rows)
    rewrites("--import", FILE)
    decisions = read_decisions(DECISIONS)
    assert [one.task.question for one in decisions] == [one.by for one in decisions] == sorted(hostile)
    assert decisions[0].text == "-5 degrees"
    assert DECISIONS.read_text("utf-8").count(",use,'-5 degrees,") == len(hostile)


def test_bad_files_and_names_are_one_line_and_change_nothing(project: None, vouch: Vouch) -> None:
    rows = exported()
    for change, claim in (
        ({"decision": "acept"}, "unknown decision acept"),
        ({"decision": "accept"}, "there is no rewrite to accept"),
        ({"decision": "reject", "question": "Else?"}, "no lr_i of 'Else?' in data/rewrites/quiz.parquet"),
    ):
        save(
            FILE, [row | (change if row["question"] == ODD and row["kind"] == "lr_i" else {}) for row in rows]
        )
        assert claim in vouch("review", "rewrites", "quiz", "--import", FILE, status=1)
    assert "did you mean quiz?" in vouch("review", "rewrites", "quizz", status=1)
    text = vouch("review", "rewrites", "quiz", "--import", "nowhere.csv", status=1)
    assert "nowhere.csv: no such file; write it with --export" in text and not DECISIONS.exists()


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        (
            "What\x1b[31m is it?",
            "text has a control character or a line end (U+001B) that its question has not",
        ),
        ("What is\n it?", "(U+000A)"),
        ("What is\u2028it?", "(U+2028)"),
        ("What is \ufffd?", "(U+FFFD)"),
        ("x" * 200_000, "text has 200000 characters; correct it"),
    ],
)
@pytest.mark.parametrize("decision", ["use", "accept"])
def test_words_that_cannot_be_asked_are_one_line_and_change_nothing(
    project: None, vouch: Vouch, decision: str, text: str, claim: str
) -> None:
    rows = exported()
    rows[-1] |= {"decision": decision, "text": text}
    save(FILE, rows)
    message = vouch("review", "rewrites", "quiz", "--import", FILE, status=1)
    assert "review.csv line " in message and claim in message and not DECISIONS.exists()


def test_words_may_have_the_line_ends_of_their_question(project: None) -> None:
    question = "Read this.\n\tWhat is next?"
    row = {"kind": "lr_i", "status": "rejected", "reason": "", "rewrite": None}
    REWRITES.write(rewrites_path("quiz"), [{"original": question, **row}])
    (line,) = exported()
    mine = "Read this.\n\tSay what is next \N{ZERO WIDTH JOINER}."
    save(FILE, [line | {"decision": "use", "text": mine}])
    rewrites("--import", FILE)
    assert read_decisions(DECISIONS)[0].text == mine


def test_the_plan_says_what_a_model_would_be_asked(project: None, vouch: Vouch) -> None:
    """One rewrite of each kind for a distinct question that nobody has decided about."""
    assert "rewrites to ask" not in vouch("plan"), "rules cost nothing"
    source = {"kind": "server", "url": "http://127.0.0.1:9/v1", "name": "llama"}
    models = {"models": {"writer": {"source": source, "engine": "openai"}}}
    Path("models.lock").write_text(json.dumps(models), "utf-8")
    written = {"rewriter": "data/models/writer.json", "clean": ["quiz"]}
    set_params(helpers={"writer": "models.lock"}, rewrite=written)
    said = flat(vouch("plan"))
    assert "at most 72 rewrites to ask of writer" in said, "24 items, 3 kinds"
    assert "until `prepare` has read them, each item counts as one question: quiz" in said
    asked = check_params(yaml12.load(Path("params.yaml")), "params.yaml")
    questions = {COLOUR: True, ODD: True, "What is it?": False}
    found = of_questions(asked, "quiz", questions)
    assert found.asked == {"clean": 3, "lr_i": 3, "ls_n": 2} and found.questions == 3 and not found.written
    save(FILE, [row | {"decision": "reject"} for row in exported() if row["kind"] == "lr_i"])
    rewrites("--import", FILE)
    assert of_questions(asked, "quiz", questions).asked == {"clean": 3, "lr_i": 1, "ls_n": 2}
    assert dict(of_questions(asked, "quiz", {}).asked) == {}
    plan = counts.count_items("mmbench", DatasetEntry.model_validate(MMBENCH))
    assert (plan.count, plan.questions) == (4377, 382), "copies with rotated options ask the same"


MMBENCH = {
    "loader": "mmbench",
    "source": REMOTE,
    "template": "plain",
    "origin": {"unpinned": True, "url": "https://host/mmbench_dev_20230712.tsv", "sha256": None},
}

# step of PARC -> the question as it is, what a person decides, and the words
STEPS = {
    "irrelevant": ("Magnets are fun. Which magnet is longer?", "use", "Which magnet is longer?"),
    "several": ("Two cups stand here. Is one of them red?", "use", "Is one of the two cups red?"),
    "grammar": ("which of cups longer", "use", "Which of the cups is longer?"),
    "capitals": ("where is the bike", "accept", "Where is the bike?"),
    "leak": ("What does the dog’s playing show?", "use", "What does the dog show?"),
    "no antonym": ("What is the number in the corner?", "drop", ""),
    "good": ("Which car is longer?", "", "Which car is longer?"),
}


def prompts() -> dict[str, str]:
    """Runs both stages; id of each prompt -> its first line."""
    stage(rewrite, "rewrite", "quiz")
    stage(vary, "vary", "quiz")
    found = PROMPTS.read(prompts_path("quiz")).to_pylist()
    return {row["id"]: row["text"].splitlines()[0] for row in found}


def test_the_six_steps_from_a_table_to_prompts_and_back(bare: Path) -> None:
    """A dataset that asks a question for each step, one of them twice."""
    params = yaml12.load(Path("params.yaml"))
    datasets, cleaned = {"quiz": params["datasets"]["left"]}, {**params["rewrite"], "clean": ["quiz"]}
    set_params(datasets=datasets, variations=["original", "lr_i", "ls_n"], rewrite=cleaned)
    rows = [item(step, question) for step, (question, _, _) in STEPS.items()]
    ITEMS.write(items_path("quiz"), [*rows, item("again", STEPS["capitals"][0])])
    before = prompts()
    questions = [question for question, _, _ in STEPS.values()]
    assert {before[f"{step}/original"] for step in STEPS} == set(questions)
    rows = exported("--kind", "clean")
    doubts = [float(row["doubt"]) for row in rows]
    assert doubts == sorted(doubts, reverse=True)
    rows = sorted(rows, key=lambda row: questions.index(row["question"]))
    assert [row["question"] for row in rows] == questions
    proposals = {row["question"]: (row["rewrite"], row["status"], row["reason"]) for row in rows}
    assert proposals["where is the bike"] == ("Where is the bike?", "accepted", "")
    assert "several sentences" in proposals[STEPS["irrelevant"][0]][2], "the rules refuse and say why"

    for row, (_, decision, words) in zip(rows, STEPS.values(), strict=True):
        row |= {"decision": decision, "text": words if decision == "use" else "", "by": "me", "why": "A7.4"}
    save(FILE, rows)
    rewrites("--import", FILE)
    after = prompts()
    for step, (_, decision, words) in STEPS.items():
        assert after.get(f"{step}/original") == (None if decision == "drop" else words), step
    assert after["again/original"] == "Where is the bike?", "a decision is about the question, not the item"
    assert not any(name.startswith("no antonym/") for name in after), "dropped: no prompt of any variation"
    assert after["irrelevant/ls_n"] == "Which magnet is not longer?", "made of the cleaned words"
    assert after["capitals/lr_i"] == "Tell me where the bike is."
    made = {row["original"]: row for row in REWRITES.read(rewrites_path("quiz")).to_pylist()}
    assert made[STEPS["leak"][0]]["status"] == "by_hand" and made[STEPS["leak"][0]]["reason"] == "A7.4"
    decided = [row["decision"] for row in exported("--kind", "clean")]
    assert decided[0] == "" and sorted(decided) == sorted(one for _, one, _ in STEPS.values())
    assert prompts() == after
    DECISIONS.unlink()
    assert prompts() == before, "a step taken back brings the question back"


def test_the_texts_of_mmbench_from_their_table_to_prompts(bare: Path, vouch: Vouch) -> None:
    """All 382 that PARC cleaned, a row each: a person drops one and rewords one, and accepts what is plainly good."""
    table = SHARED / "vlm-uncertainty-bench/items-mmbench.parquet"
    if not table.exists():
        pytest.skip("reference data vlm-uncertainty-bench is not on this machine")
    distinct = {row["question"]: row for row in reversed(pq.read_table(table).to_pylist())}
    Path("released").mkdir()
    pq.write_table(pa.Table.from_pylist(list(distinct.values())), "released/items-quiz.parquet")
    entry = {"loader": "released", "source": "released", "template": "plain"}
    cleaned = {**yaml12.load(Path("params.yaml"))["rewrite"], "clean": ["quiz"]}
    set_params(datasets={"quiz": entry}, variations=["original", "ls_n"], rewrite=cleaned)
    stage(prepare, "prepare", "quiz")
    prompts()
    rows = exported("--kind", "clean")
    assert {row["question"] for row in rows} == set(distinct) and len(rows) == 382
    dropped, reworded = rows[0], rows[1]
    dropped |= {"decision": "drop", "by": "me"}
    reworded |= {"decision": "use", "text": "Which magnet is longer?", "by": "me"}
    save(FILE, rows)
    assert "2 decisions taken over" in vouch("review", "rewrites", "quiz", "--import", FILE)
    vouch("review", "rewrites", "quiz", "--kind", "clean", "--accept-checked", "--doubt", "0.2")
    decisions = {one.task.question: one for one in read_decisions(DECISIONS)}
    assert len(decisions) > 100, "a person reads the doubtful ones"

    names = prompts()
    texts = {row["id"]: row["text"] for row in PROMPTS.read(prompts_path("quiz")).to_pylist()}
    for question, row in distinct.items():
        one, text = decisions.get(question), texts.get(f"{row['id']}/original")
        if question == dropped["question"]:
            assert text is None
        else:
            assert (one.text if one else question) in (text or ""), question
    assert texts[f"{distinct[reworded['question']]['id']}/ls_n"].count("Which magnet is not longer?") == 1
    assert not [name for name in names if name.startswith(f"{distinct[dropped['question']]['id']}/")]


LITERAL = (
    "You are a multiple-choice generator. Given a question and an answer, you need to generate three additional "
    "incorrect options while ensuring their plausibility and confusion. Question: What fruit? Answer: a pear"
)


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("1. an apple\n2. a plum\n3. a fig", ["an apple", "a plum", "a fig"]),
        ("Sure! Here they are:\n\n- an apple\n- a plum\n- a fig\n\nTell me if you want more.", ["an apple", "a plum", "a fig"]),
        ("A) an apple\nB) Pear\nC) a plum\nD) a fig", ["an apple", "a plum", "a fig"]),
        ("Incorrect option 1: an apple\nIncorrect option 2: a plum\nIncorrect option 3: 'a fig'", ["an apple", "a plum", "a fig"]),
        ("an apple\na plum\na fig", ["an apple", "a plum", "a fig"]),
        ("an apple\na plum\na fig\na date", []),
        ("Correct answer: a pear\nOption 1: 3.5\nOption 2: 4.5\nOption 3: 5", ["3.5", "4.5", "5"]),
        ("1. an apple\n2. An apple.\n3. a plum", []),
        ("an apple, a plum, a fig", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_a_model_writes(reply: str, wrong: list[str]) -> None:
    assert read_options(reply, "a pear") == wrong


def test_the_prompts_for_rationales_and_dialogues_are_the_papers() -> None:
    row = {"question": "What fruit?", "answer": "it is green", "hint": "a pear"}
    assert INSTRUCTIONS["rationale"].format(**row) == (
        "You are a multiple-choice generator. Given a question and an answer, along with a rationale for that answer, "
        "you need to generate 3 counterfactual rationales. These counterfactual rationales should be contextually "
        "relevant while also being sufficiently distinct from the correct rationale. Question: What fruit? "
        "Answer: a pear Rationale: it is green"
    )
    assert INSTRUCTIONS["dialogue"].format(**row) == (
        "I will provide a question with the correct answer, please give me 3 incorrect options to help me get a "
        "single-choice question. Question: What fruit? Answer: it is green"
    )


@pytest.fixture
def server(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A dataset of open questions that was prepared, and a server that is pinned."""
    Path("fruit").mkdir()
    set_params(
        datasets={"fruit": {"loader": "jsonl", "source": "fruit", "template": "plain"}},
        models={"tiny_a": "data/trained/tiny_a"},
        helpers={"writer": "models.lock"},
        train={"tiny_a": yaml12.load(Path("params.yaml"))["train"]["tiny_a"]},
        rewrite={"rewriter": "data/models/writer.json"},
    )
    monkeypatch.setenv("VOUCH_SERVER_KEY_WRITER", "sk-secret-123456")
    monkeypatch.setenv("VOUCH_SERVER_TRIES", "1")
    questions = {"What fruit?": "a pear", "Is it ripe?": "yes", "What tree?": "an oak", "What herb?": "mint"}
    rows = [
        {**item(name, question), "kind": "text", "options": [], "answers": [], "references": [reference]}
        for name, (question, reference) in zip("abcd", questions.items(), strict=True)
    ]
    ITEMS.write(items_path("fruit"), rows)
    with serving(None) as loopback:  # type: ignore[arg-type]  # no model behind it: each test says what it answers
        source = {"kind": "server", "url": loopback.url, "name": "llama"}
        models = {"models": {"writer": {"source": source, "engine": "openai"}}}
        Path("models.lock").write_text(json.dumps(models))
        pin = Pin(model="writer", engine="openai", source=Source(**source), files={})
        write_pin(Path("data/models/writer.json"), pin)
        yield loopback


def test_a_model_writes_and_a_person_corrects(server: Loopback, vouch: Vouch) -> None:
    asked: list[str] = []

    def answer(request: dict[str, Any], _number: int) -> Any:
        asked.append(request["messages"][0]["content"])
        if "What herb?" in asked[-1]:
            return completion("1. a dill\n2. a", "length")
        return completion("I cannot." if "What tree?" in asked[-1] else "1. =1+1\n2. a plum\n3. a fig")

    server.instead = answer
    text = vouch("review", "distract", "fruit")
    assert LITERAL in asked and len(asked) == 3, "the literal prompt; yes and no are not asked"
    assert "1 questions have wrong options; read them" in text and "list of three: ['c']" in text
    assert "1 have none, as the answer is longer than rewrite.max_tokens: ['d']" in text
    path = Path("fruit/wrong-options.csv")
    assert path.read_text() == "id,wrong_1,wrong_2,wrong_3\na,'=1+1,a plum,a fig\n", "no formula"
    assert read_written(path) == {"a": ["=1+1", "a plum", "a fig"]}
    path.write_text("id,wrong_1,wrong_2,wrong_3\na,mine,a plum,a fig\n")
    vouch("review", "distract", "fruit")
    assert len(asked) == 3, "answers are remembered"
    assert read_written(path)["a"][0] == "mine", "what a person wrote stays"


def test_refusals_are_one_line(server: Loopback, vouch: Vouch, capsys: pytest.CaptureFixture[str]) -> None:
    server.instead = lambda _request, _number: error(401, "no")
    assert main(["review", "distract", "fruit"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]  # after the bar of progress
    assert last.startswith("vouch: ") and "401, the server does not accept the key" in last
    assert "did you mean fruit?" in vouch("review", "distract", "fruits", status=1)
    set_params(rewrite={"rewriter": "vouch/prompts/rewrites/engines/rules.py"}, helpers={})
    assert "rewriter is rules; name the pin" in vouch("review", "distract", "fruit", status=1)
    assert not Path("fruit/wrong-options.csv").exists()
