#include "app/chat/chat_export.h"
#include "app/chat/chat_list_model.h"
#include "app/chat/chat_pictures.h"
#include "app/chat/chat_store.h"
#include "chat_fixture.h"
#include "core/error.h"
#include "support/test_main.h"

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QProcess>
#include <QSignalSpy>
#include <QSqlQuery>
#include <QTimer>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace vitrine;
using namespace vitrine::test;
namespace tables = vitrine::chat_tables;

namespace {

// The child of diesWithoutLosingMore(): streams into the store as the program does until it is killed, and says on
// stdout what it has handed over.
[[maybe_unused]] const bool child = [] {
    const QByteArray profile = qgetenv("VITRINE_TEST_CHAT_CHILD");
    if (profile.isEmpty()) return false;
    int argc = 1;
    char name[] = "chat";
    char* argv[] = {name, nullptr};
    QCoreApplication application(argc, argv);
    Database database(Profile::at(QString::fromLocal8Bit(profile)).databaseFile());
    ChatStore store(database,
                    std::make_shared<ChatPictures>(QString::fromLocal8Bit(profile) + QStringLiteral("/pictures")));
    store.save(chatInfo(1, QStringLiteral("t"), 1));
    store.add(1, message(2, 0, Role::user, QStringLiteral("q")));
    ChatMessage answer = message(3, 2, Role::assistant, {});
    answer.state = TurnState::streaming;
    store.add(1, answer);
    QTimer timer;
    int count = 0;
    QString unsaved;
    QElapsedTimer sinceSave;
    sinceSave.start();
    QObject::connect(&timer, &QTimer::timeout, [&] {
        unsaved += QStringLiteral("%1 ").arg(count);
        std::printf("%d\n", count++);
        std::fflush(stdout);
        if (sinceSave.elapsed() < 500) return;
        store.append(3, std::exchange(unsaved, {}), {});
        sinceSave.start();
    });
    timer.start(10);
    QTimer::singleShot(60'000, [] { std::_Exit(1); });  // should the one who kills it be gone
    QCoreApplication::exec();
    return true;
}();

ChatMessage answerOf(qint64 id, qint64 parent, const QString& text) {
    ChatMessage answer = message(id, parent, Role::assistant, text);
    answer.model = QStringLiteral("Demo");
    return answer;
}

QList<qint64> found(Database& database, const QString& query) {
    QList<qint64> ids;
    for (const tables::Hit& hit : onStore(database, [query](QSqlDatabase& db) { return tables::search(db, query); }))
        ids += hit.conversation;
    return ids;
}

// Throws when an index and its table disagree.
void checkIndexes(Database& database) {
    for (const auto* index : {"chat_message_index", "chat_title_index"}) {
        onStore(database, [index](QSqlDatabase& db) {
            sql::exec(
                db, QStringLiteral("INSERT INTO %1(%1, rank) VALUES ('integrity-check', 1)").arg(QLatin1String(index)));
        });
    }
}

}  // namespace

class TestChatStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void keepsATree();
    void keepsEverythingOfAMessage();
    void beginsFromVersionZero();
    void findsWords();
    void indexFollowsChanges();
    void deletesWithUndo();
    void purgesWhatWasDeletedLongAgo();
    void keepsPicturesOnce();
    void givesTheSamePixelsWhateverBecomesOfTheFile();
    void refusesBrokenPictures();
    void collectsUnusedPictures();
    void marksWhatACrashCutOff();
    void diesWithoutLosingMore();
    void exportsMarkdownAndJson();
    void makesTitles();
    void groupsByDate();
    void keepsSettings();

private:
    tables::Overview overview() {
        return onStore(*database, [](QSqlDatabase& db) { return tables::overview(db); });
    }
    std::optional<Chat> load(qint64 id) {
        return onStore(*database, [id](QSqlDatabase& db) { return tables::load(db, id); });
    }

