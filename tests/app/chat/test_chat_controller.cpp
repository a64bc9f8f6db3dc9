#include "app/activity.h"
#include "app/chat/chat_controller.h"
#include "app/chat/chat_pictures.h"
#include "app/settings.h"
#include "chat_fixture.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/chat/chat_drawer.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/composer.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/picture_strip.h"
#include "ui/chat/turn_widget.h"
#include "ui/message_bar.h"
#include "ui/text/markdown_view.h"

#include <QAbstractButton>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QLocale>
#include <QPlainTextEdit>
#include <QPushButton>

#include <algorithm>

using namespace vitrine;
using namespace vitrine::test;

namespace {

// An engine that answers what the test tells it to.
struct EngineStub {
    struct Call {
        EngineWorker::Prompt prompt;
        GenerationOptions options;
        std::shared_ptr<EngineJob> job;
    };
    std::vector<Call> calls;

    ChatAnswers::Generate generate() {
        return [this](EngineWorker::Prompt prompt, const GenerationOptions& options) {
            calls.push_back({std::move(prompt), options, std::make_shared<EngineJob>()});
            return calls.back().job;
        };
    }
    void stream(const std::string& text, bool reasoning = false) {
        TokenEvent event;
        event.text = text;
        event.reasoning = reasoning;
        Q_EMIT calls.back().job->streamed({event});
    }
    void finish(const std::string& text, FinishReason reason = FinishReason::stop_token) {
        GenerationResult result;
        result.text = text;
        result.finish = reason;
        result.ids = {1, 2, 3};
        result.prompt_tokens = 100;
        result.tokens_per_s = 12.0;
        result.first_token_ms = 400.0;
        const auto job = calls.back().job;  // the next call may come meanwhile
        Q_EMIT job->finished(result);
    }
    std::vector<Message> prompt() const { return calls.back().prompt(); }
};

QString textOf(const Message& message) {
    return QString::fromStdString(message.text);
}

QAbstractButton* button(QWidget* parent, const QString& name) {
    for (QAbstractButton* candidate : parent->findChildren<QAbstractButton*>()) {
        if (candidate->accessibleName().startsWith(name) || candidate->text() == name) return candidate;
    }
    return nullptr;
}

}  // namespace

class TestChatController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void sendsAndSaves();
    void stopsAndKeepsWhatWasWritten();
    void queuesAMessage();
    void answersAgainAndSwitchesBranches();
    void editsATurn();
    void stopsWhatNobodyReads();
    void answersWhileAnotherChatIsOpen();
    void tellsWhyItFailed();
    void neverSendsAnotherPicture();
    void asksWithThePicturesOfEachTurn();
    void keepsARefusedPictureWithItsReason();
    void givesSettingsAndSystemPrompt();
    void searchesAndOpensTheFoundTurn();
    void usesTheDialogs();
    void deletesAndBringsBack();
    void renames();
    void survivesTheEndOfTheProgram();
    void readsBackWhatItWrote();
    void staysResponsive();

private:
    void start();
    void type(const QString& text);
    void attach(const QStringList& files);
    QList<QString> shownTexts() const;
    Turn shown(qsizetype index) const;
    qint64 idAt(qsizetype index) const { return controller->current().tree.path().value(index); }
    void settle() {
        onStore(*database, [](QSqlDatabase&) { return 0; });
    }
    std::optional<Chat> stored(qint64 id) {
        return onStore(*database, [id](QSqlDatabase& db) { return chat_tables::load(db, id); });
    }
    // Turns are made a few at a time.
    TurnWidget* widget(qsizetype index) const {
        const qint64 id = idAt(index);
        (void)QTest::qWaitFor([&] { return page->conversation()->widgetOf(id) != nullptr; }, 1'000);
        return page->conversation()->widgetOf(id);
    }
    const std::vector<PictureTile*>& tiles() const { return page->composer()->findChild<PictureStrip*>()->tiles(); }

    std::unique_ptr<ChatProfile> profile;
    std::unique_ptr<Database> database;
    std::unique_ptr<Settings> settings;
    std::unique_ptr<EngineStub> engine;
    std::unique_ptr<ChatPage> page;
    std::unique_ptr<ChatController> controller;
};

