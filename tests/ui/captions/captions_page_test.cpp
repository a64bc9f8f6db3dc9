#include "ui/captions/captions_page.h"
#include "rows.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/pictures/picture_view.h"
#include "ui/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSplitter>
#include <QToolButton>
#include <QtMath>

#include <memory>
#include <stdexcept>

namespace vitrine {

using test::Rows;

class CaptionsPageTest : public QObject {
    Q_OBJECT

    std::unique_ptr<Rows> m_rows;
    std::unique_ptr<CaptionsPage> m_page;

    template <typename Widget>
    Widget* named(const QString& accessibleName) const {
        for (auto* widget : m_page->findChildren<Widget*>()) {
            if (widget->accessibleName() == accessibleName) return widget;
        }
        throw std::runtime_error("no such control: " + accessibleName.toStdString());
    }

    QPushButton* button(const QString& text) const {
        for (auto* candidate : m_page->findChildren<QPushButton*>()) {
            if (candidate->text().startsWith(text) && candidate->isVisibleTo(m_page.get())) return candidate;
        }
        return nullptr;
    }

    QListView* list() const { return named<QListView>(QStringLiteral("Pictures")); }
    QPlainTextEdit* editor() const { return named<QPlainTextEdit>(QStringLiteral("Caption")); }
    static QString path(int i) { return QStringLiteral("/pictures/p%1.jpg").arg(i); }

    void settle() const {
        QTRY_COMPARE(list()->model()->rowCount(), int(m_rows->rows.size()));
        QTest::qWait(40);  // what is gathered for a moment
    }

private Q_SLOTS:
    void init() {
        m_rows = std::make_unique<Rows>();
        for (int i = 0; i < 5; ++i) m_rows->rows.push_back(Rows::row(QStringLiteral("p%1.jpg").arg(i)));
        m_page = std::make_unique<CaptionsPage>();
        m_page->resize(1200, 760);
        m_page->setModel(m_rows.get());
        m_page->setReady(true);
        m_page->show();
        QVERIFY(QTest::qWaitForWindowActive(m_page.get()));
        settle();
        connect(m_page.get(), &CaptionsPage::captionEdited, m_rows.get(),
                [this](const QString& edited, const QString& text) { m_rows->edit(edited, text); });
    }

    void cleanup() {
        m_page.reset();
        m_rows.reset();
        theme::apply(*qApp, theme::Choice::light, false);
    }

    void begins_with_the_first_picture() {
        QCOMPARE(m_page->currentPath(), path(0));
        QCOMPARE(m_page->selectedPaths(), QStringList(path(0)));
        QSignalSpy wanted(m_page.get(), &CaptionsPage::pictureWanted);
        QTest::keyClick(list(), Qt::Key_Down);
        QCOMPARE(m_page->currentPath(), path(1));
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted.first().at(0).toString(), path(1));
        QCOMPARE(wanted.first().at(1).toStringList(), QStringList({path(2), path(0), path(3)}));
    }

    void late_answers_do_not_mix_pictures_up() {
        QImage image(40, 30, QImage::Format_RGB32);
        image.fill(Qt::red);
        m_page->setPicture(path(3), Picture::of(image));
        QVERIFY(m_page->pictureView()->picture().isNull());
        m_page->setPicture(path(0), Picture::of(image));
        QCOMPARE(m_page->pictureView()->picture().image.size(), QSize(40, 30));
        m_page->setPictureFailed(path(3), QStringLiteral("broken"));
        QVERIFY(!m_page->pictureView()->picture().isNull());
        m_page->select(path(3));
        QVERIFY(m_page->pictureView()->picture().isNull());
        m_page->setPictureFailed(path(3), QStringLiteral("broken"));
        QVERIFY(m_page->pictureView()->accessibleDescription().contains(QStringLiteral("broken")));
    }

