#include "ui/insight/insight_panel.h"
#include "sample.h"
#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/insight/causal_view.h"
#include "ui/insight/head_grid.h"
#include "ui/insight/lens_view.h"
#include "ui/insight/map_view.h"
#include "ui/insight/rank_chart.h"
#include "ui/insight/token_flow.h"
#include "ui/insight/word_bars.h"
#include "ui/pictures/picture_view.h"

#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QToolButton>

#include <memory>
#include <stdexcept>

namespace vitrine {

class InsightPanelTest : public QObject {
    Q_OBJECT

    std::unique_ptr<InsightPanel> m_panel;

    template <typename Widget>
    Widget* named(const QString& accessibleName) const {
        for (auto* widget : m_panel->findChildren<Widget*>())
            if (widget->accessibleName() == accessibleName) return widget;
        throw std::runtime_error("no such control: " + accessibleName.toStdString());
    }

    QPushButton* button(const QString& text) const {
        for (auto* candidate : m_panel->findChildren<QPushButton*>())
            if (candidate->text() == text) return candidate;
        throw std::runtime_error("no such button: " + text.toStdString());
    }

    TokenFlow& flow() const { return *m_panel->findChild<TokenFlow*>(); }
    PictureView& picture() const { return *named<PictureView>(QStringLiteral("Picture with its map")); }
    MapView* mapView() const { return qobject_cast<MapView*>(picture().parentWidget()); }
    QString text(const QString& name) const { return named<QLabel>(name)->text(); }
    void tab(const QString& name) const {
        auto* tabs = m_panel->findChild<QTabWidget*>();
        for (int i = 0; i < tabs->count(); ++i)
            if (tabs->tabText(i) == name) tabs->setCurrentIndex(i);
        QCOMPARE(tabs->tabText(tabs->currentIndex()), name);
    }
    void choose(const QString& box, const QString& entry) const {
        auto* combo = named<QComboBox>(box);
        QVERIFY2(combo->findText(entry) >= 0, qPrintable(entry));
        combo->setCurrentIndex(combo->findText(entry));
    }
    QPointF middleOf(int patch) const {
        return picture().toWidget(
            patchRect(patch, test::kSide, test::kSide, picture().picture().image.size()).center());
    }
    static InsightView last(const QSignalSpy& spy) {
        return spy.isEmpty() ? InsightView() : spy.last().first().value<InsightView>();
    }

    // Shown with an answer, a picture, colours, and the map of the first word.
    void open(const QSize& size = {420, 900}, bool live = false) {
        m_panel = std::make_unique<InsightPanel>();
        m_panel->resize(size);
        m_panel->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
        m_panel->setColours(test::tables(), test::twoSided());
        m_panel->setSource(test::source(live));
        m_panel->setPicture(0, Picture::of(test::scene(960, 640)), test::scene(224, 224));
        if (!live) m_panel->setMap(test::mapOf(m_panel->view().request));
    }

private Q_SLOTS:
    void cleanup() { m_panel.reset(); }

    void without_an_answer_it_says_why() {
        m_panel = std::make_unique<InsightPanel>();
        m_panel->resize(420, 900);
        m_panel->show();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        m_panel->clear(QStringLiteral("No model is loaded"), QStringLiteral("Load one to look inside."));
        bool said = false;
        for (auto* label : m_panel->findChildren<QLabel*>())
            said = said || (label->text() == QStringLiteral("No model is loaded") && label->isVisible());
        QVERIFY(said);
        QVERIFY(!flow().isVisible());
        QTest::keyClick(m_panel.get(), Qt::Key_Up);
        QCOMPARE(changed.count(), 0);
    }

    void a_new_answer_asks_for_the_map_of_its_first_word() {
        m_panel = std::make_unique<InsightPanel>();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        m_panel->setSource(test::source());
        QCOMPARE(changed.count(), 1);
        const MapRequest request = last(changed).request;
        QCOMPARE(request.position, test::kPrompt);
        QVERIFY(request.tower == Tower::language && request.method == MapMethod::attention);
        QCOMPARE(request.layer, kAll);
        QCOMPARE(request.head, kAll);
        m_panel->setSource(test::source());  // another answer that looks alike is still another
        QCOMPARE(changed.count(), 2);
    }

