#pragma once

#include "app/captions/caption_entry.h"

#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <functional>
#include <stop_token>

namespace vitrine {

// "2.jpg" before "10.jpg", case aside; the same in every locale.
bool naturallyBefore(QStringView a, QStringView b);

struct ScanSummary {
    int pictures = 0;
    int others = 0;        // files in folders that are no pictures
    QStringList problems;  // folders that cannot be read, names that are not UTF-8
};

// Finds the pictures in files and folders, with the captions beside them, on a thread of its own; several scans follow
// one another. Pictures come in batches, the first after a few, so that a large folder shows at once. Folders are
// searched with those below them in natural order, links last and each folder once; system litter is left out. A file
// named by itself is always taken.
class FolderScanner : public QObject {
    Q_OBJECT

public:
    explicit FolderScanner(QObject* parent = nullptr);
    ~FolderScanner() override;

    void start(const QStringList& inputs);
    void stop();  // what runs and what waits; what was found stays found

    // The scan itself, for any thread. Returns early when stopped.
    using Deliver = std::function<void(QList<FoundPicture>)>;
    static ScanSummary scan(const QStringList& inputs, const Deliver& deliver, const std::stop_token& stop);

Q_SIGNALS:
    void found(const QList<vitrine::FoundPicture>& batch);
    void finished(const vitrine::ScanSummary& summary);  // once for each start()

private:
    QThreadPool m_pool;
    std::stop_source m_stop;
};

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::FoundPicture)
Q_DECLARE_METATYPE(vitrine::ScanSummary)
