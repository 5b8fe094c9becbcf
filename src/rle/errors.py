"""The one exception that means: this cannot be done as asked, and here is what to do."""


class UsageError(ValueError):
    """Wrong input from the user, or a run that cannot go on with what it was given.

    The message is one sentence that says what to do instead. The command line prints it without a
    traceback and exits with status 2.
    """
