#include "app/insight/insight_controller.h"

#include "app/dialogs.h"
#include "app/insight/view_json.h"
#include "app/names.h"
#include "app/pictures/picture_file.h"
#include "app/settings.h"
#include "core/insight/colour_map.h"
#include "core/insight/head_scores.h"
#include "core/insight/map_file.h"
#include "ui/insight/insight_panel.h"
#include "ui/pictures/picture.h"

#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kLensWords = 5;

ColourTable tableOf(ColourMap map) {
    ColourTable table;
    const RgbTable& colours = colour_table(map);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = qRgb(colours[i][0], colours[i][1], colours[i][2]);
    return table;
}

// What one patch of which row, and where: what exports are made of.
TokenMap tokenMapOf(const Recording& recording, const AttentionMap& map, const std::optional<Sinks>& sinks) {
    TokenMap named{.token = {}, .map = map, .panel = {}};
    if (map.request.tower == Tower::language) {
        const auto tokens = recording.tokens(map.request.position);
        if (!tokens.empty()) named.token = tokens.front().text;
    }
    named.panel.picture = &recording.picture(map.request.picture);
    if (map.request.patch != kAll) named.panel.chosen = map.request.patch;
    if (sinks) named.panel.sinks = sinks->patches;
    return named;
}

MapStyle styleOf(const InsightView& view, const ValueScale& scale) {
    MapStyle style{.scale = scale, .smooth = view.smooth};
    if (const auto colours = colour_map_from_name(view.colours.toStdString())) style.colours = *colours;
    return style;
}

}  // namespace

InsightController::InsightController(InsightPanel& panel, EngineWorker& engine, Settings& settings, Dialogs& dialogs,
                                     QObject* parent)
    : QObject(parent), m_panel(panel), m_engine(engine), m_settings(settings), m_dialogs(dialogs) {
    m_panel.setColours({{QStringLiteral("magma"), tableOf(ColourMap::magma)},
                        {QStringLiteral("viridis"), tableOf(ColourMap::viridis)},
                        {QStringLiteral("cividis"), tableOf(ColourMap::cividis)}},
                       tableOf(ColourMap::difference));
    m_panel.setView(viewFrom(m_settings.get(setting::insight)));
    connectPanel();
    connect(&m_engine, &EngineWorker::answering, this, [this](EngineJob* job) {
        if (m_watching) follow(job);
    });
    // A recording holds the weights: it must not outlive the model on the screen.
    connect(&m_engine, &EngineWorker::stateChanged, this, [this] {
        showNothing();
        if (m_engine.state() == EngineWorker::State::ready) readScores();
    });
    connect(&m_worker, &InsightWorker::busyChanged, &m_panel, &InsightPanel::setBusy);
    connect(&m_worker, &InsightWorker::failed, this,
            [this](InsightWorker::Question, const QString& message) { m_panel.setProblem(message); });
    showNothing();
}

InsightController::~InsightController() = default;

template <typename Value>
void InsightController::ask(InsightWorker::Question question,
                            std::function<Value(const Recording&, std::stop_token)> compute,
                            std::function<void(const Value&)> show, int which) {
    if (!m_recording) return;
    m_worker.ask(
        question,
        [recording = m_recording, compute = std::move(compute),
         show = std::move(show)](std::stop_token stop) -> InsightWorker::Show {
            auto value = std::make_shared<Value>(compute(*recording, std::move(stop)));
            return [value, show] { show(*value); };
        },
        which);
}

void InsightController::connectPanel() {
    connect(&m_panel, &InsightPanel::viewChanged, this, [this](const InsightView& view) {
        const bool sameRows = view.request.layer == m_view.request.layer && view.request.head == m_view.request.head &&
                              view.request.picture == m_view.request.picture &&
                              view.request.tower == m_view.request.tower;
        const bool sameMap = view.request == m_view.request;
        m_view = view;
        if (sameMap) return;  // only the look has changed
        m_panel.setProblem({});
        refresh();
        if (!sameRows) askWeights();
    });
    connect(&m_panel, &InsightPanel::headsShown, this, [this] { askHeads(); });
    connect(&m_panel, &InsightPanel::lensShown, this, [this] { askLens(); });
    connect(&m_panel, &InsightPanel::sinksShown, this, [this] { askSinks(); });
    connect(&m_panel, &InsightPanel::regionChosen, this, [this](const std::vector<int>& patches) {
        m_region = patches;
        askWeights();
    });
    connect(&m_panel, &InsightPanel::causalWanted, this, &InsightController::askCausal);
    connect(&m_panel, &InsightPanel::exportWanted, this, &InsightController::chooseFile);
}

void InsightController::setWatching(bool watching) {
    m_watching = watching;
    m_engine.setRecording(watching);
}

