vitrine_test(chat LABELS ui)
