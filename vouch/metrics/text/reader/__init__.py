"""The reader of generated answers: it finds what a text says for or against each option, and weighs it."""