void TestChatController::start() {
    page = std::make_unique<ChatPage>();
    page->resize(1000, 700);
    page->show();
    QVERIFY(QTest::qWaitForWindowExposed(page.get()));
    engine = std::make_unique<EngineStub>();
    controller = std::make_unique<ChatController>(*page, *database, *settings, profile->pictures());
    controller->setGenerate(engine->generate());
    ModelSummary model;
    model.name = "Demo";
    model.context = 512;
    model.presets = {{"caption", "Describe the picture."}};
    controller->setModel(EngineWorker::State::ready, model, {});
}

void TestChatController::init() {
    profile = std::make_unique<ChatProfile>();
    database = std::make_unique<Database>(profile->profile.databaseFile());
    settings = std::make_unique<Settings>(profile->profile.settingsFile());
    start();
}

void TestChatController::cleanup() {
    controller.reset();
    page.reset();
    settings.reset();
    database.reset();
    profile.reset();
}

// As a person does it.
void TestChatController::type(const QString& text) {
    MessageEdit* edit = page->composer()->edit();
    edit->setFocus();
    QTest::keyClicks(edit, text);
    QTest::keyClick(edit, Qt::Key_Return);
}

void TestChatController::attach(const QStringList& files) {
    QList<QUrl> urls;
    for (const QString& file : files) urls += QUrl::fromLocalFile(file);
    Q_EMIT page->filesOffered(urls);
    QTRY_VERIFY([this] {
        return std::none_of(tiles().begin(), tiles().end(), [](PictureTile* tile) { return tile->picture().loading; });
    }());
}

Turn TestChatController::shown(qsizetype index) const {
    TurnWidget* turn = widget(index);
    return turn == nullptr ? Turn{} : turn->turn();
}

QList<QString> TestChatController::shownTexts() const {
    QList<QString> texts;
    for (qsizetype i = 0; i < controller->current().tree.path().size(); ++i) {
        if (TurnWidget* turn = widget(i)) texts += turn->body()->toPlainText();
    }
    return texts;
}

void TestChatController::sendsAndSaves() {
    type(QStringLiteral("Which colour is it?"));
    QCOMPARE(static_cast<int>(engine->calls.size()), 1);
    QVERIFY(page->composer()->text().isEmpty());
    QCOMPARE(shown(1).state, TurnState::waiting);
    const qint64 chat = controller->current().info.id;
    QCOMPARE(controller->current().info.title, QStringLiteral("Which colour is it?"));
    QCOMPARE(controller->list().index(1).data().toString(), QStringLiteral("Which colour is it?"));
    QVERIFY(controller->list().index(1).data(ChatRoles::busy).toBool());
    engine->stream("hmm", true);
    engine->stream("It is ");
    engine->stream("**red**");
    QCOMPARE(shown(1).state, TurnState::streaming);
    QCOMPARE(widget(1)->body()->toPlainText(), QStringLiteral("It is red"));
    QTest::qWait(700);  // the half second in which a piece is saved, without any end
    QCOMPARE(stored(chat)->tree.find(idAt(1))->text, QStringLiteral("It is **red**"));
    QCOMPARE(stored(chat)->tree.find(idAt(1))->reasoning, QStringLiteral("hmm"));
    QCOMPARE(stored(chat)->tree.find(idAt(1))->state, TurnState::streaming);
    engine->finish("It is **red**.");
    QCOMPARE(shown(1).state, TurnState::complete);
    QCOMPARE(shown(1).text, QStringLiteral("It is **red**."));
    QVERIFY2(shown(1).note.contains(QLocale().toString(12.0, 'f', 1) + QStringLiteral(" tokens/s")) &&
                 shown(1).note.contains(QLocale().toString(0.4, 'f', 1) + QStringLiteral(" s")),
             qPrintable(shown(1).note));
    QVERIFY(!controller->list().index(1).data(ChatRoles::busy).toBool());
    settle();
    QCOMPARE(stored(chat)->tree.find(idAt(1))->tokens, 3);
    bool context = false;
    for (const QLabel* label : page->composer()->findChildren<QLabel*>())
        context = context || label->text() == QStringLiteral("Context 103 of 512");
    QVERIFY(context);
}

