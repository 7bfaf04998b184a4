"""What a server's message about a problem tells: whether question, model or server is at fault."""

import re

SMALLER = (5, 1)  # top_logprobs to try if a server does not say how many it gives
_MAXIMUM = re.compile(r"(?:<=|at most|\bmax(?:imum)?\b|less than or equal to)\D{0,30}?(\d+)", re.IGNORECASE)

# Messages that blame the question and not the server: too long, or not allowed.
_ABOUT_QUESTION = re.compile(
    r"(context|model|prompt|input|sequence)('s)?[ _](maximum )?(length|size|window)"
    r"|too (long|large)|longer than|exceeds?.{0,40}tokens|context the overflows"
    r"|tokens?\b.{0,60}(exceed|must be <=|greater than|more than)"
    r"|content.(policy|management|filter)|moderation|flagged|safety",
    re.IGNORECASE,
)
# Messages of a model that takes no images at all: vLLM, llama.cpp, Ollama, OpenAI, OpenRouter and others. A
# claim must be of all images, and end there or name the model or server: "animated images", "this image", or
# "images ... in the system message" are about one request, as are formats and sizes.
_START = r"(?:^|[.:;,!]\s+|[\"'`{(\[/:]|\b[45]\d\d )"
_END = (
    r"(?=[\"'`]*(?:\s*$|[.!](?:[\s\"'`]|$)|[\"'`]\s*[,}\]]|; messages\b"
    r"| - hint\b| \((?:ref|code|type|request)\b"
    r"|,? (?:please|only text)\b"
    r"|,? (?:by|for|on|with) (?:(?:this|the|your|current|selected|requested|chosen|provided) ){0,3}"
    r"(?:model|server|endpoint|deployment|provider|engine|backend|api)\b"
    r"(?!'s| (?:above|as|at|below|by|for|if|in|over|when|with)\b)))"
)
_ALL = r"(?:(?:image|vision|multi-?modal)s?(?: (?:input|content)s?)?)"
_NOT = r"(?: (?:is|are))?(?: not (?:currently )?(?:supported|enabled)|n't (?:supported|enabled)| unsupported)"
_BESIDE = r"(?:roles?|messages?|prompts?|system|assistant|tool|user|formats?|decoder|fields?|parameters?)"
_TAKES_NO_IMAGES = re.compile(
    "|".join(
        (
            r"\bnot a (?:multi-?modal|vision) model\b",
            r"\bmodel \S+(?: is)? not supported for vision" + _END,
            r"\bat most 0 (?:image|vision_chunk)(?:s|\(s\))? may be provided in one (?:prompt|request)\b",
            r"\bmissing data required for image input\b",
            r"\bimage_url is only supported by (?:certain|some|other) models",
            r"\bunsupported content (?:part )?type\W{1,4}image_url" + _END,
            r"\bunknown variant\W{1,4}image_url\W{1,4}expected (?![\w`, ]*image)",
            r"\bcontent (?:part )?type\W{1,3}image_url[\"'`]?" + _NOT + _END,
            r"\bendpoints? found that support " + _ALL + _END,
            rf"\b(?!{_BESIDE}\b)[\w.:/-]{{1,80}}[\"'`)\]]* (?:(?:do|does) not|(?:do|does)n't) support "
            + _ALL
            + _END,
            _START + r"(?!image is|image not)" + _ALL + _NOT + _END,
        )
    ),
    re.IGNORECASE,
)
# Other messages, of any status, after which no other try can succeed.
_CANNOT = re.compile(
    r"(not|n't) (be )?(currently )?(support|implement)|unsupported|must alternate"
    r"|(load|decode|identify|process|open) (the )?(image|audio|picture)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"memory|overload|capacity|\bbusy|time[sd]?[ -]?out|temporar|\bagain\b|retry|rate.limit|loading",
    re.IGNORECASE,
)
_NO_SCORING = re.compile(
    r"prompt_logprobs|(unknown|unexpected|unrecognized|extra|additional|unsupported) (request )?"
    r"(argument|field|param|propert|input)",
    re.IGNORECASE,
)


def largest_allowed(message: str, asked: int) -> int | None:
    """How many `top_logprobs` to ask for after a server turned `asked` down.

    The maximum that it names, or else the next of SMALLER; None if the problem is a different one, or none is
    left.
    """
    if not about_logprobs(message):
        return None
    named = [int(number) for number in _MAXIMUM.findall(message) if 1 <= int(number) < asked]
    return max(named or [number for number in SMALLER if number < asked], default=None)


def about_logprobs(message: str) -> bool:
    """Whether a server objects to the log-probabilities asked for; TGI calls them `top_n_tokens`."""
    return "logprobs" in message.lower() or "top_n_tokens" in message


def is_about_question(problem: str) -> bool:
    """Whether a server says that the question is at fault, so that no other server setting helps."""
    return _ABOUT_QUESTION.search(problem) is not None


def takes_no_images(problem: str) -> bool:
    """Whether a server says that its model takes no images, whichever they are."""
    return _TAKES_NO_IMAGES.search(problem) is not None


def cannot_succeed(status: int, problem: str) -> bool:
    """Whether a server says that it will never answer this request, whatever its status says."""
    if status == 501:
        return True
    if status == 404:  # of the model, unless it is of images
        return takes_no_images(problem) or "found that support image" in problem
    if status not in (429, 500) or may_pass(problem):
        return False
    return any(kind.search(problem) for kind in (_CANNOT, _TAKES_NO_IMAGES, _ABOUT_QUESTION))


def may_pass(problem: str) -> bool:
    """Whether the problem may be temporary: memory, or load."""
    return _PASSING.search(problem) is not None


def cannot_score(problem: str) -> bool:
    """Whether a server says that it does not know how to score a given text."""
    return _NO_SCORING.search(problem) is not None
