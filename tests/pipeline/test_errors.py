"""The one line that a person reads."""

import errno

from vouch.pipeline.errors import UserError, did_you_mean, refused_by_system


def test_quoted_names_cannot_break_the_line_or_reach_the_terminal():
    line = str(UserError("items.jsonl line 2:\n id a\x1b[31m\x00\u202eb\r\n\tis odd\ud800"))
    assert (
        line.isprintable()
        and line.startswith("items.jsonl line 2: id a")
        and line.count("\N{REPLACEMENT CHARACTER}") == 4
    )


def test_other_writing_systems_pass():
    assert str(UserError("data/Drachen/凧.jsonl: é “q”")) == "data/Drachen/凧.jsonl: é “q”"


def test_did_you_mean():
    assert did_you_mean("scoer", ["score", "pin"]) == "did you mean score? valid: pin, score"
    assert did_you_mean("x", []) == "valid: none"


def test_a_full_disk_is_told_with_what_to_do():
    full = OSError(errno.ENOSPC, "No space left on device", "data/items/left.parquet")
    assert refused_by_system(full) == (
        "data/items/left.parquet: no space left on the disk, or of your quota; make room, then run it again"
    )
