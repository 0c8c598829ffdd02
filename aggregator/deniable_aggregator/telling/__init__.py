"""How answers are told: as messages, in digits and words, as tables, in a terminal, and to Python from afar."""
