#pragma once

#include "ui/insight/compare_view.h"
#include "ui/insight/values.h"

#include <QHash>
#include <QTimer>
#include <QWidget>

#include <optional>
#include <vector>

class QLabel;
class QStackedWidget;
class QTabWidget;
class QToolButton;

namespace vitrine {

class CausalView;
class ColourBar;
class HeadsView;
class IconLabel;
class InsightControls;
class LensView;
class MapView;
class MassBars;
class OneLine;
class TokenStrip;
class WordBars;
class WrappedLabel;

// The insight dock: one answer, its words, and where the model looked for each of them. It holds what a person has
// chosen, says what it wants to know, and shows what it is given; it knows nothing of engines or threads. Answers may
// come late or out of order: each is labelled by the request it carries, not by the choice of the moment. Lives on the
// UI thread.
//
// Keys, where the focused part has no other use for them: Up and Down walk the layers, Ctrl+Up, Ctrl+Down, [ and ] the
// heads.
class InsightPanel : public QWidget {
    Q_OBJECT

public:
    explicit InsightPanel(QWidget* parent = nullptr);

    // A new answer; layer, head and method stay as they were chosen where it has them. Everything shown of another one
    // is taken away, pinned maps stay.
    void setSource(const InsightSource& source);
    void appendTokens(const std::vector<InsightToken>& tokens, const InsightLayout& layout);
    void setLive(bool live);
    void clear(const QString& title, const QString& text);  // nothing to look into, and why

    // `seenByModel` is the resized square; may be null.
    void setPicture(int index, const Picture& picture, const QImage& seenByModel);
    void setColours(const ColourTables& oneSided, const ColourTable& twoSided);

    void setMap(const AttentionMap& map);
    void setHeads(const HeadMaps& heads);
    void setHeadScores(const QString& what, const std::vector<float>& scores);  // of the language model
    // One for each token of the answer: share of its attention on the picture, or in the chosen region.
    void setTokenWeights(const std::vector<float>& weights);
    void setPatchWords(const PatchWords& words);
    void setWordRanks(const WordRanks& ranks);
    void setSinks(const Sinks& sinks);
    void setCausal(const CausalCheck& check);
    void setBusy(bool busy);                  // said after a moment
    void setProblem(const QString& problem);  // empty: none

    // What is wanted now; nothing to compute while `request.position` of the language model is 0.
    InsightView view() const;
    void setView(const InsightView& view);  // from the settings; emits nothing
    bool headsAreShown() const { return m_headsShown; }
    bool lensIsShown() const { return m_lensShown; }
    bool sinksAreShown() const { return m_sinksShown; }
    const std::optional<AttentionMap>& map() const { return m_map; }
    ValueScale scale() const;  // of the colours, for exports that look the same

    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void viewChanged(const InsightView& view);
    void headsShown(bool shown);  // also while a scale over several heads needs them
    void lensShown(bool shown);
    void sinksShown(bool shown);
    void regionChosen(const std::vector<int>& patches);  // empty: none any more
    void causalWanted(const std::vector<int>& patches, CausalCheck::Means means);
    void exportWanted(InsightExport kind);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    QWidget* buildEmpty();
    QWidget* buildTop();
    QWidget* buildWords();
    QWidget* buildTabs();
    void forget();
    void choiceChanged();
    void announce();
    void announceShown();
    void showPicture();
    void showMap();
    void showMasses();
    void showWord();
    void showQuestion();
    qint64 shownPosition() const;
    int shownPatch() const;
    std::vector<int> chosenPatches() const;
    ValueScale scaleOf(const AttentionMap& map, const PatchGrid& grid, QString& said) const;
    const ColourTable& colours() const;
    QString wordAt(qint64 position) const;
    QString labelOf(const MapRequest& request) const;

    struct Shown {
        Picture picture;
        QImage seen;
    };

    InsightSource m_source;
    QHash<int, Shown> m_pictures;
    ColourTables m_tables;
    ColourTable m_twoSided;
    ColourTable m_grey;  // until there are others
    std::optional<AttentionMap> m_map;
    std::optional<Sinks> m_sinks;
    std::optional<InsightView> m_told;
    qint64 m_hoveredWord = -1;
    bool m_headsShown = false;
    bool m_lensShown = false;
    bool m_sinksShown = false;
    bool m_faint = false;  // the share on the picture is warned of
    bool m_shown = false;  // on the screen, not only not hidden
    QTimer m_patience;

    QStackedWidget* m_pages;
    QWidget* m_content;
    QLabel* m_emptyTitle;
    QLabel* m_emptyText;
    OneLine* m_title;
    QLabel* m_busy;
    QToolButton* m_pin;
    QToolButton* m_export;
    InsightControls* m_controls;
    WrappedLabel* m_problem;
    IconLabel* m_problemIcon;
    OneLine* m_what;
    MapView* m_view;
    ColourBar* m_bar;
    WrappedLabel* m_scale;
    IconLabel* m_shareIcon;
    WrappedLabel* m_share;
    TokenStrip* m_strip;
    QTabWidget* m_tabs;
    WrappedLabel* m_wordTitle;
    MassBars* m_masses;
    QLabel* m_alternativesTitle;
    WordBars* m_alternatives;
    HeadsView* m_heads;
    LensView* m_lens;
    CompareView* m_compare;
    CausalView* m_causal;
    int m_lensPage = -1;
};

}  // namespace vitrine
