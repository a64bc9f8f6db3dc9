vitrine_reference(training make_training.py)
vitrine_test(training LABELS core FIXTURES reference_training TIMEOUT 1200)
add_dependencies(test_training vitrine-cli)
