"""Inspect what the pipeline made, and decide by hand where a person must."""

from vouch.cli.printing import check_name
from vouch.params.check import check_project
from vouch.params.project import Project


def project_with(dataset: str) -> Project:
    """The checked project. Raises UserError where it has no such dataset."""
    project = check_project()
    check_name("dataset", dataset, list(project.datasets))
    return project