    std::unique_ptr<ChatProfile> profile;
    std::shared_ptr<ChatPictures> pictures;
    std::unique_ptr<Database> database;
    std::unique_ptr<ChatStore> store;
};

void TestChatStore::init() {
    profile = std::make_unique<ChatProfile>();
    pictures = std::make_shared<ChatPictures>(profile->pictures());
    database = std::make_unique<Database>(profile->profile.databaseFile());
    store = std::make_unique<ChatStore>(*database, pictures);
}

void TestChatStore::cleanup() {
    store.reset();
    database.reset();
    pictures.reset();
    profile.reset();
}

void TestChatStore::keepsATree() {
    store->save(chatInfo(1, QStringLiteral("Tree"), 5));
    store->add(1, message(10, 0, Role::user, QStringLiteral("first")));
    store->add(1, answerOf(11, 10, QStringLiteral("a")));
    store->add(1, answerOf(12, 10, QStringLiteral("b")));  // answered again
    store->add(1, message(13, 12, Role::user, QStringLiteral("next")));
    store->add(1, message(14, 0, Role::user, QStringLiteral("first, edited")));
    auto chat = load(1);
    QVERIFY(chat);
    QCOMPARE(chat->tree.path(), QList<qint64>{14});
    QCOMPARE(chat->tree.children(0), (QList<qint64>{10, 14}));
    QCOMPARE(chat->tree.children(10), (QList<qint64>{11, 12}));
    QCOMPARE(chat->tree.all(), (QList<qint64>{10, 14, 11, 12, 13}));
    QCOMPARE(chat->tree.pathTo(13), (QList<qint64>{10, 12, 13}));
    store->choose(1, 0, 10);
    QCOMPARE(load(1)->tree.path(), (QList<qint64>{10, 12, 13}));  // the choice below was remembered
    store->choose(1, 10, 11);
    QCOMPARE(load(1)->tree.path(), (QList<qint64>{10, 11}));
    QVERIFY(!load(99));
}

void TestChatStore::keepsEverythingOfAMessage() {
    ChatInfo info = chatInfo(1, QStringLiteral("t"), 5);
    info.settings.systemPrompt = QStringLiteral("Be brief.");
    info.model = QStringLiteral("Demo");
    store->save(info);
    ChatMessage asked = message(2, 0, Role::user, QStringLiteral("a\n猫 \" ' %"));
    asked.pictures = {{QStringLiteral("k1.png"), QStringLiteral("one.png")}, {QStringLiteral("k2.jpg"), QString()}};
    store->add(1, asked);
    ChatMessage answer = answerOf(3, 2, QStringLiteral("text"));
    answer.state = TurnState::stopped;
    answer.reasoning = QStringLiteral("thoughts");
    answer.finish = QStringLiteral("stopped");
    answer.detail = QStringLiteral("detail");
    answer.tokens = 5;
    answer.promptTokens = 210;
    answer.cachedTokens = 200;
    answer.tokensPerSecond = 12.5;
    answer.firstTokenMs = 80.25;
    answer.seed = 18'446'744'073'709'551'615ULL;
    ChatMessage begun = answer;
    begun.state = TurnState::waiting;
    store->add(1, begun);
    store->finish(answer);
    const auto chat = load(1);
    asked.pictures[1].name = QStringLiteral("");
    QVERIFY(*chat->tree.find(2) == asked);
    QVERIFY(*chat->tree.find(3) == answer);
    QCOMPARE(chat->info.settings.systemPrompt, info.settings.systemPrompt);
    QCOMPARE(chat->info.model, info.model);
    QCOMPARE(overview().lastId, 3);
}

