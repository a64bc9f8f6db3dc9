vitrine_test(tensorboard LABELS core TIMEOUT 300)
target_compile_definitions(test_tensorboard PRIVATE VITRINE_PYTHON="${VITRINE_PYTHON}"
  VITRINE_TENSORBOARD_READER="${CMAKE_CURRENT_SOURCE_DIR}/reference/read_tensorboard.py")