void TestChatController::stopsAndKeepsWhatWasWritten() {
    type(QStringLiteral("Tell me a story"));
    engine->stream("Once upon");
    ActivityList activities;
    controller->showActivities(activities);
    QTest::keyClick(page->composer()->edit(), Qt::Key_Escape);
    QVERIFY(engine->calls.back().job->stopRequested());
    engine->finish("Once upon a", FinishReason::stopped);
    QCOMPARE(shown(1).state, TurnState::stopped);
    QCOMPARE(shown(1).text, QStringLiteral("Once upon a"));
    const qint64 chat = controller->current().info.id;
    settle();
    QCOMPARE(stored(chat)->tree.find(idAt(1))->state, TurnState::stopped);
    type(QStringLiteral("Go on"));
    QCOMPARE(textOf(engine->prompt()[1]), QStringLiteral("Once upon a"));
    QCOMPARE(activities.all().size(), 1);
    activities.all().first()->stop();  // from the status bar
    QVERIFY(engine->calls.back().job->stopRequested());
    engine->finish("", FinishReason::stopped);
    QCOMPARE(activities.all().size(), 0);
}

void TestChatController::queuesAMessage() {
    type(QStringLiteral("first"));
    engine->stream("one");
    type(QStringLiteral("second"));
    type(QStringLiteral("third"));
    QCOMPARE(static_cast<int>(engine->calls.size()), 1);
    QCOMPARE(shown(2).state, TurnState::waiting);
    settle();
    const auto saved = stored(controller->current().info.id);
    QCOMPARE(saved->tree.path().size(), 6);  // what waits is not lost either
    engine->finish("one.");
    QCOMPARE(static_cast<int>(engine->calls.size()), 2);
    const auto prompt = engine->prompt();
    QCOMPARE(prompt.size(), 3U);
    QCOMPARE(textOf(prompt[1]), QStringLiteral("one."));
    QCOMPARE(textOf(prompt[2]), QStringLiteral("second"));
    engine->finish("two.");
    QCOMPARE(engine->prompt().size(), 5U);
    engine->finish("three.");
    QCOMPARE(shownTexts(), (QList<QString>{QStringLiteral("first"), QStringLiteral("one."), QStringLiteral("second"),
                                           QStringLiteral("two."), QStringLiteral("third"), QStringLiteral("three.")}));
}

void TestChatController::answersAgainAndSwitchesBranches() {
    type(QStringLiteral("q"));
    engine->finish("first answer");
    const qint64 first = idAt(1);
    QTest::mouseClick(button(widget(1), QStringLiteral("Answer again")), Qt::LeftButton);
    QVERIFY(idAt(1) != first);
    QVERIFY(engine->calls[0].options.sampling.seed != engine->calls[1].options.sampling.seed);
    QCOMPARE(engine->prompt().size(), 1U);  // the question alone
    engine->finish("second answer");
    QCOMPARE(shown(1).branch, 2);
    QCOMPARE(shown(1).branches, 2);
    type(QStringLiteral("follow-up"));
    engine->finish("deeper");
    QTest::mouseClick(button(widget(1), QStringLiteral("Previous version")), Qt::LeftButton);
    QCOMPARE(idAt(1), first);
    QCOMPARE(shownTexts(), (QList<QString>{QStringLiteral("q"), QStringLiteral("first answer")}));
    QTest::mouseClick(button(widget(1), QStringLiteral("Next version")), Qt::LeftButton);
    QCOMPARE(shownTexts().size(), 4);
    settle();
    const auto saved = stored(controller->current().info.id);
    QCOMPARE(saved->tree.path(), controller->current().tree.path());
    QCOMPARE(saved->tree.children(idAt(0)).size(), 2);
}

