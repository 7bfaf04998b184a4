"""One file per variation; the file's name is its registration. See stages/vary/variation.py."""
