"""What runs beside a learner's code: it loads the code, answers calls, and knows no test and no reference.

These files and dspark_mini.inputs are all that a child process can import of the project, NumPy apart.
"""
