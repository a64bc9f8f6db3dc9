#include "app/captions/folder_scanner.h"

#include "app/names.h"
#include "core/captions/sidecar.h"
#include "core/error.h"
#include "core/train/dataset_pictures.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace vitrine {
namespace fs = std::filesystem;

namespace {

constexpr qsizetype kFirstBatch = 32;
constexpr qsizetype kLargestBatch = 1000;
constexpr qint64 kLongestWaitMs = 200;  // on a slow disk a batch goes out before it is full

class Scan {
public:
    Scan(const FolderScanner::Deliver& deliver, const std::stop_token& stop) : m_deliver(deliver), m_stop(stop) {
        m_clock.start();
    }

    ScanSummary run(const QStringList& inputs) {
        for (const QString& input : inputs) {
            const QString path = QDir::cleanPath(QFileInfo(input).absoluteFilePath());
            if (QFileInfo(path).isDir()) {
                search({path});
            } else {
                take(path);
            }
            if (m_stop.stop_requested()) break;
        }
        while (!m_links.isEmpty() && !m_stop.stop_requested()) search({m_links.takeFirst()});
        deliver();
        return m_summary;
    }

private:
    void search(QStringList waiting) {
        while (!waiting.isEmpty() && !m_stop.stop_requested()) {
            const QString folder = waiting.takeLast();
            if (!enter(folder)) continue;
            QStringList pictures;
            QStringList folders;
            list(folder, pictures, folders);
            std::sort(pictures.begin(), pictures.end(), naturallyBefore);
            std::sort(folders.begin(), folders.end(), [](const QString& a, const QString& b) {
                return naturallyBefore(b, a);  // the last one is looked at next
            });
            for (const QString& name : std::as_const(pictures)) {
                if (m_stop.stop_requested()) return;
                take(folder + QLatin1Char('/') + name);
            }
            for (const QString& name : std::as_const(folders)) waiting.append(folder + QLatin1Char('/') + name);
        }
    }

    // False for a folder seen before, by whatever name.
    bool enter(const QString& folder) {
        struct stat status {};
        return ::stat(folder.toStdString().c_str(), &status) != 0 ||
               m_seen.emplace(status.st_dev, status.st_ino).second;
    }

    void list(const QString& folder, QStringList& pictures, QStringList& folders) {
        std::error_code error;
        fs::directory_iterator entries(folder.toStdString(), error);
        for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
            const std::string bytes = entries->path().filename().string();
            if (dataset::is_junk(bytes)) continue;
            const QString name = QString::fromStdString(bytes);
            std::error_code unknown;
            const bool isFolder = entries->is_directory(unknown);
            if (!isFolder && !dataset::is_picture_name(bytes)) {
                ++m_summary.others;
            } else if (name.toStdString() != bytes) {
                m_summary.problems << FolderScanner::tr("%1 in %2: the name is not UTF-8, rename it").arg(name, folder);
            } else if (!isFolder) {
                pictures << name;
            } else if (entries->is_symlink(unknown)) {
                m_links << folder + QLatin1Char('/') + name;
            } else {
                folders << name;
            }
        }
        if (error) m_summary.problems << QStringLiteral("%1: %2").arg(folder, QString::fromStdString(error.message()));
    }

    void take(const QString& path) {
        FoundPicture found{path, stampOf(path), {}, {}};
        try {
            if (const auto sidecar = captions::find_sidecar(path.toStdString())) {
                if (const auto read = captions::read_sidecar(*sidecar))
                    found.sidecar = QString::fromStdString(read->text);
            }
        } catch (const Error& error) {
            found.fault = wordsOf(error);
        }
        if (found.stamp.size >= 0) ++m_summary.pictures;
        m_batch << std::move(found);
        if (m_batch.size() >= m_wanted || m_clock.elapsed() > kLongestWaitMs) deliver();
    }

    void deliver() {
        m_clock.restart();
        m_wanted = std::min(m_wanted * 2, kLargestBatch);
        if (!m_batch.isEmpty()) m_deliver(std::exchange(m_batch, {}));
    }

    const FolderScanner::Deliver& m_deliver;
    const std::stop_token& m_stop;
    ScanSummary m_summary;
    QList<FoundPicture> m_batch;
    qsizetype m_wanted = kFirstBatch;
    QElapsedTimer m_clock;
    std::set<std::pair<dev_t, ino_t>> m_seen;
    QStringList m_links;
};

}  // namespace

bool naturallyBefore(QStringView a, QStringView b) {
    const auto isDigit = [](QChar c) { return c >= QLatin1Char('0') && c <= QLatin1Char('9'); };
    const auto number = [&](QStringView text, qsizetype& at) {  // the digits there, without leading zeros
        while (at < text.size() && text[at] == QLatin1Char('0')) ++at;
        const qsizetype first = at;
        while (at < text.size() && isDigit(text[at])) ++at;
        return text.sliced(first, at - first);
    };
    qsizetype i = 0;
    qsizetype j = 0;
    while (i < a.size() && j < b.size()) {
        if (isDigit(a[i]) && isDigit(b[j])) {
            const QStringView left = number(a, i);
            const QStringView right = number(b, j);
            if (left.size() != right.size()) return left.size() < right.size();
            if (const int order = left.compare(right); order != 0) return order < 0;
            continue;
        }
        const QChar left = a[i++].toCaseFolded();
        const QChar right = b[j++].toCaseFolded();
        if (left != right) return left < right;
    }
    if (i < a.size() || j < b.size()) return j < b.size();
    return a.compare(b) < 0;  // "a1" and "a01"
}

FolderScanner::FolderScanner(QObject* parent) : QObject(parent) {
    m_pool.setMaxThreadCount(1);
    m_pool.setObjectName(QStringLiteral("scanner"));
}

FolderScanner::~FolderScanner() {
    m_stop.request_stop();
    m_pool.waitForDone();
}

void FolderScanner::start(const QStringList& inputs) {
    m_pool.start([this, inputs, stop = m_stop.get_token()] {
        const Deliver deliver = [this](const QList<FoundPicture>& batch) {
            QMetaObject::invokeMethod(this, [this, batch] { Q_EMIT found(batch); });
        };
        const ScanSummary summary = scan(inputs, deliver, stop);
        QMetaObject::invokeMethod(this, [this, summary] { Q_EMIT finished(summary); });
    });
}

void FolderScanner::stop() {
    m_stop.request_stop();
    m_stop = {};
}

ScanSummary FolderScanner::scan(const QStringList& inputs, const Deliver& deliver, const std::stop_token& stop) {
    return Scan(deliver, stop).run(inputs);
}

}  // namespace vitrine
