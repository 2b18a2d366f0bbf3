"""Make the students' bundle: stubs, notebooks, visible checks and the judge, but no right code."""