void TestChatStore::beginsFromVersionZero() {
    // A file of another component, without any table of ours.
    store.reset();
    database.reset();
    const QString path = profile->file(QStringLiteral("old.sqlite"));
    {
        Database old(path);
        onStore(old, [](QSqlDatabase& db) {
            sql::migrate(db, QStringLiteral("library"), {{QStringLiteral("CREATE TABLE captions (id INTEGER)")}});
        });
    }
    Database again(path);
    ChatStore fresh(again, pictures);
    fresh.save(chatInfo(1, QStringLiteral("kept"), 1));
    QCOMPARE(onStore(again, [](QSqlDatabase& db) { return tables::overview(db).chats.size(); }), 1);
    onStore(again, [](QSqlDatabase& db) { tables::migrate(db); });  // again: changes nothing
    QCOMPARE(onStore(again, [](QSqlDatabase& db) { return tables::overview(db).chats.first().title; }),
             QStringLiteral("kept"));
    onStore(again, [](QSqlDatabase& db) {
        sql::exec(db, QStringLiteral("UPDATE schema SET version = 99 WHERE component = 'chat'"));
    });
    QVERIFY_THROWS_EXCEPTION(StoreError, onStore(again, [](QSqlDatabase& db) { tables::migrate(db); }));
}

void TestChatStore::findsWords() {
    store->save(chatInfo(1, QStringLiteral("Dogs in a garden"), 10));
    store->add(1, message(11, 0, Role::user, QStringLiteral("Is that a DACHSHUND, 50% grey_ish?")));
    store->save(chatInfo(2, QStringLiteral("Other"), 20));
    store->add(2, message(21, 0, Role::user, QStringLiteral("The dachshunds \"sleep\" AND NOT")));
    store->add(2, answerOf(22, 21, QStringLiteral("这张图片里有两只猫和一条狗")));
    store->save(chatInfo(3, QStringLiteral("Deleted dachshund"), 30));
    store->setDeleted(3, true);
    QCOMPARE(found(*database, QStringLiteral("dachshund")), (QList<qint64>{2, 1}));  // the one changed last first
    QCOMPARE(found(*database, QStringLiteral("dachs grey")), QList<qint64>{1});      // all words
    QCOMPARE(found(*database, QStringLiteral("garden")), QList<qint64>{1});          // a title
    QCOMPARE(found(*database, QStringLiteral("两只猫")), QList<qint64>{2});
    QCOMPARE(found(*database, QStringLiteral("猫")), QList<qint64>{2});  // shorter than the index knows
    QCOMPARE(found(*database, QStringLiteral("50%")), QList<qint64>{1});
    QCOMPARE(found(*database, QStringLiteral("h_i")), QList<qint64>{});         // no wildcard
    QCOMPARE(found(*database, QStringLiteral("\"sleep\"")), QList<qint64>{2});  // no syntax
    QCOMPARE(found(*database, QStringLiteral("AND NOT")), QList<qint64>{2});
    QCOMPARE(found(*database, QStringLiteral("  ")), QList<qint64>{});
    const auto hits =
        onStore(*database, [](QSqlDatabase& db) { return tables::search(db, QStringLiteral("DACHSHUND")); });
    QCOMPARE(hits[1].message, 11);
    QVERIFY2(hits[1].snippet.contains(QStringLiteral("a \x02"
                                                     "DACHSHUND\x03,")),
             qPrintable(hits[1].snippet));
    const QString far =
        QStringLiteral("word ").repeated(50) + QStringLiteral("needle") + QStringLiteral(" word").repeated(50);
    const QString excerpt = tables::excerpt(far, {QStringLiteral("needle")});
    QVERIFY(excerpt.startsWith(u'…') && excerpt.endsWith(u'…') && excerpt.contains(QStringLiteral("\x02needle\x03")));
    QVERIFY(excerpt.size() < 120);
}

