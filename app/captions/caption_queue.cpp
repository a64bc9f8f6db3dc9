#include "app/captions/caption_queue.h"

#include "core/captions/prompt.h"
#include "core/captions/record.h"
#include "core/image/decode.h"

#include <QSet>
#include <QtConcurrent/QtConcurrentRun>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr qint64 kLargestAhead = 32 << 20;  // bytes of a file; two huge pictures in memory at once help nobody
constexpr int kEngineFaults = 3;

}  // namespace

CaptionQueue::CaptionQueue(Engine engine, QObject* parent) : QObject(parent), m_engine(std::move(engine)) {
    m_decoder.setMaxThreadCount(1);
    m_decoder.setObjectName(QStringLiteral("decoder"));
}

CaptionQueue::~CaptionQueue() {
    if (m_current) {
        m_current->job->disconnect(this);
        m_current->job->stop();
    }
    m_decoder.waitForDone();
}

void CaptionQueue::setFilter(std::function<bool(const QString&, CaptionPolicy)> wanted) {
    m_wanted = std::move(wanted);
}

void CaptionQueue::add(const QStringList& paths, const CaptionSettings& settings) {
    const auto shared = std::make_shared<const CaptionSettings>(settings);
    const QSet<QString> asked(paths.begin(), paths.end());
    const auto is_asked = [&](const Item& item) { return asked.contains(item.path); };
    std::erase_if(m_held, is_asked);
    std::erase_if(m_waiting, is_asked);  // asked again: with the newer settings
    if (!m_current && m_waiting.empty()) {
        m_done = 0;
        m_failed = 0;
        m_engineFaults = 0;
    }
    std::vector<Item> items;
    for (const QString& path : paths) {
        if (!m_current || m_current->path != path) items.push_back({path, shared});
    }
    m_waiting.insert(items.size() == 1 ? m_waiting.begin() : m_waiting.end(), items.begin(), items.end());
    m_stopping = m_stopping && m_current;
    Q_EMIT progressed();
    next();
}

void CaptionQueue::hold(const QStringList& paths, const CaptionSettings& settings) {
    const auto shared = std::make_shared<const CaptionSettings>(settings);
    for (const QString& path : paths) m_held.push_back({path, shared});
    Q_EMIT progressed();
}

void CaptionQueue::remove(const QStringList& paths) {
    const QSet<QString> gone(paths.begin(), paths.end());
    const auto is_gone = [&](const Item& item) { return gone.contains(item.path); };
    std::erase_if(m_waiting, is_gone);
    std::erase_if(m_held, is_gone);
    if (m_current && gone.contains(m_current->path)) m_current->job->stop();
    Q_EMIT progressed();
}

void CaptionQueue::stop() {
    if (!m_current && m_waiting.empty()) return;
    m_held.insert(m_held.begin(), m_waiting.begin(), m_waiting.end());
    m_waiting.clear();
    m_stopping = m_current.has_value();
    if (m_current) m_current->job->stop();
    Q_EMIT progressed();
}

void CaptionQueue::resume() {
    if (m_held.empty()) return;
    m_waiting.insert(m_waiting.end(), m_held.begin(), m_held.end());
    m_held.clear();
    m_engineFaults = 0;
    Q_EMIT progressed();
    next();
}

void CaptionQueue::drop() {
    m_held.clear();
    Q_EMIT progressed();
}

QStringList CaptionQueue::waiting() const {
    QStringList paths;
    if (m_current) paths << m_current->path;
    for (const Item& item : m_waiting) paths << item.path;
    for (const Item& item : m_held) paths << item.path;
    return paths;
}

CaptionProgress CaptionQueue::progress() const {
    const bool busy = m_current || !m_waiting.empty();
    const bool stopping = m_stopping && m_current;
    CaptionProgress progress{.done = m_done, .failed = m_failed, .total = m_done};
    progress.total += static_cast<int>(m_waiting.size()) + (m_current ? 1 : 0);
    if (!busy || stopping) progress.total += static_cast<int>(m_held.size());
    progress.run = stopping         ? CaptionRun::stopping
                   : busy           ? CaptionRun::running
                   : m_held.empty() ? CaptionRun::idle
                                    : CaptionRun::stopped;
    return progress;
}

// Begins from the event loop, so that a signal's receiver may add, stop or remove first.
void CaptionQueue::next() {
    if (std::exchange(m_scheduled, true)) return;
    QMetaObject::invokeMethod(
        this,
        [this] {
            m_scheduled = false;
            while (!m_current && !m_waiting.empty()) {
                const std::optional<QString> model = m_engine.model();
                if (!model) {
                    stop();
                    Q_EMIT halted(tr("No model is loaded. Captioning goes on when one is."));
                    return;
                }
                const Item item = std::move(m_waiting.front());
                m_waiting.pop_front();
                if (!m_wanted || m_wanted(item.path, item.settings->policy)) return begin(item, *model);
                ++m_done;
                Q_EMIT skipped(item.path);
                Q_EMIT progressed();
            }
        },
        Qt::QueuedConnection);
}

