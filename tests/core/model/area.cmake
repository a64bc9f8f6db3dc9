vitrine_reference(models make_models.py)
vitrine_test(model LABELS core FIXTURES reference_models TIMEOUT 600)
