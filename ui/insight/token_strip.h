#pragma once

#include "ui/insight/values.h"

#include <QTimer>
#include <QWidget>

#include <vector>

class QLabel;
class QSlider;
class QToolButton;

namespace vitrine {

class TokenFlow;

// The words of an answer with a slider to run along them and a button that plays them back. While an answer is live its
// newest word is the chosen one, until a person chooses another; choosing the last one follows again. Lives on the UI
// thread.
class TokenStrip : public QWidget {
    Q_OBJECT

public:
    explicit TokenStrip(QWidget* parent = nullptr);

    // Chooses the last word of a live answer, the first one of another.
    void setTokens(const std::vector<InsightToken>& tokens, bool live);
    void appendTokens(const std::vector<InsightToken>& tokens);
    void setLive(bool live);
    // `meaning` has a %1 for the weight of one word; `caption` says it of all.
    void setWeights(const std::vector<float>& weights, const QString& meaning, const QString& caption);

    TokenFlow* flow() const { return m_flow; }
    qint64 chosen() const;  // position, -1: none
    bool isPlaying() const { return m_player.isActive(); }
    void play(bool on);

Q_SIGNALS:
    void hovered(qint64 position);  // -1: none
    void chosenChanged(qint64 position);

private:
    void choose(qint64 position);
    void chosenByHand(qint64 position);
    void next();
    void showPlace();

    TokenFlow* m_flow;
    QLabel* m_caption;
    QToolButton* m_play;
    QSlider* m_slider;
    QLabel* m_count;
    QToolButton* m_prompt;
    QTimer m_player;
    bool m_live = false;
    bool m_following = false;
};

}  // namespace vitrine
