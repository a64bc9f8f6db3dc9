#include "ui/insight/insight_panel.h"

#include "ui/icons.h"
#include "ui/insight/causal_view.h"
#include "ui/insight/colour_bar.h"
#include "ui/insight/controls.h"
#include "ui/insight/heads_view.h"
#include "ui/insight/labels.h"
#include "ui/insight/lens_view.h"
#include "ui/insight/map_view.h"
#include "ui/insight/mass_bars.h"
#include "ui/insight/token_strip.h"
#include "ui/insight/word_bars.h"
#include "ui/models/icon_label.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>

// How the parts of the insight dock are put together; what they do is in insight_panel.cpp.
namespace vitrine {
namespace {

constexpr int kPatience = 250;  // ms before it is said that something is being computed

WrappedLabel* smallText(QWidget* parent) {
    auto* label = new WrappedLabel(parent);
    label->setFont(theme::smallFont(parent->font()));
    theme::setMuted(*label);
    return label;
}

// Leaves all keys to whoever is around it.
class QuietScrollArea : public QScrollArea {
protected:
    void keyPressEvent(QKeyEvent* event) override { event->ignore(); }
};

QScrollArea* scrolled(QWidget* content, const QString& name, QScrollArea* scroll = new QScrollArea) {
    scroll->setWidget(content);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setAccessibleName(name);
    return scroll;
}

}  // namespace

InsightPanel::InsightPanel(QWidget* parent) : QWidget(parent), m_pages(new QStackedWidget(this)) {
    for (std::size_t i = 0; i < m_grey.size(); ++i)
        m_grey[i] = qRgb(static_cast<int>(i), static_cast<int>(i), static_cast<int>(i));
    m_twoSided = m_grey;

    auto* content = new QSplitter(Qt::Vertical, this);
    content->setChildrenCollapsible(false);
    for (QWidget* part : {buildTop(), buildWords(), buildTabs()}) content->addWidget(part);
    content->setStretchFactor(0, 5);
    content->setStretchFactor(1, 1);
    content->setStretchFactor(2, 3);
    content->setSizes({560, 90, 350});
    m_pages->addWidget(buildEmpty());
    // Lower than all parts need, it scrolls: a dock must not make its window taller than the screen.
    m_content = content;
    m_pages->addWidget(scrolled(content, tr("Insight"), new QuietScrollArea));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_pages);

    connect(m_controls, &InsightControls::changed, this, &InsightPanel::choiceChanged);
    connect(m_strip, &TokenStrip::chosenChanged, this, [this] {
        m_hoveredWord = -1;
        showWord();
        announce();
    });
    connect(m_strip, &TokenStrip::hovered, this, [this](qint64 position) {
        m_hoveredWord = position;
        showWord();
        announce();
    });
    connect(m_view, &MapView::patchHovered, this, [this] {
        m_lens->setPatch(shownPatch(), m_source.layout.columns);
        announce();
    });
    connect(m_view, &MapView::patchLocked, this, [this] {
        m_lens->setPatch(shownPatch(), m_source.layout.columns);
        showQuestion();
        announce();
    });
    connect(m_view, &MapView::regionChosen, this, [this](const std::vector<int>& patches) {
        showQuestion();
        Q_EMIT regionChosen(patches);
    });
    connect(m_view, &MapView::valueChanged, this, [this] { m_bar->setValue(m_view->valueRead()); });
    connect(m_heads, &HeadsView::opened, m_controls, &InsightControls::openHead);
    connect(m_causal, &CausalView::wanted, this, &InsightPanel::causalWanted);
    connect(m_tabs, &QTabWidget::currentChanged, this, &InsightPanel::announceShown);
    connect(m_pin, &QToolButton::clicked, this, [this] {
        m_compare->pin();
        m_tabs->setCurrentWidget(m_compare);
    });
    m_patience.setSingleShot(true);
    m_patience.setInterval(kPatience);
    connect(&m_patience, &QTimer::timeout, this, [this] { m_busy->show(); });
    clear(tr("Nothing to look into yet"), tr("Ask something about a picture."));
}

// Narrower than the empty states of the places: a dock may be slim.
QWidget* InsightPanel::buildEmpty() {
    auto* page = new QWidget(this);
    auto* sign = new IconLabel(page);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 3);
    sign->setFont(large);
    sign->setIcon(QStringLiteral("insight"));
    m_emptyTitle = new QLabel(page);
    m_emptyTitle->setFont(theme::titleFont(font()));
    m_emptyText = new QLabel(page);
    theme::setMuted(*m_emptyText);
    auto* layout = new QVBoxLayout(page);
    layout->setContentsMargins(theme::kPage, theme::kPage, theme::kPage, theme::kPage);
    layout->setSpacing(theme::kSpace);
    layout->addStretch(2);
    layout->addWidget(sign, 0, Qt::AlignHCenter);
    for (QLabel* label : {m_emptyTitle, m_emptyText}) {
        label->setTextFormat(Qt::PlainText);
        label->setAlignment(Qt::AlignHCenter);
        label->setWordWrap(true);
        layout->addWidget(label);
    }
    layout->addStretch(3);
    return page;
}

