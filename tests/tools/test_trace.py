"""How many files a question and a logit pass: the limits only ever go down."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from tools.trace import DEPTH, LOGIT, QUESTION, Followed, handed, holds, trace
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Reasoning

FOLLOWED = Followed("toy-1", "Which is red?", (0.3, 0.75))
MOST = {"question": (QUESTION, 50), "logit": (LOGIT, 27)}


@dataclass
class Box:
    inside: object


Box.__module__ = "vouch.box"  # fields of this project's objects are looked at
NESTED = pa.array([[{"id": "toy-1"}]])


@pytest.mark.parametrize(
    ("value", "question", "logit"),
    [
        ("toy-1/original", True, False),
        ({"asked": [("Which is red? A. ...",)]}, True, False),
        (Box({"toy-2": Box("toy-1")}), True, False),
        (Reasoning(tokens=9, closes="toy-1"), True, False),
        (pa.table({"id": ["toy-2", "toy-1"], "score": [0.0, 1.0]}), True, False),
        (pa.table({"logits": [[0.1], [0.5, 0.3]], "id": ["a", None]}), False, True),
        (pd.DataFrame({"id": ["toy-1"], "share": [0.75]}), True, True),
        (np.array([["x", "toy-1"]], dtype=object), True, False),
        (np.array([0.1, 0.3], dtype=np.float32), False, True),
        (np.array([0.1, 0.3 + 1e-6]), False, False),
        (Box([torch.tensor([[1.0, 0.75]])]), False, True),
        (0.3, False, True),
        (["toy-2", 3, None, b"toy-1", NESTED, np.arange(3)], False, False),
    ],
)
def test_what_is_followed_is_found_in_what_a_function_is_handed(value, question, logit):
    assert holds(value, FOLLOWED.has_question) == question and holds(value, FOLLOWED.has_logit) == logit


def test_the_search_has_an_end():
    value = "toy-1"
    for _ in range(DEPTH):
        value = [value]
    assert holds(value, FOLLOWED.has_question) and not holds([value], FOLLOWED.has_question)


@pytest.mark.slow
def test_a_question_and_a_logit_pass_no_more_files_than_before() -> None:
    stages = trace("shapes-000000", skipped=("browse", "report"))
    for what, (names, most) in MOST.items():
        files = handed(stages, what, names)
        assert len(files) <= most, sorted(files)
        assert {"stages/score.py", "vouch/metrics/join.py", "vouch/models/decoder/passes.py"} <= files.keys()
        assert "vouch/pipeline/dag.py" not in files, "no stage hands its question on to it"
        assert files.keys() < {file for name in names for file in stages[name].calls}


def test_a_question_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no dataset shape; did you mean shapes"):
        trace("shape-000000")
    with pytest.raises(UserError, match="no shapes-999999 among its first 24 questions"):
        trace("shapes-999999")
