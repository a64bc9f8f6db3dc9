#include "app/application.h"
#include "app/single_instance.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QTextStream>

#include <algorithm>
#include <clocale>
#include <optional>
#include <string_view>

namespace {

using namespace vitrine;

struct Screenshot {
    QString file;
    QSize size{1280, 800};
};

// "1280x800"
std::optional<QSize> sizeFrom(const QString& text) {
    const QStringList sides = text.split(QLatin1Char('x'));
    const QSize size = sides.size() == 2 ? QSize(sides[0].toInt(), sides[1].toInt()) : QSize();
    return size.isEmpty() ? std::nullopt : std::optional(size);
}

// Renders the window once what it opened has settled, and ends the program.
void takeScreenshot(Application& application, const Screenshot& shot) {
    application.window().resize(shot.size);
    auto* timer = new QTimer(&application);
    timer->setInterval(500);
    QObject::connect(timer, &QTimer::timeout, &application, [&application, shot, quiet = 0]() mutable {
        quiet = application.activities().all().isEmpty() ? quiet + 1 : 0;
        if (quiet < 3) return;
        const bool saved = application.window().grab().save(shot.file);
        if (!saved) QTextStream(stderr) << "The picture cannot be written to " << shot.file << '\n';
        QApplication::exit(saved ? 0 : 1);
    });
    timer->start();
}

}  // namespace

int main(int argc, char** argv) {
    const auto asks = [&](std::string_view option) {
        return std::any_of(argv + 1, argv + argc, [&](std::string_view word) { return word.starts_with(option); });
    };
    if (asks("--screenshot") && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
    }
    QApplication qt(argc, argv);
    std::setlocale(LC_NUMERIC, "C");  // numbers in files and prompts are the same everywhere
    QApplication::setApplicationName(QStringLiteral("vitrine"));
    QApplication::setApplicationDisplayName(QStringLiteral("Vitrine"));
    QApplication::setApplicationVersion(QStringLiteral(VITRINE_VERSION));

    QCommandLineParser parser;
    parser.setApplicationDescription(QApplication::translate("main", "A see-through vision-language model"));
    parser.addHelpOption();
    parser.addVersionOption();
    const auto option = [&parser](const char* name, const char* text, const char* value) {
        parser.addOption(
            {QString::fromLatin1(name), QApplication::translate("main", text), QString::fromLatin1(value)});
    };
    option("profile", "Keep settings, chats and caches in this folder", "folder");
    option("place", "Open at this place: captions, chat, models", "place");
    parser.addOption({QStringLiteral("insight"), QApplication::translate("main", "Show where the model looks")});
    option("theme", "Colours: system, light or dark", "theme");
    option("screenshot", "Render the window into this file and end", "file");
    option("size", "Size of the screenshot, for example 1280x800", "size");
    parser.addPositionalArgument(QStringLiteral("pictures"),
                                 QApplication::translate("main", "Pictures and folders to open"),
                                 QStringLiteral("[pictures...]"));
    parser.process(qt);

    QStringList files;
    for (const QString& file : parser.positionalArguments()) files << QFileInfo(file).absoluteFilePath();
    const Profile profile = parser.isSet(QStringLiteral("profile"))
                                ? Profile::at(parser.value(QStringLiteral("profile")))
                                : Profile::standard();
    const bool shooting = parser.isSet(QStringLiteral("screenshot"));
    SingleInstance instance(profile.identity());
    if (!shooting) {
        if (instance.handOver(files)) return 0;
        instance.listen();
    }

    Application application(profile);
    QObject::connect(&instance, &SingleInstance::filesArrived, &application, [&](const QStringList& arrived) {
        application.comeToFront();
        application.openPaths(arrived);
    });
    if (parser.isSet(QStringLiteral("theme"))) {
        application.settings().set(setting::theme, parser.value(QStringLiteral("theme")));
        Q_EMIT application.window().themeChosen(parser.value(QStringLiteral("theme")));
    }
    application.start();
    if (parser.isSet(QStringLiteral("insight"))) application.showInsight();
    application.openPaths(files);
    if (parser.isSet(QStringLiteral("place"))) application.window().showPlace(parser.value(QStringLiteral("place")));
    if (shooting) {
        takeScreenshot(application,
                       {.file = parser.value(QStringLiteral("screenshot")),
                        .size = sizeFrom(parser.value(QStringLiteral("size"))).value_or(QSize(1280, 800))});
    }
    return QApplication::exec();
}