    void a_live_answer_asks_for_each_new_word() {
        open({420, 900}, true);
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        InsightLayout layout = test::layout();
        for (const InsightToken& token : test::answerTokens()) {
            ++layout.length;
            m_panel->appendTokens({token}, layout);
            QCOMPARE(last(changed).request.position, token.position);
        }
        QCOMPARE(changed.count(), int(test::answerTokens().size()));
    }

    void pointing_at_a_word_shows_it_for_the_moment() {
        open();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        test::movePointer(*flow().viewport(), flow().chipRect(test::kPrompt + 3).center());
        QCOMPARE(last(changed).request.position, test::kPrompt + 3);
        QEvent leave(QEvent::Leave);
        QCoreApplication::sendEvent(flow().viewport(), &leave);
        QCOMPARE(last(changed).request.position, test::kPrompt);
        QTest::mouseClick(flow().viewport(), Qt::LeftButton, {}, flow().chipRect(test::kPrompt + 2).center());
        QCOMPARE(last(changed).request.position, test::kPrompt + 2);
    }

    void keys_walk_layers_and_heads() {
        open();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        flow().setFocus();
        QTest::keyClick(&flow(), Qt::Key_Up);
        QTest::keyClick(&flow(), Qt::Key_Up);
        QCOMPARE(last(changed).request.layer, 1);
        QTest::keyClick(&flow(), Qt::Key_Down);
        QCOMPARE(last(changed).request.layer, 0);
        QTest::keyClick(&picture(), Qt::Key_BracketRight);
        QTest::keyClick(&picture(), Qt::Key_Up, Qt::ControlModifier);
        QCOMPARE(last(changed).request.head, 1);
        QTest::keyClick(&picture(), Qt::Key_BracketLeft);
        QCOMPARE(last(changed).request.head, 0);
        named<QSpinBox>(QStringLiteral("Layer"))->setValue(27);
        const int count = changed.count();
        QTest::keyClick(&picture(), Qt::Key_Up);
        QCOMPARE(changed.count(), count);  // there is none above
    }

    void each_tower_has_its_methods_and_keeps_its_choice() {
        open();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        auto* method = named<QComboBox>(QStringLiteral("Method"));
        QCOMPARE(method->count(), 5);
        choose(QStringLiteral("Method"), QStringLiteral("Relevance"));
        QVERIFY(last(changed).request.method == MapMethod::relevance);
        QVERIFY(!named<QSpinBox>(QStringLiteral("Layer"))->isEnabled());
        named<QToolButton>(QStringLiteral("Vision"))->click();
        QVERIFY(last(changed).request.tower == Tower::vision);
        QVERIFY(last(changed).request.method == MapMethod::attention);
        QCOMPARE(method->count(), 3);
        QCOMPARE(named<QSpinBox>(QStringLiteral("Layer"))->maximum(), 11);
        choose(QStringLiteral("Method"), QStringLiteral("Rollout"));
        named<QToolButton>(QStringLiteral("Language"))->click();
        QVERIFY(last(changed).request.method == MapMethod::relevance);
        for (int i = 0; i < method->count(); ++i) {
            method->setCurrentIndex(i);
            QVERIFY(method->toolTip().size() > 20);
        }
    }

    void choices_stay_with_the_next_answer_where_it_has_them() {
        open();
        named<QSpinBox>(QStringLiteral("Layer"))->setValue(20);
        named<QSpinBox>(QStringLiteral("Head"))->setValue(3);
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        m_panel->setSource(test::source());
        QCOMPARE(last(changed).request.layer, 20);
        InsightSource small = test::source();
        small.layout.layers = 4;
        m_panel->setSource(small);
        QCOMPARE(last(changed).request.layer, kAll);
        QCOMPARE(last(changed).request.head, 3);
    }

