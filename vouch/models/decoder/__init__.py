"""Forward passes of transformers' models, from a question to an answer.

How the logit of a letter is computed, in the order of reading:

    engine      a pinned model is opened
    self_check  the fastest mode that gives the model's own logits is chosen
    preparing   a question becomes tokens and tensors; and each option label the token to be read for it
    rows        the questions of a pack become rows of passes
    passes      the model runs, and gives logits at the positions that a row wants
    answering   rows go through the model in batches, prefixes once for all their questions
    decoding    logits become answers: letters, likelihoods, texts

encoder_decoder does the same for models with a text encoder. What families of models do differently is in
vouch/models/families.py.
"""
