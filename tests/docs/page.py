"""Pages whose code blocks are run: the blocks of a page, and the page with what its commands print today.

A block `console` has commands after `$ ` and, below each, what it prints; the output of a command is not
compared if the page shows none. The blocks `python` are one session, and a block `text` below one is its output.

    python -m tests.docs.page CHECKOUT docs/tutorial.md     # writes today's outputs into the page
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.checkouts.checkout import Checkout

Run = Callable[[str], str]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])")
QUIETLY = "import contextlib\nwith contextlib.redirect_stdout(None):\n    exec({!r})\n"


def blocks(text: str, kind: str) -> list[str]:
    """The code blocks of a kind."""
    return [code for found, code in BLOCK.findall(text) if found == kind]


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block `console`, each with the output that the page shows."""
    pairs = (part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    return [(command, output) for command, _, output in pairs]


def today(text: str, run: Run) -> str:
    """The page after a run of all its blocks, top to bottom, with what they print."""
    session = list[str]()

    def replaced(match: re.Match[str]) -> str:
        kind, code = match.groups()
        if kind == "console":
            pairs = [(command, run(command), output) for command, output in commands(code)]
            code = "".join(f"$ {command}\n{now if output else ''}" for command, now, output in pairs)
        elif kind == "python":
            session.append(code)
        elif kind == "text" and session:
            *before, last = session
            code = run(f"python - <<'END'\n{QUIETLY.format(''.join(before))}{last}END")
        return f"```{kind}\n{code}```\n"

    return BLOCK.sub(replaced, text)


def runner(checkout: "Checkout", instead: dict[str, Callable[[], object]] | None = None) -> Run:
    """Runs a command line in a checkout and returns what it prints on stdout.

    instead: what is done in place of commands that begin so, for those that need the network.
    """

    def run(line: str) -> str:
        for beginning, stand_in in (instead or {}).items():
            if line.startswith(beginning):
                stand_in()
                return ""
        return checkout.run("bash", "-o", "pipefail", "-c", line).stdout

    return run


def unexplained(text: str) -> list[str]:
    """The numbers in a page's prose that neither its code nor its outputs have, shares also as per cent."""
    shown = {
        float(number.replace(",", "")) for _, code in BLOCK.findall(text) for number in NUMBER.findall(code)
    }
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)|^#+ \d+", " ", BLOCK.sub("", text), flags=re.MULTILINE)

    def known(number: str) -> bool:
        digits = len(number.partition(".")[2])
        value = float(number.replace(",", ""))
        return any(
            abs(factor * one - value) < 0.5000001 * 10**-digits for one in shown for factor in (1, 100)
        )

    return [number for number in NUMBER.findall(prose) if not known(number)]


if __name__ == "__main__":
    from tests.checkouts.checkout import Checkout

    checkout, page = Checkout.at(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    there = {"git clone": lambda: None}  # beside the checkout, whether there is a network or not
    page.write_text(today(page.read_text("utf-8"), runner(checkout, there)), "utf-8")
