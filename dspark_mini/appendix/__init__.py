"""The appendix: the same models in torch, how they were trained, and what they show. Needs the extra `torch`."""
