#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/empty_state.h"
#include "ui/icons.h"
#include "ui/main_window.h"
#include "ui/message_bar.h"
#include "ui/status_bar.h"
#include "ui/theme.h"

#include <QApplication>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>

#include <cmath>

namespace vitrine {

class ShellTest : public QObject {
    Q_OBJECT

    static double luminance(const QColor& color) {
        const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
        return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
    }

    // WCAG 2.1's contrast ratio.
    static double contrast(const QColor& a, const QColor& b) {
        const double x = luminance(a);
        const double y = luminance(b);
        return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
    }

private Q_SLOTS:
    void cleanup() { theme::apply(*qApp, theme::Choice::light, false); }

    void text_can_be_read_in_both_themes() {
        for (const auto choice : {theme::Choice::light, theme::Choice::dark}) {
            theme::apply(*qApp, choice, false);
            const theme::Colors& c = theme::colors(QApplication::palette());
            QVERIFY(contrast(c.text, c.surface) >= 12);
            for (const QColor& ground : {c.surface, c.window}) {
                for (const QColor& ink : {c.muted, c.accent, c.good, c.warning, c.bad}) {
                    const double found = contrast(ink, ground);
                    QVERIFY2(found >= 4.5,
                             qPrintable(QStringLiteral("%1 on %2: %3").arg(ink.name(), ground.name()).arg(found)));
                }
            }
            QVERIFY(contrast(c.muted, c.raised) >= 4.5);
            QVERIFY(contrast(c.accentText, c.accent) >= 4.5);
        }
    }

    void the_system_decides_only_where_it_is_asked() {
        theme::apply(*qApp, theme::Choice::system, true);
        QVERIFY(theme::isDark(QApplication::palette()));
        theme::apply(*qApp, theme::Choice::light, true);
        QVERIFY(!theme::isDark(QApplication::palette()));
        for (const auto choice : {theme::Choice::system, theme::Choice::light, theme::Choice::dark}) {
            QCOMPARE(theme::choiceFromName(theme::nameOf(choice)), choice);
        }
    }

    void every_icon_draws_in_the_colour_of_the_theme() {
        const QStringList names = QDir(QStringLiteral(":/vitrine/icons")).entryList({QStringLiteral("*.svg")});
        QVERIFY(names.size() > 40);
        for (const QString& name : names) {
            const QIcon drawn = icon(name.chopped(4));
            QVERIFY2(!drawn.isNull(), qPrintable(name));
            for (const auto choice : {theme::Choice::dark, theme::Choice::light}) {
                theme::apply(*qApp, choice, false);
                const QImage image = drawn.pixmap(QSize(24, 24), 2.0).toImage();
                QCOMPARE(image.size(), QSize(48, 48));
                const QColor ink = theme::colors(QApplication::palette()).text;
                int inked = 0;
                for (int y = 0; y < image.height(); ++y) {
                    for (int x = 0; x < image.width(); ++x) {
                        const QColor found = image.pixelColor(x, y);
                        if (found.alpha() < 255) continue;
                        QVERIFY(std::abs(found.lightness() - ink.lightness()) <= 2);  // rounded on the way
                        ++inked;
                    }
                }
                QVERIFY2(inked > 10, qPrintable(name));
            }
        }
        QVERIFY(icon(QStringLiteral("no such icon")).isNull());
    }

    void places_open_by_mouse_and_keyboard() {
        MainWindow window;
        auto* first = new QLineEdit;
        auto* second = new QLineEdit;
        window.addPlace(QStringLiteral("one"), QStringLiteral("One"), QStringLiteral("picture"), first);
        window.addPlace(QStringLiteral("two"), QStringLiteral("Two"), QStringLiteral("chat"), second);
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        QCOMPARE(window.place(), QStringLiteral("one"));
        QSignalSpy changed(&window, &MainWindow::placeChanged);

        QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
        QCOMPARE(window.place(), QStringLiteral("two"));
        QVERIFY(second->hasFocus());
        QVERIFY(!first->isVisible());
        const auto buttons = window.findChildren<QToolButton*>();
        const auto one = std::find_if(buttons.begin(), buttons.end(), [](const QToolButton* button) {
            return button->text() == QStringLiteral("One");
        });
        QVERIFY(one != buttons.end());
        QTest::mouseClick(*one, Qt::LeftButton);
        QCOMPARE(window.place(), QStringLiteral("one"));
        QVERIFY((*one)->isChecked());
        window.showPlace(QStringLiteral("absent"));
        QCOMPARE(window.place(), QStringLiteral("one"));
        QCOMPARE(changed.count(), 2);
    }

