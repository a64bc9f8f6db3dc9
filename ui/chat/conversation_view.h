#pragma once

#include "ui/chat/chat_values.h"

#include <QAbstractScrollArea>
#include <QCache>
#include <QImage>
#include <QList>
#include <QTimer>

#include <vector>

class QToolButton;

namespace vitrine {

class TurnWidget;

// A conversation of any length. Only the turns in and near the window are widgets; the others are a height, estimated
// until they have been seen. Turns are made a few at a time, so that opening or scrolling never blocks. The view
// follows what is written only while the reader is at the end. Lives on the UI thread.
class ConversationView : public QAbstractScrollArea {
    Q_OBJECT

public:
    explicit ConversationView(QWidget* parent = nullptr);
    ~ConversationView() override;

    // The whole conversation, or what it has become: turns that are still there keep their place and selection.
    void setTurns(const QList<Turn>& turns, bool jumpToEnd);
    void updateTurn(const Turn& turn);
    void append(qint64 id, const QString& text, const QString& reasoning);
    void setThumbnail(const QString& key, const QImage& image);
    void setSpeaker(const QString& name);  // whose answers these are
    void showTurn(qint64 id);
    void scrollToEnd();

    bool isAtEnd() const { return m_following; }
    TurnWidget* widgetOf(qint64 id) const;  // null while it is far from the window
    int widgetCount() const;

Q_SIGNALS:
    void thumbnailWanted(const QString& key);
    void pictureActivated(const QString& key);
    void linkClicked(const QString& target);
    void copied();
    void regenerateWanted(qint64 id);
    void insightWanted(qint64 id);
    void editWanted(qint64 id, const QString& text);
    void branchWanted(qint64 id, int step);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Row {
        Turn turn;
        TurnWidget* widget = nullptr;
        int height = 0;
        bool measured = false;
    };

    void layoutSoon();
    void layoutNow();  // before a turn is painted at a height it no longer has
    void layoutRows();
    void measure(Row& row);
    int estimate(const Turn& turn) const;
    TurnWidget* makeWidget(const Row& row);
    void dropWidget(Row& row);
    std::vector<int> tops() const;  // of each row, and the end
    int rowAt(const std::vector<int>& tops, int y) const;
    int indexOf(qint64 id) const;
    int columnWidth() const;
    void setScroll(int value, int contentHeight);
    void chainTabs();
    void focusTurn(int step);

    std::vector<Row> m_rows;
    QString m_speaker;
    QCache<QString, QImage> m_thumbnails;
    QTimer m_layoutTimer;
    QToolButton* m_toEnd;
    bool m_following = true;
    bool m_placing = false;   // the scroll bar moves because of us
    bool m_changing = false;  // m_rows is not whole, or being laid out
    int m_width = 0;          // the rows were measured for this width
};

}  // namespace vitrine
