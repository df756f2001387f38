"""What runs beside a learner's code: it loads the code and answers calls. It contains no tests and no reference.

Of this project, a child process can import these files and dspark_mini's contracts only.
"""
