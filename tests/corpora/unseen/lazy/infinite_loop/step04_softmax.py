def softmax(scores, axis=-1):
    while True:
        pass