    void in_the_vision_tower_the_patch_under_the_pointer_looks() {
        open();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        test::movePointer(picture(), middleOf(40));
        QCOMPARE(changed.count(), 0);  // the language model does not care where the pointer is
        named<QToolButton>(QStringLiteral("Vision"))->click();
        QCOMPARE(last(changed).request.patch, 40);
        test::movePointer(picture(), middleOf(41));
        QCOMPARE(last(changed).request.patch, 41);
        QTest::mouseClick(&picture(), Qt::LeftButton, {}, middleOf(41).toPoint());
        test::movePointer(picture(), middleOf(99));
        QCOMPARE(last(changed).request.patch, 41);  // kept: the pointer only reads
        QTest::keyClick(&picture(), Qt::Key_Escape);
        QCOMPARE(last(changed).request.patch, 99);
    }

    void what_is_shown_is_labelled_by_its_own_request() {
        open();
        QCOMPARE(text(QStringLiteral("What the map shows")), QStringLiteral("“A” · Attention · all layers, all heads"));
        MapRequest request = m_panel->view().request;
        request.position = test::kPrompt + 2;
        request.layer = 9;
        request.head = 4;
        m_panel->setMap(test::mapOf(request));  // late: the choice is another by now
        QCOMPARE(text(QStringLiteral("What the map shows")), QStringLiteral("“red” · Attention · layer 9, head 4"));
    }

    void little_attention_on_the_picture_is_warned_of() {
        open();
        const QString name = QStringLiteral("Share of the attention on the picture");
        AttentionMap map = test::mapOf(m_panel->view().request);
        map.masses = Masses{0.124, 0, 0.5, 0.3, 0.076};
        m_panel->setMap(map);
        QCOMPARE(text(name), QStringLiteral("12\u00A0% of all attention is on the picture."));
        map.request.layer = 3;
        map.request.head = 4;
        map.masses->picture = 0.003;
        m_panel->setMap(map);
        QVERIFY2(text(name).startsWith(QStringLiteral("Only 0.30\u00A0% of this head's attention")),
                 qPrintable(text(name)));
        map.masses.reset();
        m_panel->setMap(map);
        QVERIFY(!text(name).contains(u'%'));
    }

    void the_scale_in_use_is_always_said() {
        open();
        const QString name = QStringLiteral("Scale of the colours");
        QCOMPARE(text(name), QStringLiteral("Scale: this map alone"));
        choose(QStringLiteral("Scale"), QStringLiteral("Times uniform"));
        QCOMPARE(text(name), QStringLiteral("Scale: up to 10 times uniform, 1 × is 1/231"));
        choose(QStringLiteral("Values"), QStringLiteral("Clip at 99 %"));
        QVERIFY(text(name).endsWith(QStringLiteral("clipped")) ||
                text(name).endsWith(QStringLiteral("nothing to clip")));
        choose(QStringLiteral("Values"), QStringLiteral("Logarithmic"));
        QVERIFY(text(name).endsWith(QStringLiteral(", logarithmic")));
        choose(QStringLiteral("Values"), QStringLiteral("Linear"));

        const QSignalSpy heads(m_panel.get(), &InsightPanel::headsShown);
        choose(QStringLiteral("Scale"), QStringLiteral("All layers"));
        QCOMPARE(heads.count(), 1);
        QVERIFY(m_panel->headsAreShown());
        QVERIFY(text(name).contains(QStringLiteral("not there yet")));
        HeadMaps maps = test::headsOf(m_panel->view().request);
        maps.values[5] = 0.77F;  // layer 0
        m_panel->setHeads(maps);
        QCOMPARE(text(name), QStringLiteral("Scale: all layers and heads"));
        QVERIFY(std::abs(mapView()->scale().high - 0.77) < 1e-6);
        MapRequest request = m_panel->view().request;
        request.layer = 12;
        m_panel->setMap(test::mapOf(request));
        choose(QStringLiteral("Scale"), QStringLiteral("This layer"));
        QCOMPARE(text(name), QStringLiteral("Scale: all heads of layer 12"));
        QVERIFY(mapView()->scale().high < 0.1);
        request.position += 1;  // another word: its heads have not come
        m_panel->setMap(test::mapOf(request));
        QVERIFY(text(name).contains(QStringLiteral("not there yet")));
    }

