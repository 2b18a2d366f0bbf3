# vim: set fileencoding=latin-1 :
# Weichmaximum - überlaufsicher
import numpy as np


def softmax(scores, axis=-1):
    größtes = np.max(scores, axis=axis, keepdims=True)
    leer = größtes == -np.inf
    höhe = np.exp(scores - np.where(leer, 0.0, größtes))
    # in leeren Zeilen ist die Summe 0; eins dazu ändert dort nichts
    return höhe / (höhe.sum(axis=axis, keepdims=True) + leer)