CaptionQueue::Decoded CaptionQueue::decode(const QString& path, bool ahead) {
    Decoded decoded{.stamp = stampOf(path)};
    if (ahead && decoded.stamp.size > kLargestAhead) return decoded;
    try {
        decoded.picture = std::make_shared<const Image>(decode_image_file(path.toStdString()));
    } catch (...) {  // a future would not hand it over as it is
        decoded.fault = std::current_exception();
    }
    return decoded;
}

void CaptionQueue::begin(const Item& item, const QString& model) {
    const CaptionSettings& settings = *item.settings;
    const std::string prompt =
        captions::expand_prompt(settings.prompt.toStdString(), item.path.toStdString(), settings.length);
    m_current.emplace();
    m_current->path = item.path;
    m_current->settings = item.settings;
    m_current->decoded = std::make_shared<Decoded>();
    m_current->from = {.model = model.toStdString(), .prompt = prompt, .seed = settings.generation.sampling.seed};

    auto ahead = std::exchange(m_ahead, {});
    if (m_aheadPath != item.path) ahead.reset();
    const auto ask = [path = item.path, decoded = m_current->decoded, ahead, prompt] {
        if (ahead) *decoded = ahead->result();
        if (!decoded->picture && !decoded->fault) *decoded = decode(path, false);
        if (decoded->fault) std::rethrow_exception(decoded->fault);
        std::vector<Message> messages{{.role = Role::user, .text = prompt, .pictures = {decoded->picture}}};
        return messages;
    };
    EngineJob* const job = (m_current->job = m_engine.generate(ask, settings.generation)).get();
    connect(job, &EngineJob::started, this, &CaptionQueue::decodeAhead);
    connect(job, &EngineJob::streamed, this, [this, path = item.path](const std::vector<TokenEvent>& events) {
        std::string piece;
        for (const TokenEvent& event : events) {
            if (!event.reasoning) piece += event.text;
        }
        if (!piece.empty()) Q_EMIT streamed(path, QString::fromStdString(piece));
    });
    connect(job, &EngineJob::finished, this, &CaptionQueue::finish);
    connect(job, &EngineJob::failed, this, &CaptionQueue::fail);
    Q_EMIT begun(item.path);
    Q_EMIT progressed();
}

void CaptionQueue::decodeAhead() {
    if (m_waiting.empty() || m_stopping) return;
    m_aheadPath = m_waiting.front().path;
    m_ahead = QtConcurrent::run(&m_decoder, &CaptionQueue::decode, m_aheadPath, true);
}

void CaptionQueue::finish(const GenerationResult& result) {
    if (result.finish == FinishReason::stopped) return giveBack();
    const QString text = QString::fromStdString(captions::tidy_caption(result.text));
    if (text.isEmpty()) return fail(tr("The model said nothing. Another prompt or seed may help."));
    CaptionResult caption{m_current->path, m_current->decoded->stamp, text, m_current->from,
                          m_current->settings->policy};
    caption.from.time = captions::utc_time();
    caption.from.finish = std::string(name_of(result.finish));
    m_engineFaults = 0;
    endOne();
    Q_EMIT captioned(caption);
    next();
}

void CaptionQueue::fail(const QString& reason) {
    if (!m_engine.model()) {  // it was unloaded under us
        stop();
        giveBack();
        Q_EMIT halted(tr("The model was unloaded. Captioning goes on when one is loaded."));
        return;
    }
    const QString path = m_current->path;
    m_engineFaults = m_current->decoded->picture ? m_engineFaults + 1 : 0;
    ++m_failed;
    endOne();
    Q_EMIT failed(path, reason);
    if (m_engineFaults >= kEngineFaults && !m_waiting.empty()) {
        stop();
        Q_EMIT halted(tr("Captioning was halted after %1 faults in a row: %2").arg(kEngineFaults).arg(reason));
    }
    next();
}

void CaptionQueue::giveBack() {
    const Item item = *m_current;
    const bool removed = !m_stopping && m_current->job->stopRequested();
    m_current.reset();
    m_ahead.reset();
    if (!removed) m_held.push_front(item);
    m_stopping = false;
    Q_EMIT returned(item.path);
    Q_EMIT progressed();
    next();
}

void CaptionQueue::endOne() {
    m_current.reset();
    m_stopping = false;
    ++m_done;
    Q_EMIT progressed();
}

}  // namespace vitrine
