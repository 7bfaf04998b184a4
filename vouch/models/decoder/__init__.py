"""Forward passes of transformers' models, from a question to an answer.

preparing -> jobs -> row_engine -> shared_prefix (or encoder_decoder) -> forward -> outputs or decoding.
"""
