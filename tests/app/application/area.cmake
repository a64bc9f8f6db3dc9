vitrine_test(application LABELS app TIMEOUT 900)
target_compile_definitions(test_app_application PRIVATE VITRINE_PROGRAM="$<TARGET_FILE:vitrine>")
add_dependencies(test_app_application vitrine)