void TestChatStore::indexFollowsChanges() {
    store->save(chatInfo(1, QStringLiteral("Alpha"), 10));
    ChatMessage answer = answerOf(2, 0, {});
    answer.state = TurnState::streaming;
    store->add(1, answer);
    store->append(2, QStringLiteral("first piece "), {});
    store->append(2, QStringLiteral("second piece"), {});
    answer.text = QStringLiteral("first piece second piece, done");
    answer.state = TurnState::complete;
    store->finish(answer);
    QCOMPARE(found(*database, QStringLiteral("piece second")), QList<qint64>{1});
    answer.text = QStringLiteral("something else");
    store->finish(answer);
    QCOMPARE(found(*database, QStringLiteral("piece")), QList<qint64>{});
    store->rename(1, QStringLiteral("Omega"));
    QCOMPARE(found(*database, QStringLiteral("alpha")), QList<qint64>{});
    QCOMPARE(found(*database, QStringLiteral("omega")), QList<qint64>{1});
    checkIndexes(*database);
}

void TestChatStore::deletesWithUndo() {
    store->save(chatInfo(1, QStringLiteral("one"), 10));
    store->add(1, message(2, 0, Role::user, QStringLiteral("text")));
    store->setDeleted(1, true);
    QCOMPARE(overview().chats.size(), 0);
    store->setDeleted(1, false);
    QCOMPARE(overview().chats.size(), 1);
    QCOMPARE(load(1)->tree.path().size(), 1);
}

void TestChatStore::purgesWhatWasDeletedLongAgo() {
    store->save(chatInfo(1, QStringLiteral("one"), 10));
    store->add(1, message(2, 0, Role::user, QStringLiteral("text")));
    store->add(1, answerOf(3, 2, QStringLiteral("text")));
    store->setDeleted(1, true);
    onStore(*database, [](QSqlDatabase& db) { tables::purge(db, 1000); });
    QVERIFY(load(1));  // deleted now, not before 1970 and a second
    onStore(*database, [](QSqlDatabase& db) { tables::purge(db, std::numeric_limits<qint64>::max()); });
    QVERIFY(!load(1));
    const int left = onStore(*database, [](QSqlDatabase& db) {
        QSqlQuery count = sql::exec(db, QStringLiteral("SELECT count(*) FROM chat_messages"));
        count.next();
        return count.value(0).toInt();
    });
    QCOMPARE(left, 0);
    checkIndexes(*database);
}

void TestChatStore::keepsPicturesOnce() {
    const QString red = profile->picture(QStringLiteral("red #1 猫.png"), Qt::red);
    const auto first = pictures->keep(red);
    QVERIFY(QFile::copy(red, profile->file(QStringLiteral("copy.jpg"))));  // the type is found by content
    const auto second = pictures->keep(profile->file(QStringLiteral("copy.jpg")));
    QCOMPARE(first.key, second.key);
    QVERIFY(first.key.endsWith(QStringLiteral(".png")));
    QFile kept(pictures->pathOf(first.key));
    QFile original(red);
    QVERIFY(kept.open(QIODevice::ReadOnly) && original.open(QIODevice::ReadOnly));
    QCOMPARE(kept.readAll(), original.readAll());
    QImage pasted(20, 10, QImage::Format_ARGB32);
    pasted.fill(Qt::blue);
    const auto third = pictures->keep(pasted);
    QVERIFY(third.key != first.key);
    QCOMPARE(third.image->width, 20);
    QCOMPARE(int(third.image->rgb[2]), 255);
}

void TestChatStore::givesTheSamePixelsWhateverBecomesOfTheFile() {
    const QString file = profile->picture(QStringLiteral("a.png"), Qt::red);
    const auto kept = pictures->keep(file);
    profile->picture(QStringLiteral("a.png"), Qt::blue);  // replaced on the disk
    QCOMPARE(pictures->decoded(kept.key).get(), kept.image.get());
    QVERIFY(QFile::remove(file));
    ChatPictures later(profile->pictures());  // another run of the program
    QCOMPARE(later.decoded(kept.key)->rgb, kept.image->rgb);
    QCOMPARE(later.thumbnail(kept.key, 16).width(), 16);
    QFile copy(pictures->pathOf(kept.key));
    QVERIFY(copy.open(QIODevice::ReadWrite));
    copy.seek(copy.size() - 8);
    copy.write("x");
    copy.close();
    ChatPictures afterDamage(profile->pictures());
    QVERIFY_THROWS_EXCEPTION(FileError, afterDamage.decoded(kept.key));
    QVERIFY(copy.remove());
    QVERIFY_THROWS_EXCEPTION(FileError, afterDamage.decoded(kept.key));
}

