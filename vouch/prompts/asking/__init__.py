"""Asking a pinned model for a text: the engines, and what is remembered of their replies."""
