#pragma once

#include "core/insight/values.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace vitrine {

class WordBars;

// Whether the patches that light up matter: hides them from the model and says what becomes of the word. Lives on the
// UI thread; asks for a check and is given its result.
class CausalView : public QWidget {
    Q_OBJECT

public:
    explicit CausalView(QWidget* parent = nullptr);

    // A result that is not about this word and these patches is taken away.
    void setQuestion(const QString& word, std::int32_t spoken, qint64 position, const std::vector<int>& patches,
                     int columns);
    void setResult(const CausalCheck& check);
    QString resultText() const;

Q_SIGNALS:
    void wanted(const std::vector<int>& patches, CausalCheck::Means means);

private:
    QLabel* m_question;
    QPushButton* m_cut;
    QPushButton* m_mean;
    QLabel* m_result;
    QLabel* m_insteadTitle;
    WordBars* m_instead;
    QString m_word;
    std::int32_t m_spoken = -1;
    qint64 m_position = -1;
    std::vector<int> m_patches;
};

}  // namespace vitrine
