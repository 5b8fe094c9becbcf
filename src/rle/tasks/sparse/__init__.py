"""The tasks of the suite `sparse/`, where exploration decides: one file per idea."""
