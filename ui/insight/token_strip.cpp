#include "ui/insight/token_strip.h"

#include "ui/icons.h"
#include "ui/insight/token_flow.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kPace = 300;  // ms a word is shown in playback

}  // namespace

TokenStrip::TokenStrip(QWidget* parent)
    : QWidget(parent),
      m_flow(new TokenFlow(this)),
      m_caption(new QLabel(this)),
      m_play(new QToolButton(this)),
      m_slider(new QSlider(Qt::Horizontal, this)),
      m_count(new QLabel(this)),
      m_prompt(new QToolButton(this)) {
    m_caption->setFont(theme::smallFont(font()));
    m_caption->setWordWrap(true);
    theme::setMuted(*m_caption);
    m_count->setFont(theme::smallFont(font()));
    theme::setMuted(*m_count);
    m_count->setAccessibleName(tr("Place in the answer"));
    m_slider->setAccessibleName(tr("Run along the answer"));
    m_slider->setToolTip(tr("Run along the answer"));
    theme::setButtonKind(*m_play, "quiet");
    m_prompt->setText(tr("Prompt"));
    m_prompt->setCheckable(true);
    m_prompt->setToolTip(tr("Show the words before the answer too"));
    m_prompt->setAccessibleName(tr("Show the prompt"));
    theme::setButtonKind(*m_prompt, "quiet");

    auto* bar = new QHBoxLayout;
    bar->setSpacing(theme::kTight);
    bar->addWidget(m_play);
    bar->addWidget(m_slider, 1);
    bar->addWidget(m_count);
    bar->addWidget(m_prompt);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addWidget(m_caption);
    layout->addWidget(m_flow, 1);
    layout->addLayout(bar);

    connect(m_flow, &TokenFlow::hovered, this, &TokenStrip::hovered);
    connect(m_flow, &TokenFlow::activated, this, &TokenStrip::chosenByHand);
    connect(m_flow, &TokenFlow::playToggled, this, [this] { play(!isPlaying()); });
    connect(m_play, &QToolButton::clicked, this, [this] { play(!isPlaying()); });
    connect(m_prompt, &QToolButton::toggled, this, [this](bool shown) {
        m_flow->setPromptShown(shown);
        showPlace();
    });
    connect(m_slider, &QSlider::valueChanged, this, [this](int at) {
        const auto& positions = m_flow->positions();
        if (at < 0 || at >= static_cast<int>(positions.size())) return;
        m_flow->setCurrent(positions[static_cast<std::size_t>(at)]);
        chosenByHand(m_flow->current());
    });
    m_player.setInterval(kPace);
    connect(&m_player, &QTimer::timeout, this, &TokenStrip::next);
    play(false);
    showPlace();
}

qint64 TokenStrip::chosen() const {
    return m_flow->current();
}

void TokenStrip::setTokens(const std::vector<InsightToken>& tokens, bool live) {
    play(false);
    m_live = m_following = live;
    m_flow->setTokens(tokens);
    const auto& all = m_flow->tokens();
    const auto isAnswer = [](const InsightToken& token) { return token.place == TokenPlace::answer; };
    const auto first = std::find_if(all.begin(), all.end(), isAnswer);
    if (first == all.end()) {
        showPlace();
    } else {
        choose(live ? all.back().position : first->position);
    }
}

void TokenStrip::appendTokens(const std::vector<InsightToken>& tokens) {
    if (tokens.empty()) return;
    m_flow->appendTokens(tokens);
    if (m_following) {
        choose(tokens.back().position);
    } else {
        showPlace();
    }
}

void TokenStrip::setLive(bool live) {
    m_live = live;
    if (!live) m_following = false;
}

void TokenStrip::setWeights(const std::vector<float>& weights, const QString& meaning, const QString& caption) {
    m_flow->setWeights(weights, meaning);
    if (m_caption->text() != caption) m_caption->setText(caption);
    m_caption->setVisible(!caption.isEmpty());
}

void TokenStrip::choose(qint64 position) {
    m_flow->setCurrent(position);
    showPlace();
    Q_EMIT chosenChanged(position);
}

void TokenStrip::chosenByHand(qint64 position) {
    play(false);
    m_following = m_live && position == m_flow->positions().back();
    showPlace();
    Q_EMIT chosenChanged(position);
}

void TokenStrip::play(bool on) {
    const auto& positions = m_flow->positions();
    if (on && !positions.empty()) {
        if (!m_live && chosen() == positions.back()) choose(positions.front());
        m_player.start();
    } else {
        m_player.stop();
    }
    const QString name = isPlaying() ? tr("Stop playing back") : tr("Play back word by word");
    m_play->setIcon(icon(isPlaying() ? QStringLiteral("pause") : QStringLiteral("play")));
    m_play->setToolTip(name + tr(" (Space)"));
    m_play->setAccessibleName(name);
}

void TokenStrip::next() {
    const auto& positions = m_flow->positions();
    const auto after = std::upper_bound(positions.begin(), positions.end(), chosen());
    if (after != positions.end()) {
        choose(*after);
    } else if (!m_live) {
        play(false);
    } else {
        m_following = true;  // caught up with what is being written
        play(false);
    }
}

void TokenStrip::showPlace() {
    const auto& positions = m_flow->positions();
    const auto here = std::lower_bound(positions.begin(), positions.end(), chosen());
    const int count = static_cast<int>(positions.size());
    const int at = static_cast<int>(here - positions.begin());
    const QSignalBlocker quiet(m_slider);
    m_slider->setRange(0, std::max(0, count - 1));
    m_slider->setValue(std::min(at, std::max(0, count - 1)));
    for (QWidget* control : std::initializer_list<QWidget*>{m_slider, m_play}) control->setEnabled(count > 1);
    m_prompt->setEnabled(!m_flow->tokens().empty());
    m_count->setText(tr("%1 of %2").arg(std::min(at + 1, count)).arg(count));
}

}  // namespace vitrine
