vitrine_reference(text make_text.py)
vitrine_test(text LABELS core FIXTURES reference_text TIMEOUT 300)
