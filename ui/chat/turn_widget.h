#pragma once

#include "ui/chat/chat_values.h"
#include "ui/text/markdown.h"

#include <QImage>
#include <QList>
#include <QWidget>

#include <memory>

class QLabel;
class QPlainTextEdit;
class QToolButton;
class QVBoxLayout;

namespace vitrine {

class MarkdownView;
class PictureStrip;

// One turn of the conversation: pictures, thoughts under a disclosure, the text, and a line of buttons. What a user
// wrote is shown as it is; an answer is read as Markdown, piece by piece while it streams. Lives on the UI thread.
class TurnWidget : public QWidget {
    Q_OBJECT

public:
    explicit TurnWidget(QWidget* parent = nullptr);
    ~TurnWidget() override;

    void setTurn(const Turn& turn, const QString& speaker);
    void append(const QString& text, const QString& reasoning);
    const Turn& turn() const { return m_turn; }
    void setThumbnail(const QString& key, const QImage& image);

    MarkdownView* body() const { return m_body; }
    bool isEditing() const { return m_editor != nullptr; }
    bool holdsSelection() const;
    QList<QWidget*> controls() const;  // in the order of the Tab key
    int heightFor(int width) const;

Q_SIGNALS:
    void heightChanged();
    void focused();  // by keyboard: it should be in view
    void thumbnailWanted(const QString& key);
    void pictureActivated(const QString& key);
    void linkClicked(const QString& target);
    void copied();
    void regenerateWanted(qint64 id);
    void insightWanted(qint64 id);
    void editWanted(qint64 id, const QString& text);
    void branchWanted(qint64 id, int step);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QToolButton* makeButton(const QString& iconName, const QString& name);
    void showText();
    void showReasoning();
    void showFoot();
    void describe(const QString& speaker);
    void beginEdit();
    void endEdit(bool send);

    Turn m_turn;
    MarkdownReader m_reader;
    qsizetype m_read = -1;  // characters of the text that m_reader has; -1: it begins anew
    bool m_unfolded = false;
    QString m_shownThoughts;

    QVBoxLayout* m_layout;
    QLabel* m_speaker;
    PictureStrip* m_pictures = nullptr;
    QToolButton* m_disclosure = nullptr;
    MarkdownView* m_reasoning = nullptr;
    MarkdownView* m_body;
    QToolButton* m_unfold = nullptr;  // shows all of a very long text
    QLabel* m_problem;
    QWidget* m_foot;
    QLabel* m_note;
    QToolButton* m_previous;
    QLabel* m_branch;
    QToolButton* m_next;
    QToolButton* m_copy;
    QToolButton* m_edit;
    QToolButton* m_regenerate;
    QToolButton* m_insight;
    QWidget* m_editing = nullptr;
    QPlainTextEdit* m_editor = nullptr;
};

}  // namespace vitrine
