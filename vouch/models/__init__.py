"""Models: from a question to an answer that can be scored.

A pin says which weights a model is (`pins`, by its entry in models.lock, `lock_entry`). `requests` asks for
what the work cache lacks (`packs`, `work_cache`), an engine answers (`engine`; `decoder` for transformers,
with `chat`, `sandbox` and `families`; `server` for an address; `thinking` around one), and `responses` writes
the tables. `released` reads answers of others, `encoders` turns images and texts into vectors.
"""
