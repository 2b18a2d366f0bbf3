"""The students' bundle: stubs, notebooks, visible checks and the judge, and no right code."""
