#include "ui/insight/insight_panel.h"

#include "ui/insight/causal_view.h"
#include "ui/insight/colour_bar.h"
#include "ui/insight/controls.h"
#include "ui/insight/heads_view.h"
#include "ui/insight/labels.h"
#include "ui/insight/lens_view.h"
#include "ui/insight/map_view.h"
#include "ui/insight/mass_bars.h"
#include "ui/insight/token_flow.h"
#include "ui/insight/token_strip.h"
#include "ui/insight/word_bars.h"
#include "ui/insight/words.h"
#include "ui/models/icon_label.h"

#include <QKeyEvent>
#include <QLabel>
#include <QStackedWidget>
#include <QStyle>
#include <QTabWidget>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vitrine {
namespace {

constexpr double kFaint = 0.02;  // share on the picture under which a map is warned of

// What the numbers of two maps must have in common to share a scale: all but layer and head.
bool sameRow(const MapRequest& a, const MapRequest& b) {
    return a.tower == b.tower && a.method == b.method && a.picture == b.picture &&
           (a.tower == Tower::language ? a.position == b.position : a.patch == b.patch);
}

}  // namespace

QSize InsightPanel::minimumSizeHint() const {
    return {m_content->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent), 240};
}

void InsightPanel::clear(const QString& title, const QString& text) {
    forget();
    m_source = {};
    m_pictures.clear();
    m_strip->setTokens({}, false);
    m_view->setPicture({}, {});
    m_emptyTitle->setText(title);
    m_emptyText->setText(text);
    m_pages->setCurrentIndex(0);
    announceShown();
}

// Whatever belongs to one answer.
void InsightPanel::forget() {
    m_map.reset();
    m_sinks.reset();
    m_told.reset();
    m_hoveredWord = -1;
    m_view->clearMap();
    m_heads->clear();
    m_lens->clear();
    m_compare->setCurrent(std::nullopt);
    m_strip->setWeights({}, {}, {});
    setProblem({});
    setBusy(false);
}

void InsightPanel::setSource(const InsightSource& source) {
    forget();
    m_source = source;
    m_title->say(source.title);
    m_pages->setCurrentIndex(1);
    m_controls->setShape(source.layout);
    m_strip->setTokens(source.tokens, source.live);  // announces the word it chooses
    showPicture();
    showMap();
    showWord();
    announce();
    announceShown();
}

void InsightPanel::appendTokens(const std::vector<InsightToken>& tokens, const InsightLayout& layout) {
    m_source.layout = layout;
    m_strip->appendTokens(tokens);
}

void InsightPanel::setLive(bool live) {
    m_source.live = live;
    m_strip->setLive(live);
}

void InsightPanel::setPicture(int index, const Picture& picture, const QImage& seenByModel) {
    m_pictures[index] = {picture, seenByModel};
    if (index == m_controls->view().request.picture) {
        showPicture();
        showMap();
    }
}

void InsightPanel::setColours(const ColourTables& oneSided, const ColourTable& twoSided) {
    m_tables = oneSided;
    m_twoSided = twoSided;
    m_controls->setColourNames(oneSided.keys());
    showMap();
}

const ColourTable& InsightPanel::colours() const {
    const auto found = m_tables.constFind(m_controls->view().colours);
    return found == m_tables.constEnd() ? m_grey : *found;
}

void InsightPanel::setMap(const AttentionMap& map) {
    m_map = map;
    showMap();
}

void InsightPanel::setHeads(const HeadMaps& heads) {
    m_heads->setMaps(heads);
    if (m_map && m_controls->view().scale != ScaleKind::per_map) showMap();
}

void InsightPanel::setHeadScores(const QString& what, const std::vector<float>& scores) {
    m_heads->setScores(what, scores);
}

void InsightPanel::setTokenWeights(const std::vector<float>& weights) {
    const bool region = !m_view->region().empty();
    m_strip->setWeights(
        weights, region ? tr("%1 of its attention in the marked patches") : tr("%1 of its attention on the picture"),
        region ? tr("Tint and bar: how much each word looked at the marked patches")
               : tr("Tint and bar: how much each word looked at the picture"));
}

void InsightPanel::setPatchWords(const PatchWords& words) {
    m_lens->setPatchWords(words);
}

