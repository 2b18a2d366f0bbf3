from exercises.my_utils import shift_right, cross_attention
