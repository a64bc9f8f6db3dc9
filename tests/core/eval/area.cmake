vitrine_reference(eval make_eval.py)
vitrine_test(eval LABELS core FIXTURES reference_eval)
