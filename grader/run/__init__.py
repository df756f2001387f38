"""Running learners' code: child process, sandbox, batch."""
