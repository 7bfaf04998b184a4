"""Pins: what exactly a name of `models` stands for, with digests of its files."""
