"""Other programs that train the same agents, for `rle bench` to run beside ours."""
