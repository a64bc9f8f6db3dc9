vitrine_test(insight_parts LABELS core TIMEOUT 300)
target_compile_definitions(test_insight_parts PRIVATE VITRINE_PYTHON="${VITRINE_PYTHON}"
  VITRINE_INSIGHT_READER="${CMAKE_CURRENT_SOURCE_DIR}/reference/read_insight_files.py")
