#pragma once

#include "app/models/hub_client.h"

#include <QCryptographicHash>
#include <QFile>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QTimer>

#include <chrono>
#include <cstdint>

namespace vitrine {

// How long and how often a transfer tries. Every byte that arrives makes the count of tries begin anew.
struct TransferPatience {
    int tries = 6;
    std::chrono::milliseconds firstWait{1000};  // doubled after each try
    std::chrono::milliseconds longestWait{60'000};
    std::chrono::milliseconds longestRetryAfter{900'000};  // a server that asks for more is not waited for
    std::chrono::milliseconds stall{30'000};
};

// One file on its way from the hub to the disk: written to NAME.part, hashed as it comes, continued where it was cut,
// renamed to NAME when size and checksum are those of the listing. Lives on the thread of its client, where it also
// writes and hashes. Exactly one of finished() and failed() comes unless the object is deleted; the part stays on the
// disk then, and the next transfer goes on from it.
class FileTransfer : public QObject {
    Q_OBJECT

public:
    enum class Phase : std::uint8_t { checking, asking, receiving, waiting };

    // `etag`: what the server called the version that the part on the disk is of; empty when not known.
    FileTransfer(HubClient& client, QString hubId, HubFile file, const QString& folder, QByteArray etag,
                 TransferPatience patience, QObject* parent);
    ~FileTransfer() override;

    void start();

    const HubFile& file() const { return m_file; }
    qint64 done() const { return m_done; }  // bytes on the disk that count
    Phase phase() const { return m_phase; }
    const QString& note() const { return m_note; }  // why it waits or began again
    const QByteArray& etag() const { return m_etag; }

Q_SIGNALS:
    void progressed();
    void etagChanged();
    void finished();
    void failed(const QString& reason);

private:
    void hashExisting();
    void ask();
    void onAnswered();
    void onReadyRead();
    void onFinished();
    bool beginAgain(const QString& why);  // from the first byte; false when that was done too often
    void tryLater(const HubFault& fault);
    void complete();
    void fail(const QString& reason);
    bool truncate();
    void resetHash();
    void setPhase(Phase phase, const QString& note = {});

    HubClient& m_client;
    QString m_hubId;
    HubFile m_file;
    QString m_target;
    QByteArray m_etag;
    TransferPatience m_patience;

    QFile m_part;
    QCryptographicHash m_hash;
    qint64 m_done = 0;
    qint64 m_gained = 0;  // since the last fault
    int m_faults = 0;     // in a row
    int m_restarts = 0;
    bool m_failed = false;
    Phase m_phase = Phase::asking;
    QString m_note;
    QPointer<HubReply> m_reply;
    QTimer m_wait;
};

}  // namespace vitrine
