"""Rules that read a generated text by its words: those of an option, or of a refusal."""

import re

from vouch.metrics.text.parsers.marks import Choices, Named
from vouch.metrics.text.wording import plain, wide

_BEGINS = re.compile(
    r"[\s\"'*]{0,8}(?:"
    r"(?:i['’]?m|i am|we are|we['’]?re)\s+(?:very |so |really )?(?:sorry|afraid|unable|not able|not sure)\b"
    r"|(?:i|we)\s+(?:can ?not|can['’]t|could not|couldn['’]t|won['’]t|will not|am not able)\b"
    r"|(?:i|we)\s+(?:must )?decline\b"
    r"|(?:sorry|apologies|my apologies|i apologi[sz]e|unfortunately)\b"
    r"|as an? (?:ai|language model|artificial)\b"
    r"|(?:it is|it['’]s) (?:not possible|impossible) to (?:answer|determine|tell|say)\b"
    r"|(?:unable|not able) to (?:answer|determine|tell|assist|help)\b"
    r"|(?:the )?(?:image|picture|question) (?:is missing|(?:is|was) not (?:provided|visible|available))\b"
    r"|抱歉|对不起|對不起|很遗憾|很遺憾|作为一个?(?:ai|人工智能)|我(?:无法|不能|無法)"
    r"|lo siento|no puedo|no es posible|desculpe|sinto muito|não posso|não é possível|infelizmente|lamento"
    r"|申し訳|すみません|お答えできません|回答できません|判断できません|わかりません"
    r"|מצטער|אני מצטער|אני לא יכול|לא ניתן|איני יכול"
    r")",
    re.IGNORECASE,
)


def option_text(text: str, choices: Choices) -> Named:
    """The only option with this text, but for case, spaces, punctuation and an article."""
    said = plain(text)
    same = tuple(index for index, option in enumerate(choices.texts) if plain(option) == said)
    return same if said and len(same) == 1 else None


def refusal(text: str, choices: Choices) -> Named:
    """No option at all where the text begins by declining: `I'm sorry`, `As an AI`; in seven languages."""
    return () if declines(text) else None


def declines(text: str) -> bool:
    """Whether the text begins so."""
    return _BEGINS.match(wide(text[:200])) is not None
