"""Find out why a submission is wrong: known mistakes, exceptions in words, patterns."""
