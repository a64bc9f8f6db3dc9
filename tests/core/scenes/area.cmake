vitrine_test(scenes LABELS core)
add_dependencies(test_scenes vitrine-cli)
