"""For the person whose device it is: what was sent, what it cost, and how to stop, from the state file alone.

words:
  person   whoever uses the device; no developer, and nobody who knows what epsilon is
  device   what one state file tells, read in one moment (device.py)
  plain    a text as it can be shown anywhere: what a file says is not trusted (words.py)
  command  a file of this room with one function that returns what is to be shown; `python -m deniable` calls it

Whoever reads changes nothing, and may do so while an application has the file open. `consent` and `forget` change it,
in a transaction like an application's own: what runs goes by it from its next step on.
"""
