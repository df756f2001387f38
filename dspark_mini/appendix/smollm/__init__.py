"""A real pretrained language model on a CPU: SmolLM2-135M-Instruct, and drafters trained for it."""
