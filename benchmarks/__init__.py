"""Every figure that the project states about speed, measured anew by one command: `make bench`.

A benchmark is a module here with a function `measure() -> str`, which says in Markdown what it measured, how, and
what came out. Figures to compare are measured in one run, turn by turn, and their medians shown: a machine is
faster at one moment than at the next.
"""
