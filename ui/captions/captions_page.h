#pragma once

#include "ui/captions/roles.h"
#include "ui/captions/values.h"

#include <QPersistentModelIndex>
#include <QWidget>

class QAbstractItemModel;
class QLabel;
class QPushButton;
class QSplitter;
class QStackedWidget;

namespace vitrine {

class CaptionEditor;
class MessageBar;
class PictureList;
class PictureView;
class PromptPanel;
struct Picture;

// The Captions place: list or grid of pictures on the left, the picture in the middle, its caption and the prompt on
// the right. Lives on the UI thread, shows what it is given and emits wishes; it never opens a file or runs a model. A
// row is named by its path everywhere, so sorting, filtering and late answers cannot mix pictures up: an answer for a
// picture that is no longer shown is ignored. What a person types is announced after a short pause, and at the latest
// when another picture is selected, the page is hidden or flushEdits() is called.
class CaptionsPage : public QWidget {
    Q_OBJECT

public:
    explicit CaptionsPage(QWidget* parent = nullptr);

    // A flat list model with the roles of roles.h, not owned; may be null. Searching, filtering and sorting are done
    // here, in slices. Rows are best added in blocks of up to about 1,000, and a scattered removal of many rows is best
    // a model reset: the page finds selection and current picture again by path.
    void setModel(QAbstractItemModel* model);

    // Lists of paths are in the order shown.
    void select(const QString& path);
    QString currentPath() const;
    QStringList selectedPaths() const;
    QStringList shownPaths() const;

    // The picture in the middle: the answer to pictureWanted().
    void setPicture(const QString& path, const Picture& picture);
    void setPictureFailed(const QString& path, const QString& reason);
    PictureView* pictureView() const { return m_view; }

    // Captioning. While a caption streams, the editor of that picture shows it read-only; the caption role holds the
    // final text by the time of endStream(), or the old one when it was stopped. Nothing streamed is announced as an
    // edit.
    void setReady(bool ready, const QString& whyNot = {});  // whether a model is loaded; the reason is shown
    void setProgress(const CaptionProgress& progress);
    void beginStream(const QString& path);
    void appendStream(const QString& path, const QString& piece);
    void endStream(const QString& path);

    // Setting them emits nothing; the page keeps what it does not show of the generation options.
    void setPresets(const QList<CaptionPreset>& presets);
    void setSettings(const CaptionSettings& settings);
    CaptionSettings settings() const;

    MessageBar* messages() const { return m_messages; }  // the line of news at the foot of the page

    void flushEdits();
    void focusSearch();

    // Places of the splitters, list or grid, sort order, fold-out. Search text and filter begin empty.
    QByteArray saveState() const;
    bool restoreState(const QByteArray& state);

Q_SIGNALS:
    void openFilesWanted();
    void openFolderWanted();
    void pasteWanted();  // Ctrl+V outside of a text field, or the button of the empty page

    // The picture to show now and those a person will probably look at next, nearest first.
    void pictureWanted(const QString& path, const QStringList& next);
    // Thumbnails of the rows in view, top to bottom; everything asked for before is no longer wanted. `edge` is the
    // longest side in device pixels.
    void thumbnailsWanted(const QStringList& paths, int edge);

    // The model is expected to answer the caption role with the text when the signal returns; saving may take longer.
    void captionEdited(const QString& path, const QString& text);
    void captionWanted(const QStringList& paths, vitrine::CaptionPolicy policy);
    void retryWanted(const QStringList& paths);  // failed ones
    void stopWanted();
    void resumeWanted();
    void removeWanted(const QStringList& paths);  // from the list, never from the disk
    void revealWanted(const QString& path);       // in the system's file manager
    void exportWanted(vitrine::CaptionExport format, const QStringList& paths);
    void settingsChanged(const vitrine::CaptionSettings& settings);

protected:
    void hideEvent(QHideEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Scope { current, selection, shown };

    QWidget* buildMiddle();
    void buildShortcuts();
    void showRow(const QModelIndex& row);
    void refreshRow();
    void updateActions();
    void caption(Scope scope);
    void captionConfirmed();

    QStackedWidget* m_pages = nullptr;  // the empty state or the place itself
    QSplitter* m_columns = nullptr;
    QSplitter* m_right = nullptr;
    PictureList* m_list = nullptr;
    PictureView* m_view = nullptr;
    QLabel* m_about = nullptr;  // size, zoom and notes of the picture
    CaptionEditor* m_editor = nullptr;
    PromptPanel* m_prompt = nullptr;
    MessageBar* m_messages = nullptr;
    QPersistentModelIndex m_row;
    CaptionProgress m_progress;
    bool m_ready = false;
};

}  // namespace vitrine