void TestChatController::editsATurn() {
    const QString red = profile->picture(QStringLiteral("red.png"), Qt::red);
    attach({red});
    type(QStringLiteral("old question"));
    engine->finish("old answer");
    QTest::mouseClick(button(widget(0), QStringLiteral("Edit and ask again")), Qt::LeftButton);
    auto* editor = widget(0)->findChild<QPlainTextEdit*>();
    QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(editor, QStringLiteral("new question"));
    QTest::keyClick(editor, Qt::Key_Return);
    QCOMPARE(static_cast<int>(engine->calls.size()), 2);
    const auto prompt = engine->prompt();
    QCOMPARE(prompt.size(), 1U);
    QCOMPARE(textOf(prompt[0]), QStringLiteral("new question"));
    QCOMPARE(prompt[0].pictures.size(), 1U);  // it keeps its picture
    engine->finish("new answer");
    QCOMPARE(shown(0).branches, 2);
    QTest::mouseClick(button(widget(0), QStringLiteral("Previous version")), Qt::LeftButton);
    QCOMPARE(shownTexts(), (QList<QString>{QStringLiteral("old question"), QStringLiteral("old answer")}));
}

void TestChatController::stopsWhatNobodyReads() {
    type(QStringLiteral("q"));
    engine->stream("long");
    type(QStringLiteral("waits"));
    const auto running = engine->calls.back().job;
    Q_EMIT page->editWanted(idAt(0), QStringLiteral("better q"));
    QVERIFY(running->stopRequested());
    QCOMPARE(static_cast<int>(engine->calls.size()), 1);
    engine->finish("long", FinishReason::stopped);
    QCOMPARE(static_cast<int>(engine->calls.size()),
             2);  // the edited one; the one that waited on the old branch is not asked
    QCOMPARE(textOf(engine->prompt().back()), QStringLiteral("better q"));
    engine->finish("a");
    QCOMPARE(static_cast<int>(engine->calls.size()), 2);
}

void TestChatController::answersWhileAnotherChatIsOpen() {
    type(QStringLiteral("first chat"));
    const qint64 first = controller->current().info.id;
    engine->stream("begun");
    QTest::keyClick(page->composer()->edit(), Qt::Key_N, Qt::ControlModifier);
    QCOMPARE(controller->current().info.id, 0);
    engine->stream(" and on");
    type(QStringLiteral("second chat"));
    QCOMPARE(static_cast<int>(engine->calls.size()), 1);
    QCOMPARE(shownTexts(), QList<QString>{QStringLiteral("second chat")});
    controller->open(first);
    QCOMPARE(controller->current().info.id, first);
    QCOMPARE(widget(1)->body()->toPlainText(), QStringLiteral("begun and on"));
    engine->finish("begun and on.");
    QCOMPARE(static_cast<int>(engine->calls.size()), 2);
    QCOMPARE(textOf(engine->prompt()[0]), QStringLiteral("second chat"));
    engine->finish("done");
    QVERIFY(page->messages().text().contains(QStringLiteral("second chat")));
}

