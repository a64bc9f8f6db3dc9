#include "app/activity.h"
#include "app/dialogs.h"
#include "app/engine_worker.h"
#include "app/models/models_controller.h"
#include "app/profile.h"
#include "app/settings.h"
#include "support/hub_imitation.h"
#include "support/test_main.h"
#include "tiny_models.h"
#include "ui/models/models_page.h"

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>

using namespace vitrine;
using namespace vitrine::test;

namespace {

constexpr int kLong = 60'000;
#define EVENTUALLY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, kLong)

class AnsweringDialogs : public Dialogs {
public:
    QString folder;
    void openFolder(QWidget*, const FileWish&, std::function<void(const QString&)> answer) override { answer(folder); }
};

template <typename Widget>
Widget* visible(QWidget& root, const QString& words) {
    for (Widget* widget : root.findChildren<Widget*>()) {
        QString text = widget->property("text").toString().remove(u'&');
        if (widget->isVisible() && (text == words || widget->accessibleName() == words)) return widget;
    }
    return nullptr;
}

void click(QWidget& root, const char* words) {
    auto* button = visible<QPushButton>(root, QString::fromUtf8(words));
    QVERIFY2(button != nullptr, words);
    QVERIFY2(button->isEnabled(), words);
    QTest::mouseClick(button, Qt::LeftButton);
}

QTableView* table(QWidget& page, const char* name) {
    for (QTableView* one : page.findChildren<QTableView*>())
        if (one->accessibleName() == QString::fromUtf8(name)) return one;
    return nullptr;
}

// The rows of the list as they are read out, groups included.
QStringList rows(QWidget& page) {
    const auto* model = page.findChild<QTreeView*>()->model();
    QStringList all;
    for (int group = 0; group < model->rowCount(); ++group) {
        const QModelIndex title = model->index(group, 0);
        all.append(title.data().toString());
        for (int row = 0; row < model->rowCount(title); ++row)
            all.append(model->index(row, 0, title).data(Qt::AccessibleTextRole).toString());
    }
    return all;
}

bool hasRow(QWidget& page, const QString& words) {
    const QStringList all = rows(page);
    return std::any_of(all.begin(), all.end(), [&](const QString& row) { return row.contains(words); });
}

// The place with everything behind it, in a profile of its own.
struct Place {
    explicit Place(const HubImitation* hub = nullptr)
        : profile(Profile::at(folder.path())), settings(profile.settingsFile()) {
        HubEndpoint endpoint{hub != nullptr ? hub->home() : QUrl(QStringLiteral("http://127.0.0.1:1")), {}};
        controller = std::make_unique<ModelsController>(
            ModelsController::Parts{page, engine, activities, settings, dialogs, profile}, demo(), endpoint);
        page.resize(1200, 800);
        page.show();
    }
    static QString demo() {
        static QTemporaryDir once;
        const QString model = once.filePath(QStringLiteral("tiny"));
        if (!QFileInfo::exists(model)) writeTinyModel(model);
        return model;
    }

    QTemporaryDir folder;
    const Profile profile;
    Settings settings;
    EngineWorker engine;
    ActivityList activities;
    AnsweringDialogs dialogs;
    ModelsPage page;
    std::unique_ptr<ModelsController> controller;
};

}  // namespace

class TestModelsController : public QObject {
    Q_OBJECT

    QTemporaryDir m_noCache;

private Q_SLOTS:
    void init() { qputenv("HF_HUB_CACHE", m_noCache.path().toUtf8()); }

    void the_demo_model_is_there_and_loads_and_unloads() {
        Place place;
        EVENTUALLY(hasRow(place.page, QStringLiteral("tiny")));
        EVENTUALLY(place.page.current() == Place::demo());
        QVERIFY2(hasRow(place.page, QStringLiteral("needs")), qPrintable(rows(place.page).join(u'\n')));
        EVENTUALLY(visible<QPushButton>(place.page, QStringLiteral("Load")) != nullptr);
        click(place.page, "Load");
        EVENTUALLY(place.engine.state() == EngineWorker::State::ready);
        QVERIFY(hasRow(place.page, QStringLiteral("loaded")));
        click(place.page, "Unload");
        EVENTUALLY(place.engine.state() == EngineWorker::State::empty);
        QVERIFY(!hasRow(place.page, QStringLiteral("loaded")));
        QVERIFY(visible<QPushButton>(place.page, QStringLiteral("Load")) != nullptr);
    }

