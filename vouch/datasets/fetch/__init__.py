"""Fetches the files of published datasets, pinned and verified."""
