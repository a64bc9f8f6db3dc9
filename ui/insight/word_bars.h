#pragma once

#include "core/types.h"

#include <QWidget>

#include <vector>

namespace vitrine {

// Words with their probabilities, as bars with numbers. Lives on the UI thread.
class WordBars : public QWidget {
    Q_OBJECT

public:
    explicit WordBars(QWidget* parent = nullptr);

    // `marked` is the id of the word that was said; it is ticked.
    void setWords(const std::vector<TokenAlternative>& words, std::int32_t marked = -1);
    const std::vector<TokenAlternative>& words() const { return m_words; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int rowHeight() const;

    std::vector<TokenAlternative> m_words;
    std::int32_t m_marked = -1;
};

}  // namespace vitrine