    void the_details_come_from_the_headers() {
        Place place;
        EVENTUALLY(place.page.current() == Place::demo());
        auto* tensors = table(place.page, "Tensors");
        QVERIFY(tensors != nullptr);
        EVENTUALLY(tensors->model()->rowCount() > 20);
        bool found = false;
        for (int row = 0; row < tensors->model()->rowCount(); ++row)
            found |= tensors->model()->index(row, 1).data().toString() == QLatin1String("fc1.weight") &&
                     tensors->model()->index(row, 3).data().toString() == QLatin1String("[24, 16]");
        QVERIFY(found);
        auto* config = table(place.page, "Configuration");
        QVERIFY(config->model()->rowCount() > 10);
        auto* memory = table(place.page, "Memory");
        QVERIFY(memory->model()->rowCount() >= 3);
    }

    void the_choice_of_the_type_of_weights_changes_the_estimate_and_is_kept() {
        Place place;
        EVENTUALLY(place.page.current() == Place::demo());
        EVENTUALLY(visible<QPushButton>(place.page, QStringLiteral("Load")) != nullptr);
        auto* dtype = visible<QComboBox>(place.page, QStringLiteral("Type of the weights in memory"));
        QVERIFY(dtype != nullptr);
        QTest::keyClicks(dtype, QStringLiteral("bf16"));
        QCOMPARE(dtype->currentText(), QStringLiteral("bf16"));
        QCOMPARE(place.settings.get(setting::dtype), QStringLiteral("bf16"));
        click(place.page, "Load");
        EVENTUALLY(place.engine.state() == EngineWorker::State::ready);
        QCOMPARE(place.engine.model()->dtype, DType::bfloat16);
    }

    void a_folder_is_added_remembered_and_forgotten() {
        QTemporaryDir elsewhere;
        writeTinyModel(elsewhere.filePath(QStringLiteral("mine")), 32, 24);
        Place place;
        place.dialogs.folder = elsewhere.filePath(QStringLiteral("mine"));
        click(place.page, "Add folder…");
        EVENTUALLY(place.page.current() == place.dialogs.folder);
        QCOMPARE(place.settings.get(setting::modelFolders), QStringList{place.dialogs.folder});
        auto* forget =
            visible<QToolButton>(place.page, QStringLiteral("Take this folder off the list (nothing is deleted)"));
        QVERIFY(forget != nullptr);
        QTest::mouseClick(forget, Qt::LeftButton);
        EVENTUALLY(!hasRow(place.page, QStringLiteral("mine")));
        QVERIFY(QFileInfo::exists(place.dialogs.folder + QStringLiteral("/vitrine.json")));
        click(place.page, "Undo");
        EVENTUALLY(hasRow(place.page, QStringLiteral("mine")));
    }

    void parts_are_paired_to_a_model_that_says_it_is_untrained() {
        QTemporaryDir elsewhere;
        writeTinyModel(elsewhere.filePath(QStringLiteral("wide")), 32, 24);
        Place place;
        place.settings.set(setting::modelFolders, {elsewhere.filePath(QStringLiteral("wide"))});
        place.controller->refresh();
        EVENTUALLY(hasRow(place.page, QStringLiteral("wide")));
        click(place.page, "Pair…");
        auto* dialog = place.page.findChild<QDialog*>();
        EVENTUALLY(dialog != nullptr && dialog->isVisible());
        auto* make = visible<QPushButton>(*dialog, QStringLiteral("Make the model"));
        EVENTUALLY(make->isEnabled());

        auto* vision = visible<QComboBox>(*dialog, QStringLiteral("Vision checkpoint"));
        auto* projector = visible<QComboBox>(*dialog, QStringLiteral("Projector file"));
        vision->setCurrentIndex(vision->findText(QStringLiteral("wide"), Qt::MatchContains));
        projector->setCurrentIndex(projector->findText(QStringLiteral("tiny"), Qt::MatchContains));
        EVENTUALLY(visible<QLabel>(*dialog, QStringLiteral("These parts do not fit together.")) != nullptr);
        QVERIFY(!make->isEnabled());
        projector->setCurrentIndex(0);  // a new one
        EVENTUALLY(make->isEnabled());
        auto* name = visible<QLineEdit>(*dialog, QStringLiteral("Name of the new model"));
        name->selectAll();
        QTest::keyClicks(name, QStringLiteral("My ../pair"));
        QTest::mouseClick(make, Qt::LeftButton);
        EVENTUALLY(hasRow(place.page, QStringLiteral("My ../pair")));
        QVERIFY(!dialog->isVisible());
        const QString made = place.page.current();
        QCOMPARE(QFileInfo(made).path(), place.profile.modelsFolder());
        QVERIFY2(hasRow(place.page, QStringLiteral("untrained projector")), qPrintable(rows(place.page).join(u'\n')));
    }

