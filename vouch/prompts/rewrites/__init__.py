"""rewrite: questions in other words, for the language variations. One engine per file of engines/."""
