#pragma once

#include <QModelIndex>
#include <QPlainTextEdit>
#include <QStringList>
#include <QTimer>
#include <QWidget>

#include <memory>
#include <unordered_map>

class QFrame;
class QLabel;
class QPushButton;
class QTextDocument;

namespace vitrine {

// The text field for captions: leaves to the page the keys that drive the list or caption a picture.
class CaptionText : public QPlainTextEdit {
    Q_OBJECT

public:
    using QPlainTextEdit::QPlainTextEdit;

Q_SIGNALS:
    void stepWanted(int rows);
    void leaveWanted();

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
};

// One picture's caption: the text with its own undo history, which is kept (for the pictures edited last) while others
// are looked at; state, provenance and failure; the text streaming in while the picture is captioned. A new caption of
// the model becomes one step of that history, so it can be undone. Lives on the UI thread.
class CaptionEditor : public QWidget {
    Q_OBJECT

public:
    explicit CaptionEditor(QWidget* parent = nullptr);
    ~CaptionEditor() override;

    void show(const QModelIndex& row);     // another picture, or none; what was typed is announced first
    void refresh(const QModelIndex& row);  // the same picture, something of it changed
    void flush();

    void beginStream(const QString& path, const QString& name);
    void appendStream(const QString& path, const QString& piece);
    void endStream(const QString& path);

    void askReplace();  // whether a hand-written caption may be replaced; replaceConfirmed() is the answer yes
    CaptionText* text() const { return m_text; }

Q_SIGNALS:
    void edited(const QString& path, const QString& text);
    void retryWanted(const QString& path);
    void replaceConfirmed();
    void goToWanted(const QString& path);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Stream {
        QString path;
        QString name;
        std::unique_ptr<QTextDocument> document;
    };

    QWidget* buildFailure();
    QWidget* buildQuestion();
    QTextDocument* documentOf(const QString& path, const QString& caption);
    void typed();
    void setDocument(QTextDocument* document, bool readOnly);
    void showState(const QModelIndex& row);
    void drawStateIcon();
    void showLive();
    void showSize();

    QLabel* m_stateIcon = nullptr;
    QLabel* m_state = nullptr;
    CaptionText* m_text = nullptr;
    QLabel* m_provenance = nullptr;
    QLabel* m_size = nullptr;
    QFrame* m_failure = nullptr;
    QLabel* m_reason = nullptr;
    QPushButton* m_retry = nullptr;
    QFrame* m_question = nullptr;
    QPushButton* m_live = nullptr;

    QString m_stateIconName;
    QString m_path;
    QString m_caption;  // as the row has it, or as announced since
    std::unordered_map<QString, std::unique_ptr<QTextDocument>> m_documents;
    QStringList m_used;  // paths of m_documents, used last last
    std::unique_ptr<QTextDocument> m_none;
    Stream m_stream;
    QTimer m_pause;
    bool m_typed = false;    // something typed has not been announced
    bool m_syncing = false;  // the program changes the text, not the person
};

}  // namespace vitrine
