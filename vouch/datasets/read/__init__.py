"""Reading the files of a dataset: tables row by row, archives without unpacking them."""
