#include "app/captions/caption_exporter.h"

#include "app/names.h"

#include <QElapsedTimer>

namespace vitrine {
namespace {

constexpr qint64 kReportEveryMs = 100;

template <typename Report>
ExportSummary write(captions::Format format, const QString& target, const QList<CaptionEntry>& entries,
                    const std::stop_token& stop, Report report) {
    ExportSummary summary{.target = target};
    captions::Export table(format, target.toStdString());
    QElapsedTimer clock;
    clock.start();
    int done = 0;
    for (const CaptionEntry& entry : entries) {
        if (stop.stop_requested()) {
            summary.stopped = true;
            return summary;
        }
        if (entry.caption.trimmed().isEmpty()) {
            ++summary.withoutCaption;
        } else if (const auto reason = table.add(entry.path.toStdString(), entry.caption.toStdString(), entry.from)) {
            summary.leftOut << QStringLiteral("%1: %2").arg(entry.path, QString::fromStdString(*reason));
        }
        ++done;
        if (clock.elapsed() < kReportEveryMs) continue;
        clock.restart();
        report(done);
    }
    table.commit();
    summary.written = static_cast<int>(table.count());
    return summary;
}

}  // namespace

CaptionExporter::CaptionExporter(QObject* parent) : QObject(parent) {
    m_pool.setMaxThreadCount(1);
    m_pool.setObjectName(QStringLiteral("export"));
}

CaptionExporter::~CaptionExporter() {
    m_stop.request_stop();
    m_pool.waitForDone();
}

void CaptionExporter::start(captions::Format format, const QString& target, const QList<CaptionEntry>& entries) {
    m_pool.start([this, format, target, entries, stop = m_stop.get_token()] {
        try {
            const auto report = [this, total = static_cast<int>(entries.size())](int done) {
                QMetaObject::invokeMethod(this, [this, done, total] { Q_EMIT progressed(done, total); });
            };
            const ExportSummary summary = write(format, target, entries, stop, report);
            QMetaObject::invokeMethod(this, [this, summary] { Q_EMIT finished(summary); });
        } catch (const std::exception& error) {
            const QString reason = wordsOf(error);
            QMetaObject::invokeMethod(this, [this, reason] { Q_EMIT failed(reason); });
        }
    });
}

void CaptionExporter::stop() {
    m_stop.request_stop();
    m_stop = {};
}

}  // namespace vitrine
