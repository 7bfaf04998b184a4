"""Pages whose blocks are run: what the tutorials say is in their outputs, and how blocks are read."""

import subprocess
from pathlib import Path

import pytest

from tests.docs.page import commands, today, unexplained

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs").glob("tutorial*.md"))
PAGE = """\
Half of them, 50 %.

```console
$ echo one
one
$ echo two > /dev/null
```

```yaml
not: run
```

```python
print(0.5)
```

```text
0.5
```
"""


def _run(line: str) -> str:
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout


def test_a_page_as_it_is_today_stays_as_it_is() -> None:
    assert today(PAGE, _run) == PAGE


@pytest.mark.parametrize("shown", ["```console\n$ echo one\n{}\n", "```text\n{}\n"])
def test_an_output_that_changed_is_seen(shown: str) -> None:
    now = "one" if "console" in shown else "0.5"
    changed = PAGE.replace(shown.format(now), shown.format("other"))
    assert changed != PAGE and today(changed, _run) == PAGE


def test_commands_of_a_block() -> None:
    assert commands("$ a\nx\ny\n$ b c\n") == [("a", "x\ny\n"), ("b c", "")]


@pytest.mark.parametrize(
    ("prose", "unknown"),
    [("50 %", []), ("0.5", []), ("51 %", ["51"]), ("1,234 of them", ["1,234"]), ("`7` and [x](y8.md)", [])],
)
def test_numbers_of_the_prose_are_in_the_outputs(prose: str, unknown: list[str]) -> None:
    assert unexplained(f"{prose}\n{PAGE}") == unknown


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.name)
def test_every_number_of_a_tutorial_is_in_its_outputs(page: Path) -> None:
    assert unexplained(page.read_text("utf-8")) == []


def test_the_pictures_are_few_and_small() -> None:
    pictures = sorted((ROOT / "docs").glob("tutorial*.png"))
    assert 0 < len(pictures) <= 4
    assert all(picture.stat().st_size < 150_000 for picture in pictures)
