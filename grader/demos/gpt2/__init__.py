"""Run GPT-2 on the student's own decoder: its weights, its tokens, and a comparison."""
