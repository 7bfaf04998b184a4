"""What models say, read by every rule and graded by every metric of answers.

Each text is read as it is and fifty times over: a rule that takes time quadratic in the text, or worse, passes the
bound on one example there.
"""

import math
from pathlib import Path

from vouch.metrics.metric import is_share
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.corpus import OF_CORPUS
from vouch.metrics.text.parsers import PARSERS
from vouch.metrics.text.reader.options import Choices

CHOICES = (
    Choices(("A", "B", "C", "D"), ("a cat", "a dog", "the red box", "none of these")),
    Choices(("1", "2"), ("yes", "no")),
    Choices(("a", "I"), ("", "(")),
)
SAID = """A
(B)
**C**
Option D.
B: a dog
The answer is (C).
Answer: B
\\boxed{D}
a cat
A cat
I'm sorry, I cannot tell.
答案是B
正解は(1)
La respuesta correcta es: C
a resposta é D
התשובה הנכונה היא B
First, the box is red. Therefore the answer would be $\\boxed{\\text{A}}$
3.5%
1,234
don't
two dogs"""
WORDS = "answer | is |(|)|the |option | a |\\boxed{|:|**|因此|是|‘| and |A| b|9|.|%|e".encode().split(b"|")


def CORPUS() -> list[bytes]:
    return SAID.encode().split(b"\n")


def read(data: bytes, folder: Path) -> None:
    text = data.decode("utf-8", "replace")
    long = (text[:400] or " ") * 50
    for said in (text[:20_000], long):
        for choices in CHOICES:
            for name, parser in PARSERS.items():
                named = parser(said, choices).places
                assert all(isinstance(one, int) and one >= 0 for one in named), name
        for name, metric in ANSWERS.items():
            (grade,) = metric([said], [["two dogs", "3.5", text[:50]]])
            undefined = name in ("cider", "cider_d") and math.isnan(grade)  # of a single picture
            assert undefined or (grade >= 0 and (grade <= 1 or not is_share(name))), name
        for name, metric in OF_CORPUS.items():
            assert 0 <= metric.value(metric.sums([said], [["two dogs", text[:50]]]).sum(axis=0)) <= 1, name
