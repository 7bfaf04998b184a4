"""OpenAI-compatible servers as models."""
