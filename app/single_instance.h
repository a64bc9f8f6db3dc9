#pragma once

#include <QObject>
#include <QStringList>

class QLocalServer;

namespace vitrine {

// One program per profile: a second start hands its files to the first one and ends. Lives on the UI thread.
class SingleInstance : public QObject {
    Q_OBJECT

public:
    explicit SingleInstance(QString identity, QObject* parent = nullptr);

    // True when another program of this profile answered and took the files.
    bool handOver(const QStringList& files) const;
    // Listens for later starts. A socket that a crash left behind is replaced.
    void listen();

Q_SIGNALS:
    void filesArrived(const QStringList& files);  // may be empty: only come to the front

private:
    QString m_identity;
    QLocalServer* m_server = nullptr;
};

}  // namespace vitrine
