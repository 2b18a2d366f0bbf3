def attention_scores(q, k): pass
