"""A tiny random Molmo of the authors' own classes, and their own generation. Runs in the environment `prismatic`.

python tiny_molmo.py CODE FOLDER make FORM       FOLDER/model and tokenizer; a checkpoint for the authors' code
python tiny_molmo.py CODE FOLDER ask QUESTION    the logits of the letters, as JSON
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
FOLDER = Path(sys.argv[2]).absolute()
FORMS = {"plain": {"parts": ["tokenizer"], "settings": {}}}
OWN = FOLDER / "own-qwen2"  # the authors' code knows the kind of tokenizer by its name


def save_words():
    """A tokenizer of bytes, like Qwen2's: no token for the beginning."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=384, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    spoken = " User: Which animal is shown?\nA. cat\nB. dog Assistant: A B C D "
    syllables = " ".join(first + second for first in "bcdfghjklmnprstvwz" for second in "aeiou")
    words.train_from_iterator([spoken + syllables] * 9, trainer)
    whole = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|endoftext|>")
    whole.save_pretrained(FOLDER / "tokenizer")
    (OWN / "tokenizer").parent.mkdir()
    (OWN / "tokenizer").symlink_to(FOLDER / "tokenizer")


def make():
    """The settings are those of olmo/hf_molmo.py for Molmo-7B-D, but for sizes."""
    import torch
    from olmo import ActivationType, LayerNormType, ModelConfig, Molmo, TokenizerConfig, VisionBackboneConfig
    from olmo.config import ImagePooling2DType
    from safetensors.torch import save_file

    torch.manual_seed(1)
    save_words()
    size = {"image_emb_dim": 32, "image_num_heads": 2, "image_num_key_value_heads": 2, "image_head_dim": 16}
    config = ModelConfig(
        d_model=32,
        n_heads=2,
        n_kv_heads=1,
        n_layers=2,
        mlp_hidden_size=128,
        qkv_bias=True,
        activation_type=ActivationType.swiglu,
        residual_dropout=0,
        embedding_dropout=0,
        layer_norm_type=LayerNormType.rms,
        layer_norm_eps=1e-6,
        include_bias=False,
        bias_for_layer_norm=False,
        vocab_size=384,
        embedding_size=384,
        additional_vocab_size=128,
        weight_tying=False,
        rope=True,
        max_sequence_length=1024,
        max_position_embeddings=1024,
        attention_dropout=0,
        init_device="cpu",
        max_crops=4,
        overlap_margins=(2, 2),
        crop_mode="overlap-and-resize-c2",
        prompt_type="uber_model",
        message_formatting="role",
        system_prompt_kind="demo_or_style",
        multi_annotation_weighting="root_subsegments",
        image_padding_embed="pad_and_partial_pad",
        fix_image_padding=False,
        vit_layers=[-1, -2],
        image_pooling_2d=ImagePooling2DType.attention_meanq,
        tokenizer=TokenizerConfig(identifier=str(OWN / "tokenizer")),
        vision_backbone=VisionBackboneConfig(
            image_model_type="openai",
            image_default_input_size=(112, 112),
            image_num_layers=3,
            image_mlp_dim=64,
            image_mlp_activations="quick_gelu",
            image_num_pos=65,
            **size,
        ),
    )
    model = Molmo(config)
    state = {name: torch.randn_like(value) * 0.3 for name, value in model.state_dict().items()}
    (FOLDER / "model").mkdir()
    save_file(state, FOLDER / "model/model.safetensors")
    torch.save(state, OWN / "model.pt")
    for folder in (OWN, FOLDER / "model"):
        values = json.loads(json.dumps(config.asdict()))
        (folder / "config.yaml").write_text(json.dumps({"model": values}))  # JSON is YAML


def ask(question):
    """As olmo/eval/inf_evaluator.py asks; the logits are those of Molmo.generate's first step."""
    import torch
    from olmo import Molmo
    from olmo.data import MMCollator, build_mm_preprocessor

    model = Molmo.from_checkpoint(str(OWN))
    making, steps = build_mm_preprocessor(model.config, for_inference=True), []
    example = {"image": question["image"], "style": "demo", "prompt": question["text"]}
    batch = MMCollator(1024, max_crops=model.config.get_max_crops())([making(example)])
    names = ("input_ids", "images", "image_masks", "image_input_idx")
    model.register_forward_hook(lambda module, given, out: steps.append(out.logits[0, -1]))
    with torch.inference_mode():
        written = model.generate(**{name: batch[name] for name in names}, max_steps=6)
    words = making.tokenizer
    (prompt,), _ = making.formater(example, False, True, None)
    letters = {}
    for label in question["labels"]:
        whole = words.encode(f"{prompt} {label}")
        assert whole[:-1] == words.encode(prompt), whole
        letters[label] = float(steps[0][whole[-1]])
    text = words.decode(written.token_ids[0, 0].tolist())
    print(json.dumps({"prompt": prompt, "letters": letters, "text": text, "crops": len(batch["images"][0])}))


if __name__ == "__main__":
    make() if sys.argv[3] == "make" else ask(json.loads(sys.argv[4]))
