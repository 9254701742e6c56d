"""Operations on the tool itself: contexts, completion, explanations, argument files."""
