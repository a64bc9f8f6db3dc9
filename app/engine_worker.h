#pragma once

#include "core/engine.h"

#include <QElapsedTimer>
#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace vitrine {

// One answer being made. A QObject of the UI thread: its signals arrive there, and stop() may be called at any time,
// also before the engine has begun. Exactly one of finished() and failed() comes, and it comes last.
class EngineJob : public QObject {
    Q_OBJECT

public:
    void stop() { m_stop.request_stop(); }  // takes effect within one token; finished() then says FinishReason::stopped
    bool stopRequested() const { return m_stop.stop_requested(); }

Q_SIGNALS:
    void started();
    void staged(const vitrine::StageTiming& timing);
    // What was generated since the last time, gathered for about 33 ms.
    void streamed(const std::vector<vitrine::TokenEvent>& events);
    // Where it was asked for: the answer, open to view; before anything is streamed.
    void recorded(const std::shared_ptr<const vitrine::Recording>& recording);
    void finished(const vitrine::GenerationResult& result);
    void failed(const QString& message);

private:
    friend class EngineWorker;
    class Relay;

    void takeEvents();  // on the UI thread

    std::stop_source m_stop;
    std::mutex m_mutex;
    std::vector<TokenEvent> m_waiting;  // guarded by m_mutex
    bool m_scheduled = false;           // guarded by m_mutex: takeEvents() is on its way
    QElapsedTimer m_sinceLast;
};

// The engine as the UI thread sees it: wishes go in, signals come back, nothing waits. Jobs run in order on the engine
// thread, so an answer asked for while a model loads waits for that model. Destroying it stops what runs.
class EngineWorker : public QObject {
    Q_OBJECT

public:
    enum class State { empty, loading, ready };
    Q_ENUM(State)

    explicit EngineWorker(QObject* parent = nullptr);
    ~EngineWorker() override;

    State state() const { return m_state; }
    const std::optional<ModelSummary>& model() const { return m_model; }  // while ready
    const QString& folder() const { return m_folder; }                    // of the model that is loaded or loading
    const QString& fault() const { return m_fault; }                      // why the last load failed; empty otherwise

    void load(const QString& modelFolder, const LoadOptions& options);  // what was loaded or loading before goes first
    void cancelLoad();
    void unload();

    // `prompt` runs on the engine thread (pictures are decoded there); what it throws comes as failed(). The job lives
    // until its last signal even when the pointer returned is dropped.
    using Prompt = std::function<std::vector<Message>()>;
    std::shared_ptr<EngineJob> generate(Prompt prompt, const GenerationOptions& options);
    // Opens an answer that is there already, the last message: recorded() comes, then finished() with nothing in it.
    std::shared_ptr<EngineJob> record(Prompt prompt);
    // From the next answer on, all are recorded.
    void setRecording(bool recording) { m_recording = recording; }

Q_SIGNALS:
    void stateChanged();
    void loadProgressed(quint64 done, quint64 total);  // bytes
    void loadFailed(const QString& message);
    void answering(vitrine::EngineJob* job);  // an answer was asked for; the job has not begun

private:
    using Work = std::function<GenerationResult(Engine&, EngineObserver&, const std::stop_token&)>;
    std::shared_ptr<EngineJob> submit(Work work);
    void setState(State state);

    State m_state = State::empty;
    std::optional<ModelSummary> m_model;
    QString m_folder;
    QString m_fault;
    std::stop_source m_loading;
    quint64 m_generation = 0;  // counts load and unload, so that the end of an older one changes nothing
    bool m_recording = false;
    std::unique_ptr<EngineThread> m_engine;
};

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::StageTiming)
Q_DECLARE_METATYPE(vitrine::TokenEvent)
Q_DECLARE_METATYPE(vitrine::GenerationResult)
