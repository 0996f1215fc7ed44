"""The ways of searching, as people name them."""

# auto is hybrid where it can be at once, and words alone where it can't.
MODES = ("auto", "hybrid", "keyword", "semantic", "like")

# The modes that search in one way only. What combines them has to be better than either.
LEGS = ("keyword", "semantic")
MEASURED = (*LEGS, "hybrid")