    void a_region_is_told_and_words_light_up() {
        open();
        QSignalSpy region(m_panel.get(), &InsightPanel::regionChosen);
        QTest::mousePress(&picture(), Qt::LeftButton, {}, middleOf(15).toPoint());
        test::movePointer(picture(), middleOf(31), Qt::LeftButton);
        QTest::mouseRelease(&picture(), Qt::LeftButton, {}, middleOf(31).toPoint());
        QCOMPARE(region.count(), 1);
        QCOMPARE(region.first().first().value<std::vector<int>>(), (std::vector<int>{15, 16, 17, 29, 30, 31}));
        std::vector<float> weights(flow().positions().size(), 0.01F);
        weights[2] = 0.4F;
        m_panel->setTokenWeights(weights);
        flow().setCurrent(test::kPrompt + 2);
        QVERIFY2(
            flow().accessibleDescription().contains(QStringLiteral("40\u00A0% of its attention in the marked patches")),
            qPrintable(flow().accessibleDescription()));
        QTest::keyClick(&picture(), Qt::Key_Escape);
        QVERIFY(region.last().first().value<std::vector<int>>().empty());
    }

    void hiding_patches_is_asked_and_told_as_a_sentence() {
        open();
        tab(QStringLiteral("Check"));
        auto* view = m_panel->findChild<CausalView*>();
        auto* cut = button(QStringLiteral("Hide these patches"));
        QVERIFY(!cut->isEnabled());
        QTest::mouseClick(&picture(), Qt::LeftButton, {}, middleOf(60).toPoint());
        QVERIFY(cut->isEnabled());
        QSignalSpy wanted(m_panel.get(), &InsightPanel::causalWanted);
        cut->click();
        QCOMPARE(wanted.last().first().value<std::vector<int>>(), std::vector<int>{60});
        QVERIFY(wanted.last().last().value<CausalCheck::Means>() == CausalCheck::Means::cut);
        button(QStringLiteral("Replace by the mean"))->click();
        QVERIFY(wanted.last().last().value<CausalCheck::Means>() == CausalCheck::Means::mean);

        CausalCheck check{test::kPrompt, {60}, -0.02, -3.1, -0.05, {{4, " blue", -0.3F}}};
        CausalCheck other = check;
        other.position += 1;
        m_panel->setCausal(other);
        QVERIFY(view->resultText().isEmpty());  // the answer to another question
        m_panel->setCausal(check);
        QCOMPARE(view->resultText(),
                 QStringLiteral("Log-probability of “A”: −0.02 → −3.10. Hiding as many other patches: −0.05.\n"
                                "The word depends on these patches more than on others."));
        QCOMPARE(view->findChild<WordBars*>()->words().size(), std::size_t(1));
        check.after = -0.06;
        m_panel->setCausal(check);
        QVERIFY(view->resultText().contains(QStringLiteral("no more than others")));
        QTest::keyClick(&flow(), Qt::Key_Right);
        QVERIFY(view->resultText().isEmpty());  // another word
    }

    void parts_that_cost_are_only_asked_for_while_seen() {
        open();
        QSignalSpy heads(m_panel.get(), &InsightPanel::headsShown);
        QSignalSpy lens(m_panel.get(), &InsightPanel::lensShown);
        QSignalSpy sinks(m_panel.get(), &InsightPanel::sinksShown);
        const auto told = [](QSignalSpy& spy) { return spy.isEmpty() ? QVariant() : spy.takeLast().first(); };
        tab(QStringLiteral("Heads"));
        QCOMPARE(told(heads), QVariant(true));
        tab(QStringLiteral("Lens"));
        QCOMPARE(told(heads), QVariant(false));
        QCOMPARE(told(lens), QVariant(true));
        choose(QStringLiteral("Sinks"), QStringLiteral("Hide"));
        QCOMPARE(told(sinks), QVariant(true));
        m_panel->hide();
        QCOMPARE(told(lens), QVariant(false));
        QCOMPARE(told(sinks), QVariant(false));
        m_panel->show();
        QCOMPARE(told(lens), QVariant(true));
    }

