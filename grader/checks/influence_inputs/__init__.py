"""Define the map of influence of every function with a time axis: its inputs, and what it may see.

Each step with such functions has a module of its name with `MAPS`. For each function, `MAPS` lists
the maps that may be drawn when it fails. The first one that shows something is drawn. The inputs
are fixed, small and the same in every suite. With them, every position that may matter does matter.
The tests of the kit draw these maps for the reference and for all fair variants. `CALLS`, if there
is one, says how to call a function that cannot be called directly.
"""
