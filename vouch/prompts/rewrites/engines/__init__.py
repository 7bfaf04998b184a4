"""Writing a question in other words without a model; vouch/prompts/asking has the models."""
