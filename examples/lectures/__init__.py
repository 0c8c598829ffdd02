"""Lectures on differential privacy, run against the system: what notes print, and what comes out.

words:
  line    one formula, worked example or mistake of the notes, with an id (`lines.py`): A answers of one device,
          B definitions, C noise and choices, D learning and structure, E mistakes, H what a second reading found
  topic   a module of this room that shows some lines: `SHOWS` names them, its docstring says in words what it shows,
          and `main` prints figures, or draws a picture
  map     which topic or test shows which line (`shown.py`); docs/lectures.md has it, and a test keeps it complete

`python -m examples.lectures` lists the topics, from the repository's root.
"""
