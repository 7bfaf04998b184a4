"""Reads the files of a dataset: tables row by row, images, archives without unpacking them."""
