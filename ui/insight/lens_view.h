#pragma once

#include "core/insight/values.h"

#include <QWidget>

class QLabel;

namespace vitrine {

class RankChart;
class WordBars;

// The logit lens: the likeliest words of one patch of the picture, and how the spoken word rose through the layers.
// Lives on the UI thread.
class LensView : public QWidget {
    Q_OBJECT

public:
    explicit LensView(QWidget* parent = nullptr);

    void setPatchWords(const PatchWords& words);
    void setPatch(int patch, int columns);  // -1: none
    void setRanks(const WordRanks& ranks, const QString& word, std::int32_t spoken);
    void clear();

    RankChart* chart() const { return m_chart; }
    WordBars* words() const { return m_bars; }

private:
    void showPatch();

    PatchWords m_words;
    int m_patch = -1;
    int m_columns = 1;
    QLabel* m_patchTitle;
    WordBars* m_bars;
    QLabel* m_rankTitle;
    RankChart* m_chart;
    QLabel* m_status;
};

}  // namespace vitrine
