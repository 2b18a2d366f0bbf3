"""Grade a class: judges, gradebook, pages and exports."""
