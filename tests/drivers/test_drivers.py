"""Drivers against the authors' code itself: the letters and the text of a tiny model with random weights.

Authors' code and environments are not part of this project. A driver whose code or environment is missing is
skipped, so a clone needs only those of interest. What to clone says ABOUT at the head of drivers/NAME.py:

    git clone https://github.com/haotian-liu/LLaVA ../code/haotian-liu/LLaVA
    git -C ../code/haotian-liu/LLaVA checkout c121f0432da2
    vouch env llava
    make drivers CODE=../code

A driver is added by drivers/NAME.py, drivers/NAME.txt and tiny_NAME.py in this folder, which runs in the
driver's environment. Its constant FORMS has the forms of the model that are tested:

    FORMS = {"v1": {"parts": ["vision_tower"], "settings": {}}}

    tiny_NAME.py CODE FOLDER make FORM       saves the form in FOLDER/model and its parts in FOLDER/PART;
                                             FOLDER/pickled, if it is there, is converted into FOLDER/weights
    tiny_NAME.py CODE FOLDER ask QUESTION    prints {"prompt", "letters": {label: logit}, "text"} as the
                                             authors' code has them; QUESTION: {"text", "labels", "image",
                                             "settings"}
"""

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.models.engines import image
from tests.models.project import ROOT
from vouch.cli.convert import run as convert
from vouch.models.config import ExtractConfig
from vouch.models.engine import Decoding, Engine, LetterAnswer, LikelihoodAnswer, Pack, Question, TextAnswer
from vouch.models.lock_entry import Locked, LockEntry
from vouch.models.pins import pinned
from vouch.models.program.about import About, about, constant
from vouch.models.program.engine import examined, load
from vouch.models.program.identity import ENVIRONMENTS, commit, variable

TEXT = "Which animal is shown?\nA. cat\nB. dog"
PROBED = "Which?\nA. one\nB. two"
LABELS = ("A", "B")
CODE = "VOUCH_CODE"  # the folder of all clones: OWNER/NAME below it
NEAR = 2e-5  # what logits may differ by; of all rows they differed by 4e-6 at most


def forms() -> Iterator[Any]:
    """Driver, form and what FORMS says of it, of all tiny_NAME.py."""
    for path in sorted(Path(__file__).parent.glob("tiny_*.py")):
        name = path.stem.removeprefix("tiny_")
        for form, made_of in (constant(path, "FORMS") or {}).items():
            yield pytest.param(name, form, made_of, id=f"{name}-{form}")


def python_of(environment: str) -> Path | None:
    """The Python of an environment of this machine."""
    named = os.environ.get(variable(environment))
    path = Path(named) if named else ROOT / ENVIRONMENTS / environment / "bin/python"
    return path.absolute() if path.exists() else None


def needed(driver: About) -> tuple[Path, Path]:
    """The environment's Python and the folder of the authors' code. Skips the test if one is missing."""
    folder, python = os.environ.get(CODE), python_of(driver.environment)
    code = Path(folder or "", driver.repository, driver.folder).absolute()
    if not folder or not code.is_dir():
        pytest.skip(f"needs {driver.repository} at {driver.commit[:12]} in {CODE}/{driver.repository}")
    if python is None:
        pytest.skip(f"needs `vouch env {driver.environment}`, or {variable(driver.environment)}")
    assert commit(code, changed=True) == driver.commit, f"{code}: check out {driver.commit}, unchanged"
    return python, code


def printed(*command: object) -> str:
    """The last line that a program prints. It leaves no compiled files, as some commits hold theirs."""
    kept = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, env=kept)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip().rpartition("\n")[2]


def opened(
    name: str, driver: About, code: Path, parts: list[str], settings: dict[str, Any]
) -> tuple[Engine, Locked, list[str]]:
    """The engine of the tiny model in this folder, what is pinned of it, and its request types."""
    program: dict[str, Any] = {
        "driver": str(ROOT / f"drivers/{name}.py"),
        "environment": driver.environment,
        "trust_code": True,
        "code": str(code),
        "settings": settings,
        "parts": {part: {"kind": "folder", "path": part} for part in parts},
    }
    entry = {
        "engine": "program",
        "source": {"kind": "folder", "path": "model"},
        "dtype": "float32",
        "program": program,
    }
    folders = {part: Path(part) for part in parts}
    locked, outputs = examined(name, LockEntry.model_validate(entry), Path("model"), folders)
    program["locked"] = locked.model_dump()
    engine = load(pinned(name, "model", {name: entry}), ExtractConfig(device="cpu", threads=1))
    return engine, locked, outputs


@pytest.mark.parametrize(("name", "form", "made_of"), list(forms()))
def test_letters_and_texts_are_those_of_the_authors_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    form: str,
    made_of: dict[str, Any],
) -> None:
    driver = about(ROOT / f"drivers/{name}.py")
    assert driver is not None
    python, code = needed(driver)
    image(5).save(tmp_path / "shown.png")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tiny = (python, ROOT / f"tests/drivers/tiny_{name}.py", code, tmp_path)
    printed(*tiny, "make", form)
    asked = {"text": TEXT, "labels": LABELS, "image": str(tmp_path / "shown.png")}
    own = json.loads(printed(*tiny, "ask", json.dumps({**asked, "settings": made_of["settings"]})))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable(driver.environment), str(python))
    if Path("pickled").is_dir():
        convert(argparse.Namespace(folder="pickled", target="weights"))
    engine, locked, outputs = opened(name, driver, code, **made_of)

    def answer(output: str, **wanted: Any) -> Any:
        question = Question("q", None, TEXT, images=(image(5),), **wanted)
        (one,) = engine.answer([Pack(output, [question])])
        return one.answer

    measured = []
    if "letters" in outputs:
        letters = answer("letters", labels=LABELS)
        assert isinstance(letters, LetterAnswer), letters
        pairs = zip(letters.logits, (own["letters"][label] for label in LABELS), strict=True)
        measured.append(f"letters within {max(abs(one - other) for one, other in pairs):.1e}")
        assert letters.logits == pytest.approx([own["letters"][label] for label in LABELS], abs=NEAR)
        assert locked.probe is not None
        prompt = locked.probe.prompt.replace(PROBED, TEXT)
        assert prompt.replace(PROBED.lower(), TEXT.lower()) == own["prompt"]
    if "likelihood" in outputs:
        scored = answer("likelihood", options=("cat", "dog"))
        assert isinstance(scored, LikelihoodAnswer) and min(scored.tokens) >= 1
    if "text" in outputs:
        text = answer("text", max_tokens=6, decodings=(Decoding(),))
        assert isinstance(text, TextAnswer) and text.text.strip() == own["text"].strip()
        measured.append(f"the same text {text.text.strip()!r}")
    assert measured, outputs
    with capsys.disabled():
        print(f"\n{name}, {form}: {', '.join(measured)}")
