#include "support/hub_imitation.h"

#include <QCryptographicHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTimer>

#include <algorithm>

namespace vitrine::test {
namespace {

constexpr int kPaceMs = 10;

QByteArray etagOf(const QByteArray& content) {
    return '"' + QCryptographicHash::hash(content, QCryptographicHash::Md5).toHex() + '"';
}

}  // namespace

HubImitation::HubImitation() : m_server(new QTcpServer) {
    m_server->moveToThread(&m_thread);
    m_thread.start();
    QMetaObject::invokeMethod(
        m_server,
        [this] {
            m_server->listen(QHostAddress(QStringLiteral("0.0.0.0")));
            m_port = m_server->serverPort();
            QObject::connect(m_server, &QTcpServer::newConnection, m_server, [this] {
                QTcpSocket* socket = m_server->nextPendingConnection();
                auto text = std::make_shared<QByteArray>();
                QObject::connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
                QObject::connect(socket, &QTcpSocket::readyRead, socket, [this, socket, text] {
                    text->append(socket->readAll());
                    if (!text->contains("\r\n\r\n")) return;
                    serve(socket, std::exchange(*text, {}));
                });
            });
        },
        Qt::BlockingQueuedConnection);
}

HubImitation::~HubImitation() {
    QMetaObject::invokeMethod(
        m_server, [this] { delete std::exchange(m_server, nullptr); }, Qt::BlockingQueuedConnection);
    m_thread.quit();
    m_thread.wait();
}

QUrl HubImitation::home() const {
    return QUrl(QStringLiteral("http://127.0.0.1:%1").arg(m_port));
}

QUrl HubImitation::elsewhere() const {
    return QUrl(QStringLiteral("http://127.0.0.2:%1").arg(m_port));
}

void HubImitation::add(const QString& hubId, const QString& file, const QByteArray& content, bool large) {
    const std::lock_guard lock(m_mutex);
    m_repositories[hubId].append(file);
    File& entry = m_files[{hubId, file}];
    entry.content = content;
    entry.large = large;
    entry.listedSize = content.size();
    entry.listedSha256 = QCryptographicHash::hash(content, QCryptographicHash::Sha256).toHex();
    entry.listedSha1 = QCryptographicHash::hash("blob " + QByteArray::number(content.size()) + '\0' + content,
                                                QCryptographicHash::Sha1)
                           .toHex();
}

void HubImitation::replace(const QString& hubId, const QString& file, const QByteArray& content) {
    const std::lock_guard lock(m_mutex);
    m_files[{hubId, file}].content = content;
}

void HubImitation::lie(const QString& hubId, const QString& file, qint64 listedSize) {
    const std::lock_guard lock(m_mutex);
    m_files[{hubId, file}].listedSize = listedSize;
}

void HubImitation::script(const QString& hubId, const QString& file, const QList<Answer>& answers) {
    const std::lock_guard lock(m_mutex);
    m_files[{hubId, file}].script = answers;
}

void HubImitation::always(const QString& hubId, const QString& file, const Answer& answer) {
    const std::lock_guard lock(m_mutex);
    m_files[{hubId, file}].always = std::make_unique<Answer>(answer);
}

void HubImitation::setPace(qint64 bytesPer10Ms) {
    const std::lock_guard lock(m_mutex);
    m_pace = bytesPer10Ms;
}

void HubImitation::requireToken(const QByteArray& token) {
    const std::lock_guard lock(m_mutex);
    m_token = token;
}

QList<HubImitation::Request> HubImitation::requests(const QString& pathPart) const {
    const std::lock_guard lock(m_mutex);
    QList<Request> found;
    std::copy_if(m_requests.begin(), m_requests.end(), std::back_inserter(found),
                 [&](const Request& request) { return request.path.contains(pathPart.toUtf8()); });
    return found;
}

int HubImitation::mostConnectionsAtOnce() const {
    const std::lock_guard lock(m_mutex);
    return m_mostOpen;
}

QByteArray HubImitation::listing(const QString& hubId) const {
    QJsonArray siblings;
    for (const QString& name : m_repositories[hubId]) {
        const File& file = m_files.at({hubId, name});
        QJsonObject sibling{{QStringLiteral("rfilename"), name},
                            {QStringLiteral("size"), file.listedSize},
                            {QStringLiteral("blobId"), QString::fromLatin1(file.listedSha1)}};
        if (file.large) {
            sibling[QStringLiteral("lfs")] =
                QJsonObject{{QStringLiteral("sha256"), QString::fromLatin1(file.listedSha256)},
                            {QStringLiteral("size"), file.listedSize},
                            {QStringLiteral("pointerSize"), 135}};
        }
        siblings.append(sibling);
    }
    return QJsonDocument(QJsonObject{{QStringLiteral("id"), hubId},
                                     {QStringLiteral("sha"), QStringLiteral("c0ffee")},
                                     {QStringLiteral("siblings"), siblings}})
        .toJson();
}

HubImitation::Answer HubImitation::next(File& file) {
    if (!file.script.isEmpty()) return file.script.takeFirst();
    return file.always ? *file.always : Answer{};
}

void HubImitation::serve(QTcpSocket* socket, const QByteArray& text) {
    Request request;
    const QList<QByteArray> lines = text.left(text.indexOf("\r\n\r\n")).split('\n');
    request.path = lines.first().split(' ').value(1);
    for (const QByteArray& line : lines.mid(1)) {
        const auto colon = line.indexOf(':');
        request.headers.insert(line.left(colon).toLower(), line.mid(colon + 1).trimmed());
    }
    request.host = request.headers.value("host");

    const std::lock_guard lock(m_mutex);
    m_requests.append(request);
    const bool atHome = request.host.startsWith("127.0.0.1");
    if (atHome && !m_token.isEmpty() && request.headers.value("authorization") != "Bearer " + m_token) {
        return send(socket, {.status = 401, .headers = {{"X-Error-Code", "RepoNotFound"}}}, {}, "no");
    }
    const QString path = QString::fromUtf8(request.path).section(QLatin1Char('?'), 0, 0);
    const QString listingEnd = QStringLiteral("/revision/main");
    if (path.startsWith(QLatin1String("/api/models/")) && path.endsWith(listingEnd)) {
        const QString hubId = path.mid(12).chopped(listingEnd.size());
        Answer answer = next(m_files[{hubId, {}}]);
        if (!m_repositories.contains(hubId) && answer.status == 200) answer.status = 404;
        return send(socket, answer, {}, answer.body.isEmpty() ? listing(hubId) : answer.body);
    }
    const auto resolve = path.indexOf(QLatin1String("/resolve/main/"));
    const auto found = resolve < 0 ? m_files.end() : m_files.find({path.mid(1, resolve - 1), path.mid(resolve + 14)});
    if (found == m_files.end()) return send(socket, {.status = 404}, {}, "no such file");

    const Answer answer = next(found->second);
    if (!answer.redirect.isEmpty()) {
        const QByteArray to = answer.redirect.contains(QLatin1String("://127."))
                                  ? answer.redirect.toUtf8() + request.path + "?signature=secret"
                                  : answer.redirect.toUtf8();
        return send(socket, {.status = 302, .headers = {{"Location", to}}}, {}, "elsewhere");
    }
    const QByteArray& content = answer.body.isEmpty() ? found->second.content : answer.body;
    const QByteArray etag = etagOf(content);
    const QByteArray range = request.headers.value("range");
    const QByteArray ifRange = request.headers.value("if-range");
    if (answer.status != 200 || range.isEmpty() || answer.ignoreRange || (!ifRange.isEmpty() && ifRange != etag))
        return send(socket, answer, "ETag: " + etag + "\r\n", content);

    const qint64 first = range.mid(6).chopped(1).toLongLong();
    if (first >= content.size()) return send(socket, {.status = 416}, {}, {});
    Answer part = answer;
    part.status = 206;
    const qint64 from = answer.wrongRange ? 0 : first;
    send(socket, part,
         "ETag: " + etag + "\r\nContent-Range: bytes " + QByteArray::number(from) + '-' +
             QByteArray::number(content.size() - 1) + '/' + QByteArray::number(content.size()) + "\r\n",
         content.mid(from));
}

void HubImitation::send(QTcpSocket* socket, const Answer& answer, QByteArray head, const QByteArray& body) {
    const qint64 claimed = answer.claimedLength >= 0 ? answer.claimedLength : body.size();
    if (!answer.withoutLength) head += "Content-Length: " + QByteArray::number(claimed) + "\r\n";
    for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
    socket->write("HTTP/1.1 " + QByteArray::number(answer.status) + " X\r\nConnection: close\r\n" + head + "\r\n");

    qint64 size = body.size();
    if (answer.cutAfter >= 0) size = std::min(size, answer.cutAfter);
    if (answer.stallAfter >= 0) size = std::min(size, answer.stallAfter);
    const bool stays = answer.stallAfter >= 0;
    m_mostOpen = std::max(m_mostOpen, ++m_open);
    QObject::connect(socket, &QObject::destroyed, m_server, [this] {
        const std::lock_guard lock(m_mutex);
        --m_open;
    });
    if (m_pace <= 0) {
        socket->write(body.left(size));
        if (!stays) socket->disconnectFromHost();
        return;
    }
    auto* timer = new QTimer(socket);
    auto sent = std::make_shared<qint64>(0);
    QObject::connect(timer, &QTimer::timeout, socket, [this, socket, timer, sent, size, stays, body] {
        qint64 pace = 0;
        {
            const std::lock_guard lock(m_mutex);
            pace = m_pace > 0 ? m_pace : size;
        }
        const QByteArray piece = body.mid(*sent, std::min(pace, size - *sent));
        socket->write(piece);
        *sent += piece.size();
        if (*sent < size) return;
        timer->stop();
        if (!stays) socket->disconnectFromHost();
    });
    timer->start(kPaceMs);
}

}  // namespace vitrine::test
