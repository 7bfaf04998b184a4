"""The data of the page Items: items, prompts, images and answers in files that a page can load from disk."""
