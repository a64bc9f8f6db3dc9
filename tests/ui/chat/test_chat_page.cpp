#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/chat/chat_drawer.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/chat_settings_panel.h"
#include "ui/chat/composer.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/picture_dialog.h"
#include "ui/chat/picture_strip.h"
#include "ui/chat/turn_widget.h"
#include "ui/empty_state.h"
#include "ui/message_bar.h"
#include "ui/pictures/picture.h"
#include "ui/text/markdown_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMimeData>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSpinBox>
#include <QStandardItemModel>
#include <QToolButton>

using namespace vitrine;

namespace {

Turn user(qint64 id, const QString& text, const QList<TurnPicture>& pictures = {}) {
    return {.id = id, .role = Role::user, .text = text, .pictures = pictures};
}

Turn answer(qint64 id, const QString& text, TurnState state = TurnState::complete) {
    return {.id = id,
            .role = Role::assistant,
            .text = text,
            .state = state,
            .note = QStringLiteral("34 tokens · 12.1 tokens/s")};
}

ChatModelState demoModel() {
    return {.name = QStringLiteral("Demo"),
            .about = QStringLiteral("Knows coloured shapes: circles, squares and triangles on a plain ground."),
            .suggestions = {QStringLiteral("What is in this picture?"), QStringLiteral("Which colour is the circle?")}};
}

QImage picture(const QColor& ground, const QColor& shape, QSize size) {
    QImage image(size, QImage::Format_RGB32);
    image.fill(ground);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(shape);
    painter.drawEllipse(QRect(QPoint(), size).marginsRemoved(QMargins(40, 40, 40, 40)));
    return image;
}

// The buttons of a turn, by their accessible names.
QAbstractButton* button(QWidget* parent, const QString& name) {
    for (QAbstractButton* candidate : parent->findChildren<QAbstractButton*>()) {
        if (candidate->accessibleName().startsWith(name) || candidate->text() == name) return candidate;
    }
    return nullptr;
}

QStandardItem* row(const QString& title, qint64 id, const QString& snippet = {}) {
    auto* item = new QStandardItem(title);
    item->setData(id == 0, ChatRoles::heading);
    item->setData(id, ChatRoles::conversation);
    item->setData(snippet, ChatRoles::snippet);
    item->setEditable(id != 0);
    item->setEnabled(id != 0);
    return item;
}

}  // namespace

class TestChatPage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup();
    void sendsWithEnter();
    void saysWhyItCannotSend();
    void stopsWithTheButtonAndEscape();
    void takesPictures();
    void showsPicturesOfTheMessage();
    void showsTurnsAndBranches();
    void editsATurn();
    void neverReadsUserTextAsHtml();
    void foldsThoughts();
    void streamsIntoTheLastBlock();
    void followsTheEndOnlyWhenThere();
    void staysFluidWith500Turns();
    void keepsSelectionWhileScrolling();
    void opensLinksOnlyByAWish();
    void searchesRenamesAndDeletes();
    void passesSettingsOn();
    void teachesWhileEmpty();
    void namesEveryControl();
    void looksRight();

private:
    // Turns are made a few at a time.
    TurnWidget* turnWidget(qint64 id) const {
        (void)QTest::qWaitFor([&] { return page->conversation()->widgetOf(id) != nullptr; });
        return page->conversation()->widgetOf(id);
    }
    MarkdownView* body(qint64 id) const { return turnWidget(id)->body(); }
    const std::vector<PictureTile*>& tiles() const { return page->composer()->findChild<PictureStrip*>()->tiles(); }

    std::unique_ptr<ChatPage> page;
    std::unique_ptr<QStandardItemModel> chats;
};

void TestChatPage::init() {
    page = std::make_unique<ChatPage>();
    chats = std::make_unique<QStandardItemModel>();
    page->setModel(demoModel());
    page->resize(1280, 800);
    page->show();
    QVERIFY(QTest::qWaitForWindowExposed(page.get()));
    page->activateWindow();
}

void TestChatPage::cleanup() {
    page.reset();
    chats.reset();
}

