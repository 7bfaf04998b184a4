"""What a judge is told of an answer to an open question, and what its reply comes to."""

from vouch.metrics.text.judge import OpenAnswer
from vouch.metrics.text.parsers.marks import Choices
from vouch.metrics.text.wording import EDGES
from vouch.prompts.judge.choice import verdict as option
from vouch.prompts.judge.quoting import LONGEST_OPTION, filled, line
from vouch.tables.judged import CORRECT, INCORRECT, NONE

WORDS = "open"
MOST_REFERENCES = 20
SAYS = (CORRECT, INCORRECT)


def prompt(answer: OpenAnswer) -> str:
    """The whole text that the judge gets. Of equal references one is shown."""
    different = dict.fromkeys(line(one, LONGEST_OPTION) for one in answer.references)
    listed = "\n".join(f"- {one}" for one in list(different)[:MOST_REFERENCES])
    return filled(WORDS, answer.question, answer.text, references=listed)


def verdict(reply: str | None) -> str:
    """CORRECT, INCORRECT, or NONE for a reply that is neither A nor B, nor either word."""
    said = (reply or "").rpartition("</think>")[2].strip().partition("\n")[0].strip(EDGES).casefold()
    if said in SAYS:
        return said
    reading = option(reply, Choices(("A", "B"), SAYS))
    return SAYS[reading.places[0]] if reading.places else NONE
