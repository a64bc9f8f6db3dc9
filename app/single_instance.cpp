#include "app/single_instance.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QLocalServer>
#include <QLocalSocket>

namespace vitrine {
namespace {

constexpr int kPatienceMs = 2000;
constexpr qint64 kLongestMessage = 16 * 1024 * 1024;

}  // namespace

SingleInstance::SingleInstance(QString identity, QObject* parent) : QObject(parent), m_identity(std::move(identity)) {}

bool SingleInstance::handOver(const QStringList& files) const {
    QLocalSocket socket;
    socket.connectToServer(m_identity);
    if (!socket.waitForConnected(kPatienceMs)) return false;
    socket.write(QJsonDocument(QJsonArray::fromStringList(files)).toJson(QJsonDocument::Compact));
    socket.write("\n");
    // Only an answer shows that somebody is alive behind the socket.
    return socket.waitForBytesWritten(kPatienceMs) && socket.waitForReadyRead(kPatienceMs);
}

void SingleInstance::listen() {
    m_server = new QLocalServer(this);
    m_server->setSocketOptions(QLocalServer::UserAccessOption);
    if (!m_server->listen(m_identity)) {
        QLocalServer::removeServer(m_identity);
        m_server->listen(m_identity);
    }
    connect(m_server, &QLocalServer::newConnection, this, [this] {
        QLocalSocket* const socket = m_server->nextPendingConnection();
        connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
        connect(socket, &QLocalSocket::readyRead, this, [this, socket] {
            if (socket->bytesAvailable() > kLongestMessage) return socket->abort();
            if (!socket->canReadLine()) return;
            QStringList files;
            for (const QJsonValue& file : QJsonDocument::fromJson(socket->readLine()).array()) files << file.toString();
            socket->write("ok\n");
            socket->flush();
            Q_EMIT filesArrived(files);
        });
    });
}

}  // namespace vitrine