void TestChatPage::sendsWithEnter() {
    QSignalSpy sent(page.get(), &ChatPage::sendWanted);
    MessageEdit* edit = page->composer()->edit();
    edit->setFocus();
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(sent.size(), 0);  // nothing to send
    QTest::keyClicks(edit, QStringLiteral("two"));
    QTest::keyClick(edit, Qt::Key_Return, Qt::ShiftModifier);
    const int lines2 = edit->height();
    QTest::keyClicks(edit, QStringLiteral("lines"));
    QTest::keyClick(edit, Qt::Key_Return);
    QCOMPARE(sent.size(), 1);
    QCOMPARE(sent[0][0].toString(), QStringLiteral("two\nlines"));
    page->setMessage(QStringLiteral("a\n").repeated(30));
    QTRY_VERIFY(edit->height() > lines2);
    QVERIFY(edit->height() < page->height() / 2);
    page->clearMessage();
    QTRY_COMPARE(edit->height(), lines2);
}

void TestChatPage::saysWhyItCannotSend() {
    ChatModelState none;
    none.whyNot = QStringLiteral("No model is loaded.");
    page->setModel(none);
    page->setMessage(QStringLiteral("hello"));
    QSignalSpy sent(page.get(), &ChatPage::sendWanted);
    QTest::keyClick(page->composer()->edit(), Qt::Key_Return);
    QCOMPARE(sent.size(), 0);
    auto* send = qobject_cast<QPushButton*>(button(page->composer(), QStringLiteral("Send")));
    QVERIFY(send->isVisible() && !send->isEnabled());  // disabled, not hidden
    QCOMPARE(send->toolTip(), none.whyNot);
    QSignalSpy wanted(page.get(), &ChatPage::modelWanted);
    QTest::mouseClick(button(page->composer(), QStringLiteral("Choose a model")), Qt::LeftButton);
    QCOMPARE(wanted.size(), 1);
}

void TestChatPage::stopsWithTheButtonAndEscape() {
    QSignalSpy stops(page.get(), &ChatPage::stopWanted);
    QAbstractButton* stop = button(page->composer(), QStringLiteral("Stop the answer"));
    QAbstractButton* send = button(page->composer(), QStringLiteral("Send"));
    QVERIFY(stop->isHidden());
    page->setAnswering(true, 0);
    QVERIFY(stop->isVisible() && send->isHidden());
    QTest::mouseClick(stop, Qt::LeftButton);
    QTest::keyClick(page->composer()->edit(), Qt::Key_Escape);
    QCOMPARE(stops.size(), 2);
    page->setMessage(QStringLiteral("and another thing"));
    QVERIFY(send->isVisible() && send->isEnabled());
    QCOMPARE(send->text(), QStringLiteral("Send next"));
    page->setAnswering(false, 0);
    QVERIFY(stop->isHidden());
}

void TestChatPage::takesPictures() {
    QSignalSpy files(page.get(), &ChatPage::filesOffered);
    QSignalSpy images(page.get(), &ChatPage::imageOffered);
    const QUrl file = QUrl::fromLocalFile(QStringLiteral("/pictures/猫 #1.png"));

    QMimeData fileCopied;
    fileCopied.setUrls({file});
    page->composer()->offer(fileCopied);
    QCOMPARE(files.size(), 1);
    QCOMPARE(files[0][0].value<QList<QUrl>>(), QList<QUrl>{file});

    auto* copied = new QMimeData;
    copied->setImageData(picture(Qt::white, Qt::red, {100, 100}));
    QGuiApplication::clipboard()->setMimeData(copied);
    page->composer()->edit()->setFocus();
    QTest::keyClick(page->composer()->edit(), Qt::Key_V, Qt::ControlModifier);
    QCOMPARE(images.size(), 1);
    QVERIFY(page->composer()->text().isEmpty());
    QGuiApplication::clipboard()->setText(QStringLiteral("https://x.org/a.png"));
    QTest::keyClick(page->composer()->edit(), Qt::Key_V, Qt::ControlModifier);
    QCOMPARE(page->composer()->text(), QStringLiteral("https://x.org/a.png"));  // text stays text

    auto* cells = new QMimeData;  // of a spreadsheet
    cells->setText(QStringLiteral("1\t2"));
    cells->setImageData(picture(Qt::white, Qt::red, {100, 100}));
    QGuiApplication::clipboard()->setMimeData(cells);
    page->clearMessage();
    QTest::keyClick(page->composer()->edit(), Qt::Key_V, Qt::ControlModifier);
    QCOMPARE(page->composer()->text(), QStringLiteral("1\t2"));
    QCOMPARE(images.size(), 1);

    QSignalSpy attach(page.get(), &ChatPage::attachWanted);
    QTest::mouseClick(button(page->composer(), QStringLiteral("Add pictures")), Qt::LeftButton);
    QCOMPARE(attach.size(), 1);
}

