vitrine_reference(real make_real_sizes.py)
vitrine_test(real LABELS slow reference FIXTURES reference_real TIMEOUT 900)
set_tests_properties(real PROPERTIES RUN_SERIAL ON)
add_dependencies(test_real vitrine-cli)
