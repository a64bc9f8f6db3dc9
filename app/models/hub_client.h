#pragma once

#include <QByteArray>
#include <QCoreApplication>
#include <QList>
#include <QMetaType>
#include <QNetworkAccessManager>
#include <QNetworkReply>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QUrl>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace vitrine {

// Where models come from, and the word that opens private ones.
struct HubEndpoint {
    QUrl url;
    QByteArray token;

    static HubEndpoint fromEnvironment();  // HF_ENDPOINT, HF_TOKEN
    bool isHome(const QUrl& other) const;  // same scheme, host and port: the token may be sent there
    QUrl listing(const QString& hubId) const;
    QUrl file(const QString& hubId, const QString& name) const;
};

// "Qwen/Qwen3-0.6B", also taken from the address of its page. nullopt when the text names no repository.
std::optional<QString> hubIdFrom(const QString& text);

struct HubFile {
    enum class Purpose : std::uint8_t { weights, configuration, tokenizer, other };

    QString name;
    qint64 size = 0;
    QByteArray sha256;   // hex; of large files
    QByteArray gitSha1;  // hex, of "blob SIZE\0" and the content; of small files
    Purpose purpose = Purpose::other;
    bool needed = false;  // Vitrine reads it
};

// The files at the top of a repository, the needed ones first.
struct HubListing {
    QString hubId;
    QString commit;
    QList<HubFile> files;
};

// Why a request failed, in words for people.
struct HubFault {
    enum class Kind : std::uint8_t { offline, refused, notFound, range, busy, server, cut, stalled, unusable };

    Kind kind = Kind::unusable;
    QString text;
    std::optional<std::chrono::seconds> retryAfter;  // as the server asked

    bool passes() const;  // trying again later makes sense
};

// One GET and the redirects it leads to. The token goes to the endpoint alone, never along to another host; an
// encrypted request is not led to an unencrypted one. Lives on the thread of its network manager. finished() comes
// last, once; deleting the object ends the request without a word.
class HubReply : public QObject {
    Q_OBJECT

public:
    using Headers = QList<std::pair<QByteArray, QByteArray>>;

    HubReply(QNetworkAccessManager& network, HubEndpoint endpoint, Headers headers, std::chrono::milliseconds stall);
    ~HubReply() override;
    void get(const QUrl& url);

    int status() const;
    QByteArray header(const char* name) const;
    qint64 bytesAvailable() const;  // of a 200 or 206: what other answers say is not handed on
    QByteArray read(qint64 most);
    const std::optional<HubFault>& fault() const { return m_fault; }  // once finished

Q_SIGNALS:
    void answered();   // 200 or 206 and the headers are there
    void readyRead();  // after answered()
    void finished();

private:
    void onHeaders();
    void onFinished();
    HubFault faultOf(const QNetworkReply& reply) const;

    QNetworkAccessManager& m_network;
    HubEndpoint m_endpoint;
    Headers m_headers;
    std::chrono::milliseconds m_stall;
    QPointer<QNetworkReply> m_reply;
    int m_redirects = 0;
    bool m_answered = false;
    std::optional<HubFault> m_fault;
};

// Asks the hub what a repository holds, and gives out replies for its files. Lives on one thread, with its network
// manager; keeps no cookies and no cache.
class HubClient : public QObject {
    Q_OBJECT

public:
    HubClient(HubEndpoint endpoint, std::chrono::milliseconds stall, QObject* parent = nullptr);

    const HubEndpoint& endpoint() const { return m_endpoint; }
    // Exactly one of the two is called, later, on this thread.
    void list(const QString& hubId, std::function<void(const HubListing&)> done,
              std::function<void(const HubFault&)> failed);
    HubReply* request(const QUrl& url, const HubReply::Headers& headers, QObject* parent);

private:
    HubEndpoint m_endpoint;
    std::chrono::milliseconds m_stall;
    QNetworkAccessManager m_network;
};

// Throws nothing: a text that is no listing gives nullopt.
std::optional<HubListing> parseListing(const QString& hubId, const QByteArray& json);

}  // namespace vitrine

Q_DECLARE_METATYPE(vitrine::HubListing)