void InsightPanel::setWordRanks(const WordRanks& ranks) {
    const InsightToken* token = m_strip->flow()->token(ranks.position);
    m_lens->setRanks(ranks, wordAt(ranks.position), token != nullptr ? token->id : -1);
}

void InsightPanel::setSinks(const Sinks& sinks) {
    m_sinks = sinks;
    showMap();
}

void InsightPanel::setCausal(const CausalCheck& check) {
    m_causal->setResult(check);
}

void InsightPanel::setBusy(bool busy) {
    if (busy) {
        if (!m_patience.isActive() && m_busy->isHidden()) m_patience.start();
        return;
    }
    m_patience.stop();
    m_busy->hide();
}

void InsightPanel::setProblem(const QString& problem) {
    m_problem->say(problem);
    m_problem->setVisible(!problem.isEmpty());
    m_problemIcon->setIcon(problem.isEmpty() ? QString() : QStringLiteral("warning"));
}

qint64 InsightPanel::shownPosition() const {
    return m_hoveredWord >= 0 ? m_hoveredWord : m_strip->chosen();
}

int InsightPanel::shownPatch() const {
    return m_view->lockedPatch() >= 0 ? m_view->lockedPatch() : m_view->hoveredPatch();
}

std::vector<int> InsightPanel::chosenPatches() const {
    if (!m_view->region().empty()) return m_view->region();
    return m_view->lockedPatch() >= 0 ? std::vector{m_view->lockedPatch()} : std::vector<int>{};
}

InsightView InsightPanel::view() const {
    InsightView view = m_controls->view();
    const bool vision = view.request.tower == Tower::vision;
    view.request.position = std::max<qint64>(0, vision ? m_strip->chosen() : shownPosition());
    view.request.patch = vision && shownPatch() >= 0 ? shownPatch() : kAll;
    return view;
}

void InsightPanel::setView(const InsightView& view) {
    m_controls->setView(view);
    showPicture();
    showMap();
}

void InsightPanel::choiceChanged() {
    showPicture();
    showMap();
    showQuestion();
    announce();
    announceShown();
}

void InsightPanel::announce() {
    if (m_pages->currentIndex() == 0) return;
    const InsightView now = view();
    if (now.request.tower == Tower::language && now.request.position < 1) return;  // no word yet
    if (m_told == now) return;
    m_told = now;
    Q_EMIT viewChanged(now);
}

void InsightPanel::announceShown() {
    const bool here = m_shown && m_pages->currentIndex() == 1;
    const InsightView chosen = m_controls->view();
    const bool severalHeads = (chosen.scale == ScaleKind::per_layer || chosen.scale == ScaleKind::global) &&
                              insight::hasHeads(chosen.request.method);
    const bool heads = here && (m_tabs->currentWidget() == m_heads || severalHeads);
    const bool lens = here && m_tabs->currentIndex() == m_lensPage;
    const bool sinks = here && chosen.sinks != SinkMode::leave;
    if (std::exchange(m_headsShown, heads) != heads) Q_EMIT headsShown(heads);
    if (std::exchange(m_lensShown, lens) != lens) Q_EMIT lensShown(lens);
    if (std::exchange(m_sinksShown, sinks) != sinks) Q_EMIT sinksShown(sinks);
}

void InsightPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    m_shown = true;
    announceShown();
}
void InsightPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    m_shown = false;
    announceShown();
}

void InsightPanel::keyPressEvent(QKeyEvent* event) {
    const Qt::KeyboardModifiers held = event->modifiers() & ~Qt::KeypadModifier;
    const bool plain = held == Qt::NoModifier;
    const bool command = held == Qt::ControlModifier;
    const int by = event->key() == Qt::Key_Up || event->key() == Qt::Key_BracketRight ? 1 : -1;
    switch (event->key()) {
        case Qt::Key_Up:
        case Qt::Key_Down:
            if (plain) return m_controls->stepLayer(by);
            if (command) return m_controls->stepHead(by);
            break;
        case Qt::Key_BracketLeft:
        case Qt::Key_BracketRight:
            if (!command) return m_controls->stepHead(by);  // on some keyboards they need a modifier
            break;
        default: break;
    }
    QWidget::keyPressEvent(event);
}

