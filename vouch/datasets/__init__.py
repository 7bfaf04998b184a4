"""prepare: a dataset's source becomes checked items and images. One loader per file of loaders/."""
