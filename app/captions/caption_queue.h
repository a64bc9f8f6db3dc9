#pragma once

#include "app/captions/caption_entry.h"
#include "app/engine_worker.h"
#include "ui/captions/values.h"

#include <QFuture>
#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace vitrine {

// A caption as the model wrote it.
struct CaptionResult {
    QString path;
    FileStamp stamp;  // of the picture that was looked at
    QString text;
    captions::Provenance from;
    CaptionPolicy policy = CaptionPolicy::onlyMissing;  // that it was asked for with
};

// Pictures that wait for their captions. One at a time goes to the engine, so that other work comes in between; the
// next one is decoded meanwhile. A picture that fails is told and left behind, the rest go on; an engine that fails
// three times in a row, or loses its model, halts the queue instead. Stopping takes effect within one token: the
// picture at work goes back to the front with nothing of it kept, and all that waits is held until resume() or drop().
// Lives on the UI thread.
class CaptionQueue : public QObject {
    Q_OBJECT

public:
    struct Engine {
        std::function<std::shared_ptr<EngineJob>(EngineWorker::Prompt, const GenerationOptions&)> generate;
        std::function<std::optional<QString>()> model;  // the name of the one that is ready
    };
    explicit CaptionQueue(Engine engine, QObject* parent = nullptr);
    ~CaptionQueue() override;

    // Asked when a picture's turn comes; one that is not wanted any more counts as done.
    void setFilter(std::function<bool(const QString& path, CaptionPolicy policy)> wanted);

    // A single picture goes first, more go behind. What is held stays held.
    void add(const QStringList& paths, const CaptionSettings& settings);
    void hold(const QStringList& paths, const CaptionSettings& settings);  // as after a stop
    void remove(const QStringList& paths);
    void stop();
    void resume();
    void drop();  // what is held

    QStringList waiting() const;  // at work, waiting and held, in order
    CaptionProgress progress() const;

Q_SIGNALS:
    void progressed();
    void begun(const QString& path);
    void streamed(const QString& path, const QString& piece);
    // One of these three ends what begun() began.
    void captioned(const vitrine::CaptionResult& result);
    void failed(const QString& path, const QString& reason);
    void returned(const QString& path);

    void skipped(const QString& path);
    void halted(const QString& reason);

private:
    using Settings = std::shared_ptr<const CaptionSettings>;
    struct Item {
        QString path;
        Settings settings;
    };
    struct Decoded {
        ImagePtr picture;  // null: so large that it is decoded when its turn comes
        FileStamp stamp;
        std::exception_ptr fault = {};
    };
    struct Current : Item {
        std::shared_ptr<EngineJob> job;
        std::shared_ptr<Decoded> decoded;  // written on the engine thread before the job ends
        captions::Provenance from;
    };

    static Decoded decode(const QString& path, bool ahead);
    void next();
    void begin(const Item& item, const QString& model);
    void decodeAhead();
    void finish(const GenerationResult& result);
    void fail(const QString& reason);
    void giveBack();
    void endOne();

    Engine m_engine;
    std::function<bool(const QString&, CaptionPolicy)> m_wanted;
    std::deque<Item> m_waiting;
    std::deque<Item> m_held;
    std::optional<Current> m_current;
    QString m_aheadPath;
    std::optional<QFuture<Decoded>> m_ahead;
    bool m_stopping = false;
    bool m_scheduled = false;
    int m_done = 0;
    int m_failed = 0;
    int m_engineFaults = 0;  // in a row
    QThreadPool m_decoder;
};

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::CaptionResult)
