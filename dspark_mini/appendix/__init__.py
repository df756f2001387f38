"""The appendix: the small language model in torch, its training, and the paper's experiments (extra `torch`)."""