QWidget* InsightPanel::buildTop() {
    auto* top = new QWidget(this);
    m_title = new OneLine(top);
    m_title->setFont(theme::headingFont(font()));
    m_title->setAccessibleName(tr("Answer that is looked into"));
    m_busy = new QLabel(tr("Working…"), top);
    m_busy->setFont(theme::smallFont(font()));
    theme::setMuted(*m_busy);
    m_busy->hide();
    const auto tool = [top](const QString& iconName, const QString& name) {
        auto* button = new QToolButton(top);
        button->setIcon(icon(iconName));
        button->setToolTip(name);
        button->setAccessibleName(name);
        theme::setButtonKind(*button, "quiet");
        return button;
    };
    m_pin = tool(QStringLiteral("pin"), tr("Pin this map to compare it with others"));
    m_export = tool(QStringLiteral("export"), tr("Export"));
    auto* menu = new QMenu(m_export);
    const auto entry = [&](const QString& text, InsightExport kind) {
        connect(menu->addAction(text), &QAction::triggered, this, [this, kind] { Q_EMIT exportWanted(kind); });
    };
    entry(tr("Copy the picture"), InsightExport::clipboard);
    menu->addSeparator();
    entry(tr("Picture as PNG…"), InsightExport::png);
    entry(tr("Picture as SVG…"), InsightExport::svg);
    menu->addSeparator();
    entry(tr("Numbers of this map as NPY…"), InsightExport::npy);
    entry(tr("Numbers of all heads as NPZ…"), InsightExport::npz);
    entry(tr("Numbers and where they come from as JSON…"), InsightExport::json);
    m_export->setMenu(menu);
    m_export->setPopupMode(QToolButton::InstantPopup);
    m_controls = new InsightControls(top);
    m_problemIcon = new IconLabel(top);
    m_problem = smallText(top);
    m_problem->setProperty("muted", false);
    m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_problem->setAccessibleName(tr("Problem"));
    m_problem->hide();
    m_what = new OneLine(top);
    m_what->setAccessibleName(tr("What the map shows"));
    m_view = new MapView(tr("Picture with its map"), top);
    m_bar = new ColourBar(top);
    m_scale = smallText(top);
    m_scale->setAccessibleName(tr("Scale of the colours"));
    m_shareIcon = new IconLabel(top);
    m_share = smallText(top);
    m_share->setAccessibleName(tr("Share of the attention on the picture"));

    auto* header = new QHBoxLayout;
    header->setSpacing(theme::kTight);
    header->addWidget(m_title, 1);
    header->addWidget(m_busy);
    header->addWidget(m_pin);
    header->addWidget(m_export);
    const auto noted = [](IconLabel* sign, QLabel* text) {
        auto* row = new QHBoxLayout;
        row->setSpacing(theme::kTight);
        row->addWidget(sign, 0, Qt::AlignTop);
        row->addWidget(text, 1);
        return row;
    };
    auto* layout = new QVBoxLayout(top);
    layout->setContentsMargins(theme::kSpace, theme::kSpace, theme::kSpace, 0);
    layout->setSpacing(theme::kTight);
    layout->addLayout(header);
    layout->addWidget(m_controls);
    layout->addLayout(noted(m_problemIcon, m_problem));
    layout->addWidget(m_what);
    layout->addLayout(noted(m_shareIcon, m_share));
    layout->addWidget(m_view, 1);
    layout->addWidget(m_bar);
    layout->addWidget(m_scale);
    return top;
}

QWidget* InsightPanel::buildWords() {
    auto* frame = new QWidget(this);
    m_strip = new TokenStrip(frame);
    auto* layout = new QVBoxLayout(frame);
    layout->setContentsMargins(theme::kSpace, 0, theme::kSpace, 0);
    layout->addWidget(m_strip);
    return frame;
}

QWidget* InsightPanel::buildTabs() {
    m_tabs = new QTabWidget(this);
    m_tabs->setDocumentMode(true);
    m_tabs->setUsesScrollButtons(true);
    auto* word = new QWidget;
    m_wordTitle = new WrappedLabel(word);
    m_masses = new MassBars(word);
    m_alternativesTitle = new QLabel(tr("Likeliest words at this place"), word);
    theme::setMuted(*m_alternativesTitle);
    m_alternatives = new WordBars(word);
    auto* layout = new QVBoxLayout(word);
    layout->setContentsMargins(0, theme::kSpace, theme::kSpace, theme::kSpace);
    layout->setSpacing(theme::kSpace);
    layout->addWidget(m_wordTitle);
    layout->addWidget(m_alternativesTitle);
    layout->addWidget(m_alternatives);
    layout->addSpacing(theme::kTight);
    layout->addWidget(m_masses);
    layout->addStretch();
    m_heads = new HeadsView;
    m_lens = new LensView;
    m_compare = new CompareView;
    m_causal = new CausalView;
    m_tabs->addTab(scrolled(word, tr("Word")), tr("Word"));
    m_tabs->addTab(m_heads, tr("Heads"));
    m_lensPage = m_tabs->addTab(scrolled(m_lens, tr("Lens")), tr("Lens"));
    m_tabs->addTab(m_compare, tr("Compare"));
    m_tabs->addTab(scrolled(m_causal, tr("Check")), tr("Check"));
    auto* frame = new QWidget(this);
    auto* outer = new QVBoxLayout(frame);
    outer->setContentsMargins(theme::kSpace, 0, theme::kSpace, theme::kSpace);
    outer->addWidget(m_tabs);
    return frame;
}

}  // namespace vitrine
