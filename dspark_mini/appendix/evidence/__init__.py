"""The paper's experiments on the small models; `experiments.reproduce` runs them."""
