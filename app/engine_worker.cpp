#include "app/engine_worker.h"

#include "app/names.h"

#include <QPointer>
#include <QTimer>

#include <algorithm>
#include <atomic>
#include <exception>

namespace vitrine {
namespace {

constexpr qint64 kGatherMs = 33;  // two frames of a 60 Hz display

// Tells the UI thread how far loading is, at most once in kGatherMs.
class LoadRelay : public EngineObserver {
public:
    explicit LoadRelay(EngineWorker& worker) : m_worker(worker) {}

    void on_load_progress(std::uint64_t done, std::uint64_t total) override {
        if (m_clock.isValid() && m_clock.elapsed() < kGatherMs && done < total) return;
        m_clock.start();
        QMetaObject::invokeMethod(&m_worker, [&worker = m_worker, done, total] {
            if (worker.state() == EngineWorker::State::loading) Q_EMIT worker.loadProgressed(done, total);
        });
    }

private:
    EngineWorker& m_worker;  // outlives the engine thread
    QElapsedTimer m_clock;
};

}  // namespace

// On the engine thread: lays what comes into the job, and calls the UI thread when nothing is on its way there.
class EngineJob::Relay : public EngineObserver {
public:
    explicit Relay(std::shared_ptr<EngineJob> job) : m_job(std::move(job)) {}

    void on_stage(const StageTiming& timing) override {
        QMetaObject::invokeMethod(m_job.get(), [job = m_job, timing] { Q_EMIT job->staged(timing); });
    }

    void on_recording(const std::shared_ptr<const Recording>& recording) override {
        QMetaObject::invokeMethod(m_job.get(), [job = m_job, recording] { Q_EMIT job->recorded(recording); });
    }

    void on_token(const TokenEvent& event) override {
        const std::lock_guard lock(m_job->m_mutex);
        m_job->m_waiting.push_back(event);
        if (std::exchange(m_job->m_scheduled, true)) return;
        QMetaObject::invokeMethod(m_job.get(), [job = m_job] {
            const qint64 wait = job->m_sinceLast.isValid() ? kGatherMs - job->m_sinceLast.elapsed() : 0;
            if (wait <= 0) return job->takeEvents();
            QTimer::singleShot(wait, job.get(), [job] { job->takeEvents(); });
        });
    }

private:
    std::shared_ptr<EngineJob> m_job;
};

void EngineJob::takeEvents() {
    std::vector<TokenEvent> events;
    {
        const std::lock_guard lock(m_mutex);
        events.swap(m_waiting);
        m_scheduled = false;
    }
    m_sinceLast.start();
    if (!events.empty()) Q_EMIT streamed(events);
}

EngineWorker::EngineWorker(QObject* parent) : QObject(parent), m_engine(std::make_unique<EngineThread>()) {}

EngineWorker::~EngineWorker() {
    m_loading.request_stop();
    m_engine.reset();
}

void EngineWorker::setState(State state) {
    m_state = state;
    Q_EMIT stateChanged();
}

void EngineWorker::load(const QString& modelFolder, const LoadOptions& options) {
    m_loading.request_stop();
    m_loading = {};
    m_folder = modelFolder;
    m_model.reset();
    m_fault.clear();
    const quint64 generation = ++m_generation;
    setState(State::loading);  // first, so that whoever holds on to the old model lets go
    // A stop switch of our own beside the engine's: this load may be called off before it begins.
    m_engine->submit([this, generation, options, folder = modelFolder.toStdString(), stop = m_loading.get_token()](
                         Engine& engine, std::stop_token quit) {
        std::stop_source both;
        const std::stop_callback ours(stop, [&both] { both.request_stop(); });
        const std::stop_callback theirs(quit, [&both] { both.request_stop(); });
        std::optional<ModelSummary> summary;
        QString fault;
        try {
            LoadRelay relay(*this);
            engine.unload();
            summary = engine.load(folder, options, relay, both.get_token());
        } catch (const std::exception& error) {
            fault = wordsOf(error);
        }
        QMetaObject::invokeMethod(this, [this, generation, summary, fault] {
            if (generation != m_generation) return;
            m_model = summary;
            m_fault = fault;
            setState(summary ? State::ready : State::empty);
            if (!fault.isEmpty()) Q_EMIT loadFailed(fault);
        });
    });
}

void EngineWorker::cancelLoad() {
    if (m_state == State::loading) m_loading.request_stop();
}

void EngineWorker::unload() {
    m_loading.request_stop();
    ++m_generation;
    m_model.reset();
    m_fault.clear();
    m_folder.clear();
    setState(State::empty);
    m_engine->submit([](Engine& engine, const std::stop_token&) { engine.unload(); });
}

std::shared_ptr<EngineJob> EngineWorker::submit(Work work) {
    // Whichever thread drops the last pointer, the object goes on the UI thread.
    std::shared_ptr<EngineJob> job(new EngineJob, [](EngineJob* ended) { ended->deleteLater(); });
    m_engine->submit([job, work = std::move(work)](Engine& engine, std::stop_token quit) {
        QMetaObject::invokeMethod(job.get(), [job] { Q_EMIT job->started(); });
        const std::stop_callback quitting(quit, [&job] { job->stop(); });
        std::function<void()> end;
        try {
            GenerationResult result{.finish = FinishReason::stopped};
            EngineJob::Relay relay(job);
            if (!job->stopRequested()) result = work(engine, relay, job->m_stop.get_token());
            end = [job, result = std::move(result)] {
                job->takeEvents();
                Q_EMIT job->finished(result);
            };
        } catch (const std::exception& error) {
            end = [job, message = wordsOf(error)] {
                job->takeEvents();
                Q_EMIT job->failed(message);
            };
        }
        QMetaObject::invokeMethod(job.get(), std::move(end));
    });
    return job;
}

std::shared_ptr<EngineJob> EngineWorker::generate(Prompt prompt, const GenerationOptions& options) {
    GenerationOptions wanted = options;
    if (m_recording) {
        wanted.record = true;
        wanted.alternatives = std::max(wanted.alternatives, GenerationOptions{}.alternatives);
    }
    auto job = submit(
        [prompt = std::move(prompt), wanted](Engine& engine, EngineObserver& observer, const std::stop_token& stop) {
            return engine.generate(prompt(), wanted, observer, stop);
        });
    Q_EMIT answering(job.get());
    return job;
}

std::shared_ptr<EngineJob> EngineWorker::record(Prompt prompt) {
    return submit([prompt = std::move(prompt)](Engine& engine, EngineObserver& observer, const std::stop_token& stop) {
        const auto recording = engine.record(prompt(), observer, stop);
        if (!recording) return GenerationResult{.finish = FinishReason::stopped};
        observer.on_recording(recording);
        return GenerationResult{};
    });
}

}  // namespace vitrine
