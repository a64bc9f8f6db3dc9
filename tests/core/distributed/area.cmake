vitrine_test(distributed LABELS core slow TIMEOUT 600)
add_dependencies(test_distributed vitrine-cli)