    void shortcuts_emit_wishes() {
        MainWindow window;
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        const QSignalSpy files(&window, &MainWindow::openFilesRequested);
        const QSignalSpy folder(&window, &MainWindow::openFolderRequested);
        const QSignalSpy paste(&window, &MainWindow::pasteRequested);
        const QSignalSpy closing(&window, &MainWindow::closing);
        QTest::keyClick(&window, Qt::Key_O, Qt::ControlModifier);
        QTest::keyClick(&window, Qt::Key_O, Qt::ControlModifier | Qt::ShiftModifier);
        QTest::keyClick(&window, Qt::Key_V, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(files.count(), 1);
        QCOMPARE(folder.count(), 1);
        QCOMPARE(paste.count(), 1);
        QTest::keyClick(&window, Qt::Key_Q, Qt::ControlModifier);
        QCOMPARE(closing.count(), 1);
        QVERIFY(!window.isVisible());
    }

    void the_status_bar_shows_the_job_and_stops_it() {
        MainWindow window;
        window.show();
        StatusBar& status = window.status();
        const QSignalSpy stop(&status, &StatusBar::stopRequested);
        status.setModel(QStringLiteral("Vitrine demo"), QStringLiteral("about"));
        status.setJob(JobView{.title = QStringLiteral("Captioning"),
                              .detail = QStringLiteral("2 min left"),
                              .fraction = 0.25,
                              .others = 2});
        auto* bar = status.findChild<QProgressBar*>();
        QVERIFY(bar->isVisible());
        QCOMPARE(bar->value(), 250);
        QPushButton* button = nullptr;
        for (auto* candidate : status.findChildren<QPushButton*>()) {
            if (candidate->text() == QStringLiteral("Stop")) button = candidate;
        }
        QVERIFY(button != nullptr);
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(stop.count(), 1);
        status.setJob(JobView{.title = QStringLiteral("Captioning"), .stopping = true});
        QVERIFY(!button->isEnabled());
        QCOMPARE(bar->maximum(), 0);  // not known: a busy bar
        status.setJob(std::nullopt);
        QVERIFY(!bar->isVisible());
        QVERIFY(!button->isVisible());
    }

    void the_message_bar_offers_one_action() {
        MainWindow window;
        window.show();
        MessageBar& messages = window.messages();
        QVERIFY(!messages.isVisible());
        int undone = 0;
        messages.show(MessageBar::Kind::information, QStringLiteral("<b>Deleted</b>"), QStringLiteral("Undo"),
                      [&] { ++undone; });
        QVERIFY(messages.isVisible());
        QCOMPARE(messages.text(), QStringLiteral("<b>Deleted</b>"));
        auto* action = messages.findChild<QPushButton*>();
        QCOMPARE(action->text(), QStringLiteral("Undo"));
        QTest::mouseClick(action, Qt::LeftButton);
        QCOMPARE(undone, 1);
        QVERIFY(!messages.isVisible());

        messages.show(MessageBar::Kind::information, QStringLiteral("Saved"), {}, {}, 1);
        QVERIFY(!action->isVisible());
        QTRY_VERIFY_WITH_TIMEOUT(!messages.isVisible(), 3000);
        messages.show(MessageBar::Kind::error, QStringLiteral("Broken"), {}, {}, 1);
        QTest::qWait(1200);
        QVERIFY(messages.isVisible());
        QTest::mouseClick(messages.findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!messages.isVisible());
    }

    void an_empty_state_teaches_and_acts() {
        EmptyState state(QStringLiteral("picture"), QStringLiteral("No pictures yet"),
                         QStringLiteral("Drop pictures or folders anywhere in this window."));
        state.addAction(QStringLiteral("Open pictures…"), QStringLiteral("picture"), QStringLiteral("open"));
        state.addAction(QStringLiteral("Open a folder…"), QStringLiteral("folder"), QStringLiteral("folder"));
        state.resize(800, 600);
        state.show();
        QSignalSpy wished(&state, &EmptyState::triggered);
        auto* button = state.findChildren<QPushButton*>().at(1);
        button->setFocus();
        QTest::keyClick(button, Qt::Key_Space);
        QCOMPARE(wished.count(), 1);
        QCOMPARE(wished.first().first().toString(), QStringLiteral("folder"));
        for (const QLabel* label : state.findChildren<QLabel*>()) {
            QVERIFY(state.rect().contains(label->geometry()));
            QVERIFY(label->heightForWidth(label->width()) <= label->height() || !label->hasHeightForWidth());
        }
    }

    void looks() {
        MainWindow window;
        auto* state = new EmptyState(QStringLiteral("picture"), QStringLiteral("No pictures yet"),
                                     QStringLiteral("Drop pictures or folders anywhere in this window, or open them."));
        state->addAction(QStringLiteral("Open pictures…"), QStringLiteral("picture"), QStringLiteral("open"));
        state->addAction(QStringLiteral("Open a folder…"), QStringLiteral("folder"), QStringLiteral("folder"));
        window.addPlace(QStringLiteral("captions"), QStringLiteral("Captions"), QStringLiteral("captions"), state);
        window.addPlace(QStringLiteral("chat"), QStringLiteral("Chat"), QStringLiteral("chat"), new QWidget);
        window.addPlace(QStringLiteral("models"), QStringLiteral("Models"), QStringLiteral("models"), new QWidget);
        window.status().setModel(QStringLiteral("Vitrine demo"), {});
        window.status().setDevice(QStringLiteral("cpu · bf16"), {});
        window.status().setMemory(QStringLiteral("312 MB in use"), {});
        window.status().setJob(JobView{
            .title = QStringLiteral("Captioning 12 of 340"), .detail = QStringLiteral("3 min left"), .fraction = 0.4});
        window.messages().show(MessageBar::Kind::warning, QStringLiteral("2 pictures could not be read."),
                               QStringLiteral("Show them"), [] {});
        window.resize(1280, 800);
        window.show();
        test::screenshots(window, QStringLiteral("shell"));
    }
};

VITRINE_TEST(ShellTest)

}  // namespace vitrine

#include "shell_test.moc"