    void arrows_drive_the_list_from_anywhere() {
        m_page->pictureView()->setFocus();
        QTest::keyClick(m_page->pictureView(), Qt::Key_Down);
        QCOMPARE(m_page->currentPath(), path(1));
        QTest::keyClick(m_page->pictureView(), Qt::Key_Left);
        QCOMPARE(m_page->currentPath(), path(0));
        QTest::keyClick(m_page->pictureView(), Qt::Key_Up);  // nothing there
        QCOMPARE(m_page->currentPath(), path(0));
        auto* search = named<QLineEdit>(QStringLiteral("Search"));
        search->setFocus();
        QTest::keyClick(search, Qt::Key_Down);
        QCOMPARE(m_page->currentPath(), path(1));
        editor()->setFocus();
        QTest::keyClick(editor(), Qt::Key_Down, Qt::ControlModifier);
        QCOMPARE(m_page->currentPath(), path(2));
        QCOMPARE(m_page->selectedPaths(), QStringList(path(2)));
        QTest::keyClick(editor(), Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(m_page->currentPath(), path(1));
        QTest::keyClick(editor(), Qt::Key_Down);  // moves in the text
        QCOMPARE(m_page->currentPath(), path(1));
        QVERIFY(editor()->hasFocus());
        QTest::keyClick(editor(), Qt::Key_Escape);
        QVERIFY(list()->hasFocus());
        QTest::keyClick(list(), Qt::Key_F, Qt::ControlModifier);
        QVERIFY(search->hasFocus());
        QTest::keyClick(search, Qt::Key_Escape);
        QTest::keyClick(list(), Qt::Key_F2);
        QVERIFY(editor()->hasFocus());
        list()->setFocus();
        QTest::keyClick(list(), Qt::Key_Return);
        QVERIFY(editor()->hasFocus());
    }

    void edits_are_announced_after_a_pause_and_before_anything_else() {
        QSignalSpy edited(m_page.get(), &CaptionsPage::captionEdited);
        QTest::keyClicks(editor(), QStringLiteral("A cat"));
        QCOMPARE(edited.count(), 0);
        QVERIFY(edited.wait(2000));
        QCOMPARE(edited.first(), QVariantList({path(0), QStringLiteral("A cat")}));
        QTest::keyClicks(editor(), QStringLiteral("!"));
        m_page->select(path(2));
        QCOMPARE(edited.count(), 2);
        QCOMPARE(edited.last(), QVariantList({path(0), QStringLiteral("A cat!")}));
        QCOMPARE(editor()->toPlainText(), QString());
        QTest::keyClicks(editor(), QStringLiteral("x"));
        m_page->flushEdits();
        QCOMPARE(edited.count(), 3);
        QTest::keyClicks(editor(), QStringLiteral("y"));
        m_page->hide();
        QCOMPARE(edited.last(), QVariantList({path(2), QStringLiteral("xy")}));
        QTest::qWait(500);
        QCOMPARE(edited.count(), 4);
    }

    void looking_at_pictures_is_no_edit() {
        QSignalSpy edited(m_page.get(), &CaptionsPage::captionEdited);
        for (int i = 0; i < 4; ++i) QTest::keyClick(list(), Qt::Key_Down);
        m_rows->change(4, [](test::Row& row) {
            row.caption = QStringLiteral("by the machine");
            row.state = CaptionState::machine;
        });
        QCOMPARE(editor()->toPlainText(), QStringLiteral("by the machine"));
        QTest::qWait(500);
        QCOMPARE(edited.count(), 0);
    }

    void undo_survives_other_selections() {
        QTest::keyClicks(editor(), QStringLiteral("one"));
        m_page->select(path(1));
        QTest::keyClicks(editor(), QStringLiteral("two"));
        m_page->select(path(0));
        QCOMPARE(editor()->toPlainText(), QStringLiteral("one"));
        // A caption of the machine, made while another picture is shown, is one step of the same history.
        m_page->select(path(1));
        m_rows->change(0, [](test::Row& row) {
            row.caption = QStringLiteral("machine's");
            row.state = CaptionState::machine;
        });
        m_page->select(path(0));
        QCOMPARE(editor()->toPlainText(), QStringLiteral("machine's"));
        QTest::keyClick(editor(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(editor()->toPlainText(), QStringLiteral("one"));
        m_page->flushEdits();
        QCOMPARE(m_rows->rows[0].caption, QStringLiteral("one"));
        QCOMPARE(m_rows->rows[0].state, CaptionState::edited);
        QTest::keyClick(editor(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(editor()->toPlainText(), QString());
        m_page->select(path(1));
        QCOMPARE(editor()->toPlainText(), QStringLiteral("two"));
        QTest::keyClick(editor(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(editor()->toPlainText(), QString());
    }

    void captioning_is_asked_for_with_keys_and_buttons() {
        m_rows->edit(path(2), QStringLiteral("by hand"));
        QSignalSpy wanted(m_page.get(), &CaptionsPage::captionWanted);
        const auto last = [&] {
            return std::pair(wanted.last().at(0).toStringList(), wanted.last().at(1).value<CaptionPolicy>());
        };
        QTest::keyClick(list(), Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(last(), std::pair(QStringList(path(0)), CaptionPolicy::allButEdited));
        editor()->setFocus();
        QTest::keyClick(editor(), Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(wanted.count(), 2);
        QCOMPARE(editor()->toPlainText(), QString());  // no line break came of it
        QTest::mouseClick(button(QStringLiteral("Caption this")), Qt::LeftButton);
        QCOMPARE(wanted.count(), 3);

        // A hand-written one is replaced only when that is said again.
        m_page->select(path(2));
        QTest::keyClick(list(), Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(wanted.count(), 3);
        QTest::mouseClick(button(QStringLiteral("Keep")), Qt::LeftButton);
        QVERIFY(button(QStringLiteral("Replace")) == nullptr);
        QTest::keyClick(list(), Qt::Key_Return, Qt::ControlModifier);
        QTest::mouseClick(button(QStringLiteral("Replace")), Qt::LeftButton);
        QCOMPARE(last(), std::pair(QStringList(path(2)), CaptionPolicy::everything));

        auto* policy = named<QComboBox>(QStringLiteral("Which"));
        policy->setFocus();
        QTest::keyClick(policy, Qt::Key_Down);
        m_page->select(path(1));
        list()->setFocus();
        QTest::keyClick(list(), Qt::Key_Down, Qt::ShiftModifier);
        QTRY_COMPARE(button(QStringLiteral("Selection"))->text(), QStringLiteral("Selection (2)"));
        QTest::mouseClick(button(QStringLiteral("Selection")), Qt::LeftButton);
        QCOMPARE(last(), std::pair(QStringList({path(1), path(2)}), CaptionPolicy::replaceMachine));
        QTest::mouseClick(button(QStringLiteral("All (5)")), Qt::LeftButton);
        QCOMPARE(last().first.size(), 5);

        m_page->setReady(false, QStringLiteral("No model is loaded."));
        QVERIFY(!button(QStringLiteral("Caption this"))->isEnabled());
        const int before = wanted.count();
        QTest::keyClick(list(), Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(wanted.count(), before);
    }

    void the_main_button_stops() {
        QSignalSpy stop(m_page.get(), &CaptionsPage::stopWanted);
        QSignalSpy resume(m_page.get(), &CaptionsPage::resumeWanted);
        m_page->setProgress({CaptionRun::running, 3, 1, 10, QStringLiteral("about 1 min left")});
        QTest::mouseClick(button(QStringLiteral("Stop")), Qt::LeftButton);
        QCOMPARE(stop.count(), 1);
        m_page->setProgress({CaptionRun::stopping, 3, 1, 10, {}});
        QVERIFY(!button(QStringLiteral("Stopping…"))->isEnabled());
        m_page->setProgress({CaptionRun::stopped, 4, 1, 10, {}});
        QTest::mouseClick(button(QStringLiteral("Resume, 6 left")), Qt::LeftButton);
        QCOMPARE(resume.count(), 1);
        m_page->setProgress({});
        QVERIFY(button(QStringLiteral("Resume")) == nullptr);
        QVERIFY(button(QStringLiteral("Caption this"))->isEnabled());
    }

    void a_caption_streams_into_the_editor_of_its_picture() {
        QSignalSpy edited(m_page.get(), &CaptionsPage::captionEdited);
        QTest::keyClicks(editor(), QStringLiteral("mine"));
        m_page->beginStream(path(0));
        m_page->appendStream(path(0), QStringLiteral("A red"));
        QCOMPARE(editor()->toPlainText(), QStringLiteral("A red"));
        QVERIFY(editor()->isReadOnly());
        m_page->appendStream(path(4), QStringLiteral("of another"));
        m_page->select(path(1));
        QCOMPARE(editor()->toPlainText(), QString());
        QVERIFY(!editor()->isReadOnly());
        m_page->appendStream(path(0), QStringLiteral(" circle"));
        QPushButton* live = button(QStringLiteral("p0.jpg: "));
        QVERIFY(live != nullptr);
        QVERIFY(live->text().endsWith(QStringLiteral("circle")));
        QTest::mouseClick(live, Qt::LeftButton);
        QCOMPARE(m_page->currentPath(), path(0));
        QCOMPARE(editor()->toPlainText(), QStringLiteral("A red circle"));
        QVERIFY(button(QStringLiteral("p0.jpg: ")) == nullptr);
        m_rows->change(0, [](test::Row& row) {
            row.caption = QStringLiteral("A red circle.");
            row.state = CaptionState::machine;
        });
        m_page->endStream(path(0));
        QCOMPARE(editor()->toPlainText(), QStringLiteral("A red circle."));
        QVERIFY(!editor()->isReadOnly());
        QTest::keyClick(editor(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(editor()->toPlainText(), QStringLiteral("mine"));
        QCOMPARE(edited.count(), 1);  // only what was typed before the stream began

        m_page->beginStream(path(0));
        m_page->appendStream(path(0), QStringLiteral("half a cap"));
        m_page->endStream(path(0));  // stopped: the row has not changed
        m_page->flushEdits();
        QVERIFY(!editor()->toPlainText().contains(QStringLiteral("half")));
    }

    void a_failure_is_told_with_a_retry() {
        QSignalSpy retry(m_page.get(), &CaptionsPage::retryWanted);
        QVERIFY(button(QStringLiteral("Retry")) == nullptr);
        m_rows->change(0, [](test::Row& row) {
            row.state = CaptionState::failed;
            row.reason = QStringLiteral("A truncated file.");
        });
        QTest::mouseClick(button(QStringLiteral("Retry")), Qt::LeftButton);
        QCOMPARE(retry.count(), 1);
        QCOMPARE(retry.first().first().toStringList(), QStringList(path(0)));
        m_rows->change(0, [](test::Row& row) { row.work = CaptionWork::queued; });
        QVERIFY(button(QStringLiteral("Retry")) == nullptr);
    }

    void delete_removes_the_selection_from_the_list() {
        QSignalSpy removed(m_page.get(), &CaptionsPage::removeWanted);
        m_page->select(path(1));
        QTest::keyClick(list(), Qt::Key_Down, Qt::ShiftModifier);
        QTest::keyClick(list(), Qt::Key_Delete);
        QCOMPARE(removed.first().first().toStringList(), QStringList({path(1), path(2)}));
        m_rows->remove(1, 2);
        QVERIFY(m_page->currentPath() == path(3) || m_page->currentPath() == path(0));
        editor()->setFocus();
        QTest::keyClick(editor(), Qt::Key_Delete);
        QCOMPARE(removed.count(), 1);
        m_rows->reset({});
        QTRY_VERIFY(m_page->currentPath().isEmpty());
        QTRY_VERIFY(button(QStringLiteral("Open pictures")) != nullptr);
    }

    void paste_is_for_pictures_outside_of_text() {
        QSignalSpy paste(m_page.get(), &CaptionsPage::pasteWanted);
        list()->setFocus();
        QTest::keyClick(list(), Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(paste.count(), 1);
        QApplication::clipboard()->setText(QStringLiteral("words"));
        editor()->setFocus();
        QTest::keyClick(editor(), Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(paste.count(), 1);
        QCOMPARE(editor()->toPlainText(), QStringLiteral("words"));
    }

    void selection_and_current_survive_search_sort_and_reset() {
        m_rows->reset(Rows::many(200));
        settle();
        const QString chosen = m_rows->rows[100].path;
        m_page->select(chosen);
        QCOMPARE(m_page->currentPath(), chosen);
        QTest::keyClick(list(), Qt::Key_Down, Qt::ShiftModifier);
        const QStringList selected = m_page->selectedPaths();
        QCOMPARE(selected, QStringList({chosen, m_rows->rows[101].path}));
        auto* order = named<QComboBox>(QStringLiteral("Sort"));
        order->setFocus();
        QSignalSpy wanted(m_page.get(), &CaptionsPage::pictureWanted);
        const QStringList before = m_page->shownPaths();
        QTest::keyClick(order, Qt::Key_Down);
        QTRY_VERIFY(m_page->shownPaths() != before);
        const QStringList again = m_page->selectedPaths();
        QCOMPARE(QSet<QString>(again.begin(), again.end()), QSet<QString>(selected.begin(), selected.end()));
        QCOMPARE(wanted.count(), 0);  // the picture stays as it is
        m_rows->reset(std::vector<test::Row>(m_rows->rows));
        QTest::qWait(50);
        QCOMPARE(m_page->selectedPaths(), again);
        QCOMPARE(wanted.count(), 0);

        auto* search = named<QLineEdit>(QStringLiteral("Search"));
        search->setFocus();
        QTest::keyClicks(search, QStringLiteral("blue"));
        QTRY_VERIFY(m_page->shownPaths().size() < 100);
        QVERIFY(button(QStringLiteral("All shown")) != nullptr);
        QTest::keyClicks(search, QStringLiteral("zzz"));
        QTRY_VERIFY(button(QStringLiteral("Show all")) != nullptr);
        QTRY_VERIFY(m_page->currentPath().isEmpty());
        m_page->select(chosen);  // hidden by the search: shown again
        QTRY_COMPARE(m_page->currentPath(), chosen);
        QCOMPARE(search->text(), QString());
        QCOMPARE(m_page->shownPaths().size(), 200);
    }

    void thumbnails_are_wanted_for_rows_in_view_only() {
        QSignalSpy wanted(m_page.get(), &CaptionsPage::thumbnailsWanted);
        m_rows->reset(Rows::many(50000));
        settle();
        QTRY_VERIFY(!wanted.isEmpty());
        const QStringList first = wanted.last().first().toStringList();
        QVERIFY2(first.size() >= 5 && first.size() <= 15, qPrintable(QString::number(first.size())));
        QCOMPARE(first.first(), m_rows->rows[0].path);
        wanted.clear();
        m_rows->drawn.clear();
        list()->verticalScrollBar()->setValue(list()->verticalScrollBar()->maximum());
        QTRY_VERIFY(!wanted.isEmpty());
        QCOMPARE(wanted.last().first().toStringList().last(), m_rows->rows.back().path);
        QTest::qWait(50);
        QVERIFY2(m_rows->drawn.size() <= 15, qPrintable(QString::number(m_rows->drawn.size())));

        wanted.clear();
        QTest::mouseClick(named<QToolButton>(QStringLiteral("Show as a grid")), Qt::LeftButton);
        QTRY_VERIFY(!wanted.isEmpty());
        QVERIFY(wanted.last().first().toStringList().size() <= 20);
        QCOMPARE(wanted.last().last().toInt(), qCeil(112 * m_page->devicePixelRatioF()));
        QTest::keyClick(list(), Qt::Key_Home);
        QTRY_COMPARE(wanted.last().first().toStringList().first(), m_rows->rows[0].path);
        QTest::keyClick(list(), Qt::Key_Right);
        QCOMPARE(m_page->currentPath(), m_rows->rows[1].path);
    }

    void fifty_thousand_rows_scroll_and_filter_without_a_gap() {
        m_rows->reset(Rows::many(50000));
        settle();
        auto* bar = list()->verticalScrollBar();
        auto* search = named<QLineEdit>(QStringLiteral("Search"));
        test::Heartbeat heartbeat;
        for (int i = 0; i <= 100; ++i) {
            bar->setValue(bar->maximum() / 100 * i);
            QTest::qWait(2);
        }
        search->setFocus();
        for (const QChar key : QStringLiteral("circle red")) {
            QTest::keyClick(search, key.toLatin1());
            QTest::qWait(10);
        }
        QTRY_VERIFY_WITH_TIMEOUT(list()->model()->rowCount() < 40000, 20000);
        search->clear();
        QTRY_VERIFY_WITH_TIMEOUT(list()->model()->rowCount() == 50000, 20000);
        QTest::keyClick(list(), Qt::Key_A, Qt::ControlModifier);
        QTRY_COMPARE(button(QStringLiteral("Selection"))->text(), QStringLiteral("Selection (%L1)").arg(50000));
        for (int i = 0; i < 50; ++i) {
            std::vector<test::Row> block;
            for (int j = 0; j < 500; ++j) block.push_back(Rows::row(QStringLiteral("late %1 %2.jpg").arg(i).arg(j)));
            m_rows->insert(int(m_rows->rows.size()), std::move(block));
            QTest::qWait(1);
        }
        QVERIFY2(heartbeat.longestGapMs() < 50, qPrintable(QString::number(heartbeat.longestGapMs())));
    }

    void settings_come_and_go_whole() {
        QSignalSpy changed(m_page.get(), &CaptionsPage::settingsChanged);
        m_page->setPresets({{QStringLiteral("Caption"), QStringLiteral("Describe it.")},
                            {QStringLiteral("Alt text"), QStringLiteral("Alt text in {length} words for {name}.")}});
        CaptionSettings settings;
        settings.preset = QStringLiteral("Caption");
        settings.prompt = QStringLiteral("Describe it well.");
        settings.length = 33;
        settings.generation.max_tokens = 77;
        settings.generation.sampling = {.temperature = 0.7,
                                        .top_k = 40,
                                        .top_p = 0.9,
                                        .min_p = 0.05,
                                        .repetition_penalty = 1.1,
                                        .presence_penalty = 0.3,
                                        .seed = 12345678901ULL};
        settings.generation.stop = {"###"};
        settings.policy = CaptionPolicy::allButEdited;
        settings.sidecar = SidecarKind::caption;
        m_page->setSettings(settings);
        QCOMPARE(changed.count(), 0);
        const CaptionSettings found = m_page->settings();
        QCOMPARE(found.prompt, settings.prompt);
        QCOMPARE(found.length, 33);
        QCOMPARE(found.generation.max_tokens, 77);
        QCOMPARE(found.generation.sampling.temperature, 0.7);
        QCOMPARE(found.generation.sampling.top_k, 40);
        QCOMPARE(found.generation.sampling.seed, std::uint64_t(12345678901ULL));
        QCOMPARE(found.generation.sampling.min_p, 0.05);  // not shown, kept
        QCOMPARE(found.generation.stop.size(), std::size_t(1));
        QCOMPARE(found.policy, CaptionPolicy::allButEdited);
        QCOMPARE(found.sidecar, SidecarKind::caption);

        // The prompt differs from its preset's: that can be taken back. The other preset shows its real prompt.
        QTest::mouseClick(button(QStringLiteral("Restore")), Qt::LeftButton);
        QCOMPARE(m_page->settings().prompt, QStringLiteral("Describe it."));
        QVERIFY(button(QStringLiteral("Restore")) == nullptr);
        auto* preset = named<QComboBox>(QStringLiteral("Prompt preset"));
        QVERIFY(!named<QWidget>(QStringLiteral("Length goal"))->isVisible());
        preset->setFocus();
        QTest::keyClick(preset, Qt::Key_Down);
        auto* prompt = named<QPlainTextEdit>(QStringLiteral("Prompt"));
        QCOMPARE(prompt->toPlainText(), QStringLiteral("Alt text in {length} words for {name}."));
        QVERIFY(named<QWidget>(QStringLiteral("Length goal"))->isVisible());
        QVERIFY(!changed.isEmpty());
        QCOMPARE(changed.last().first().value<CaptionSettings>().preset, QStringLiteral("Alt text"));
        QTest::keyClick(prompt, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(prompt->toPlainText(), QStringLiteral("Describe it."));
    }

    void exports_what_the_list_shows() {
        QSignalSpy wanted(m_page.get(), &CaptionsPage::exportWanted);
        m_rows->edit(path(3), QStringLiteral("needle"));
        auto* search = named<QLineEdit>(QStringLiteral("Search"));
        QTest::keyClicks(search, QStringLiteral("needle"));
        QTRY_COMPARE(m_page->shownPaths(), QStringList(path(3)));
        const QMenu* menu = button(QStringLiteral("Export"))->menu();
        QCOMPARE(menu->actions().size(), 4);
        menu->actions().at(3)->trigger();
        QCOMPARE(wanted.first().at(0).value<CaptionExport>(), CaptionExport::llava);
        QCOMPARE(wanted.first().at(1).toStringList(), QStringList(path(3)));
    }

    void the_layout_is_kept() {
        const auto columnsOf = [](const CaptionsPage& page) {
            return qobject_cast<QSplitter*>(page.pictureView()->parentWidget()->parentWidget());
        };
        const QList<int> sizes{380, 370, 440};
        columnsOf(*m_page)->setSizes(sizes);
        QTest::mouseClick(named<QToolButton>(QStringLiteral("Show as a grid")), Qt::LeftButton);
        const QByteArray state = m_page->saveState();
        m_page = std::make_unique<CaptionsPage>();
        m_page->resize(1200, 760);
        m_page->setModel(m_rows.get());
        QVERIFY(!m_page->restoreState(QByteArray("rubbish")));
        QVERIFY(!m_page->restoreState({}));
        QVERIFY(m_page->restoreState(state));
        m_page->show();
        settle();
        for (int i = 0; i < 3; ++i) {
            const int found = columnsOf(*m_page)->sizes().at(i);
            QVERIFY2(std::abs(found - sizes[i]) < 20, qPrintable(QString::number(found)));
        }
        QVERIFY(named<QToolButton>(QStringLiteral("Show as a grid"))->isChecked());
    }

    void every_control_has_a_name_and_can_be_reached() {
        for (const auto* widget : m_page->findChildren<QWidget*>()) {
            if (!(widget->focusPolicy() & Qt::TabFocus) || !widget->isVisible()) continue;
            const auto* named = qobject_cast<const QAbstractButton*>(widget);
            QVERIFY2(!widget->accessibleName().isEmpty() || (named != nullptr && !named->text().isEmpty()),
                     widget->metaObject()->className());
        }
    }

    void looks() {
        std::vector<test::Row> rows;
        const QStringList captions{QStringLiteral("a red circle above a blue square"),
                                   QStringLiteral("two green triangles side by side"),
                                   QString(),
                                   QStringLiteral("A yellow star, drawn by hand, on a dark ground."),
                                   QString(),
                                   QString(),
                                   QString(),
                                   QString()};
        const CaptionState states[] = {CaptionState::machine, CaptionState::machine, CaptionState::failed,
                                       CaptionState::edited,  CaptionState::none,    CaptionState::none,
                                       CaptionState::none,    CaptionState::none};
        const QStringList names{
            QStringLiteral("IMG_2041.jpg"),   QStringLiteral("holiday in the mountains, last day (final).jpeg"),
            QStringLiteral("broken.jpg"),     QStringLiteral("star.png"),
            QStringLiteral("a.webp"),         QStringLiteral("b.webp"),
            QStringLiteral("海辺の夕日.jpg"), QStringLiteral("d.webp")};
        const auto scene = [](int i, const QSize& size) {
            QImage image(size, QImage::Format_RGB32);
            image.fill(QColor::fromHsv(40 * i, 60, 220));
            QPainter painter(&image);
            painter.setRenderHint(QPainter::Antialiasing);
            painter.setBrush(QColor::fromHsv(80 * i % 360, 200, 180));
            painter.drawEllipse(QPoint(size.width() / 2, size.height() / 3), size.height() / 4, size.height() / 4);
            return image;
        };
        for (int i = 0; i < 8; ++i) {
            test::Row row = Rows::row(names[i], captions[i], states[i]);
            row.thumbnail = scene(i, i % 2 ? QSize(128, 85) : QSize(85, 128));
            rows.push_back(row);
        }
        rows[0].provenance = QStringLiteral("Vitrine demo, preset Caption, seed 0, 30 Nov 16:20");
        rows[2].reason = QStringLiteral(
            "JPEG: expected a whole picture, found a truncated file of 1,204 bytes. Copy or download it again.");
        rows[4].work = CaptionWork::working;
        rows[5].work = CaptionWork::queued;
        m_page->resize(1200, 740);  // what a window of 1280 x 800 leaves
        m_page->setPresets({{QStringLiteral("Caption"), QStringLiteral("Describe this picture in one sentence.")},
                            {QStringLiteral("Alt text"), QStringLiteral("Write alt text of {length} words.")}});
        CaptionSettings settings;
        settings.prompt = QStringLiteral("Describe this picture in one sentence. The file is called {name}.");
        m_page->setSettings(settings);
        m_rows->reset(std::move(rows));
        settle();
        m_page->select(m_rows->rows[0].path);
        m_page->setPicture(m_rows->rows[0].path, Picture::of(scene(0, {900, 700}), {QStringLiteral("frame 1 of 12")}));
        m_page->setProgress({CaptionRun::running, 3, 1, 8, QStringLiteral("about 12 s left")});
        m_page->beginStream(m_rows->rows[4].path);
        m_page->appendStream(m_rows->rows[4].path, QStringLiteral("a small purple circle and"));
        list()->setFocus();
        QTest::qWait(50);
        test::screenshots(*m_page, QStringLiteral("captions-list"));
        m_page->setProgress({});
        m_page->select(m_rows->rows[2].path);
        m_page->setPictureFailed(m_rows->rows[2].path, m_rows->rows[2].reason);
        QTest::mouseClick(named<QToolButton>(QStringLiteral("Show as a grid")), Qt::LeftButton);
        for (auto* fold : m_page->findChildren<QToolButton*>()) {
            if (fold->isCheckable() && !fold->text().isEmpty()) fold->setChecked(true);
        }
        QTest::qWait(50);
        test::screenshots(*m_page, QStringLiteral("captions-grid"));
        m_rows->reset({});
        QTest::qWait(50);
        test::screenshots(*m_page, QStringLiteral("captions-empty"));
    }
};

VITRINE_TEST(CaptionsPageTest)

}  // namespace vitrine

#include "captions_page_test.moc"
