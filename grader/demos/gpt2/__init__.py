"""GPT-2 on the student's own decoder: its weights, its tokens, and transformers to compare with."""