void TestChatStore::refusesBrokenPictures() {
    QFile text(profile->file(QStringLiteral("notes.png")));
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write("not a picture");
    text.close();
    QVERIFY_THROWS_EXCEPTION(Error, pictures->keep(text.fileName()));
    QVERIFY_THROWS_EXCEPTION(Error, pictures->keep(profile->file(QStringLiteral("absent.png"))));
    QVERIFY_THROWS_EXCEPTION(Error, pictures->keep(profile->folder.path()));
    QVERIFY_THROWS_EXCEPTION(Error, pictures->keep(QImage()));
    QVERIFY(QDir(profile->pictures()).isEmpty());
}

void TestChatStore::collectsUnusedPictures() {
    const auto used = pictures->keep(profile->picture(QStringLiteral("a.png"), Qt::red));
    const auto unused = pictures->keep(profile->picture(QStringLiteral("b.png"), Qt::blue));
    store->save(chatInfo(1, QStringLiteral("one"), 10));
    ChatMessage asked = message(2, 0, Role::user, {});
    asked.pictures = {{used.key, QStringLiteral("a.png")}};
    store->add(1, asked);
    store->setDeleted(1, true);  // can still be brought back
    onStore(*database, [](QSqlDatabase&) { return 0; });
    pictures->collect({used.key});
    QVERIFY(QFile::exists(pictures->pathOf(unused.key)));            // its message may be on its way
    pictures = std::make_shared<ChatPictures>(profile->pictures());  // another run of the program
    store = std::make_unique<ChatStore>(*database, pictures);
    overview();
    QVERIFY(QFile::exists(pictures->pathOf(used.key)));
    QVERIFY(!QFile::exists(pictures->pathOf(unused.key)));
}

void TestChatStore::marksWhatACrashCutOff() {
    store->save(chatInfo(1, QStringLiteral("one"), 10));
    ChatMessage answer = answerOf(2, 0, QStringLiteral("half a sen"));
    answer.state = TurnState::streaming;
    store->add(1, answer);
    store = std::make_unique<ChatStore>(*database, pictures);
    QCOMPARE(load(1)->tree.find(2)->state, TurnState::interrupted);
    QCOMPARE(load(1)->tree.find(2)->text, QStringLiteral("half a sen"));
    QCOMPARE(found(*database, QStringLiteral("half")), QList<qint64>{1});
}

void TestChatStore::diesWithoutLosingMore() {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("VITRINE_TEST_CHAT_CHILD"), profile->file(QStringLiteral("child")));
    process.setProcessEnvironment(environment);
    process.start(QCoreApplication::applicationFilePath(), {});
    QVERIFY(process.waitForStarted());
    QByteArray said;
    // Numbers with the time they arrived here, so that "a second ago" is measured and not guessed.
    QList<qint64> arrived;
    QElapsedTimer clock;
    clock.start();
    while (clock.elapsed() < 30'000 && arrived.size() < 300) {
        process.waitForReadyRead(50);
        said += process.readAllStandardOutput();
        while (arrived.size() < said.count('\n')) arrived += clock.elapsed();
    }
    ::kill(static_cast<pid_t>(process.processId()), SIGKILL);
    const qint64 killed = clock.elapsed();
    QVERIFY(process.waitForFinished());
    QVERIFY(arrived.size() >= 300);

    Database again(Profile::at(profile->file(QStringLiteral("child"))).databaseFile());
    ChatStore reopened(again, std::make_shared<ChatPictures>(profile->file(QStringLiteral("child/pictures"))));
    const auto chat = onStore(again, [](QSqlDatabase& db) { return tables::load(db, 1); });
    QVERIFY(chat);
    QVERIFY(chat->tree.find(3) != nullptr);
    const ChatMessage& answer = *chat->tree.find(3);
    QCOMPARE(answer.state, TurnState::interrupted);
    const QStringList numbers = answer.text.split(u' ', Qt::SkipEmptyParts);
    for (qsizetype i = 0; i < numbers.size(); ++i) QCOMPARE(numbers[i], QString::number(i));  // whole and in order
    qsizetype old = 0;
    while (old < arrived.size() && arrived[old] < killed - 1'000) ++old;
    qInfo("%lld pieces written, %lld kept, %lld older than a second", static_cast<long long>(arrived.size()),
          static_cast<long long>(numbers.size()), static_cast<long long>(old));
    QVERIFY(old > 0);
    QVERIFY(numbers.size() >= old);
}

