//! What the standard library lacks: small general tools that know no database word.
