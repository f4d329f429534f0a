"""Operations, types and attributes with their syntax and verifiers; one module or folder per dialect."""
