"""The map of influence of every function with a time axis: what it is tried on, what it may see.

A module for each step that has such functions, of the step's name, with `MAPS`: for each function
the maps that may be drawn when it fails, the first that shows something being the one. The inputs
are fixed and small, the same in every suite, and such that every position that may matter does:
the tests of the kit draw these maps of the reference, and of all fair variants.

`CALLS`, where there is one, says how a function is called that is not called as it is.
"""
