//! What a conversation may ask of whoever answers, and the one table of MySQL error numbers.
