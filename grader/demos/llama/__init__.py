"""A model of the Llama family on the student's own code; it shares GPT-2's machinery."""
