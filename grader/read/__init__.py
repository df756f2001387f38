"""Reading what was handed in: notebooks, .py files, folders, archives."""