void TestChatStore::exportsMarkdownAndJson() {
    const auto kept = pictures->keep(profile->picture(QStringLiteral("a b.png"), Qt::red));
    store->save(chatInfo(1, QStringLiteral("Colours"), 10));
    ChatMessage asked = message(2, 0, Role::user, QStringLiteral("Which colour?"));
    asked.pictures = {{kept.key, QStringLiteral("a [b].png")},
                      {QStringLiteral("gone.png"), QStringLiteral("gone.png")}};
    store->add(1, asked);
    store->add(1, answerOf(3, 2, QStringLiteral("Blue.")));
    store->add(1, answerOf(4, 2, QStringLiteral("**Red**.")));
    const QString folder = profile->file(QStringLiteral("out"));
    QVERIFY(QDir().mkpath(folder));

    const QString markdown = folder + QStringLiteral("/chat.md");
    QFuture<QStringList> written = store->exportTo(1, ChatExportFormat::markdown, markdown);
    QCOMPARE(written.result(), QStringList{QStringLiteral("gone.png")});
    QFile text(markdown);
    QVERIFY(text.open(QIODevice::ReadOnly));
    QCOMPARE(
        QString::fromUtf8(text.readAll()),
        QStringLiteral("# Colours\n\n## You\n\n![a (b).png](chat_pictures/a_b_.png)\n\n*Picture gone.png is gone.*\n\n"
                       "Which colour?\n\n## Demo\n\n**Red**.\n"));
    QVERIFY(QFile::exists(folder + QStringLiteral("/chat_pictures/a_b_.png")));

    const QString json = folder + QStringLiteral("/chat.json");
    store->exportTo(1, ChatExportFormat::json, json).waitForFinished();
    QFile data(json);
    QVERIFY(data.open(QIODevice::ReadOnly));
    const QJsonArray messages =
        QJsonDocument::fromJson(data.readAll()).object().value(QStringLiteral("messages")).toArray();
    QCOMPARE(messages.size(), 3);  // every branch
    QCOMPARE(messages[1].toObject().value(QStringLiteral("text")).toString(), QStringLiteral("Blue."));
    QCOMPARE(messages[1].toObject().value(QStringLiteral("chosen")).toBool(), false);
    QCOMPARE(messages[2].toObject().value(QStringLiteral("parent")).toInteger(), 2);
    const QJsonObject picture = messages[0].toObject().value(QStringLiteral("pictures")).toArray()[0].toObject();
    QCOMPARE(picture.value(QStringLiteral("sha256")).toString(), kept.key.section(u'.', 0, 0));
    QVERIFY(QFile::exists(folder + u'/' + picture.value(QStringLiteral("file")).toString()));
    QVERIFY_THROWS_EXCEPTION(
        Error,
        store->exportTo(1, ChatExportFormat::json, profile->file(QStringLiteral("a b.png/x.json"))).waitForFinished());
}

