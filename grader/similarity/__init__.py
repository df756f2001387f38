"""Similarity of submissions: what their code is like, how likely chance is, and the page that shows it."""
