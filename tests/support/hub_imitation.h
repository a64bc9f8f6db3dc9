#pragma once

#include <QByteArray>
#include <QHash>
#include <QList>
#include <QString>
#include <QStringList>
#include <QThread>
#include <QUrl>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

class QTcpServer;
class QTcpSocket;

namespace vitrine::test {

// A model hub on this machine: lists repositories, serves their files with ranges and ETags, and misbehaves as told.
// It answers on two host names, home() and elsewhere(), from a thread of its own. All functions may be called while it
// serves.
class HubImitation {
public:
    struct Request {
        QByteArray host;                        // as the Host header says it
        QByteArray path;                        // with the query
        QHash<QByteArray, QByteArray> headers;  // names in lower case
    };

    // How one request is answered; as it stands: properly.
    struct Answer {
        int status = 200;                                  // any other: this status and `body`
        QList<std::pair<QByteArray, QByteArray>> headers;  // besides the usual ones
        QByteArray body;                                   // instead of the file, where not empty
        qint64 cutAfter = -1;                              // the connection is closed after so many bytes of the body
        qint64 stallAfter = -1;                            // nothing comes any more, and it stays open
        qint64 claimedLength = -1;                         // a Content-Length that is not true
        bool withoutLength = false;                        // the end of the connection is the end of the file
        bool ignoreRange = false;
        bool wrongRange = false;  // 206 with another part than the one asked for
        QString redirect;         // host to lead to: home(), elsewhere() or an address
    };

    HubImitation();
    ~HubImitation();

    QUrl home() const;
    QUrl elsewhere() const;  // the same server under another name

    void add(const QString& hubId, const QString& file, const QByteArray& content, bool large = true);
    void replace(const QString& hubId, const QString& file, const QByteArray& content);  // served, but not listed
    void lie(const QString& hubId, const QString& file, qint64 listedSize);
    // The next requests for the file (or, without a file, for the listing) are answered so, one after the other.
    void script(const QString& hubId, const QString& file, const QList<Answer>& answers);
    void always(const QString& hubId, const QString& file, const Answer& answer);
    void setPace(qint64 bytesPer10Ms);  // of every connection; 0: as fast as it goes
    void requireToken(const QByteArray& token);

    QList<Request> requests(const QString& pathPart = {}) const;
    int mostConnectionsAtOnce() const;

private:
    struct File {
        QByteArray content;
        QByteArray listedSha256;
        QByteArray listedSha1;
        qint64 listedSize = 0;
        bool large = true;
        QList<Answer> script;
        std::unique_ptr<Answer> always;
    };
    using Key = std::pair<QString, QString>;

    void serve(QTcpSocket* socket, const QByteArray& text);
    void send(QTcpSocket* socket, const Answer& answer, QByteArray head, const QByteArray& body);
    QByteArray listing(const QString& hubId) const;
    Answer next(File& file);

    mutable std::mutex m_mutex;
    QHash<QString, QStringList> m_repositories;
    std::map<Key, File> m_files;  // with an empty name: the listing itself
    QList<Request> m_requests;
    QByteArray m_token;
    qint64 m_pace = 0;
    int m_open = 0;
    int m_mostOpen = 0;
    quint16 m_port = 0;
    QThread m_thread;
    QTcpServer* m_server;
};

}  // namespace vitrine::test
