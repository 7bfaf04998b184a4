"""browse: items, prompts, pictures and answers in files that a page can load without a server."""