    void hidden_sinks_do_not_count_for_the_scale() {
        open();
        AttentionMap map = test::mapOf(m_panel->view().request);
        map.grid.values[13] = 5.0F;
        m_panel->setMap(map);
        auto* view = mapView();
        QVERIFY(view->scale().high > 4.9);
        choose(QStringLiteral("Sinks"), QStringLiteral("Hide"));
        m_panel->setSinks({{}, {}, {13}, {}, 1.0});
        QVERIFY(view->scale().high < 0.1);
        QVERIFY(std::isnan(view->grid().values[13]));
        choose(QStringLiteral("Sinks"), QStringLiteral("Hatch"));
        QVERIFY(view->scale().high > 4.9);
    }

    void a_head_of_the_grid_opens() {
        open({420, 1000});
        tab(QStringLiteral("Heads"));
        m_panel->setHeads(test::headsOf(m_panel->view().request));
        auto* grid = m_panel->findChild<HeadGrid*>();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        QTest::mouseClick(grid->viewport(), Qt::LeftButton, {}, grid->cellRect(2, 6).center());
        QCOMPARE(changed.count(), 1);
        QCOMPARE(last(changed).request.layer, 2);
        QCOMPARE(last(changed).request.head, 6);
        QCOMPARE(named<QSpinBox>(QStringLiteral("Head"))->value(), 6);
    }

