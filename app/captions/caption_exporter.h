#pragma once

#include "app/captions/caption_entry.h"
#include "core/captions/table.h"

#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <stop_token>

namespace vitrine {

struct ExportSummary {
    QString target;
    int written = 0;
    int withoutCaption = 0;
    QStringList leftOut;  // others, with the reason
    bool stopped = false;
};

// Writes captions as a table, on a thread of its own. The target is the old file until the whole new one is there:
// stopped, failed or killed, nothing half-written takes its name.
class CaptionExporter : public QObject {
    Q_OBJECT

public:
    explicit CaptionExporter(QObject* parent = nullptr);
    ~CaptionExporter() override;

    void start(captions::Format format, const QString& target, const QList<CaptionEntry>& entries);
    void stop();

Q_SIGNALS:
    void progressed(int done, int total);
    // One of the two for each start().
    void finished(const vitrine::ExportSummary& summary);
    void failed(const QString& reason);

private:
    QThreadPool m_pool;
    std::stop_source m_stop;
};

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::ExportSummary)
