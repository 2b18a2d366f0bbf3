"""Run a model of the Llama family on the student's own code, with GPT-2's machinery."""
