from exercises.my_utils import *