void InsightController::open(EngineWorker::Prompt prompt) {
    if (m_opening) m_opening->stop();
    m_opening = m_engine.record(std::move(prompt));
    const quint64 number = ++m_current;
    m_panel.setBusy(true);
    connect(m_opening.get(), &EngineJob::recorded, this,
            [this, number](const std::shared_ptr<const Recording>& recording) {
                if (number == m_current) begin(recording, false);
            });
    const auto over = [this, number] {
        if (number != m_current) return;
        m_opening.reset();
        m_panel.setBusy(m_worker.isBusy());
    };
    connect(m_opening.get(), &EngineJob::finished, this, over);
    connect(m_opening.get(), &EngineJob::failed, this, [this, over](const QString& message) {
        over();
        m_panel.setProblem(message);
    });
}

void InsightController::follow(EngineJob* job) {
    connect(job, &EngineJob::recorded, this, [this, job](const std::shared_ptr<const Recording>& recording) {
        if (!m_watching) return;
        const quint64 number = ++m_current;
        begin(recording, true);
        connect(job, &EngineJob::streamed, this, [this, number] {
            if (number == m_current) take();
        });
        const auto over = [this, number] {
            if (number != m_current) return;
            take();
            m_live = false;
            m_panel.setLive(false);
        };
        connect(job, &EngineJob::finished, this, over);
        connect(job, &EngineJob::failed, this, over);
    });
}

void InsightController::begin(const std::shared_ptr<const Recording>& recording, bool live) {
    m_worker.forget();
    m_recording = recording;
    m_region.clear();
    m_live = live;
    const InsightLayout layout = recording->layout();
    if (layout.pictures == 0) {
        m_recording.reset();
        return m_panel.clear(tr("No picture to look at"),
                             tr("This answer is about words alone. Ask about a picture to see where the model looks."));
    }
    const std::vector<InsightToken> tokens = recording->tokens();
    m_known = static_cast<std::int64_t>(tokens.size());
    m_panel.setProblem({});
    m_panel.setSource({QString::fromStdString(recording->question()), layout, tokens, live});
    m_view = m_panel.view();
    askPictures();
    refresh();
    askWeights();
    askSinks();
}

void InsightController::take() {
    if (!m_recording) return;
    const std::vector<InsightToken> tokens = m_recording->tokens(m_known);
    if (tokens.empty()) return;
    m_known += static_cast<std::int64_t>(tokens.size());
    m_panel.appendTokens(tokens, m_recording->layout());
    askWeights();
}

void InsightController::refresh() {
    const MapRequest request = m_view.request;
    if (!m_recording || (request.tower == Tower::language && request.position < 1)) return;
    ask<AttentionMap>(
        InsightWorker::Question::map,
        [request](const Recording& recording, const std::stop_token&) { return recording.map(request); },
        [this](const AttentionMap& map) { m_panel.setMap(map); });
    askHeads();
    askLens();
}

void InsightController::askPictures() {
    for (int index = 0; index < m_recording->layout().pictures; ++index) {
        using Both = std::pair<Picture, QImage>;
        ask<Both>(
            InsightWorker::Question::picture,
            [index](const Recording& recording, const std::stop_token&) {
                return Both(Picture::of(toQImage(Image(recording.picture(index)))), toQImage(recording.seen(index)));
            },
            [this, index](const Both& both) { m_panel.setPicture(index, both.first, both.second); }, index);
    }
}

void InsightController::askWeights() {
    if (m_view.request.tower != Tower::language) return;
    ask<std::vector<float>>(
        InsightWorker::Question::weights,
        [request = m_view.request, region = m_region](const Recording& recording, const std::stop_token&) {
            return recording.token_weights(request, region);
        },
        [this](const std::vector<float>& weights) { m_panel.setTokenWeights(weights); });
}

void InsightController::askHeads() {
    MapRequest request = m_view.request;
    if (!m_panel.headsAreShown() || (request.tower == Tower::language && request.position < 1)) return;
    if (request.method != MapMethod::value_norm) request.method = MapMethod::attention;
    ask<HeadMaps>(
        InsightWorker::Question::heads,
        [request](const Recording& recording, const std::stop_token&) { return recording.heads(request); },
        [this](const HeadMaps& heads) { m_panel.setHeads(heads); });
}

void InsightController::askLens() {
    const MapRequest& request = m_view.request;
    if (!m_panel.lensIsShown() || request.tower != Tower::language || request.position < 1) return;
    ask<std::optional<PatchWords>>(
        InsightWorker::Question::words,
        [picture = request.picture, layer = request.layer](const Recording& recording, std::stop_token stop) {
            return recording.patch_words(picture, layer, kLensWords, std::move(stop));
        },
        [this](const std::optional<PatchWords>& words) {
            if (words) m_panel.setPatchWords(*words);
        });
    ask<WordRanks>(
        InsightWorker::Question::ranks,
        [position = request.position](const Recording& recording, const std::stop_token&) {
            return recording.word_ranks(position);
        },
        [this](const WordRanks& ranks) { m_panel.setWordRanks(ranks); });
}

