"""Reading what a class hands in: folders, zips, notebooks. Nothing of it is run, or parsed."""