QString InsightPanel::wordAt(qint64 position) const {
    const InsightToken* token = m_strip->flow()->token(position);
    return token != nullptr ? insight::tokenLabel(QString::fromStdString(token->text)) : QString();
}

QString InsightPanel::labelOf(const MapRequest& request) const {
    QStringList parts;
    if (request.tower == Tower::language) {
        parts.append(insight::quoted(wordAt(request.position)));
    } else {
        parts.append(request.patch == kAll
                         ? tr("Vision tower, all patches")
                         : tr("Vision tower, %1").arg(insight::patchName(request.patch, m_source.layout.columns)));
    }
    parts.append(insight::nameOf(request.method));
    if (insight::takesHead(request.method)) {
        parts.append(insight::layerAndHead(request.layer, request.head));
    } else if (insight::takesLayer(request.method)) {
        parts.append(request.layer == kAll ? tr("all layers") : tr("layer %1").arg(request.layer));
    }
    return parts.join(QStringLiteral(" · "));
}

void InsightPanel::showPicture() {
    const Shown shown = m_pictures.value(m_controls->view().request.picture);
    if (shown.picture.image.cacheKey() != m_view->picture().image.cacheKey() ||
        shown.seen.cacheKey() != m_view->seen().cacheKey())
        m_view->setPicture(shown.picture, shown.seen);
}

ValueScale InsightPanel::scale() const {
    return m_view->scale();
}

ValueScale InsightPanel::scaleOf(const AttentionMap& map, const PatchGrid& grid, QString& said) const {
    const InsightView chosen = m_controls->view();
    const HeadMaps& heads = m_heads->maps();
    const MapRequest& request = map.request;
    QString instead;
    switch (chosen.scale) {
        case ScaleKind::per_map: break;
        case ScaleKind::per_layer:
        case ScaleKind::global: {
            const bool layer = chosen.scale == ScaleKind::per_layer && request.layer != kAll;
            if (!insight::hasHeads(request.method)) {
                instead = tr("this method has no heads");
            } else if (heads.values.empty() || !sameRow(heads.request, request) || request.layer >= heads.layers) {
                instead = tr("the other heads are not there yet");
            } else {
                const auto of = static_cast<std::size_t>(heads.heads * heads.rows * heads.columns);
                const std::span<const float> all(heads.values);
                said =
                    layer ? tr("Scale: all heads of layer %1").arg(request.layer) : tr("Scale: all layers and heads");
                return scale_of(chosen.scale, chosen.transform,
                                layer ? all.subspan(static_cast<std::size_t>(request.layer) * of, of) : all);
            }
            break;
        }
        case ScaleKind::uniform:
            if (!insight::isShareOfARow(request.method) || map.keys < 1) {
                instead = tr("this method has no uniform");
            } else {
                said = tr("Scale: up to 10 times uniform, 1 × is 1/%1").arg(map.keys);
                return uniform_scale(1.0 / static_cast<double>(map.keys), chosen.transform);
            }
            break;
    }
    said = instead.isEmpty() ? tr("Scale: this map alone") : tr("Scale: this map alone (%1)").arg(instead);
    return scale_of(ScaleKind::per_map, chosen.transform, grid.values);
}

