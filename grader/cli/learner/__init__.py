"""Commands of a learner who installed the package; a bundle for students does not need them."""
