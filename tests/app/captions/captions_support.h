#pragma once

#include "app/captions/caption_queue.h"
#include "app/captions/folder_scanner.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTimer>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Folders of tiny pictures, and an engine that says what it is told to.
namespace vitrine::test {

class PictureFolder {
public:
    QString path(const QString& name = {}) const { return QDir::cleanPath(m_folder.path() + QLatin1Char('/') + name); }
    QString write(const QString& name, const QByteArray& content) const {
        QDir().mkpath(QFileInfo(path(name)).path());
        QFile file(path(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            throw std::runtime_error("cannot write a test file");
        return path(name);
    }
    // Of one pixel, whatever it is called: the type goes by content.
    QString picture(const QString& name) const { return write(name, "P6 1 1 255\n\x01\x02\x03"); }
    QByteArray read(const QString& name) const {
        QFile file(path(name));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("<absent>");
    }

private:
    QTemporaryDir m_folder;
};

inline QList<FoundPicture> scanned(const QStringList& inputs, ScanSummary* summary = nullptr) {
    QList<FoundPicture> all;
    const ScanSummary counted =
        FolderScanner::scan(inputs, [&](const QList<FoundPicture>& batch) { all += batch; }, {});
    if (summary != nullptr) *summary = counted;
    return all;
}

// Answers each prompt with "<prompt>, said", in three pieces, from the event loop.
class StubEngine : public QObject {
public:
    bool loaded = true;
    bool faulty = false;  // every answer fails
    bool silent = false;  // every answer is white space
    bool paused = false;  // the answer waits behind its first piece
    QStringList asked;

    CaptionQueue::Engine engine() {
        return {[this](EngineWorker::Prompt prompt, const GenerationOptions&) { return begin(std::move(prompt)); },
                [this] { return loaded ? std::optional(QStringLiteral("stub")) : std::nullopt; }};
    }
    void go() {
        paused = false;
        if (auto waiting = std::exchange(m_waiting, nullptr)) waiting();
    }

private:
    std::shared_ptr<EngineJob> begin(EngineWorker::Prompt prompt) {
        std::shared_ptr<EngineJob> job(new EngineJob, [](EngineJob* ended) { ended->deleteLater(); });
        QTimer::singleShot(0, this, [this, job, prompt = std::move(prompt)] {
            Q_EMIT job->started();
            if (job->stopRequested()) return end(job, {.finish = FinishReason::stopped});
            try {
                const std::string text = prompt().front().text;
                if (faulty) throw std::runtime_error("out of memory");
                asked << QString::fromStdString(text);
                say(job, silent ? std::vector<std::string>{" \n"} : std::vector<std::string>{text, ", ", "said"}, {});
            } catch (const std::exception& error) {
                Q_EMIT job->failed(QString::fromUtf8(error.what()));
            }
        });
        return job;
    }

    void say(const std::shared_ptr<EngineJob>& job, std::vector<std::string> pieces, std::string text) {
        if (job->stopRequested()) return end(job, {.text = text, .finish = FinishReason::stopped});
        if (pieces.empty()) return end(job, {.text = text, .finish = FinishReason::stop_token});
        text += pieces.front();
        Q_EMIT job->streamed({TokenEvent{.text = pieces.front()}});
        pieces.erase(pieces.begin());
        const auto rest = [this, job, pieces, text] { say(job, pieces, text); };
        if (paused) {
            m_waiting = rest;
        } else {
            QTimer::singleShot(0, this, rest);
        }
    }

    static void end(const std::shared_ptr<EngineJob>& job, const GenerationResult& result) {
        Q_EMIT job->finished(result);
    }

    std::function<void()> m_waiting;
};

}  // namespace vitrine::test