void TestChatController::tellsWhyItFailed() {
    type(QStringLiteral("too long"));
    const auto job = engine->calls.back().job;
    Q_EMIT job->failed(QStringLiteral("prompt: expected fewer than 512 tokens, found 900. Shorten the conversation."));
    QCOMPARE(shown(1).state, TurnState::failed);
    QVERIFY(shown(1).problem.contains(QStringLiteral("512")));
    type(QStringLiteral("short"));
    QCOMPARE(engine->prompt().size(), 2U);  // an answer without a word is left out
    engine->finish("fine");
    const qint64 chat = controller->current().info.id;
    controller->newChat();
    settle();
    controller->open(chat);
    QTRY_COMPARE(controller->current().info.id, chat);
    QVERIFY(shown(1).problem.contains(QStringLiteral("512")));
}

void TestChatController::neverSendsAnotherPicture() {
    const QString file = profile->picture(QStringLiteral("photo.png"), Qt::red);
    attach({file});
    profile->picture(QStringLiteral("photo.png"), Qt::blue);  // replaced before it is sent: what was seen is sent
    type(QStringLiteral("Which colour?"));
    const auto first = engine->prompt();
    QCOMPARE(first[0].pictures.size(), 1U);
    QCOMPARE(int(first[0].pictures[0]->rgb[0]), 255);
    QCOMPARE(int(first[0].pictures[0]->rgb[2]), 0);
    engine->finish("Red.");
    attach({file});  // the same path, another picture
    type(QStringLiteral("And this?"));
    const auto second = engine->prompt();
    QCOMPARE(second[0].pictures[0].get(), first[0].pictures[0].get());  // the very same pixels: the cache is of use
    QCOMPARE(int(second[2].pictures[0]->rgb[2]), 255);
    engine->finish("Blue.");
    QVERIFY(QFile::remove(file));
    Q_EMIT page->regenerateWanted(idAt(1));
    QCOMPARE(int(engine->prompt()[0].pictures[0]->rgb[0]), 255);
    engine->finish("Red again.");
    const qint64 chat = controller->current().info.id;
    controller.reset();
    page.reset();
    start();  // another run of the program
    controller->open(chat);
    QTRY_COMPARE(controller->current().info.id, chat);
    Q_EMIT page->regenerateWanted(idAt(1));
    const auto later = engine->prompt();
    QCOMPARE(later[0].pictures[0]->rgb, first[0].pictures[0]->rgb);
    engine->finish("Red.");
}

void TestChatController::asksWithThePicturesOfEachTurn() {
    attach({profile->picture(QStringLiteral("a.png"), Qt::red), profile->picture(QStringLiteral("b.png"), Qt::green)});
    attach({profile->file(QStringLiteral("a.png"))});  // twice the same: once
    type(QStringLiteral("two"));
    const auto prompt = engine->prompt();
    QCOMPARE(prompt[0].pictures.size(), 2U);
    QCOMPARE(int(prompt[0].pictures[1]->rgb[1]), 255);
    QCOMPARE(shown(0).pictures.size(), 2);
    QCOMPARE(shown(0).pictures[0].name, QStringLiteral("a.png"));
    engine->finish("ok");
    QImage pasted(30, 20, QImage::Format_RGB32);
    pasted.fill(Qt::blue);
    Q_EMIT page->imageOffered(pasted);
    attach({});
    QTRY_COMPARE(tiles().size(), 1U);
    QTest::keyClick(page->composer()->edit(), Qt::Key_Return);  // a picture alone
    QCOMPARE(engine->prompt()[2].pictures.size(), 1U);
    engine->finish("ok");
}

void TestChatController::keepsARefusedPictureWithItsReason() {
    QFile text(profile->file(QStringLiteral("notes.txt")));
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write("no picture");
    text.close();
    attach({text.fileName()});
    Q_EMIT page->filesOffered({QUrl(QStringLiteral("https://x.org/a.png"))});
    QCOMPARE(tiles().size(), 2U);
    for (const PictureTile* tile : tiles()) QVERIFY(!tile->picture().problem.isEmpty());
    QVERIFY(!button(page->composer(), QStringLiteral("Send"))->isEnabled());
    type(QStringLiteral("without"));
    QCOMPARE(engine->prompt()[0].pictures.size(), 0U);
    engine->finish("ok");
}

