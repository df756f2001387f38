"""Where results go: LMS lists, pages, GitHub, nbgrader."""
