"""Tiny random parts of a model of LAVIS's form, as its authors save them. Runs in a driver's environment.

FOLDER/model    a LLaMA
FOLDER/bert     what stands for bert-base-uncased; also in FOLDER/own, where the authors' code runs
FOLDER/pickled  the authors' checkpoints, for `vouch convert`
"""

import json
import os

from tiny_words import save_words

SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}
VISION = {"embed_dim": 32, "depth": 3, "num_heads": 2}
QFORMER = "blip2_pretrained_flant5xxl"


def make(folder, modules, checkpoint, build, apart=True):
    """Saves all parts.

    modules: the authors' package of models. build: makes a model of the parts. What it has of its own goes
    into checkpoint, but for the Q-Former, which has a file of its own if it is apart.
    """
    import torch
    from transformers import BertConfig, BertTokenizer, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    words = save_words(folder / "model")
    config = LlamaConfig(
        vocab_size=len(words),
        **SIZE,
        num_hidden_layers=18,
        initializer_range=0.2,
        max_position_embeddings=1024,
    )
    llama = LlamaForCausalLM(config)
    llama.save_pretrained(folder / "model", safe_serialization=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz?.:"]
    pieces += [f"##{one}" for one in pieces[5:]]
    for bert in (folder / "bert", folder / "own/bert-base-uncased"):
        bert.mkdir(parents=True)
        (bert / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
        BertTokenizer(str(bert / "vocab.txt")).save_pretrained(bert)
        config = BertConfig(vocab_size=len(pieces), **SIZE, num_hidden_layers=2, is_decoder=True)
        modules.Qformer.BertLMHeadModel(config).save_pretrained(bert, safe_serialization=True)

    def save(name, tensors, **others):
        torch.save({"model": tensors, **others}, folder / f"pickled/{name}.pth")

    (folder / "pickled").mkdir()
    prepare(folder, modules)
    tower = modules.eva_vit.VisionTransformer(img_size=224, patch_size=14, qkv_bias=True, mlp_ratio=4.3637)
    torch.save(spread(tower).state_dict(), folder / "pickled/eva_vit_g.pth")
    for name in (QFORMER, checkpoint) if apart else (checkpoint,):
        save(name, {})
    known = set(llama.state_dict())
    tensors = {
        name: value.float()
        for name, value in spread(build()).state_dict().items()
        if not name.startswith("visual_encoder.") and name.partition(".")[2] not in known
    }
    if apart:
        shared = [name for name in tensors if name.startswith(("Qformer.", "query_tokens", "ln_vision."))]
        save(QFORMER, {name: tensors.pop(name) for name in shared})
    save(checkpoint, tensors, epoch=3)


def spread(model):
    """Random values everywhere, also where the authors begin with zeros."""
    import torch

    with torch.no_grad():
        for value in model.parameters():
            value.normal_(std=0.2)
    return model


def prepare(folder, modules):
    """Lets the authors' code find its parts and load its LLaMA in full precision; makes its vision tower small."""
    import torch
    from transformers import PreTrainedModel

    os.chdir(folder / "own")
    load = PreTrainedModel.from_pretrained.__func__
    PreTrainedModel.from_pretrained = classmethod(
        lambda owner, *names, **given: load(owner, *names, **{**given, "torch_dtype": torch.float32})
    )
    sized = modules.eva_vit.VisionTransformer
    modules.eva_vit.VisionTransformer = lambda **given: sized(**{**given, **VISION})
    modules.eva_vit.download_cached_file = lambda *_, **__: folder / "pickled/eva_vit_g.pth"


def say(question, prompt, tokenizer, llama, predict, write):
    """Prints what the authors' functions predict and write. The logits are those that `predict` ranks labels by."""
    import torch

    rows = []
    hook = llama.lm_head.register_forward_hook(lambda module, given, out: rows.append(out))
    with torch.no_grad():
        predict(prompt)
        hook.remove()
        text = write(prompt)
    ids = [tokenizer(label)["input_ids"] for label in question["labels"]]
    assert all(len(one) == 2 for one in ids), ids  # the beginning of a sequence, and the letter
    letters = {}
    for index, (label, one) in enumerate(zip(question["labels"], ids, strict=True)):
        letters[label] = float(rows[0][index, -2, one[1]])
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text}))
