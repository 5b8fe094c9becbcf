"""From numbers to figures: what each shows, and one renderer that draws it."""
