"""Read what a class hands in: folders, zips, notebooks. Nothing is run or parsed."""
