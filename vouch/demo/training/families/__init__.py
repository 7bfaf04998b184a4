"""Families of demo models: one file each, named by `family` in params.yaml; see ../family.py."""
