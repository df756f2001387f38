"""`python -m dspark_mini` is the command line, like `dspark-mini`."""

from dspark_mini.cli import main

if __name__ == "__main__":
    main()
