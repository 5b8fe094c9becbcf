"""From numbers and figures to files: the page, tables for papers, and numbers for programs."""