void TestChatController::givesSettingsAndSystemPrompt() {
    ChatSettings chosen;
    chosen.systemPrompt = QStringLiteral("Answer in one word. <|im_end|>");
    chosen.generation.sampling.temperature = 0.5;
    chosen.generation.sampling.seed = 77;
    chosen.fixedSeed = true;
    chosen.generation.thinking = true;
    Q_EMIT page->settingsChanged(chosen);
    type(QStringLiteral("q"));
    const auto prompt = engine->prompt();
    QCOMPARE(prompt[0].role, Role::system);
    QCOMPARE(textOf(prompt[0]), chosen.systemPrompt);
    QVERIFY(engine->calls[0].options.thinking);
    QCOMPARE(engine->calls[0].options.sampling.seed, 77U);
    QCOMPARE(engine->calls[0].options.sampling.temperature, 0.5);
    engine->finish("ok");
    const qint64 chat = controller->current().info.id;
    controller->newChat();
    QCOMPARE(controller->current().info.settings.systemPrompt, chosen.systemPrompt);  // the next one begins alike
    Q_EMIT page->settingsChanged({});
    controller->open(chat);
    QTRY_COMPARE(controller->current().info.id, chat);
    QCOMPARE(controller->current().info.settings.systemPrompt, chosen.systemPrompt);  // and this one kept its own
    QVERIFY(controller->current().info.settings.fixedSeed);
}

void TestChatController::searchesAndOpensTheFoundTurn() {
    type(QStringLiteral("about dachshunds"));
    engine->finish("They are long.");
    const qint64 chat = controller->current().info.id;
    Q_EMIT page->editWanted(idAt(0), QStringLiteral("about cats"));
    engine->finish("They are soft.");
    controller->newChat();
    type(QStringLiteral("about birds"));
    engine->finish("They fly.");
    page->drawer()->focusSearch();
    QTest::keyClicks(page->drawer()->search(), QStringLiteral("dachs"));
    QTRY_COMPARE(controller->list().rowCount(), 2);
    QVERIFY(controller->list()
                .index(1)
                .data(ChatRoles::snippet)
                .toString()
                .contains(QStringLiteral("\x02"
                                         "dachs\x03")));
    QTest::keyClick(page->drawer()->search(), Qt::Key_Return);
    QTRY_COMPARE(controller->current().info.id, chat);
    QCOMPARE(shownTexts().value(0), QStringLiteral("about dachshunds"));  // the branch that was not read
    QTest::keyClick(page->drawer()->search(), Qt::Key_Escape);
    QTRY_COMPARE(controller->list().rowCount(), 3);
}

void TestChatController::usesTheDialogs() {
    struct Answers : Dialogs {
        void openFiles(QWidget*, const FileWish&, std::function<void(const QStringList&)> answer) override {
            answer(files);
        }
        void saveFile(QWidget*, const FileWish& wish, std::function<void(const QString&)> answer) override {
            suggested = wish.suggested;
            answer(target);
        }
        QStringList files;
        QString target;
        QString suggested;
    } dialogs;
    controller->setDialogs(dialogs);
    dialogs.files = {profile->picture(QStringLiteral("a.png"), Qt::red)};
    QTest::mouseClick(button(page->composer(), QStringLiteral("Add pictures")), Qt::LeftButton);
    QTRY_VERIFY(page->composer()->hasPictures());
    type(QStringLiteral("What: a \"cat\"/dog?"));
    engine->finish("A cat.");
    dialogs.target = profile->file(QStringLiteral("saved"));
    Q_EMIT page->exportWanted(controller->current().info.id, ChatExportFormat::markdown);
    QCOMPARE(dialogs.suggested, QStringLiteral("What a cat dog.md"));
    QTRY_VERIFY(page->messages().text().contains(QStringLiteral("saved.md")));
    QVERIFY(QFile::exists(profile->file(QStringLiteral("saved.md"))));
    QVERIFY(QFile::exists(profile->file(QStringLiteral("saved_pictures/a.png"))));
    dialogs.target = profile->file(QStringLiteral("a.png/x.json"));
    Q_EMIT page->exportWanted(controller->current().info.id, ChatExportFormat::json);
    QTRY_VERIFY(page->messages().text().contains(QStringLiteral("not exported")));
}