void TestChatPage::showsPicturesOfTheMessage() {
    QSignalSpy thumbnails(page.get(), &ChatPage::thumbnailWanted);
    QSignalSpy removed(page.get(), &ChatPage::attachmentRemoved);
    QSignalSpy sent(page.get(), &ChatPage::sendWanted);
    page->setAttachments({{.key = QStringLiteral("k"), .name = QStringLiteral("cat.png"), .loading = true}});
    QAbstractButton* send = button(page->composer(), QStringLiteral("Send"));
    QVERIFY(!send->isEnabled());
    page->setAttachments({{.key = QStringLiteral("k"), .name = QStringLiteral("cat.png")},
                          {.key = QStringLiteral("b"),
                           .name = QStringLiteral("notes.txt"),
                           .problem = QStringLiteral("not a picture")}});
    QCOMPARE(thumbnails.size(), 1);
    QVERIFY(send->isEnabled());  // a picture alone is a message
    page->setThumbnail(QStringLiteral("k"), picture(Qt::white, Qt::red, {300, 200}));
    QCOMPARE(tiles().size(), 2U);
    QVERIFY(tiles()[1]->accessibleName().contains(QStringLiteral("not a picture")));
    QTest::mouseClick(button(page->composer(), QStringLiteral("Remove notes.txt")), Qt::LeftButton);
    QCOMPARE(removed[0][0].toString(), QStringLiteral("b"));
    QTest::keyClick(page->composer()->edit(), Qt::Key_Return);
    QCOMPARE(sent.size(), 1);
    page->showPicture(QStringLiteral("cat.png"), Picture::of(picture(Qt::white, Qt::red, {300, 200})));
    auto* dialog = page->findChild<PictureDialog*>();
    QVERIFY(dialog != nullptr && dialog->isVisible());
    dialog->activateWindow();
    QTRY_COMPARE(QApplication::activeWindow(), dialog);
    QTest::keyClick(dialog, Qt::Key_Escape);
    QTRY_VERIFY(page->findChild<PictureDialog*>() == nullptr);
}

void TestChatPage::showsTurnsAndBranches() {
    Turn second = answer(2, QStringLiteral("It is **red**."));
    second.branch = 2;
    second.branches = 3;
    page->showConversation(7, QStringLiteral("Colours"), {user(1, QStringLiteral("Which colour?")), second}, true);
    QCOMPARE(body(2)->toPlainText(), QStringLiteral("It is red."));
    QSignalSpy branches(page.get(), &ChatPage::branchWanted);
    QSignalSpy again(page.get(), &ChatPage::regenerateWanted);
    TurnWidget* turn = turnWidget(2);
    QTest::mouseClick(button(turn, QStringLiteral("Previous version")), Qt::LeftButton);
    QTest::mouseClick(button(turn, QStringLiteral("Next version")), Qt::LeftButton);
    QCOMPARE(branches.size(), 2);
    QCOMPARE(branches[0], (QVariantList{2LL, -1}));
    QTest::mouseClick(button(turn, QStringLiteral("Answer again")), Qt::LeftButton);
    QCOMPARE(again.size(), 1);
    QTest::mouseClick(button(turn, QStringLiteral("Copy this message")), Qt::LeftButton);
    QCOMPARE(QGuiApplication::clipboard()->text(), QStringLiteral("It is **red**."));
    QVERIFY(button(turnWidget(1), QStringLiteral("Answer again"))->isHidden());
    Turn failed = answer(2, QString(), TurnState::failed);
    failed.problem = QStringLiteral("prompt: expected fewer than 512 tokens, found 900");
    page->updateTurn(failed);
    bool told = false;
    for (const QLabel* label : turn->findChildren<QLabel*>())
        told = told || (label->isVisible() && label->text().contains(QStringLiteral("900")));
    QVERIFY(told);
}

