vitrine_test(chat LABELS app)
