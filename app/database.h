#pragma once

#include <QFuture>
#include <QObject>
#include <QPromise>
#include <QSqlDatabase>
#include <QString>
#include <QStringList>
#include <QThread>
#include <QVariant>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

class QSqlQuery;

namespace vitrine {

// A statement that failed, or a database that cannot be used; what() says which and why.
class StoreError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The profile's SQLite file (write-ahead log, foreign keys on), on a thread of its own named "store". Work handed over
// runs there in order; nobody waits for it. A file that is no database is put aside under another name and a new one
// begun; a file of a newer Vitrine is left alone. Destroying it finishes the work that is waiting.
class Database : public QObject {
    Q_OBJECT

public:
    explicit Database(QString file, QObject* parent = nullptr);
    ~Database() override;

    // Runs work(database) on the store thread. An exception of it, or StoreError when the file cannot be opened, comes
    // out of the future. On the UI thread: ask(...).then(this, [](T result) {...}).onFailed(this, [](...) {...}).
    template <typename Work>
    auto ask(Work work) -> QFuture<std::invoke_result_t<Work, QSqlDatabase&>> {
        using Result = std::invoke_result_t<Work, QSqlDatabase&>;
        auto promise = std::make_shared<QPromise<Result>>();
        promise->start();
        post([promise, work = std::move(work)](QSqlDatabase* database, const QString& fault) mutable {
            try {
                if (database == nullptr) throw StoreError(fault.toStdString());
                if constexpr (std::is_void_v<Result>) {
                    work(*database);
                } else {
                    promise->addResult(work(*database));
                }
            } catch (...) {
                promise->setException(std::current_exception());
            }
            promise->finish();
        });
        return promise->future();
    }

    // Work whose result nobody needs; a failure is told by failed().
    void run(std::function<void(QSqlDatabase&)> work);

Q_SIGNALS:
    void failed(const QString& message);
    // The file was damaged and has been put aside as `keptAs`.
    void replaced(const QString& keptAs);

private:
    struct Store;
    void post(std::function<void(QSqlDatabase*, const QString& fault)> work);

    QThread m_thread;
    Store* m_store;  // lives on m_thread
};

namespace sql {

// Prepares and runs a statement; throws StoreError with the statement and the driver's words.
QSqlQuery exec(QSqlDatabase& database, const QString& statement, const QVariantList& values = {});

// A transaction that is rolled back unless commit() was called. Throws StoreError.
class Transaction {
public:
    explicit Transaction(QSqlDatabase& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

private:
    QSqlDatabase& m_database;
    bool m_open = true;
};

// Brings one component's tables up to date: step i is a list of statements that leads from version i to i + 1. Each
// step is a transaction; the version reached is kept in the table `schema`. Throws StoreError, also when the file is of
// a newer version than `steps` knows.
void migrate(QSqlDatabase& database, const QString& component, const std::vector<QStringList>& steps);

}  // namespace sql

}  // namespace vitrine
