"""Checking a function: judges, comparison, report."""