void InsightPanel::showMap() {
    const InsightView chosen = m_controls->view();
    const bool shown = m_map && m_map->request.picture == chosen.request.picture && !m_map->grid.values.empty();
    m_pin->setEnabled(shown);
    m_export->setEnabled(shown);
    m_view->setShowSeen(chosen.showSeen);
    m_view->setSmooth(chosen.smooth);
    m_heads->setLook(colours(), chosen.transform);
    m_heads->setCurrent(chosen.request.layer, chosen.request.head);
    m_compare->setLook(
        {colours(), m_twoSided, chosen.transform, chosen.scale == ScaleKind::uniform, chosen.smooth, chosen.showSeen});
    m_bar->setVisible(shown);
    m_scale->setVisible(shown);
    if (!shown) {
        const bool hadRegion = !m_view->region().empty();
        m_view->clearMap();
        if (hadRegion) Q_EMIT regionChosen({});
        m_compare->setCurrent(std::nullopt);
        m_what->say(m_pages->currentIndex() == 1 ? tr("No map yet") : QString());
        showMasses();
        return;
    }
    const AttentionMap& map = *m_map;
    PatchGrid grid = map.grid;
    std::vector<int> sinks;
    if (m_sinks && chosen.sinks != SinkMode::leave) sinks = m_sinks->patches;
    if (chosen.sinks == SinkMode::hide) {
        for (const int patch : sinks)
            if (patch >= 0 && patch < static_cast<int>(grid.values.size()))
                grid.values[static_cast<std::size_t>(patch)] = std::numeric_limits<float>::quiet_NaN();
    }
    QString said;
    const ValueScale scale = scaleOf(map, grid, said);
    const double uniform =
        insight::isShareOfARow(map.request.method) && map.keys > 0 ? 1.0 / static_cast<double>(map.keys) : 0.0;
    m_view->setMap(grid, scale, colours(), uniform);
    m_view->setSinks(sinks, chosen.sinks);
    const ScaleCut cut = cutOf(scale, grid.values);
    m_bar->setScale(scale, colours(), cut);
    m_bar->setValue(m_view->valueRead());
    if (chosen.transform == ScaleTransform::log) said += tr(", logarithmic");
    if (chosen.transform == ScaleTransform::clip99) said += cut.above ? QString() : tr(", nothing to clip");
    if (cut.above) said += tr(", highest values clipped");
    m_scale->say(said);
    const QString label = labelOf(map.request);
    m_what->say(label);
    m_compare->setCurrent(MapShot{m_source.title.isEmpty() ? label : label + QStringLiteral(" · ") + m_source.title,
                                  m_view->picture(), m_view->seen(), grid, map.request.method, uniform});
    showMasses();
}

void InsightPanel::showMasses() {
    const bool there = m_map.has_value() && !m_view->grid().values.empty();
    QString share;
    bool faint = false;
    if (there && m_map->masses) {
        const MapRequest& request = m_map->request;
        const QString part = insight::percent(m_map->masses->picture);
        faint = m_map->masses->picture < kFaint;
        const QString whose = request.head != kAll    ? tr("this head's attention")
                              : request.layer != kAll ? tr("the attention of this layer")
                                                      : tr("all attention");
        share = faint ? tr("Only %1 of %2 is on the picture: this map carries little weight.").arg(part, whose)
                      : tr("%1 of %2 is on the picture.").arg(part, whose);
    } else if (there && m_map->request.tower == Tower::vision) {
        share = tr("The vision tower sees nothing but the picture: all of its attention is here.");
    } else if (there) {
        share = tr("This method does not tell how much attention is on the picture.");
    }
    m_share->say(share);
    m_share->setVisible(!share.isEmpty());
    if (std::exchange(m_faint, faint) != faint) {
        m_shareIcon->setIcon(faint ? QStringLiteral("warning") : QString());
        m_share->setProperty("muted", !faint);
        m_share->style()->unpolish(m_share);  // the style sheet looks at the property only now
        m_share->style()->polish(m_share);
    }
    if (there) {
        m_masses->setRow(m_map->masses, m_map->entropy, m_map->keys);
    } else {
        m_masses->clear();
    }
}

void InsightPanel::showWord() {
    const InsightToken* token = m_strip->flow()->token(shownPosition());
    if (token == nullptr) {
        m_wordTitle->say(tr("Choose a word of the answer."));
        m_alternatives->setWords({});
    } else if (token->place == TokenPlace::answer) {
        m_wordTitle->say(tr("%1 at position %2, said with a probability of %3")
                             .arg(insight::quoted(wordAt(token->position)))
                             .arg(token->position)
                             .arg(insight::percent(std::exp(token->log_prob))));
        m_alternatives->setWords(token->alternatives, token->id);
    } else {
        m_wordTitle->say(
            tr("%1 at position %2, of the prompt").arg(insight::quoted(wordAt(token->position))).arg(token->position));
        m_alternatives->setWords({});
    }
    m_alternativesTitle->setVisible(!m_alternatives->words().empty());
    showQuestion();
}

void InsightPanel::showQuestion() {
    const qint64 position = m_strip->chosen();  // what the pointer passes over is no question
    const InsightToken* token = m_strip->flow()->token(position);
    m_causal->setQuestion(wordAt(position), token != nullptr ? token->id : -1, position, chosenPatches(),
                          std::max(1, m_source.layout.columns));
}

}  // namespace vitrine
