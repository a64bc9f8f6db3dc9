#pragma once

#include "ui/chat/chat_values.h"

#include <QImage>
#include <QList>
#include <QPlainTextEdit>
#include <QUrl>
#include <QWidget>

class QLabel;
class QMimeData;
class QProgressBar;
class QPushButton;
class QToolButton;

namespace vitrine {

class ChatSettingsPanel;
class PictureStrip;

// The text of the next message: grows with what is typed, sends on Enter, hands pictures over instead of taking their
// names. Lives on the UI thread.
class MessageEdit : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit MessageEdit(QWidget* parent = nullptr);

Q_SIGNALS:
    void sendWanted();
    void picturesOffered(const QMimeData* mime);  // valid during the call

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;
    void resizeEvent(QResizeEvent* event) override;
    void inputMethodEvent(QInputMethodEvent* event) override;

private:
    void fitHeight();
    bool m_composing = false;  // an input method holds the Enter key
};

// Foot of the Chat place: pictures to send, the text, Send or Stop, and the settings under a fold. What cannot be sent
// says why. Lives on the UI thread.
class Composer : public QWidget {
    Q_OBJECT

public:
    explicit Composer(QWidget* parent = nullptr);

    void setPictures(const QList<TurnPicture>& pictures);
    void setThumbnail(const QString& key, const QImage& image);
    void setModel(const ChatModelState& model);
    void setAnswering(bool answering, int waiting);  // waiting: messages sent meanwhile
    void setSpeed(const QString& text);
    void setContext(int used, int total);  // tokens; total 0: not known
    void clearText();
    QString text() const;
    void setText(const QString& text);
    MessageEdit* edit() const { return m_edit; }
    ChatSettingsPanel* settings() const { return m_settings; }

    void offer(const QMimeData& mime);  // pictures that were pasted
    bool hasPictures() const;           // that can be sent
    void send();

Q_SIGNALS:
    void sendWanted(const QString& text);
    void stopWanted();
    void attachWanted();
    void filesOffered(const QList<QUrl>& urls);
    void imageOffered(const QImage& image);
    void removeWanted(const QString& key);
    void thumbnailWanted(const QString& key);
    void pictureActivated(const QString& key);
    void modelWanted();

private:
    void refresh();

    PictureStrip* m_pictures;
    MessageEdit* m_edit;
    QToolButton* m_attach;
    QToolButton* m_fold;
    QPushButton* m_send;
    QPushButton* m_stop;
    QPushButton* m_choose;
    QLabel* m_hint;
    QLabel* m_speed;
    QLabel* m_context;
    QProgressBar* m_contextBar;
    ChatSettingsPanel* m_settings;
    ChatModelState m_model;
    bool m_answering = false;
    int m_waiting = 0;
};

}  // namespace vitrine
