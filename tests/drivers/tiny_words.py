"""A SentencePiece model like LLaMA's, of a few hundred pieces. Runs in a driver's environment."""


def save_words(folder, more=""):
    """The tokenizer, saved in a new folder. more: further words that become a token each."""
    import sentencepiece
    from transformers import LlamaTokenizer

    spoken = "Which animal is shown? A. cat B. dog USER: ASSISTANT: Human: AI: Answer with the letter. A B C D A B C D "
    # the piece learnt first has the score 0, which old versions of transformers take for none
    text = [(spoken + more) * 2 + "oo " * 99 + chr(97 + n) for n in range(26)]
    folder.mkdir(parents=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_prefix=str(folder / "spm"),
        vocab_size=600 if more else 400,
        model_type="bpe",
        byte_fallback=True,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    tokenizer = LlamaTokenizer(str(folder / "spm.model"))
    tokenizer.save_pretrained(folder)
    for name in ("spm.vocab", "spm.model"):
        (folder / name).unlink()
    return tokenizer
