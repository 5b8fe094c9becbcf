"""The doctor: looks at a task before training and at a run after it."""
