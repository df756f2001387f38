"""Where results go: table, pages, LMS lists, GitHub, nbgrader."""
