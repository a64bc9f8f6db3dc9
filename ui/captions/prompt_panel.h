#pragma once

#include "ui/captions/values.h"

#include <QWidget>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;
class QSpinBox;
class QToolButton;

namespace vitrine {

// What the model is asked, and the buttons that ask it: presets that fill in the real prompt, the prompt itself,
// generation settings behind a fold, which pictures are captioned, what is written beside them. While captions are
// made the main button is Stop. Lives on the UI thread.
class PromptPanel : public QWidget {
    Q_OBJECT

public:
    explicit PromptPanel(QWidget* parent = nullptr);

    void setPresets(const QList<CaptionPreset>& presets);
    void setSettings(const CaptionSettings& settings);  // tells nobody
    CaptionSettings settings() const;

    void setReady(bool ready, const QString& whyNot);
    void setProgress(const CaptionProgress& progress);
    void setPictures(bool any, int selected, int shown, bool hidesSome);

    bool isUnfolded() const;
    void setUnfolded(bool unfolded);

Q_SIGNALS:
    void settingsChanged(const vitrine::CaptionSettings& settings);
    void captionThis();
    void captionSelection();
    void captionAll();
    void stopWanted();
    void resumeWanted();

private:
    void buildPrompt(QFormLayout& form);
    QWidget* buildGeneration();
    QWidget* buildButtons();
    void choosePreset(int item);
    void change();  // a person has changed something
    void showPrompt();
    void showButtons();
    QString presetPrompt() const;

    QComboBox* m_preset = nullptr;
    QPushButton* m_restore = nullptr;
    QPlainTextEdit* m_prompt = nullptr;
    QWidget* m_lengthRow = nullptr;
    QSpinBox* m_length = nullptr;
    QToolButton* m_fold = nullptr;
    QWidget* m_generation = nullptr;
    QSpinBox* m_maxTokens = nullptr;
    QDoubleSpinBox* m_temperature = nullptr;
    QDoubleSpinBox* m_topP = nullptr;
    QSpinBox* m_topK = nullptr;
    QLineEdit* m_seed = nullptr;
    QDoubleSpinBox* m_repetition = nullptr;
    QComboBox* m_policy = nullptr;
    QComboBox* m_sidecar = nullptr;
    QLabel* m_notice = nullptr;
    QPushButton* m_main = nullptr;
    QPushButton* m_selection = nullptr;
    QPushButton* m_all = nullptr;
    QPushButton* m_resume = nullptr;

    QList<CaptionPreset> m_presets;
    CaptionSettings m_settings;  // as set; what is shown overrides it
    CaptionProgress m_progress;
    QString m_whyNot;
    bool m_ready = false;
    bool m_any = false;
    int m_selected = 0;
    int m_shown = 0;
    bool m_hidesSome = false;
    bool m_setting = false;  // the program changes the controls
};

}  // namespace vitrine
