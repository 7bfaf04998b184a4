"""Prompts as a model reads them: chat templates and letter tokens."""
