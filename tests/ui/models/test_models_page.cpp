#include "support/test_main.h"
#include "support/widgets.h"
#include "ui/models/models_page.h"

#include <QComboBox>
#include <QDialog>
#include <QDragEnterEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTableView>
#include <QTreeView>
#include <QTreeWidget>
#include <QUrl>

using namespace vitrine;

namespace {

QList<ModelEntry> entries() {
    return {{.id = QStringLiteral("/demo"),
             .group = ModelGroup::ready,
             .name = QStringLiteral("Vitrine demo"),
             .size = QStringLiteral("7.9 MB"),
             .fitText = QStringLiteral("needs 312 MB, 18.2 GB free"),
             .fit = Fit::fits,
             .state = QStringLiteral("loaded"),
             .active = true},
            {.id = QStringLiteral("/big"),
             .group = ModelGroup::ready,
             .name = QStringLiteral("siglip-so400m + Qwen3-4B"),
             .size = QStringLiteral("9.9 GB"),
             .fitText = QStringLiteral("needs 21.3 GB, 18.2 GB free"),
             .fit = Fit::tooLarge,
             .state = QStringLiteral("untrained projector")},
            {.id = QStringLiteral("/siglip"),
             .group = ModelGroup::vision,
             .name = QStringLiteral("google/siglip-base-patch16-224"),
             .size = QStringLiteral("813 MB"),
             .detail = QStringLiteral("SigLIP, 224 px, width 768")},
            {.id = QStringLiteral("/qwen"),
             .group = ModelGroup::language,
             .name = QStringLiteral("Qwen/Qwen3-0.6B"),
             .size = QStringLiteral("1.50 GB"),
             .detail = QStringLiteral("Qwen3, 28 layers, width 1024")},
            {.id = QStringLiteral("/run/projector.safetensors"),
             .group = ModelGroup::projectors,
             .name = QStringLiteral("step-2000/projector.safetensors"),
             .size = QStringLiteral("7.35 MB"),
             .detail = QStringLiteral("768 → 1024")},
            {.id = QStringLiteral("Qwen/Qwen3-4B"),
             .group = ModelGroup::downloads,
             .name = QStringLiteral("Qwen/Qwen3-4B"),
             .size = QStringLiteral("8.06 GB"),
             .detail = QStringLiteral("37 %"),
             .state = QStringLiteral("downloading"),
             .progress = 0.37},
            {.id = QStringLiteral("/bert"),
             .group = ModelGroup::unusable,
             .name = QStringLiteral("google/bert"),
             .detail = QStringLiteral("Neither a SigLIP vision tower nor a Qwen3 language model.")}};
}

ModelDetails demoDetails() {
    ModelDetails details{
        .id = QStringLiteral("/demo"),
        .title = QStringLiteral("Vitrine demo"),
        .kind = QStringLiteral("Vision-language model, built in"),
        .path = QStringLiteral("/opt/vitrine/resources/demo/model"),
        .facts = {QStringLiteral("4.1 million parameters."),
                  QStringLiteral("Vision: SigLIP, 4 layers, width 192. A picture is seen at 128 × 128 "
                                 "pixels as 64 patches."),
                  QStringLiteral("Projector: Linear, GELU, Linear from 192 to 192."),
                  QStringLiteral("Language: Qwen3, 4 layers, width 192, 2048 tokens in its vocabulary, "
                                 "up to 2048 positions.")},
        .about = QStringLiteral("This small model sees simple scenes of coloured shapes: it names their "
                                "colour, form, size and place, and counts up to four. It knows nothing "
                                "of photographs."),
        .loadable = true,
        .complete = true};
    details.config = {
        {QStringLiteral("vision"), QStringLiteral("hidden_size"), QStringLiteral("192"), QStringLiteral("config.json")},
        {QStringLiteral("vision"), QStringLiteral("layer_norm_eps"), QStringLiteral("1e-06"),
         QStringLiteral("class default")},
        {QStringLiteral("language"), QStringLiteral("rope_theta"), QStringLiteral("1000000.0"),
         QStringLiteral("config.json")}};
    for (int layer = 0; layer < 40; ++layer) {
        for (const char* name : {"self_attn.q_proj.weight", "mlp.gate_proj.weight"})
            details.tensors.append({QStringLiteral("language"),
                                    QStringLiteral("model.layers.%1.%2").arg(layer).arg(QString::fromUtf8(name)),
                                    QStringLiteral("BF16"), QStringLiteral("[192, 192]"),
                                    static_cast<quint64>(73'728 + layer), layer != 3});
    }
    details.tensorSummary = QStringLiteral("80 tensors, of which 78 are used: 4.1 million parameters.");
    for (const char* dtype : {"fp32", "bf16", "fp16"})
        details.memory.append({QStringLiteral("cpu"), QString::fromUtf8(dtype), QStringLiteral("16.4 MB"),
                               QStringLiteral("12.6 MB"), QStringLiteral("268 MB"), QStringLiteral("297 MB"),
                               QStringLiteral("18.2 GB"), Fit::fits, QStringLiteral("fits")});
    details.memoryNote = QStringLiteral(
        "Weights, the KV cache for 8192 positions and working memory, told from the "
        "configuration.");
    return details;
}

DownloadProgress running() {
    return {.hubId = QStringLiteral("Qwen/Qwen3-4B"),
            .state = QStringLiteral("Downloading"),
            .progress = 0.37,
            .amount = QStringLiteral("2.98 GB of 8.06 GB"),
            .pace = QStringLiteral("41.2 MB/s, 2 min left"),
            .canPause = true,
            .canCancel = true,
            .files = {{QStringLiteral("model-00001-of-00003.safetensors"), QStringLiteral("3.96 GB"), 0.62, {}},
                      {QStringLiteral("model-00002-of-00003.safetensors"), QStringLiteral("3.99 GB"), 0.12,
                       QStringLiteral("hub.example closed the connection. Trying again in 2 s.")},
                      {QStringLiteral("model-00003-of-00003.safetensors"), QStringLiteral("99.6 MB"), 0.0, {}},
                      {QStringLiteral("tokenizer.json"), QStringLiteral("11.4 MB"), 1.0, {}},
                      {QStringLiteral("config.json"), QStringLiteral("726 B"), 1.0, {}}}};
}

template <typename Widget>
Widget* visible(QWidget& root, const QString& words) {
    for (Widget* widget : root.findChildren<Widget*>()) {
        const QString text = widget->property("text").toString().remove(u'&');
        if (widget->isVisible() && (text == words || widget->accessibleName() == words)) return widget;
    }
    return nullptr;
}

// A page at work, as the controller fills it.
struct Filled {
    Filled() {
        QObject::connect(&page, &ModelsPage::selected, &page, [this](const QString& id) {
            if (id == QLatin1String("/demo")) {
                page.setDetails(demoDetails());
                page.setEstimate(id, QStringLiteral("Needs 312 MB of 18.2 GB free: fits"), Fit::fits);
            }
            if (id == QLatin1String("Qwen/Qwen3-4B")) page.setDownload(running());
        });
        page.setChoices({{QStringLiteral("auto"), QStringLiteral("Automatic (cpu)")},
                         {QStringLiteral("cpu"), QStringLiteral("cpu")}},
                        QStringLiteral("auto"),
                        {{QString(), QStringLiteral("as stored")}, {QStringLiteral("bf16"), QStringLiteral("bf16")}},
                        QString());
        page.setEntries(entries());
        page.resize(1180, 760);
        page.show();
    }
    QTreeView& list() { return *page.findChild<QTreeView*>(); }
    ModelsPage page;
};

}  // namespace

class TestModelsPage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void an_empty_page_teaches() {
        ModelsPage page;
        page.resize(1180, 760);
        page.show();
        QVERIFY(visible<QLabel>(page, QStringLiteral("No models yet")) != nullptr);
        QSignalSpy hub(&page, &ModelsPage::hubWanted);
        QSignalSpy add(&page, &ModelsPage::addFolderWanted);
        const auto buttons = page.findChildren<QPushButton*>();
        for (QPushButton* button : buttons) {
            if (!button->isVisible() || button->property("kind") != QStringLiteral("primary")) continue;
            QTest::mouseClick(button, Qt::LeftButton);
        }
        QCOMPARE(hub.size(), 1);
        vitrine::test::screenshots(page, QStringLiteral("models-empty"));
        page.setEntries(entries());
        QVERIFY(visible<QLabel>(page, QStringLiteral("Choose a model")) != nullptr);
    }

    void keys_move_through_the_list_and_load() {
        Filled filled;
        QSignalSpy selected(&filled.page, &ModelsPage::selected);
        QSignalSpy load(&filled.page, &ModelsPage::loadWanted);
        filled.page.setFocus();
        filled.list().setCurrentIndex(filled.list().model()->index(0, 0));  // the title of a group selects nothing
        QCOMPARE(selected.size(), 0);
        QTest::keyClick(&filled.list(), Qt::Key_Down);
        QCOMPARE(filled.page.current(), QStringLiteral("/demo"));
        QCOMPARE(selected.size(), 1);
        QTest::keyClick(&filled.list(), Qt::Key_Return);
        QCOMPARE(load.size(), 1);
        QCOMPARE(load.first().first().toString(), QStringLiteral("/demo"));
        QTest::keyClick(&filled.list(), Qt::Key_Down);
        QCOMPARE(filled.page.current(), QStringLiteral("/big"));
    }

    void new_words_leave_selection_and_place_alone() {
        Filled filled;
        filled.page.select(QStringLiteral("Qwen/Qwen3-4B"));
        QSignalSpy selected(&filled.page, &ModelsPage::selected);
        QList<ModelEntry> now = entries();
        now[5].progress = 0.5;
        now[5].detail = QStringLiteral("50 %");
        filled.page.setEntries(now);
        QCOMPARE(filled.page.current(), QStringLiteral("Qwen/Qwen3-4B"));
        now.removeAt(2);  // another row goes: the list is built anew
        filled.page.setEntries(now);
        QCOMPARE(filled.page.current(), QStringLiteral("Qwen/Qwen3-4B"));
        QCOMPARE(selected.size(), 0);
        now.removeAt(4);  // the selected one goes
        filled.page.setEntries(now);
        QCOMPARE(filled.page.current(), QString());
        QCOMPARE(selected.size(), 1);
        QVERIFY(visible<QLabel>(filled.page, QStringLiteral("Choose a model")) != nullptr);
    }

    void answers_about_another_entry_are_ignored() {
        Filled filled;
        filled.page.select(QStringLiteral("/big"));
        filled.page.setDetails(demoDetails());
        QVERIFY(visible<QPushButton>(filled.page, QStringLiteral("Load")) == nullptr);
    }

    void the_load_button_follows_what_is_loaded() {
        Filled filled;
        filled.page.select(QStringLiteral("/demo"));
        QSignalSpy load(&filled.page, &ModelsPage::loadWanted);
        QSignalSpy unload(&filled.page, &ModelsPage::unloadWanted);
        QSignalSpy cancel(&filled.page, &ModelsPage::cancelLoadWanted);
        QTest::mouseClick(visible<QPushButton>(filled.page, QStringLiteral("Load")), Qt::LeftButton);
        QCOMPARE(load.size(), 1);
        filled.page.setLoad({QStringLiteral("/demo"), true, 0.4});
        QTest::mouseClick(visible<QPushButton>(filled.page, QStringLiteral("Cancel loading")), Qt::LeftButton);
        QCOMPARE(cancel.size(), 1);
        filled.page.setLoad({QStringLiteral("/demo"), false});
        QTest::mouseClick(visible<QPushButton>(filled.page, QStringLiteral("Unload")), Qt::LeftButton);
        QCOMPARE(unload.size(), 1);
        filled.page.setLoad({QStringLiteral("/other"), false});
        QVERIFY(visible<QPushButton>(filled.page, QStringLiteral("Load")) != nullptr);
        QCOMPARE(load.size(), 1);
    }

    void tensors_are_filtered_and_sorted_by_size() {
        Filled filled;
        filled.page.select(QStringLiteral("/demo"));
        auto* tabs = filled.page.findChild<QTabWidget*>();
        tabs->setCurrentIndex(2);
        auto* table = visible<QTableView>(filled.page, QStringLiteral("Tensors"));
        QCOMPARE(table->model()->rowCount(), 80);
        auto* filter = visible<QLineEdit>(filled.page, QStringLiteral("Filter tensors, for example q_proj"));
        QTest::keyClicks(filter, QStringLiteral("Q_PROJ layers.1"));
        QCOMPARE(table->model()->rowCount(), 11);  // 1 and 10 to 19
        filter->clear();
        QTest::keyClicks(filter, QStringLiteral("ignored"));
        QCOMPARE(table->model()->rowCount(), 2);
        filter->clear();
        table->sortByColumn(4, Qt::DescendingOrder);
        QVERIFY(table->model()->index(0, 1).data().toString().startsWith(QLatin1String("model.layers.39.")));
    }

    void a_download_shows_what_can_be_done_about_it() {
        Filled filled;
        filled.page.select(QStringLiteral("Qwen/Qwen3-4B"));
        QSignalSpy pause(&filled.page, &ModelsPage::pauseWanted);
        QSignalSpy resume(&filled.page, &ModelsPage::resumeWanted);
        QSignalSpy cancel(&filled.page, &ModelsPage::cancelWanted);
        QTest::mouseClick(visible<QPushButton>(filled.page, QStringLiteral("Pause")), Qt::LeftButton);
        QCOMPARE(pause.size(), 1);
        QVERIFY(visible<QPushButton>(filled.page, QStringLiteral("Resume")) == nullptr);
        DownloadProgress failed = running();
        failed.state = QStringLiteral("Failed");
        failed.pace.clear();
        failed.reason = QStringLiteral("hub.example cannot be reached. Is this computer offline?");
        failed.failed = true;
        failed.canPause = false;
        failed.canResume = true;
        filled.page.setDownload(failed);
        QVERIFY(visible<QLabel>(filled.page, failed.reason) != nullptr);
        QTest::mouseClick(visible<QPushButton>(filled.page, QStringLiteral("Try again")), Qt::LeftButton);
        QCOMPARE(resume.size(), 1);
        const auto actions = visible<QPushButton>(filled.page, QStringLiteral("Cancel"))->menu()->actions();
        actions[0]->trigger();
        actions[1]->trigger();
        QCOMPARE(cancel.size(), 2);
        QCOMPARE(cancel[0][1].toBool(), true);  // keep
        QCOMPARE(cancel[1][1].toBool(), false);
        vitrine::test::screenshots(filled.page, QStringLiteral("models-download-failed"));
    }

    void folders_can_be_dropped() {
        Filled filled;
        QSignalSpy dropped(&filled.page, &ModelsPage::foldersDropped);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/some/where")), QUrl(QStringLiteral("https://x/y"))});
        QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&filled.page, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&filled.page, &drop);
        QCOMPARE(dropped.size(), 1);
        QCOMPARE(dropped.first().first().toStringList(), QStringList{QStringLiteral("/some/where")});
    }

    void the_pairing_dialog_opens_its_button_for_fitting_parts_only() {
        Filled filled;
        QSignalSpy choice(&filled.page, &ModelsPage::pairChoiceChanged);
        QSignalSpy create(&filled.page, &ModelsPage::pairCreateWanted);
        filled.page.openPairing(
            {{{QStringLiteral("/siglip"),
               QStringLiteral("google/siglip-base-patch16-224 · SigLIP, 224 px, width 768")}},
             {{QStringLiteral("/qwen"), QStringLiteral("Qwen/Qwen3-0.6B · Qwen3, 28 layers, width 1024")}},
             {{QStringLiteral("/p"), QStringLiteral("step-2000/projector.safetensors · 768 → 1024")}}},
            QStringLiteral("/p"));
        auto* dialog = filled.page.findChild<QDialog*>();
        QCOMPARE(choice.size(), 1);
        QCOMPARE(choice.first(),
                 QVariantList({QStringLiteral("/siglip"), QStringLiteral("/qwen"), QStringLiteral("/p")}));
        auto* make = visible<QPushButton>(*dialog, QStringLiteral("Make the model"));
        QVERIFY(!make->isEnabled());
        const PairVerdict misfit{
            PairVerdict::State::misfits,
            QStringLiteral("These parts do not fit together."),
            {{false, QStringLiteral("hidden_size 1152 (siglip-so400m/config.json) is not fc1.weight inputs 768 "
                                    "(step-2000/projector.safetensors)")},
             {true, QStringLiteral("fc1.weight outputs 1024 = fc2.weight inputs 1024")},
             {true, QStringLiteral("fc2.weight outputs 1024 = hidden_size 1024 (Qwen3-0.6B/config.json)")}}};
        filled.page.setPairVerdict(misfit);
        QVERIFY(!make->isEnabled());
        vitrine::test::screenshots(*dialog, QStringLiteral("models-pair"));
        filled.page.setPairVerdict({PairVerdict::State::fits, QStringLiteral("The parts fit."), {}});
        QVERIFY(make->isEnabled());
        auto* name = visible<QLineEdit>(*dialog, QStringLiteral("Name of the new model"));
        QCOMPARE(name->text(), QStringLiteral("siglip-base-patch16-224 + Qwen3-0.6B"));
        name->clear();
        QTest::keyClicks(name, QStringLiteral(" "));
        QVERIFY(!make->isEnabled());
        QTest::keyClicks(name, QStringLiteral("Mine"));
        QTest::keyClick(name, Qt::Key_Return);
        QCOMPARE(create.size(), 1);
        QCOMPARE(create.first().first().toString(), QStringLiteral("Mine"));
        filled.page.openPairing({}, {});
        QVERIFY(!make->isEnabled());
    }

    void the_hub_dialog_starts_with_the_needed_files() {
        Filled filled;
        QSignalSpy list(&filled.page, &ModelsPage::hubListWanted);
        QSignalSpy start(&filled.page, &ModelsPage::downloadWanted);
        filled.page.openHub(QStringLiteral("hub.example"));
        auto* dialog = filled.page.findChild<QDialog*>();
        auto* name = visible<QLineEdit>(*dialog, QStringLiteral("Name of the model on the hub"));
        QTest::keyClicks(name, QStringLiteral("Qwen/Qwen3-0.6B"));
        QTest::keyClick(name, Qt::Key_Return);
        QCOMPARE(list.size(), 1);
        auto* button = visible<QPushButton>(*dialog, QStringLiteral("Download"));
        QVERIFY(!button->isEnabled());
        HubListingView listing{
            QStringLiteral("Qwen/Qwen3-0.6B"),
            {{QStringLiteral("model.safetensors"), QStringLiteral("1.50 GB"), QStringLiteral("weights"), true,
              1'503'300'328},
             {QStringLiteral("config.json"), QStringLiteral("726 B"), QStringLiteral("configuration"), true, 726},
             {QStringLiteral("generation_config.json"), QStringLiteral("239 B"), QStringLiteral("configuration"), true,
              239},
             {QStringLiteral("tokenizer.json"), QStringLiteral("11.4 MB"), QStringLiteral("tokenizer"), true,
              11'422'654},
             {QStringLiteral("LICENSE"), QStringLiteral("11.3 kB"), QStringLiteral("not read by Vitrine"), false,
              11'343},
             {QStringLiteral("README.md"), QStringLiteral("13.9 kB"), QStringLiteral("not read by Vitrine"), false,
              13'965}},
            18'200'000'000,
            QStringLiteral("/home/ada/.local/share/vitrine/models")};
        filled.page.setHubListing(listing);
        QVERIFY(button->isEnabled());
        vitrine::test::screenshots(*dialog, QStringLiteral("models-hub"));
        listing.freeBytes = 1'000'000;
        filled.page.setHubListing(listing);
        QVERIFY(!button->isEnabled());  // no room
        listing.freeBytes = 18'200'000'000;
        filled.page.setHubListing(listing);
        auto* files = dialog->findChild<QTreeWidget*>();
        files->topLevelItem(2)->setCheckState(0, Qt::Unchecked);
        files->topLevelItem(4)->setCheckState(0, Qt::Checked);
        QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(start.size(), 1);
        QCOMPARE(start.first()[1].toStringList(),
                 QStringList({QStringLiteral("model.safetensors"), QStringLiteral("config.json"),
                              QStringLiteral("tokenizer.json"), QStringLiteral("LICENSE")}));
        filled.page.openHub(QStringLiteral("hub.example"));
        filled.page.setHubFault(QStringLiteral("a/b"), QStringLiteral("There is no such model."));
        QVERIFY(visible<QLabel>(*dialog, QStringLiteral("a/b: There is no such model.")) != nullptr);
        QVERIFY(!button->isEnabled());
    }

    void every_control_has_a_name() {
        Filled filled;
        filled.page.select(QStringLiteral("/demo"));
        filled.page.openHub(QStringLiteral("hub.example"));
        filled.page.openPairing({}, {});
        for (const QWidget* widget : filled.page.findChildren<QWidget*>()) {
            const bool control = qobject_cast<const QAbstractButton*>(widget) != nullptr ||
                                 qobject_cast<const QComboBox*>(widget) != nullptr ||
                                 qobject_cast<const QAbstractItemView*>(widget) != nullptr ||
                                 qobject_cast<const QLineEdit*>(widget) != nullptr;
            if (!control || !widget->isVisible() || widget->objectName().startsWith(QLatin1String("qt_")) ||
                widget->parentWidget()->inherits("QLineEdit") || widget->parentWidget()->inherits("QComboBox") ||
                widget->inherits("QTableCornerButton") || widget->parentWidget()->inherits("QTabBar") ||
                widget->inherits("QHeaderView") || widget->inherits("QComboBoxListView"))
                continue;
            const QString name = widget->accessibleName() + widget->property("text").toString();
            QVERIFY2(!name.isEmpty(), widget->metaObject()->className());
        }
    }

    void pictures_of_the_page() {
        Filled filled;
        filled.page.setLoad({QStringLiteral("/demo"), false});
        filled.page.select(QStringLiteral("/demo"));
        vitrine::test::screenshots(filled.page, QStringLiteral("models"));
        auto* tabs = filled.page.findChild<QTabWidget*>();
        tabs->setCurrentIndex(1);
        vitrine::test::screenshots(filled.page, QStringLiteral("models-configuration"));
        tabs->setCurrentIndex(2);
        vitrine::test::screenshots(filled.page, QStringLiteral("models-tensors"));
        tabs->setCurrentIndex(3);
        filled.page.setLoad({QStringLiteral("/demo"), true, 0.6});
        vitrine::test::screenshots(filled.page, QStringLiteral("models-memory"));
        filled.page.select(QStringLiteral("Qwen/Qwen3-4B"));
        filled.page.showMessage(MessageBar::Kind::information, QStringLiteral("Qwen/Qwen3-0.6B is complete."),
                                QStringLiteral("Show"), [] {});
        vitrine::test::screenshots(filled.page, QStringLiteral("models-download"));
    }
};

VITRINE_TEST(TestModelsPage)
#include "test_models_page.moc"
