"""How many files a question and a logit pass: the limits only ever go down."""

import pytest

from tools.trace import LOGIT, QUESTION, passed, trace
from vouch.pipeline.errors import UserError

pytestmark = pytest.mark.slow
MOST = {QUESTION: 95, LOGIT: 59}


def test_a_question_and_a_logit_pass_no_more_files_than_before() -> None:
    calls = trace("shapes-000000", skipped=("browse", "report"))
    assert set(QUESTION) <= calls.keys()
    for stages, most in MOST.items():
        files = passed(calls, stages)
        assert len(files) <= most, sorted(files)
        assert all(f"stages/{stage}.py" in files for stage in stages)


def test_a_question_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no dataset shape; did you mean shapes"):
        trace("shape-000000")
    with pytest.raises(UserError, match="no question shapes-999999 among its first"):
        trace("shapes-999999")
