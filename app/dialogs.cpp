#include "app/dialogs.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>

namespace vitrine {
namespace {

// Opens a dialog that deletes itself, and hands over what was chosen.
void open(QWidget* parent, const Dialogs::FileWish& wish, QString& lastFolder, QFileDialog::FileMode mode,
          QFileDialog::AcceptMode acceptMode, const std::function<void(const QStringList&)>& answer) {
    auto* dialog = new QFileDialog(parent, wish.title, wish.folder.isEmpty() ? lastFolder : wish.folder, wish.filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(mode);
    dialog->setAcceptMode(acceptMode);
    if (mode == QFileDialog::Directory) dialog->setOption(QFileDialog::ShowDirsOnly);
    if (!wish.suggested.isEmpty()) dialog->selectFile(wish.suggested);
    QObject::connect(dialog, &QFileDialog::accepted, dialog, [dialog, answer, &lastFolder] {
        lastFolder = dialog->directory().absolutePath();
        if (const QStringList chosen = dialog->selectedFiles(); !chosen.isEmpty()) answer(chosen);
    });
    dialog->open();
}

}  // namespace

void Dialogs::openFiles(QWidget* parent, const FileWish& wish, std::function<void(const QStringList&)> answer) {
    open(parent, wish, m_lastFolder, QFileDialog::ExistingFiles, QFileDialog::AcceptOpen, answer);
}

void Dialogs::openFolder(QWidget* parent, const FileWish& wish, std::function<void(const QString&)> answer) {
    open(parent, wish, m_lastFolder, QFileDialog::Directory, QFileDialog::AcceptOpen,
         [answer = std::move(answer)](const QStringList& chosen) { answer(chosen.first()); });
}

void Dialogs::saveFile(QWidget* parent, const FileWish& wish, std::function<void(const QString&)> answer) {
    open(parent, wish, m_lastFolder, QFileDialog::AnyFile, QFileDialog::AcceptSave,
         [answer = std::move(answer)](const QStringList& chosen) { answer(chosen.first()); });
}

void Dialogs::confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes,
                      std::function<void()> agreed) {
    auto* box = new QMessageBox(QMessageBox::Question, title, text, QMessageBox::Cancel, parent);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setTextFormat(Qt::PlainText);
    const QPushButton* const button = box->addButton(yes, QMessageBox::AcceptRole);
    QObject::connect(button, &QPushButton::clicked, box, std::move(agreed));
    box->open();
}

}  // namespace vitrine
