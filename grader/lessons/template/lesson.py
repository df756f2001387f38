# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 99 · My topic
#
# *The question that this lesson answers?*
#
# | | |
# |---|---|
# | **You build** | how far each position's best logit leads |
# | **Difficulty** | ●○○○ — one task of two lines |
# | **Time** | about 10 minutes |
# | **You need** | Python and a little NumPy |
#
# Run the cells from top to bottom (Shift+Enter). Stuck? Type `hint("99.1")` in a new cell.

# %% role="setup"
import numpy as np

from grader import check, hint

# %% [markdown]
# ## Task 99.1 · The lead
#
# Explain the idea, and show one example worked by hand: of the logits 1, 4 and 1 the best is 4 and the mean is 2, so
# the best token leads by 2.

# %% task="99.1"

# %% check="99.1"