    void a_checkpoint_is_downloaded_from_the_dialog_to_the_list() {
        HubImitation hub;
        const QString id = QStringLiteral("google/siglip-tiny");
        for (const char* name : {"config.json", "model.safetensors"}) {
            const QString file = QString::fromUtf8(name);
            hub.add(id, file, readFile(Place::demo() + QStringLiteral("/vision/") + file));
        }
        hub.add(id, QStringLiteral("README.md"), "about", false);
        Place place(&hub);
        click(place.page, "Download…");
        auto* dialog = place.page.findChild<QDialog*>();
        EVENTUALLY(dialog != nullptr && dialog->isVisible());
        auto* name = visible<QLineEdit>(*dialog, QStringLiteral("Name of the model on the hub"));

        QTest::keyClicks(name, QStringLiteral("nonsense"));
        click(*dialog, "Show files");
        auto* files = dialog->findChild<QTreeWidget*>();
        QCOMPARE(files->topLevelItemCount(), 0);
        name->selectAll();
        QTest::keyClicks(name, id);
        QTest::keyClick(name, Qt::Key_Return);
        EVENTUALLY(files->topLevelItemCount() == 3);
        QCOMPARE(files->topLevelItem(2)->text(0), QStringLiteral("README.md"));
        QCOMPARE(files->topLevelItem(2)->checkState(0), Qt::Unchecked);
        click(*dialog, "Download");
        QVERIFY(!dialog->isVisible());
        const QString folder = place.profile.modelsFolder() + QStringLiteral("/google--siglip-tiny");
        EVENTUALLY(place.page.current() == folder);
        QVERIFY2(rows(place.page).contains(QStringLiteral("Vision")), qPrintable(rows(place.page).join(u'\n')));
        QVERIFY(!rows(place.page).contains(QStringLiteral("Downloads")));
        QVERIFY(!QFileInfo::exists(folder + QStringLiteral("/README.md")));
        QVERIFY(place.activities.all().isEmpty());
    }

    void a_download_is_paused_by_the_stop_of_the_status_bar() {
        HubImitation hub;
        hub.setPace(2'000);
        const QString id = QStringLiteral("google/siglip-tiny");
        hub.add(id, QStringLiteral("model.safetensors"), QByteArray(3'000'000, 'x'));
        Place place(&hub);
        click(place.page, "Download…");
        auto* dialog = place.page.findChild<QDialog*>();
        auto* name = visible<QLineEdit>(*dialog, QStringLiteral("Name of the model on the hub"));
        QTest::keyClicks(name, id);
        QTest::keyClick(name, Qt::Key_Return);
        auto* start = visible<QPushButton>(*dialog, QStringLiteral("Download"));
        EVENTUALLY(start->isEnabled());
        QTest::mouseClick(start, Qt::LeftButton);
        EVENTUALLY(place.page.current() == id);
        EVENTUALLY(place.activities.all().size() == 1);
        place.activities.all().first()->stop();
        EVENTUALLY(hasRow(place.page, QStringLiteral("paused")));
        EVENTUALLY(place.activities.all().isEmpty());
        QVERIFY(visible<QPushButton>(place.page, QStringLiteral("Resume")) != nullptr);
    }
};

VITRINE_TEST(TestModelsController)
#include "test_models_controller.moc"
