"""Why a submission is wrong: known mistakes, exceptions in words, properties of results."""
