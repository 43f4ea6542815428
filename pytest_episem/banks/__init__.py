"""Files of a bank, whatever the suite: strict YAML, schemas with good errors."""
