"""Tools for those who work on the project; the package knows nothing of them."""
