"""Operations on the tool itself: explanations, schemas of answers, argument files."""