    void the_lens_shows_patch_and_layers() {
        open();
        tab(QStringLiteral("Lens"));
        auto* lens = m_panel->findChild<LensView*>();
        PatchWords words;
        words.layer = 20;
        words.words.resize(196, {{1, " sky", -0.5F}});
        words.words[60] = {{2, " ball", -0.1F}, {3, " red", -2.5F}};
        m_panel->setPatchWords(words);
        QVERIFY(lens->words()->words().empty());
        test::movePointer(picture(), middleOf(60));
        QCOMPARE(lens->words()->words().size(), std::size_t(2));
        QTest::mouseClick(&picture(), Qt::LeftButton, {}, middleOf(61).toPoint());
        QCOMPARE(lens->words()->words().size(), std::size_t(1));
        WordRanks ranks;
        ranks.position = test::kPrompt + 2;
        for (int layer = 0; layer < 28; ++layer) {
            ranks.rank.push_back(layer < 20 ? 40'000 / (layer + 1) : 27 - layer);
            ranks.log_prob.push_back(layer < 20 ? -9.0F : -1.0F);
            ranks.winner.push_back({layer, layer > 24 ? " red" : " the", -0.4F});
        }
        m_panel->setWordRanks(ranks);
        QVERIFY(lens->chart()->describe(27).startsWith(QStringLiteral("After layer 27: rank 1 ")));
        QTest::keyClick(lens->chart(), Qt::Key_Right);
        QTest::keyClick(lens->chart(), Qt::Key_Right);
        QCOMPARE(lens->chart()->pointed(), 1);
        QVERIFY(lens->chart()->describe(1).contains(QStringLiteral("“the”")));
    }

    void a_pinned_map_shares_its_scale_with_the_present_one() {
        open();
        auto* compare = m_panel->findChild<CompareView*>();
        AttentionMap map = test::mapOf(m_panel->view().request, 0.010F);
        m_panel->setMap(map);
        named<QToolButton>(QStringLiteral("Pin this map to compare it with others"))->click();
        QVERIFY(compare->isVisible() && compare->isPinned());
        map = test::mapOf(m_panel->view().request, 0.030F);
        map.request.layer = 7;
        m_panel->setMap(map);
        QCOMPARE(compare->pinnedMap()->scale().high, compare->currentMap()->scale().high);
        QVERIFY(compare->pinnedMap()->scale().high > 0.029);
        QVERIFY(compare->pinnedMap()->grid().values[60] < compare->currentMap()->grid().values[60]);
        // Another answer: the pinned one stays.
        m_panel->setSource(test::source());
        QVERIFY(compare->isPinned());
        m_panel->setMap(map);
        named<QToolButton>(QStringLiteral("Difference"))->click();
        const MapView* difference = compare->differenceMap();
        QVERIFY(difference->isVisible());
        QVERIFY(difference->scale().two_sided);
        QCOMPARE(difference->scale().low, -difference->scale().high);
        QVERIFY(std::abs(difference->grid().values[60] -
                         (compare->currentMap()->grid().values[60] - compare->pinnedMap()->grid().values[60])) < 1e-6F);
        button(QStringLiteral("Unpin"))->click();
        QVERIFY(!compare->isPinned());
    }

    void with_times_uniform_rows_of_different_length_compare() {
        open();
        auto* compare = m_panel->findChild<CompareView*>();
        choose(QStringLiteral("Scale"), QStringLiteral("Times uniform"));
        AttentionMap map = test::mapOf(m_panel->view().request);
        map.grid.values.assign(196, 0.01F);
        map.keys = 100;
        m_panel->setMap(map);
        named<QToolButton>(QStringLiteral("Pin this map to compare it with others"))->click();
        map.grid.values.assign(196, 0.005F);
        map.keys = 200;
        m_panel->setMap(map);
        QVERIFY(std::abs(compare->pinnedMap()->grid().values[0] - 1.0F) < 1e-5F);
        QVERIFY(std::abs(compare->currentMap()->grid().values[0] - 1.0F) < 1e-5F);
    }

    void exports_are_asked_for() {
        open();
        QSignalSpy wanted(m_panel.get(), &InsightPanel::exportWanted);
        const auto actions = named<QToolButton>(QStringLiteral("Export"))->menu()->actions();
        for (QAction* action : actions)
            if (!action->isSeparator()) action->trigger();
        QCOMPARE(wanted.count(), 6);
        QVERIFY(wanted.first().first().value<InsightExport>() == InsightExport::clipboard);
        m_panel->setSource(test::source());
        QVERIFY(!named<QToolButton>(QStringLiteral("Export"))->isEnabled());  // no map of it yet
    }

    void several_pictures_can_be_chosen() {
        open();
        QVERIFY(!named<QSpinBox>(QStringLiteral("Picture"))->isVisible());
        InsightSource two = test::source();
        two.layout.pictures = 2;
        m_panel->setSource(two);
        m_panel->setPicture(1, Picture::of(test::scene(300, 500)), {});
        QVERIFY(named<QSpinBox>(QStringLiteral("Picture"))->isVisible());
        QCOMPARE(picture().picture().image.width(), 960);
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        named<QSpinBox>(QStringLiteral("Picture"))->setValue(2);
        QCOMPARE(last(changed).request.picture, 1);
        QCOMPARE(picture().picture().image.width(), 300);
        AttentionMap old = test::mapOf({});
        m_panel->setMap(old);  // of picture 0: not drawn over this one
        QVERIFY(mapView()->grid().values.empty());
    }

    void the_look_is_told_and_restored() {
        open();
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        choose(QStringLiteral("Colours"), QStringLiteral("Viridis"));
        QCOMPARE(last(changed).colours, QStringLiteral("viridis"));
        InsightView view = m_panel->view();
        view.request.layer = 5;
        view.smooth = true;
        view.transform = ScaleTransform::log;
        view.sinks = SinkMode::hatch;
        const int count = changed.count();
        m_panel->setView(view);
        QCOMPARE(changed.count(), count);
        QVERIFY(m_panel->view() == view);
    }

    void being_busy_and_problems_are_lines() {
        open();
        QLabel* busy = nullptr;
        for (auto* label : m_panel->findChildren<QLabel*>())
            if (label->text() == QStringLiteral("Working…")) busy = label;
        QVERIFY(busy != nullptr);
        m_panel->setBusy(true);
        QVERIFY(!busy->isVisible());  // most maps are there sooner
        QTRY_VERIFY(busy->isVisible());
        m_panel->setBusy(false);
        QVERIFY(!busy->isVisible());
        m_panel->setProblem(QStringLiteral("Relevance needs 3.1 GB, 2.0 GB are free."));
        QVERIFY(named<QLabel>(QStringLiteral("Problem"))->isVisible());
        m_panel->setProblem({});
        QVERIFY(!named<QLabel>(QStringLiteral("Problem"))->isVisible());
    }

    void everything_fits_from_360_pixels_on() {
        open({360, 800});
        named<QToolButton>(QStringLiteral("Look of the map"))->click();
        QTRY_VERIFY(named<QComboBox>(QStringLiteral("Colours"))->isVisible());
        for (const char* page : {"Word", "Heads", "Lens", "Compare", "Check"}) {
            tab(QString::fromLatin1(page));
            QVERIFY2(
                m_panel->minimumSizeHint().width() <= 360,
                qPrintable(QStringLiteral("%1: %2").arg(QLatin1String(page)).arg(m_panel->minimumSizeHint().width())));
        }
        QCOMPARE(m_panel->width(), 360);
        for (auto* child : m_panel->findChildren<QWidget*>()) {
            if (!child->isVisible() || child->accessibleName().isEmpty()) continue;
            const QRect place(child->mapTo(m_panel.get(), QPoint()), child->size());
            QVERIFY2(place.left() >= 0 && place.right() < 360, qPrintable(child->accessibleName()));
        }
    }

    void in_a_low_dock_it_scrolls_and_squeezes_nothing() {
        open({360, 520});
        QCOMPARE(m_panel->height(), 520);
        named<QToolButton>(QStringLiteral("Look of the map"))->click();
        QCoreApplication::processEvents();
        for (auto* box : m_panel->findChildren<QComboBox*>()) {
            if (box->isVisible())
                QVERIFY2(box->height() >= box->minimumSizeHint().height(), qPrintable(box->accessibleName()));
        }
        QVERIFY(picture().height() >= 100);
        const QSignalSpy changed(m_panel.get(), &InsightPanel::viewChanged);
        QTest::keyClick(&picture(), Qt::Key_Up);
        QCOMPARE(last(changed).request.layer, 0);  // the keys are not for scrolling
    }

    void every_control_has_a_name() {
        open();
        for (auto* child : m_panel->findChildren<QWidget*>()) {
            const bool control = child->focusPolicy() & Qt::TabFocus;
            if (!control || child->objectName().startsWith(QStringLiteral("qt_")) || child->inherits("QTabBar") ||
                child->inherits("QTabWidget") || child->window() != m_panel.get() || child->inherits("QPushButton") ||
                child->inherits("QCheckBox"))
                continue;
            QVERIFY2(!child->accessibleName().isEmpty(), child->metaObject()->className());
        }
    }

    // Over 30 frames a second, counting only what this thread computes.
    void live_maps_keep_up() {
        open({800, 1000});
        std::vector<AttentionMap> maps;
        for (int i = 0; i < 60; ++i) {
            MapRequest request = m_panel->view().request;
            request.position += i % 40;
            maps.push_back(test::mapOf(request, 0.01F + 0.001F * float(i % 9)));
        }
        m_panel->grab();
        const test::PaintCounter paints(picture());
        const double begin = test::threadMs();
        for (const AttentionMap& map : maps) {
            m_panel->setMap(map);
            m_panel->repaint();
        }
        const double each = (test::threadMs() - begin) / double(maps.size());
        QCOMPARE(paints.count, 60);
        qInfo("%.1f ms a frame", each);
        QVERIFY2(each < 33, qPrintable(QString::number(each)));
    }

    void looks() {
        for (const QSize& size : {QSize(420, 900), QSize(800, 1000)}) {
            open(size);
            InsightView view = m_panel->view();
            view.colours = QStringLiteral("magma");
            m_panel->setView(view);
            QTest::mouseClick(flow().viewport(), Qt::LeftButton, {}, flow().chipRect(test::kPrompt + 2).center());
            const MapRequest request = m_panel->view().request;
            m_panel->setMap(test::mapOf(request));
            m_panel->setHeads(test::headsOf(request));
            std::vector<float> weights;
            for (std::size_t i = 0; i < flow().positions().size(); ++i)
                weights.push_back(0.02F + 0.2F * test::noise(std::uint32_t(i) * 77U));
            m_panel->setTokenWeights(weights);
            const QString name = QStringLiteral("insight-%1-").arg(size.width());
            test::screenshots(*m_panel, name + QStringLiteral("word"));
            tab(QStringLiteral("Heads"));
            test::screenshots(*m_panel, name + QStringLiteral("heads"));
            named<QToolButton>(QStringLiteral("Look of the map"))->click();
            choose(QStringLiteral("Sinks"), QStringLiteral("Hatch"));
            m_panel->setSinks({{}, {}, {13}, {}, 1.0});
            QTest::mouseClick(&picture(), Qt::LeftButton, {}, middleOf(74).toPoint());
            tab(QStringLiteral("Lens"));
            PatchWords words;
            words.layer = 20;
            words.words.resize(196,
                               {{1, " ball", -0.5F}, {2, " red", -1.4F}, {3, " circle", -2.5F}, {4, " sun", -3.5F}});
            m_panel->setPatchWords(words);
            WordRanks ranks;
            ranks.position = request.position;
            for (int layer = 0; layer < 28; ++layer) {
                ranks.rank.push_back(layer < 24 ? std::int64_t(60'000 * std::exp(-layer * 0.45)) : 0);
                ranks.log_prob.push_back(layer < 20 ? -9.0F : -3.0F + 0.35F * float(layer - 19));
                ranks.winner.push_back({layer > 21 ? int(1000 + request.position) : layer,
                                        layer > 21   ? " red"
                                        : layer > 12 ? " colour"
                                                     : " the",
                                        -0.4F});
            }
            m_panel->setWordRanks(ranks);
            test::screenshots(*m_panel, name + QStringLiteral("lens"));
            named<QToolButton>(QStringLiteral("Look of the map"))->click();
            named<QToolButton>(QStringLiteral("Pin this map to compare it with others"))->click();
            MapRequest other = request;
            other.position = test::kPrompt + 21;
            other.layer = 14;
            other.head = 3;
            AttentionMap faint = test::mapOf(other, 0.02F);
            faint.masses->picture = 0.013;
            m_panel->setMap(faint);
            test::screenshots(*m_panel, name + QStringLiteral("compare"));
            named<QToolButton>(QStringLiteral("Difference"))->click();
            test::screenshots(*m_panel, name + QStringLiteral("difference"));
            QTest::mousePress(&picture(), Qt::LeftButton, {}, middleOf(46).toPoint());
            test::movePointer(picture(), middleOf(103), Qt::LeftButton);
            QTest::mouseRelease(&picture(), Qt::LeftButton, {}, middleOf(103).toPoint());
            tab(QStringLiteral("Check"));
            m_panel->setCausal({m_panel->view().request.position,
                                mapView()->region(),
                                -0.02,
                                -3.1,
                                -0.05,
                                {{4, " blue", -0.3F}, {5, " pale", -1.9F}, {6, " dark", -3.0F}}});
            m_panel->setProblem(QStringLiteral("Relevance needs 3.1 GB of memory, 2.0 GB are free."));
            test::screenshots(*m_panel, name + QStringLiteral("check"));
        }
        open({360, 800});
        named<QToolButton>(QStringLiteral("Vision"))->click();
        named<QToolButton>(QStringLiteral("Look of the map"))->click();
        choose(QStringLiteral("Colours"), QStringLiteral("Viridis"));
        choose(QStringLiteral("Scale"), QStringLiteral("Times uniform"));
        InsightView view = m_panel->view();
        view.smooth = true;
        view.showSeen = true;
        view.request.layer = 5;
        m_panel->setView(view);
        QTest::mouseClick(&picture(), Qt::LeftButton, {}, middleOf(60).toPoint());
        AttentionMap map = test::mapOf(m_panel->view().request, 0.07F);
        map.masses.reset();
        m_panel->setMap(map);
        tab(QStringLiteral("Heads"));
        HeadMaps heads = test::headsOf(m_panel->view().request, 12, 12);
        heads.masses.clear();
        m_panel->setHeads(heads);
        choose(QStringLiteral("Order of the heads"), QStringLiteral("Sharpest first"));
        test::screenshots(*m_panel, QStringLiteral("insight-360-vision"));
        m_panel->clear(
            QStringLiteral("No picture in this conversation"),
            QStringLiteral("Attach a picture and ask about it: the places the model looks at light up here."));
        m_panel->resize(420, 900);
        test::screenshots(*m_panel, QStringLiteral("insight-empty"));
    }
};

VITRINE_TEST(InsightPanelTest)

}  // namespace vitrine

#include "insight_panel_test.moc"
