"""Rules that say the same in other words: cleaning, and the rewrites LR-I, LR-C and LR-V of PARC."""

import re

from vouch.prompts.rewrites.rules.questions import (
    BE,
    IN_PICTURE,
    Cannot,
    capital,
    clause,
    parse,
    subject_and_rest,
)

_BEGINS = re.compile(
    r"^(?:what|which|who|whose|where|when|why|how|is|are|was|were|do|does|did|can|could|will|in|on|at)\b"
)
_OF = "colour|color|shape|size|material|name"
_FACET = rf"{_OF}|place|number|corner"
_COMPARED = r"(?:more [\w-]+|less [\w-]+|[\w-]+er)"
# What becomes what, the first that fits; {1}, {2} are the groups.
_SHORTER = (
    (rf"which ((?:[\w’'-]+ ){{0,2}}[\w’'-]+) {BE} ({_COMPARED})", "{2} {1}?"),
    (r"(?:which|select the|name the) (picture|side|image) (?:that )?(?:has|with) (.+)", "{1} with {2}?"),
    (rf"(?:what|which) ({_OF}) (?:is|are) (.+)", "{1} of {2}?"),
    (rf"(?:what|which) ({_OF}) (?:does|do) (.+) have", "{1} of {2}?"),
    (rf"what (?:is|are) the ({_FACET}) of (.+)", "{1} of {2}?"),
    (rf"(?:select|name|state|identify|determine|give|find) the ({_FACET}) of (.+)", "{1} of {2}?"),
    (rf"how many (.+?) are there(?:{IN_PICTURE})?", "how many {1}?"),
    (rf"how many (.+?) are{IN_PICTURE}", "how many {1}?"),
    (rf"is there ((?:a|an) .+{IN_PICTURE})", "{1}?"),
    (r"tell me if there is (.+)", "is there {1}?"),
    (r"please look at the pictures? carefully and (tell me .+)", "{1}."),
)
_ALONE = re.compile(rf"^(?:{BE} |(?:\w+ )*(?:{BE}|there|which|of these|with|has|have)$)")


def clean(text: str) -> str:
    """Spacing, a capital and a question mark; what needs other words is left to people or a model.

    Raises Cannot.
    """
    sentence = parse(text)
    if sentence.imperative:
        raise Cannot("is an instruction, not a question")
    if not sentence.asks or sentence.lead.lower().startswith("and "):
        clause(sentence.lower)  # without a question mark only its words tell that it asks
    if not _BEGINS.match(sentence.lower):
        raise Cannot("does not begin like a question")
    return capital(f"{sentence.lead}{sentence.lower if sentence.lead else sentence.body}?")


def lr_i(text: str) -> str:
    """LR-I: the question as an instruction; one that is an instruction already stays as it is. Raises Cannot.

    PARC's own (Schmalfuss et al. 2025) say `Determine` and `Identify`, words that the demo's models never
    met. `Tell me` is as plain, and what it costs them is then the form, not a word.
    """
    sentence = parse(text)
    if sentence.imperative:
        return text
    return capital(f"{sentence.lead}tell me {clause(sentence.lower)}.")


def lr_v(text: str) -> str:
    """LR-V: the question in more words, and with no more in it. Raises Cannot."""
    sentence = parse(text)
    if sentence.imperative:
        if sentence.lead or re.match(r"(?:please|look|carefully)\b", sentence.lower):
            raise Cannot("is wordy already")
        return f"Please look carefully at what is shown and {sentence.lower}."
    lead = sentence.lead or "looking carefully at what is shown, "
    return capital(f"{lead}could you please tell me {clause(sentence.lower)}?")


def lr_c(text: str) -> str:
    """LR-C: the question in fewer words. Raises Cannot."""
    sentence = parse(text)
    if sentence.negated:
        raise Cannot("holds a negation, which fewer words may lose")
    for pattern, shape in _SHORTER:
        if match := re.fullmatch(pattern, sentence.lower):
            if "of {2}" in shape and subject_and_rest(match[2])[1]:
                raise Cannot("asks what something does")
            return capital(shape.format("", *match.groups()))
    if sentence.asks and re.search(r"\b(?:picture|image|photo)", sentence.lead):
        return capital(f"{sentence.body}?")
    here = re.fullmatch(rf"(.+){IN_PICTURE}", sentence.lower)
    if here and sentence.asks and _complete(here[1]):
        # `the two sofas`, of which only two are shown, are `the sofas`
        return capital(re.sub(r"^(are the) two ", r"\1 ", here[1]) + "?")
    raise Cannot("has no shorter form that the rules know")


def _complete(body: str) -> bool:
    """Whether it still asks the same without `in the picture`."""
    if body.startswith(("is there", "are there", "how many")):
        return False
    if re.match(rf"^{BE} ", body):
        try:
            clause(body)
        except Cannot:
            return False
        return True
    return _ALONE.match(body) is None and re.match(r"^(?:what|which|who|where)\b", body) is not None
