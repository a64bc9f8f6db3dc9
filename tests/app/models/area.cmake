vitrine_test(models LABELS app)
target_sources(test_app_models PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/support/hub_imitation.cpp")
