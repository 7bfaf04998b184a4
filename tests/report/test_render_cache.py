"""Drawings of earlier runs: found by what was drawn, never trusted when damaged, no more than one report's."""

from pathlib import Path

import pytest

from vouch.report.render_cache import RenderCache


def unasked() -> bytes:
    pytest.fail("it was drawn before")


def test_what_was_drawn_is_not_drawn_again_and_other_things_are(tmp_path: Path) -> None:
    assert RenderCache(tmp_path)("svg", "a", lambda: b"drawn") == b"drawn"
    again = RenderCache(tmp_path)
    assert again("svg", "a", unasked) == b"drawn"
    assert again("svg", "b", lambda: b"other") == b"other"
    assert again("png", "a", lambda: b"pixels") == b"pixels"


@pytest.mark.parametrize("damage", [lambda held: held[:-1], lambda held: held[:-1] + b"X", lambda held: b""])
def test_what_is_damaged_is_drawn_again(tmp_path: Path, damage: object) -> None:
    RenderCache(tmp_path)("svg", "a", lambda: b"drawn")
    (path,) = tmp_path.iterdir()
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    assert RenderCache(tmp_path)("svg", "a", lambda: b"drawn") == b"drawn"
    assert RenderCache(tmp_path)("svg", "a", unasked) == b"drawn"


def test_what_a_report_did_not_need_is_forgotten(tmp_path: Path) -> None:
    for text in "ab":
        RenderCache(tmp_path)("svg", text, text.encode)
    (tmp_path / ".left.1.part").touch()
    kept = RenderCache(tmp_path)
    kept("svg", "b", unasked)
    kept.forget_others()
    assert len(list(tmp_path.iterdir())) == 1
    assert RenderCache(tmp_path)("svg", "b", unasked) == b"b"