void InsightController::askSinks() {
    if (!m_panel.sinksAreShown()) return;
    ask<Sinks>(
        InsightWorker::Question::sinks,
        [request = m_view.request](const Recording& recording, const std::stop_token&) {
            return recording.sinks(request.tower, request.picture);
        },
        [this](const Sinks& sinks) { m_panel.setSinks(sinks); });
}

void InsightController::askCausal(const std::vector<int>& patches, CausalCheck::Means means) {
    const MapRequest& request = m_view.request;
    ask<std::optional<CausalCheck>>(
        InsightWorker::Question::causal,
        [request, patches, means](const Recording& recording, std::stop_token stop) {
            return recording.causal(request.position, request.picture, patches, means, 0, std::move(stop));
        },
        [this](const std::optional<CausalCheck>& check) {
            if (check) m_panel.setCausal(*check);
        });
}

void InsightController::chooseFile(InsightExport kind) {
    if (!m_recording || !m_panel.map()) return;
    if (kind == InsightExport::clipboard) return copyView();
    static constexpr std::array kEndings{"png", "svg", "npy", "npz", "json"};
    const QString ending = QString::fromLatin1(kEndings[static_cast<std::size_t>(kind)]);
    m_dialogs.saveFile(&m_panel,
                       {.title = tr("Save the map"),
                        .folder = {},
                        .filter = tr("%1 files (*.%2)").arg(ending.toUpper(), ending),
                        .suggested = QStringLiteral("attention.") + ending},
                       [this](const QString& file) { exportTo(file); });
}

void InsightController::exportTo(const QString& file) {
    if (!m_recording || !m_panel.map()) return;
    MapProvenance provenance{.model = m_engine.model() ? m_engine.model()->name : std::string(),
                             .prompt = m_recording->question()};
    ask<bool>(
        InsightWorker::Question::save,
        [map = *m_panel.map(), style = styleOf(m_view, m_panel.scale()), hatch = m_view.sinks == SinkMode::hatch,
         provenance, path = file.toStdString()](const Recording& recording, const std::stop_token&) {
            MapProvenance whole = provenance;
            for (const InsightToken& token : recording.tokens(recording.layout().answer_begin))
                whole.answer += token.text;
            std::optional<Sinks> sinks;
            if (hatch) sinks = recording.sinks(map.request.tower, map.request.picture);
            const TokenMap named = tokenMapOf(recording, map, sinks);
            write_map(path, std::span(&named, 1), whole, style);
            return true;
        },
        [](bool) {});
}

void InsightController::copyView() {
    ask<QImage>(
        InsightWorker::Question::save,
        [map = *m_panel.map(), style = styleOf(m_view, m_panel.scale())](const Recording& recording,
                                                                         const std::stop_token&) {
            TokenMap named = tokenMapOf(recording, map, {});
            named.panel.grid = &map.grid;
            return toQImage(map_image(std::span(&named.panel, 1), style));
        },
        [](const QImage& image) { QGuiApplication::clipboard()->setImage(image); });
}

void InsightController::showNothing() {
    ++m_current;
    m_worker.forget();
    m_recording.reset();
    if (m_engine.state() == EngineWorker::State::ready)
        m_panel.clear(tr("Nothing to look into yet"),
                      tr("Ask about a picture, or caption one: this is where you see what the model looks at, word by "
                         "word, while it speaks."));
    else
        m_panel.clear(tr("No model"), tr("Load a model under Models to look inside it."));
}

void InsightController::readScores() {
    const QString file = m_engine.folder() + QStringLiteral("/heads.json");
    m_worker.ask(InsightWorker::Question::scores, [this, file](const std::stop_token&) -> InsightWorker::Show {
        if (!QFileInfo::exists(file)) return [this] { m_panel.setHeadScores({}, {}); };
        auto scores = std::make_shared<const HeadScores>(HeadScores::load(file.toStdString()));
        return [this, scores] { takeScores(*scores); };
    });
}

void InsightController::takeScores(const HeadScores& scores) {
    std::vector<float> pointing;
    for (int layer = 0; layer < scores.layers(); ++layer)
        for (int head = 0; head < scores.heads(); ++head)
            pointing.push_back(static_cast<float>(scores.at(Half::held_out, layer, head).pointing.value()));
    m_panel.setHeadScores(tr("pointing at what is named"), pointing);
    // Whoever has not chosen yet sees the head that points best instead of the blur of all.
    const auto best = scores.best(Measure::pointing);
    if (!best || !m_settings.get(setting::insight).isEmpty()) return;
    InsightView view = m_panel.view();
    view.request.layer = best->layer;
    view.request.head = best->head;
    m_panel.setView(view);
    m_view = m_panel.view();
}

void InsightController::save() {
    m_settings.set(setting::insight, jsonOf(m_panel.view()));
}

}  // namespace vitrine
