#pragma once

#include "ui/chat/chat_values.h"

#include <QWidget>

class QCheckBox;
class QDoubleSpinBox;
class QLineEdit;
class QPlainTextEdit;
class QSpinBox;

namespace vitrine {

// System prompt and generation settings of a conversation. What it does not show of the options is kept. Lives on the
// UI thread.
class ChatSettingsPanel : public QWidget {
    Q_OBJECT

public:
    explicit ChatSettingsPanel(QWidget* parent = nullptr);

    void setSettings(const ChatSettings& settings);  // emits nothing
    ChatSettings settings() const;

Q_SIGNALS:
    void changed(const vitrine::ChatSettings& settings);

private:
    void announce();

    ChatSettings m_settings;
    bool m_setting = false;
    QPlainTextEdit* m_system;
    QDoubleSpinBox* m_temperature;
    QDoubleSpinBox* m_topP;
    QSpinBox* m_topK;
    QDoubleSpinBox* m_minP;
    QDoubleSpinBox* m_repetition;
    QDoubleSpinBox* m_presence;
    QSpinBox* m_window;
    QSpinBox* m_maxTokens;
    QLineEdit* m_seed;
    QCheckBox* m_thinking;
    QCheckBox* m_loops;
};

}  // namespace vitrine
