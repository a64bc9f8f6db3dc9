#include "app/database.h"

#include "app/names.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QSqlError>
#include <QSqlQuery>
#include <QVariant>

#include <optional>

namespace vitrine {

// Opens the file when the first work arrives, so that starting the program costs nothing.
struct Database::Store : QObject {
    Store(Database& owner, QString path) : database(owner), file(std::move(path)) {}

    QSqlDatabase* connection() {
        if (opened || !fault.isEmpty()) return opened ? &*opened : nullptr;
        try {
            QDir().mkpath(QFileInfo(file).path());
            try {
                open();
            } catch (const StoreError&) {
                if (!putAside()) throw;
                open();
            }
        } catch (const StoreError& error) {
            fault = wordsOf(error);
            close();
        }
        return opened ? &*opened : nullptr;
    }

    void open() {
        name = QStringLiteral("store-%1").arg(reinterpret_cast<quintptr>(this));
        QSqlDatabase connection = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), name);
        connection.setDatabaseName(file);
        opened = connection;
        if (!connection.open()) {
            throw StoreError(tr("%1 cannot be opened: %2").arg(file, connection.lastError().text()).toStdString());
        }
        sql::exec(*opened, QStringLiteral("PRAGMA busy_timeout = 5000"));
        sql::exec(*opened, QStringLiteral("PRAGMA journal_mode = WAL"));
        sql::exec(*opened, QStringLiteral("PRAGMA synchronous = NORMAL"));
        sql::exec(*opened, QStringLiteral("PRAGMA foreign_keys = ON"));
        sql::exec(*opened, QStringLiteral("SELECT count(*) FROM sqlite_master"));  // the first real look at the file
    }

    void close() {
        if (!opened) return;
        opened->close();
        opened.reset();
        QSqlDatabase::removeDatabase(name);
    }

    // A damaged file keeps its content under another name. Only one that is really no database: a full disk or a
    // missing permission is no reason.
    bool putAside() {
        const bool damaged = opened && (opened->lastError().nativeErrorCode() == QStringLiteral("26") || lacksHeader());
        close();
        if (!damaged) return false;
        const QString kept = file + QStringLiteral(".damaged-") +
                             QDateTime::currentDateTimeUtc().toString(QStringLiteral("yyyyMMdd-HHmmss"));
        for (const auto* suffix : {"-wal", "-shm"}) QFile::remove(file + QLatin1String(suffix));
        if (!QFile::rename(file, kept)) return false;
        Q_EMIT database.replaced(kept);
        return true;
    }

    bool lacksHeader() const {
        QFile content(file);
        if (!content.open(QIODevice::ReadOnly) || content.size() == 0) return false;
        return !content.read(16).startsWith("SQLite format 3");
    }

    Database& database;
    QString file;
    QString name;
    std::optional<QSqlDatabase> opened;
    QString fault;
};

Database::Database(QString file, QObject* parent) : QObject(parent), m_store(new Store(*this, std::move(file))) {
    m_thread.setObjectName(QStringLiteral("store"));
    m_store->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_store, &QObject::deleteLater);
    m_thread.start();
}

Database::~Database() {
    QMetaObject::invokeMethod(m_store, [store = m_store] {
        store->close();
        QThread::currentThread()->quit();
    });
    m_thread.wait();
}

void Database::post(std::function<void(QSqlDatabase*, const QString&)> work) {
    QMetaObject::invokeMethod(m_store, [store = m_store, work = std::move(work)] {
        QSqlDatabase* const connection = store->connection();
        work(connection, store->fault);
    });
}

void Database::run(std::function<void(QSqlDatabase&)> work) {
    post([this, work = std::move(work)](QSqlDatabase* database, const QString& fault) {
        try {
            if (database == nullptr) throw StoreError(fault.toStdString());
            work(*database);
        } catch (const std::exception& error) {
            Q_EMIT failed(wordsOf(error));
        }
    });
}

namespace sql {

QSqlQuery exec(QSqlDatabase& database, const QString& statement, const QVariantList& values) {
    QSqlQuery query(database);
    query.setForwardOnly(true);
    const bool prepared = query.prepare(statement);
    for (const QVariant& value : values) query.addBindValue(value);
    if (!prepared || !query.exec()) {
        throw StoreError(Database::tr("The database refused a statement: %1\n%2")
                             .arg(query.lastError().text(), statement)
                             .toStdString());
    }
    return query;
}

Transaction::Transaction(QSqlDatabase& database) : m_database(database) {
    exec(m_database, QStringLiteral("BEGIN IMMEDIATE"));
}

Transaction::~Transaction() {
    if (m_open) QSqlQuery(m_database).exec(QStringLiteral("ROLLBACK"));
}

void Transaction::commit() {
    exec(m_database, QStringLiteral("COMMIT"));
    m_open = false;
}

void migrate(QSqlDatabase& database, const QString& component, const std::vector<QStringList>& steps) {
    exec(database,
         QStringLiteral("CREATE TABLE IF NOT EXISTS schema (component TEXT PRIMARY KEY, version INTEGER NOT NULL)"));
    QSqlQuery query = exec(database, QStringLiteral("SELECT version FROM schema WHERE component = ?"), {component});
    const qsizetype known = static_cast<qsizetype>(steps.size());
    qsizetype version = query.next() ? query.value(0).toLongLong() : 0;
    query.finish();
    if (version > known) {
        throw StoreError(Database::tr("%1 was written by a newer Vitrine (%2 version %3, this one knows %4). "
                                      "Use that one, or another profile.")
                             .arg(database.databaseName(), component)
                             .arg(version)
                             .arg(known)
                             .toStdString());
    }
    for (; version < known; ++version) {
        Transaction transaction(database);
        for (const QString& statement : steps[static_cast<std::size_t>(version)]) exec(database, statement);
        exec(database, QStringLiteral("INSERT OR REPLACE INTO schema VALUES (?, ?)"), {component, version + 1});
        transaction.commit();
    }
}

}  // namespace sql

}  // namespace vitrine
