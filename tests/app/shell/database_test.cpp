#include "app/database.h"
#include "support/test_main.h"

#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QSqlQuery>
#include <QTemporaryDir>

namespace vitrine {

class DatabaseTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_count = 0;

    QString freshFile() { return m_folder.filePath(QStringLiteral("deep/er/%1.sqlite").arg(++m_count)); }

    template <typename Work>
    static auto wait(Database& database, Work work) {
        auto future = database.ask(std::move(work));
        while (!future.isFinished()) QThread::msleep(1);  // waitForFinished() would throw the fault here
        return future;
    }

    static void makeTable(Database& database) {
        database.run(
            [](QSqlDatabase& db) { sql::exec(db, QStringLiteral("CREATE TABLE IF NOT EXISTS words (word TEXT)")); });
    }

    static int countWords(Database& database) {
        return wait(database,
                    [](QSqlDatabase& db) {
                        QSqlQuery query = sql::exec(db, QStringLiteral("SELECT count(*) FROM words"));
                        query.next();
                        return query.value(0).toInt();
                    })
            .result();
    }

private Q_SLOTS:
    void work_runs_in_order_on_the_store_thread() {
        Database database(freshFile());
        makeTable(database);
        QThread* thread = nullptr;
        for (int i = 0; i < 100; ++i) {
            database.run([&thread, i](QSqlDatabase& db) {
                thread = QThread::currentThread();
                sql::exec(db, QStringLiteral("INSERT INTO words VALUES (?)"), {i});
            });
        }
        QCOMPARE(countWords(database), 100);
        QCOMPARE(thread->objectName(), QStringLiteral("store"));
        const QString mode = wait(database, [](QSqlDatabase& db) {
                                 QSqlQuery query = sql::exec(db, QStringLiteral("PRAGMA journal_mode"));
                                 query.next();
                                 return query.value(0).toString();
                             }).result();
        QCOMPARE(mode, QStringLiteral("wal"));
    }

    void waiting_work_is_finished_before_the_end() {
        const QString file = freshFile();
        {
            Database database(file);
            makeTable(database);
            for (int i = 0; i < 500; ++i) {
                database.run([](QSqlDatabase& db) { sql::exec(db, QStringLiteral("INSERT INTO words VALUES (1)")); });
            }
        }
        Database again(file);
        QCOMPARE(countWords(again), 500);
    }

    void a_fault_travels_to_who_asked() {
        Database database(freshFile());
        auto future = wait(database, [](QSqlDatabase& db) {
            sql::exec(db, QStringLiteral("SELECT nonsense"));
            return 1;
        });
        try {
            future.result();
            QFAIL("the fault was lost");
        } catch (const StoreError& error) {
            QVERIFY(QByteArray(error.what()).contains("SELECT nonsense"));
            QVERIFY(QByteArray(error.what()).contains("no such column"));
        }
        const QSignalSpy failed(&database, &Database::failed);
        database.run([](QSqlDatabase& db) { sql::exec(db, QStringLiteral("DROP TABLE nothing")); });
        QTRY_COMPARE(failed.count(), 1);
    }

    void a_transaction_without_commit_changes_nothing() {
        Database database(freshFile());
        makeTable(database);
        database.run([](QSqlDatabase& db) {
            sql::Transaction transaction(db);
            sql::exec(db, QStringLiteral("INSERT INTO words VALUES ('lost')"));
        });
        QCOMPARE(countWords(database), 0);
        database.run([](QSqlDatabase& db) {
            sql::Transaction transaction(db);
            sql::exec(db, QStringLiteral("INSERT INTO words VALUES ('kept')"));
            transaction.commit();
        });
        QCOMPARE(countWords(database), 1);
    }

    void migration_goes_step_by_step_and_refuses_the_future() {
        const QString file = freshFile();
        const QStringList first{QStringLiteral("CREATE TABLE pages (text TEXT)")};
        const QStringList second{QStringLiteral("ALTER TABLE pages ADD COLUMN number INTEGER"),
                                 QStringLiteral("INSERT INTO pages VALUES ('a', 1)")};
        {
            Database database(file);
            wait(database, [=](QSqlDatabase& db) {
                sql::migrate(db, QStringLiteral("book"), {first});
            }).waitForFinished();
        }
        Database database(file);
        for (int i = 0; i < 2; ++i) {  // the second time there is nothing to do
            wait(database, [=](QSqlDatabase& db) {
                sql::migrate(db, QStringLiteral("book"), {first, second});
            }).waitForFinished();
        }
        const int pages = wait(database, [](QSqlDatabase& db) {
                              QSqlQuery query = sql::exec(db, QStringLiteral("SELECT count(*) FROM pages"));
                              query.next();
                              return query.value(0).toInt();
                          }).result();
        QCOMPARE(pages, 1);
        auto older = wait(database, [=](QSqlDatabase& db) { sql::migrate(db, QStringLiteral("book"), {first}); });
        QVERIFY_THROWS_EXCEPTION(StoreError, older.waitForFinished());
    }

    void a_step_that_fails_leaves_the_version_before() {
        Database database(freshFile());
        const QStringList good{QStringLiteral("CREATE TABLE pages (text TEXT)")};
        const QStringList bad{QStringLiteral("INSERT INTO pages VALUES ('half')"), QStringLiteral("nonsense")};
        auto future = wait(database, [=](QSqlDatabase& db) { sql::migrate(db, QStringLiteral("book"), {good, bad}); });
        QVERIFY_THROWS_EXCEPTION(StoreError, future.waitForFinished());
        const QPair<int, int> found = wait(database, [](QSqlDatabase& db) {
                                          QSqlQuery pages = sql::exec(db, QStringLiteral("SELECT count(*) FROM pages"));
                                          QSqlQuery version =
                                              sql::exec(db, QStringLiteral("SELECT version FROM schema"));
                                          pages.next();
                                          version.next();
                                          return qMakePair(pages.value(0).toInt(), version.value(0).toInt());
                                      }).result();
        QCOMPARE(found, qMakePair(0, 1));
    }

    void a_damaged_file_is_put_aside() {
        const QString path = freshFile();
        QDir().mkpath(QFileInfo(path).path());
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(QByteArray(5000, 'x'));
        file.close();
        Database database(path);
        QSignalSpy replaced(&database, &Database::replaced);
        makeTable(database);
        QCOMPARE(countWords(database), 0);
        QTRY_COMPARE(replaced.count(), 1);
        QFile kept(replaced.first().first().toString());
        QVERIFY(kept.open(QIODevice::ReadOnly));
        QCOMPARE(kept.readAll(), QByteArray(5000, 'x'));
    }

    void a_folder_that_cannot_be_made_is_a_fault() {
        QFile file(m_folder.filePath(QStringLiteral("plain")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        Database database(file.fileName() + QStringLiteral("/x.sqlite"));
        auto future = wait(database, [](QSqlDatabase&) { return 1; });
        QVERIFY_THROWS_EXCEPTION(StoreError, future.waitForFinished());
    }
};

VITRINE_TEST(DatabaseTest)

}  // namespace vitrine

#include "database_test.moc"