void TestChatPage::editsATurn() {
    page->showConversation(7, QStringLiteral("t"),
                           {user(1, QStringLiteral("old text")), answer(2, QStringLiteral("a"))}, true);
    QSignalSpy edits(page.get(), &ChatPage::editWanted);
    TurnWidget* turn = turnWidget(1);
    QTest::mouseClick(button(turn, QStringLiteral("Edit and ask again")), Qt::LeftButton);
    auto* editor = turn->findChild<QPlainTextEdit*>();
    QVERIFY(editor != nullptr && turn->isEditing());
    QTest::keyClick(editor, Qt::Key_Escape);
    QVERIFY(!turn->isEditing() && edits.isEmpty());
    QTRY_VERIFY(turn->findChild<QPlainTextEdit*>() == nullptr);
    QTest::mouseClick(button(turn, QStringLiteral("Edit and ask again")), Qt::LeftButton);
    editor = turn->findChild<QPlainTextEdit*>();
    QTest::keyClick(editor, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(editor, QStringLiteral("new"));
    QTest::keyClick(editor, Qt::Key_Return);
    QCOMPARE(edits.size(), 1);
    QCOMPARE(edits[0], (QVariantList{1LL, QStringLiteral("new")}));
    QCOMPARE(body(1)->toPlainText(), QStringLiteral("old text"));  // until app says otherwise
}

void TestChatPage::neverReadsUserTextAsHtml() {
    const QString hostile = QStringLiteral("<h1>big</h1> <img src='file:///etc/passwd'> **stars** &amp; <|im_end|>");
    page->showConversation(7, hostile, {user(1, hostile)}, true);
    QCOMPARE(body(1)->toPlainText(), hostile);
    for (const QLabel* label : page->findChildren<QLabel*>()) {
        if (label->text() == hostile) QCOMPARE(label->textFormat(), Qt::PlainText);
    }
    const QString pasted = QStringLiteral("word ").repeated(20'000);
    page->showConversation(7, hostile, {user(3, pasted)}, true);
    QVERIFY(body(3)->toPlainText().size() < 10'000);
    QTest::mouseClick(button(turnWidget(3), QStringLiteral("Show all of it")), Qt::LeftButton);
    QCOMPARE(body(3)->toPlainText(), pasted);
}

void TestChatPage::foldsThoughts() {
    page->showConversation(7, QStringLiteral("t"),
                           {user(1, QStringLiteral("q")), answer(2, QString(), TurnState::streaming)}, true);
    page->append(2, QString(), QStringLiteral("Let me <b>see</b>."));
    TurnWidget* turn = turnWidget(2);
    QAbstractButton* fold = button(turn, QStringLiteral("Show the thoughts"));
    QVERIFY(fold != nullptr && fold->isVisible());
    QCOMPARE(fold->text(), QStringLiteral("Thinking …"));
    page->append(2, QStringLiteral("Red."), QString());
    QCOMPARE(fold->text(), QStringLiteral("Thoughts"));
    MarkdownView* thoughts = nullptr;
    for (MarkdownView* view : turn->findChildren<MarkdownView*>()) {
        if (view->accessibleName() == QStringLiteral("Thoughts")) thoughts = view;
    }
    QVERIFY(thoughts != nullptr && thoughts->isHidden());
    fold->setFocus();
    QTest::keyClick(fold, Qt::Key_Space);
    QVERIFY(thoughts->isVisible());
    QCOMPARE(thoughts->toPlainText(), QStringLiteral("Let me <b>see</b>."));
    QCOMPARE(turn->body()->toPlainText(), QStringLiteral("Red."));
}

void TestChatPage::streamsIntoTheLastBlock() {
    page->showConversation(7, QStringLiteral("t"),
                           {user(1, QStringLiteral("q")), answer(2, QString(), TurnState::streaming)}, true);
    QString whole;
    for (int i = 0; i < 120; ++i) {
        const QString piece = QStringLiteral("Word%1 of a paragraph.%2")
                                  .arg(i)
                                  .arg(i % 6 == 5 ? QStringLiteral("\n\n") : QStringLiteral(" "));
        whole += piece;
        page->append(2, piece, QString());
        QVERIFY2(body(2)->rewrittenBlocks() <= 2, qPrintable(QString::number(body(2)->rewrittenBlocks())));
    }
    const int revision = body(2)->document()->revision();
    page->updateTurn(answer(2, whole));
    QCOMPARE(body(2)->document()->revision(), revision);
    MarkdownView once;
    once.setMarkdown(readMarkdown(whole));
    QCOMPARE(body(2)->toPlainText(), once.toPlainText());
}

void TestChatPage::followsTheEndOnlyWhenThere() {
    QList<Turn> turns;
    for (int i = 1; i <= 40; ++i)
        turns += i % 2 ? user(i, QStringLiteral("Question %1").arg(i))
                       : answer(i, QStringLiteral("Answer.\n\n").repeated(4));
    turns += answer(41, QString(), TurnState::streaming);
    page->showConversation(7, QStringLiteral("t"), turns, true);
    ConversationView* view = page->conversation();
    QScrollBar* bar = view->verticalScrollBar();
    const auto stream = [&] {
        for (int i = 0; i < 40; ++i) {
            page->append(41, QStringLiteral("A new line.\n\n"), QString());
            QTest::qWait(1);
        }
        QTest::qWait(30);
    };
    QTRY_COMPARE(bar->value(), bar->maximum());
    stream();
    QCOMPARE(bar->value(), bar->maximum());
    QVERIFY(view->isAtEnd());
    view->setFocus();
    QTest::keyClick(view, Qt::Key_PageUp);
    QVERIFY(!view->isAtEnd());
    QTest::qWait(50);
    const int place = bar->value();
    stream();
    QCOMPARE(bar->value(), place);
    QVERIFY(bar->maximum() > place + 100);
    QTest::keyClick(view, Qt::Key_End);
    QTRY_COMPARE(bar->value(), bar->maximum());
    QTest::keyClick(view, Qt::Key_Home);
    QTRY_COMPARE(bar->value(), 0);
    QTRY_VERIFY(view->widgetOf(1) != nullptr);
    QTest::keyClick(view, Qt::Key_Down, Qt::ControlModifier);  // into the first turn
    QVERIFY(body(1)->hasFocus());
    QTest::keyClick(body(1), Qt::Key_Down, Qt::ControlModifier);
    QVERIFY(body(2)->hasFocus());
}

void TestChatPage::staysFluidWith500Turns() {
    QList<Turn> turns;
    for (int i = 1; i <= 500; ++i) {
        turns +=
            i % 2 ? user(i, QStringLiteral("Question %1: what do you see in the lower left corner?").arg(i))
                  : answer(i, QStringLiteral(
                                  "## Answer %1\n\nI see *several* things:\n\n- a dog\n- a `cat`\n- a "
                                  "table\n\n```\nlisting\n```\n\n"
                                  "And a longer paragraph that wraps, since it goes on and on about what there is.\n")
                                  .arg(i));
    }
    turns += answer(501, QString(), TurnState::streaming);
    test::Heartbeat heart;
    QTest::qWait(20);
    heart.restart();
    page->showConversation(7, QStringLiteral("Long"), turns, true);
    QTest::qWait(300);
    const double opening = heart.longestGapMs();
    ConversationView* view = page->conversation();
    QVERIFY(view->widgetOf(500) != nullptr);
    QVERIFY2(view->widgetCount() < 60, qPrintable(QString::number(view->widgetCount())));
    heart.restart();
    for (int i = 0; i < 60; ++i) {
        page->append(501,
                     QStringLiteral("a few more words of the answer%1")
                         .arg(i % 9 == 8 ? QStringLiteral(".\n\n") : QStringLiteral(" ")),
                     QString());
        QTest::qWait(5);
    }
    const double streaming = heart.longestGapMs();
    heart.restart();
    for (int value = view->verticalScrollBar()->maximum(); value > 0;
         value -= view->verticalScrollBar()->maximum() / 60) {
        view->verticalScrollBar()->setValue(value);
        QTest::qWait(5);
    }
    view->verticalScrollBar()->setValue(0);
    QTest::qWait(100);
    const double scrolling = heart.longestGapMs();
    qInfo("longest gaps: opening %.0f ms, streaming %.0f ms, scrolling %.0f ms", opening, streaming, scrolling);
    QVERIFY(view->widgetOf(1) != nullptr);
    QVERIFY(view->widgetCount() < 80);
    QVERIFY2(std::max({opening, streaming, scrolling}) < 50.0, "the UI thread was blocked");
}

void TestChatPage::keepsSelectionWhileScrolling() {
    QList<Turn> turns;
    for (int i = 1; i <= 100; ++i) turns += answer(i, QStringLiteral("Paragraph one.\n\nParagraph two.\n\n- item"));
    page->showConversation(7, QStringLiteral("t"), turns, true);
    ConversationView* view = page->conversation();
    QTRY_VERIFY(view->widgetOf(100) != nullptr);
    body(100)->setFocus();
    QTest::keyClick(body(100), Qt::Key_A, Qt::ControlModifier);
    const QString all = body(100)->textCursor().selectedText();
    QCOMPARE(all.count(QChar::ParagraphSeparator), 2);  // across blocks
    view->verticalScrollBar()->setValue(0);
    QTest::qWait(50);
    QVERIFY(view->widgetOf(50) == nullptr);
    QVERIFY(view->widgetOf(100) != nullptr);
    QCOMPARE(body(100)->textCursor().selectedText(), all);
    QTest::keyClick(body(100), Qt::Key_C, Qt::ControlModifier);
    QVERIFY(QGuiApplication::clipboard()->text().startsWith(QStringLiteral("Paragraph one.\nParagraph two.\n")));
}

void TestChatPage::opensLinksOnlyByAWish() {
    page->showConversation(7, QStringLiteral("t"),
                           {answer(2, QStringLiteral("[here](https://x.org/) or ![p](https://x.org/p.png)"))}, true);
    QSignalSpy links(page.get(), &ChatPage::linkClicked);
    body(2)->setFocus();
    QTest::keyClick(body(2), Qt::Key_Tab);
    QVERIFY(links.isEmpty());
    QTest::keyClick(body(2), Qt::Key_Return);
    QCOMPARE(links.size(), 1);
    QCOMPARE(links[0][0].toString(), QStringLiteral("https://x.org/"));
    QCOMPARE(body(2)->toPlainText(), QStringLiteral("here or p"));
}

void TestChatPage::searchesRenamesAndDeletes() {
    chats->appendRow(row(QStringLiteral("Today"), 0));
    chats->appendRow(row(QStringLiteral("Cats"), 11));
    chats->appendRow(row(QStringLiteral("Dogs"), 12));
    page->setConversations(chats.get());
    ChatDrawer* drawer = page->drawer();
    QSignalSpy opened(page.get(), &ChatPage::conversationOpened);
    QSignalSpy searches(page.get(), &ChatPage::searchChanged);
    QSignalSpy deleted(page.get(), &ChatPage::deleteWanted);
    QSignalSpy fresh(page.get(), &ChatPage::newWanted);

    page->composer()->edit()->setFocus();
    QTest::keyClick(page->composer()->edit(), Qt::Key_K, Qt::ControlModifier);
    QVERIFY(drawer->search()->hasFocus());
    QTest::keyClicks(drawer->search(), QStringLiteral("cat"));
    QTRY_COMPARE(searches.size(), 1);  // once, after the pause
    QCOMPARE(searches[0][0].toString(), QStringLiteral("cat"));
    QTest::keyClick(drawer->search(), Qt::Key_Down);
    QCOMPARE(opened.size(), 1);
    QCOMPARE(opened[0][0].toLongLong(), 11);
    QTest::keyClick(drawer->search(), Qt::Key_Down);
    QCOMPARE(opened[1][0].toLongLong(), 12);

    QTest::mouseClick(drawer->list()->viewport(), Qt::LeftButton, {},
                      drawer->list()->visualRect(chats->index(1, 0)).center());
    QCOMPARE(opened.back()[0].toLongLong(), 11);
    page->showConversation(11, QStringLiteral("Cats"), {user(1, QStringLiteral("q"))}, true);
    QTest::keyClick(page->composer()->edit(), Qt::Key_F2);
    auto* editor = drawer->list()->viewport()->findChild<QLineEdit*>();
    QVERIFY(editor != nullptr);
    editor->setText(QStringLiteral("Lions"));
    QTest::keyClick(editor, Qt::Key_Return);
    QTRY_COMPARE(chats->item(1)->text(), QStringLiteral("Lions"));

    drawer->list()->setFocus();
    QTest::keyClick(drawer->list(), Qt::Key_Delete);
    QCOMPARE(deleted.size(), 1);
    QCOMPARE(deleted[0][0].toLongLong(), 11);
    QTest::keyClick(page.get(), Qt::Key_N, Qt::ControlModifier);
    QCOMPARE(fresh.size(), 1);
    bool undone = false;
    page->messages().show(MessageBar::Kind::information, QStringLiteral("Deleted"), QStringLiteral("Undo"),
                          [&] { undone = true; });
    QTest::mouseClick(button(&page->messages(), QStringLiteral("Undo")), Qt::LeftButton);
    QVERIFY(undone);
}

void TestChatPage::passesSettingsOn() {
    QSignalSpy changes(page.get(), &ChatPage::settingsChanged);
    ChatSettings settings;
    settings.systemPrompt = QStringLiteral("Be brief.");
    settings.generation.sampling.temperature = 0.7;
    settings.generation.stop = {"END"};
    page->setSettings(settings);
    QCOMPARE(changes.size(), 0);
    QTest::mouseClick(button(page->composer(), QStringLiteral("System prompt and generation settings")),
                      Qt::LeftButton);
    ChatSettingsPanel* panel = page->composer()->settings();
    QVERIFY(panel->isVisible());
    QTest::mouseClick(button(panel, QStringLiteral("T&hink first")), Qt::LeftButton, {}, {8, 8});
    QCOMPARE(changes.size(), 1);
    const auto now = changes[0][0].value<ChatSettings>();
    QVERIFY(now.generation.thinking);
    QCOMPARE(now.systemPrompt, settings.systemPrompt);
    QCOMPARE(now.generation.sampling.temperature, 0.7);
    QCOMPARE(now.generation.stop, settings.generation.stop);  // not shown, kept
    QVERIFY(!now.fixedSeed);
}

void TestChatPage::teachesWhileEmpty() {
    auto* empty = page->findChild<EmptyState*>();
    QVERIFY(empty != nullptr && empty->isVisible());
    QTest::mouseClick(button(empty, QStringLiteral("What is in this picture?")), Qt::LeftButton);
    QCOMPARE(page->composer()->text(), QStringLiteral("What is in this picture?"));
    QSignalSpy sent(page.get(), &ChatPage::sendWanted);
    page->setAttachments({{.key = QStringLiteral("k"), .name = QStringLiteral("cat.png")}});
    QTest::mouseClick(button(empty, QStringLiteral("What is in this picture?")), Qt::LeftButton);
    QCOMPARE(sent.size(), 1);
    page->showConversation(7, QStringLiteral("t"), {user(1, QStringLiteral("q"))}, true);
    QVERIFY(!empty->isVisible());
}

void TestChatPage::namesEveryControl() {
    page->setAttachments({{.key = QStringLiteral("k"), .name = QStringLiteral("cat.png")}});
    page->showConversation(
        7, QStringLiteral("t"),
        {user(1, QStringLiteral("q"), {{.key = QStringLiteral("k"), .name = QStringLiteral("cat.png")}}),
         answer(2, QStringLiteral("```\nx\n```"))},
        true);
    for (const QWidget* widget : page->findChildren<QWidget*>()) {
        if (!widget->isVisible() || (widget->focusPolicy() & Qt::TabFocus) == 0 || widget->inherits("QScrollBar") ||
            widget->objectName().startsWith(QStringLiteral("qt_")))
            continue;
        const auto* named = qobject_cast<const QAbstractButton*>(widget);
        const bool described = !widget->accessibleName().isEmpty() || (named != nullptr && !named->text().isEmpty());
        QVERIFY2(described,
                 qPrintable(QStringLiteral("%1 in %2")
                                .arg(QString::fromLatin1(widget->metaObject()->className()),
                                     QString::fromLatin1(widget->parentWidget()->metaObject()->className()))));
    }
}

void TestChatPage::looksRight() {
    chats->appendRow(row(QStringLiteral("Today"), 0));
    chats->appendRow(row(QStringLiteral("Which colour is the circle in the middle?"), 11));
    chats->appendRow(row(QStringLiteral("Yesterday"), 0));
    chats->appendRow(row(QStringLiteral("Two dogs and a cat"), 12,
                         QStringLiteral("…there are two \x02"
                                        "dogs\x03 in the picture, a brown one in front of the house and…")));
    chats->appendRow(row(QStringLiteral("A very long title of a conversation that does not fit"), 13));
    page->setConversations(chats.get());
    test::screenshots(*page, QStringLiteral("chat-empty"));
    Turn two =
        answer(4, QStringLiteral(
                      "It is a **red circle** on a white ground, a little left of the middle.\n\n"
                      "1. The edge is smooth.\n2. Its width is about *half* of the picture:\n   - left third: `0.33`\n "
                      "  - right: more\n\n"
                      "| shape | colour | area |\n|---|:-:|--:|\n| circle | red | 31 % |\n| ground | white | 69 % |\n\n"
                      "```python\nfrom math import pi\n\nprint(pi * 0.5 ** 2)\n```\n\n> A quoted remark, with a "
                      "[link](https://example.org).\n\nThat is all."));
    two.branch = 2;
    two.branches = 3;
    two.reasoning = QStringLiteral("hm");
    Turn failed = answer(6, QString(), TurnState::failed);
    failed.note.clear();
    failed.problem = QStringLiteral(
        "prompt: expected fewer than 512 tokens, the context, found 900 tokens. Shorten the conversation.");
    const QList<TurnPicture> pictures{{.key = QStringLiteral("a"), .name = QStringLiteral("circle.png")},
                                      {.key = QStringLiteral("b"), .name = QStringLiteral("blue.png")}};
    page->showConversation(
        11, QStringLiteral("Which colour is the circle in the middle?"),
        {user(3, QStringLiteral("Which colour is the circle in the middle?\nPlease measure it."), pictures), two},
        true);
    page->setThumbnail(QStringLiteral("a"), picture(Qt::white, QColor(0xd33c2c), {320, 320}));
    page->setThumbnail(QStringLiteral("b"), picture(QColor(0xdde8f8), QColor(0x2c5cd3), {420, 260}));
    page->setContext(1204, 8192);
    page->setSpeed(QStringLiteral("12.1 tokens/s"));
    QTest::qWait(100);
    page->conversation()->verticalScrollBar()->setValue(0);
    QTest::qWait(50);
    test::screenshots(*page, QStringLiteral("chat-conversation"));
    page->showConversation(
        11, QStringLiteral("Which colour is the circle in the middle?"),
        {user(5, QStringLiteral("And now?")), failed, user(7, QStringLiteral("What is it?"), {pictures[0]}),
         answer(8, QStringLiteral("It is a red"), TurnState::streaming)},
        true);
    page->setAnswering(true, 1);
    page->setAttachments({{.key = QStringLiteral("b"), .name = QStringLiteral("blue.png")},
                          {.key = QStringLiteral("x"),
                           .name = QStringLiteral("holiday.psd"),
                           .problem = QStringLiteral("Photoshop files cannot be read; save it as PNG.")}});
    page->setMessage(QStringLiteral("And this one?"));
    button(page->composer(), QStringLiteral("System prompt and generation settings"))->click();
    page->messages().show(MessageBar::Kind::information, QStringLiteral("“Two dogs and a cat” was deleted"),
                          QStringLiteral("Undo"), [] {});
    QTest::qWait(100);
    test::screenshots(*page, QStringLiteral("chat-busy"));
}

VITRINE_TEST(TestChatPage)
#include "test_chat_page.moc"
