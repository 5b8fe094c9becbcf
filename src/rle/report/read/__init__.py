"""From folders to runs: what each recorded, which belong together, and what all of it is called."""
