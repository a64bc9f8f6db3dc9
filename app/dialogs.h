#pragma once

#include <QString>
#include <QStringList>

#include <functional>

class QWidget;

namespace vitrine {

// The one seam to dialogs of the desktop, so that tests can answer them. None of them blocks: the answer comes later,
// on the UI thread, and does not come when the person backs out.
class Dialogs {
public:
    virtual ~Dialogs() = default;

    struct FileWish {
        QString title;
        QString folder;     // where to begin; empty: where the last one ended
        QString filter;     // "Pictures (*.png *.jpg)"; empty: all files
        QString suggested;  // name of the file to save
    };

    virtual void openFiles(QWidget* parent, const FileWish& wish, std::function<void(const QStringList&)> answer);
    virtual void openFolder(QWidget* parent, const FileWish& wish, std::function<void(const QString&)> answer);
    virtual void saveFile(QWidget* parent, const FileWish& wish, std::function<void(const QString&)> answer);
    // A question with a safe way out: `yes` names what happens ("Replace 12 captions").
    virtual void confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes,
                         std::function<void()> agreed);

private:
    QString m_lastFolder;
};

}  // namespace vitrine