void TestChatStore::makesTitles() {
    QCOMPARE(titleFor(QStringLiteral("  What is  this?\nMore."), {}), QStringLiteral("What is this?"));
    QCOMPARE(titleFor(QString(), {{QStringLiteral("k"), QStringLiteral("cat.png")}}), QStringLiteral("cat.png"));
    const QString longTitle = titleFor(QStringLiteral("word ").repeated(40), {});
    QVERIFY(longTitle.size() <= 62 && longTitle.endsWith(QStringLiteral("word …")));
    QVERIFY(titleFor(QStringLiteral("字").repeated(200), {}).size() <= 62);
    QVERIFY(!titleFor(QString(), {}).isEmpty());
}

void TestChatStore::groupsByDate() {
    const QDate today(2026, 11, 30);
    QCOMPARE(ChatListModel::groupOf(today, today), QStringLiteral("Today"));
    QCOMPARE(ChatListModel::groupOf(today.addDays(1), today), QStringLiteral("Today"));  // a clock that went back
    QCOMPARE(ChatListModel::groupOf(today.addDays(-1), today), QStringLiteral("Yesterday"));
    QCOMPARE(ChatListModel::groupOf(today.addDays(-6), today), QStringLiteral("Last 7 days"));
    QCOMPARE(ChatListModel::groupOf(today.addDays(-29), today), QStringLiteral("Last 30 days"));
    const qint64 now = QDateTime::currentMSecsSinceEpoch();
    const qint64 day = 24LL * 3600 * 1000;
    ChatListModel model;
    model.setChats({chatInfo(1, QStringLiteral("new"), now), chatInfo(2, QStringLiteral("old"), now - 3 * day)});
    QCOMPARE(model.rowCount(), 4);
    QVERIFY(model.index(0).data(ChatRoles::heading).toBool());
    QVERIFY(!(model.flags(model.index(0)) & Qt::ItemIsSelectable));
    QCOMPARE(model.index(1).data().toString(), QStringLiteral("new"));
    QSignalSpy renamed(&model, &ChatListModel::renamed);
    QVERIFY(model.setData(model.index(3), QStringLiteral(" a  title "), Qt::EditRole));
    QVERIFY(!model.setData(model.index(3), QStringLiteral("  "), Qt::EditRole));
    QCOMPARE(renamed.size(), 1);
    QCOMPARE(renamed[0], (QVariantList{2LL, QStringLiteral("a title")}));
    model.setHits({{2, 77, QStringLiteral("found")}});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(1).data(ChatRoles::message).toLongLong(), 77);
    model.clearHits();
    model.put(chatInfo(2, QStringLiteral("old"), now + 1));
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.index(1).data(ChatRoles::conversation).toLongLong(), 2);
}

void TestChatStore::keepsSettings() {
    ChatSettings settings;
    settings.generation.sampling = {.temperature = 0.7,
                                    .top_k = 40,
                                    .top_p = 0.9,
                                    .min_p = 0.05,
                                    .repetition_penalty = 1.1,
                                    .presence_penalty = 0.5,
                                    .penalty_window = 64,
                                    .seed = 1'234'567'890'123'456'789ULL};
    settings.generation.max_tokens = 100;
    settings.generation.thinking = true;
    settings.generation.detect_loops = false;
    settings.fixedSeed = true;
    QCOMPARE(toJson(chatSettingsFromJson(toJson(settings))), toJson(settings));
    QCOMPARE(chatSettingsFromJson(toJson(settings)).generation.sampling.seed, settings.generation.sampling.seed);
    const ChatSettings wrong =
        chatSettingsFromJson({{QStringLiteral("top_p"), -3}, {QStringLiteral("max_tokens"), QStringLiteral("x")}});
    QVERIFY(wrong.generation.sampling.top_p > 0);
    QCOMPARE(wrong.generation.max_tokens, ChatSettings().generation.max_tokens);
}

VITRINE_TEST(TestChatStore)
#include "test_chat_store.moc"