void TestChatController::deletesAndBringsBack() {
    type(QStringLiteral("to be deleted"));
    engine->finish("ok");
    const qint64 chat = controller->current().info.id;
    Q_EMIT page->deleteWanted(chat);
    QCOMPARE(controller->current().info.id, 0);
    QCOMPARE(controller->list().rowCount(), 0);
    QVERIFY(page->messages().text().contains(QStringLiteral("to be deleted")));
    QTest::mouseClick(button(&page->messages(), QStringLiteral("Undo")), Qt::LeftButton);
    QTRY_COMPARE(controller->current().info.id, chat);
    QCOMPARE(controller->list().rowCount(), 2);
    QCOMPARE(shownTexts().size(), 2);
}

void TestChatController::renames() {
    type(QStringLiteral("old name"));
    engine->stream("a");
    QVERIFY(controller->list().setData(controller->list().index(1), QStringLiteral("new name"), Qt::EditRole));
    engine->finish("a");
    type(QStringLiteral("next"));  // saves the conversation again
    engine->finish("b");
    settle();
    QCOMPARE(stored(controller->current().info.id)->info.title, QStringLiteral("new name"));
}

void TestChatController::survivesTheEndOfTheProgram() {
    type(QStringLiteral("q"));
    engine->stream("half an ans");
    type(QStringLiteral("never asked"));
    const qint64 chat = controller->current().info.id;
    const auto job = engine->calls.back().job;
    controller.reset();
    QVERIFY(job->stopRequested());
    engine->finish("too late");
    page.reset();
    start();
    QTRY_COMPARE(controller->list().rowCount(), 2);
    controller->open(chat);
    QTRY_COMPARE(controller->current().info.id, chat);
    QCOMPARE(shown(1).state, TurnState::interrupted);
    QCOMPARE(shown(1).text, QStringLiteral("half an ans"));
    QCOMPARE(shown(2).text, QStringLiteral("never asked"));
    QCOMPARE(shown(3).state, TurnState::interrupted);
}

void TestChatController::readsBackWhatItWrote() {
    attach({profile->picture(QStringLiteral("a.png"), Qt::red)});
    type(QStringLiteral("q1"));
    engine->finish("a1");
    Q_EMIT page->regenerateWanted(idAt(1));
    engine->finish("a2");
    type(QStringLiteral("q2"));
    engine->finish("a3");
    settle();
    const Chat& now = controller->current();
    const auto saved = stored(now.info.id);
    QCOMPARE(saved->tree.all(), now.tree.all());
    for (const qint64 id : now.tree.all()) QVERIFY(*saved->tree.find(id) == *now.tree.find(id));
    QCOMPARE(saved->info.title, now.info.title);
}

void TestChatController::staysResponsive() {
    const QString large = profile->picture(QStringLiteral("large.png"), Qt::red, {5000, 4000});
    Heartbeat heart;
    QTest::qWait(20);
    heart.restart();
    attach({large});
    QTRY_VERIFY(page->composer()->hasPictures());
    type(QStringLiteral("q"));
    for (int i = 0; i < 100; ++i) {
        engine->stream("some more words of this answer. ");
        QTest::qWait(5);
    }
    engine->finish("done");
    qInfo("longest gap: %.0f ms", heart.longestGapMs());
    QVERIFY2(heart.longestGapMs() < 50.0, "the UI thread was blocked");
}

VITRINE_TEST(TestChatController)
#include "test_chat_controller.moc"
