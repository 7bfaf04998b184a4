"""Forward passes of transformers' models, from a question to an answer.

preparing -> rows -> row_engine -> engine (or encoder_decoder) -> passes -> decoding. self_check chooses the
mode.
"""
