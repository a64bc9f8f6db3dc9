vitrine_test(cli LABELS core FIXTURES reference_models TIMEOUT 600)
add_dependencies(test_cli vitrine-cli)
