"""The chat template of every family, rebuilt: what each writes around a role and which form of content it reads, a
list of parts or a string. The files themselves are not copied.
"""

from pathlib import Path

IMAGE = "<image>"


def parts(image: str = IMAGE, name: str = "m") -> str:
    """A list of parts, images and texts in their order."""
    return (
        f"{{% for p in {name}.content %}}{{{{ '{image}' if p.type == 'image' else p.text }}}}{{% endfor %}}"
    )


def either(image: str = IMAGE, name: str = "m") -> str:
    """A string, or a list of parts."""
    return f"{{% if {name}.content is string %}}{{{{ {name}.content }}}}{{% else %}}{parts(image, name)}{{% endif %}}"


def loop(body: str, end: str, over: str = "messages") -> str:
    return f"{{% for m in {over} %}}{body}{{% endfor %}}{{% if add_generation_prompt %}}{end}{{% endif %}}"


IMAGES_FIRST = (
    "{% for p in m.content if p.type == 'image' %}<image>\n{% endfor %}"
    "{% for p in m.content if p.type == 'text' %}{{ p.text }}{% endfor %}"
)
HEADER = "<|{0}|>{{{{ m.role }}}}<|{1}|>\n\n"
CHATML = "<|im_start|>{{ m.role }}\n"
ASK_CHATML = "<|im_start|>assistant\n"
ALTERNATE = "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
SPLIT = (
    "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}"
)
FAMILIES = {
    "llava": loop("{{ m.role.upper() }}: " + IMAGES_FIRST + " ", "ASSISTANT:"),
    # adds the system message and answers to other strings
    "pixtral": SPLIT
    + "{{ bos_token }}"
    + loop(
        ALTERNATE
        + "{% if m.role == 'user' %}[INST]"
        + "{% if loop.last and system is defined %}{{ system + '\n\n' }}{% endif %}"
        + either("[IMG]")
        + "[/INST]{% else %}{{ m.content + eos_token }}{% endif %}",
        "",
        "rest",
    ),
    "qwen": "{% if messages[0].role != 'system' %}<|im_start|>system\nYou help.<|im_end|>\n{% endif %}"
    + loop(CHATML + either("<|vision_start|><|image_pad|><|vision_end|>") + "<|im_end|>\n", ASK_CHATML),
    "internvl": loop(CHATML + either("<IMG_CONTEXT>\n") + "<|im_end|>\n", ASK_CHATML),
    # the system message opens the first turn; a list is known by its first part
    "gemma3": SPLIT
    + "{{ bos_token }}"
    + loop(
        ALTERNATE
        + "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        + "{% if loop.first and system is defined %}"
        + "{{ (system if system is string else system[0].text) + '\n\n' }}{% endif %}"
        + either("<start_of_image>")
        + "<end_of_turn>\n",
        "<start_of_turn>model\n",
        "rest",
    ),
    "llama4": "{{ bos_token }}"
    + loop(
        HEADER.format("header_start", "header_end") + either("<|image|>") + "<|eot|>",
        "<|header_start|>assistant<|header_end|>\n\n",
    ),
    # reads strings alone and would print a list as Python writes it
    "llama3": "{{ bos_token }}"
    + loop(
        HEADER.format("start_header_id", "end_header_id") + "{{ m.content | trim }}<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    # Mantis' too: reads lists alone
    "idefics2": loop(
        "{{ m.role.capitalize() }}{{ ':' if m.content[0].type == 'image' else ': ' }}"
        + parts()
        + "<end_of_utterance>\n",
        "Assistant:",
    ),
    "mistral3": SPLIT
    + "{{ bos_token }}[SYSTEM_PROMPT]{% if system is defined %}"
    + "{{ system if system is string else system[0].text }}"
    + "{% else %}You are Mistral Small. Today is {{ strftime_now('%Y-%m-%d') }}.{% endif %}[/SYSTEM_PROMPT]"
    + loop(
        "{% if m.role == 'user' %}[INST]" + either("[IMG]") + "[/INST]"
        "{% else %}{{ m.content if m.content is string else m.content[0].text }}{{ eos_token }}{% endif %}",
        "",
        "rest",
    ),
    # a system message is refused where there are images
    "mllama": "{{ bos_token }}{% if messages[0].role == 'system' and messages[1].content is not string %}"
    + "{{ raise_exception('Prompting with images is incompatible with system messages.') }}{% endif %}"
    + loop(
        HEADER.format("start_header_id", "end_header_id") + either("<|image|>") + "<|eot_id|>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "onevision": loop("<|im_start|>{{ m.role }} " + IMAGES_FIRST + "<|im_end|>", ASK_CHATML),
    "smolvlm": "<|im_start|>"
    + loop("{{ m.role | capitalize }}: " + parts() + "<end_of_utterance>\n", "Assistant:"),
    "gemma4": "{{ bos_token }}"
    + loop(
        "<|turn>{{ 'model' if m.role == 'assistant' else m.role }}\n" + either("<|image|>") + "<turn|>\n",
        "<|turn>model\n",
    ),
    # images come before all turns; roles must alternate, so there is no system message
    "molmo2": "{% for m in messages %}{% if m.content is not string %}{% for p in m.content if p.type == 'image' %}"
    + "<|image|>{% endfor %}{% endif %}{% endfor %}"
    + loop(ALTERNATE + CHATML + either("") + "<|im_end|>\n", ASK_CHATML),
    "glm4v": "[gMASK]<sop>"
    + loop(
        "<|{{ m.role }}|>\n{% if m.role == 'user' %}"
        + either("<|begin_of_image|><|image|><|end_of_image|>")
        + "{% else %}{{ m.content }}{% endif %}",
        "<|assistant|>\n",
    ),
    "ovis2": "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    + loop(CHATML + either("<image>\n") + "<|im_end|>\n", ASK_CHATML),
    "aya": "{{ bos_token }}"
    + loop(
        "<|START_OF_TURN_TOKEN|>{{ {'user': '<|USER_TOKEN|>', 'system': '<|SYSTEM_TOKEN|>'}.get(m.role, "
        "'<|CHATBOT_TOKEN|><|START_RESPONSE|>') }}{% if m.content is string %}{{ m.content }}{% else %}"
        + IMAGES_FIRST
        + "{% endif %}{% if m.role == 'assistant' %}<|END_RESPONSE|>{% endif %}<|END_OF_TURN_TOKEN|>",
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|><|START_RESPONSE|>",
    ),
    "deepseek": "You are a helpful language and vision assistant.\n\n"
    + loop("{{ m.role.capitalize() }}: " + parts("<image_placeholder>") + "\n\n", "Assistant:"),
    "lfm2": "{{ bos_token }}" + loop(CHATML + either() + "<|im_end|>\n", ASK_CHATML),
    # both begin an answer with what the model thinks
    "qwen3_5": loop(
        CHATML + either("<|vision_start|><|image_pad|><|vision_end|>") + "<|im_end|>\n",
        ASK_CHATML + "<think>\n",
    ),
    "kimi": loop(
        "<|im_{{ m.role }}|>{{ m.role }}<|im_middle|>"
        + either("<|media_begin|>image<|media_content|><|media_pad|><|media_end|>")
        + "<|im_end|>",
        "<|im_assistant|>assistant<|im_middle|><think>",
    ),
}
OURS = {
    path.stem: path.read_text("utf-8")
    for path in (Path(__file__).parents[3] / "vouch/models/chat/templates").glob("*.jinja")
}
TEMPLATES = FAMILIES | OURS
TOKENS = {
    "pixtral": "[IMG]", "mistral3": "[IMG]", "qwen": "<|image_pad|>", "qwen3_5": "<|image_pad|>",
    "internvl": "<IMG_CONTEXT>", "gemma3": "<start_of_image>", "llama4": "<|image|>", "mllama": "<|image|>",
    "gemma4": "<|image|>", "molmo2": "<|image|>", "glm4v": "<|image|>", "deepseek": "<image_placeholder>",
    "kimi": "<|media_pad|>",
}  # fmt: skip
