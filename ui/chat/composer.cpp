#include "ui/chat/composer.h"

#include "ui/captions/drop_data.h"
#include "ui/chat/chat_settings_panel.h"
#include "ui/chat/picture_strip.h"
#include "ui/icons.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QInputMethodEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextLayout>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kMaxLines = 9;  // of the text before it scrolls

// Cells of a table come as text and as a picture of them: the text is meant.
bool offersPictures(const QMimeData& mime) {
    const bool plainText = mime.hasFormat(QStringLiteral("text/plain")) && !mime.hasUrls();
    return !plainText && DropData::of(mime).isOurs();
}

}  // namespace

MessageEdit::MessageEdit(QWidget* parent) : QPlainTextEdit(parent) {
    setTabChangesFocus(true);
    setAccessibleName(tr("Message"));
    setPlaceholderText(tr("Ask about a picture, or anything else"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(this, &QPlainTextEdit::textChanged, this, &MessageEdit::fitHeight);
    fitHeight();
}

void MessageEdit::fitHeight() {
    int lines = 0;
    for (QTextBlock block = document()->begin(); block.isValid() && lines < kMaxLines; block = block.next())
        lines += std::max(1, block.layout()->lineCount());
    const int frame = height() - viewport()->height();
    const int around = frame > 0 && frame < 40 ? frame : 2 * theme::kSpace;
    const int wanted = fontMetrics().lineSpacing() * std::clamp(lines, 2, kMaxLines) + around +
                       static_cast<int>(2 * document()->documentMargin());
    if (wanted != height()) setFixedHeight(wanted);
}

void MessageEdit::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    fitHeight();
}

void MessageEdit::inputMethodEvent(QInputMethodEvent* event) {
    m_composing = !event->preeditString().isEmpty();
    QPlainTextEdit::inputMethodEvent(event);
}

bool MessageEdit::event(QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        // Deletes the rest of the line on some desktops; here it leads to the search.
        if (key->key() == Qt::Key_K && key->modifiers() == Qt::ControlModifier) {
            event->ignore();
            return true;
        }
    }
    return QPlainTextEdit::event(event);
}

void MessageEdit::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !m_composing && !(event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier))) {
        Q_EMIT sendWanted();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

bool MessageEdit::canInsertFromMimeData(const QMimeData* source) const {
    return offersPictures(*source) || QPlainTextEdit::canInsertFromMimeData(source);
}

void MessageEdit::insertFromMimeData(const QMimeData* source) {
    if (offersPictures(*source))
        Q_EMIT picturesOffered(source);
    else
        QPlainTextEdit::insertFromMimeData(source);
}

Composer::Composer(QWidget* parent) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(theme::kGroup, theme::kSpace, theme::kGroup, theme::kSpace);
    column->setSpacing(theme::kSpace);

    m_settings = new ChatSettingsPanel(this);
    m_settings->hide();
    column->addWidget(m_settings);

    m_pictures = new PictureStrip(true, this);
    m_pictures->setAccessibleName(tr("Pictures of this message"));
    m_pictures->hide();
    column->addWidget(m_pictures);

    m_edit = new MessageEdit(this);
    m_attach = new QToolButton(this);
    m_attach->setIcon(icon(QStringLiteral("attach")));
    m_attach->setToolTip(tr("Add pictures (Ctrl+Shift+A); they can be dropped and pasted too"));
    m_attach->setAccessibleName(tr("Add pictures"));
    m_attach->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+A")));
    m_fold = new QToolButton(this);
    m_fold->setIcon(icon(QStringLiteral("settings")));
    m_fold->setCheckable(true);
    m_fold->setToolTip(tr("System prompt and generation settings"));
    m_fold->setAccessibleName(tr("System prompt and generation settings"));
    m_send = new QPushButton(iconOnAccent(QStringLiteral("send")), tr("Send"), this);
    theme::setButtonKind(*m_send, "primary");
    m_stop = new QPushButton(icon(QStringLiteral("stop")), tr("Stop"), this);
    m_stop->setToolTip(tr("Stop the answer (Esc); what was written stays"));
    m_stop->setAccessibleName(tr("Stop the answer"));
    m_stop->hide();
    m_choose = new QPushButton(icon(QStringLiteral("models")), tr("Choose a model"), this);
    m_choose->hide();

    auto* row = new QHBoxLayout;
    row->setSpacing(theme::kSpace);
    auto* tools = new QVBoxLayout;
    tools->setSpacing(theme::kTight);
    tools->addStretch(1);
    auto* toolRow = new QHBoxLayout;
    toolRow->setSpacing(theme::kTight);
    toolRow->addWidget(m_attach);
    toolRow->addWidget(m_fold);
    tools->addLayout(toolRow);
    row->addLayout(tools);
    row->addWidget(m_edit, 1);
    auto* wishes = new QVBoxLayout;
    wishes->addStretch(1);
    wishes->addWidget(m_choose);
    wishes->addWidget(m_stop);
    wishes->addWidget(m_send);
    row->addLayout(wishes);
    column->addLayout(row);

    auto* foot = new QHBoxLayout;
    foot->setSpacing(theme::kSpace);
    m_hint = new QLabel(this);
    m_speed = new QLabel(this);
    m_context = new QLabel(this);
    m_contextBar = new QProgressBar(this);
    m_contextBar->setTextVisible(false);
    m_contextBar->setFixedWidth(fontMetrics().averageCharWidth() * 14);
    m_contextBar->setAccessibleName(tr("Context used"));
    for (QLabel* label : {m_hint, m_speed, m_context}) {
        label->setTextFormat(Qt::PlainText);
        label->setFont(theme::smallFont(font()));
        theme::setMuted(*label);
    }
    m_hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    foot->addWidget(m_hint, 1);
    foot->addWidget(m_speed);
    foot->addWidget(m_context);
    foot->addWidget(m_contextBar);
    column->addLayout(foot);

    connect(m_edit, &MessageEdit::sendWanted, this, &Composer::send);
    connect(m_edit, &MessageEdit::picturesOffered, this, [this](const QMimeData* mime) { offer(*mime); });
    connect(m_edit, &QPlainTextEdit::textChanged, this, &Composer::refresh);
    connect(m_send, &QPushButton::clicked, this, &Composer::send);
    connect(m_stop, &QPushButton::clicked, this, &Composer::stopWanted);
    connect(m_attach, &QToolButton::clicked, this, &Composer::attachWanted);
    connect(m_choose, &QPushButton::clicked, this, &Composer::modelWanted);
    connect(m_fold, &QToolButton::toggled, m_settings, &QWidget::setVisible);
    connect(m_pictures, &PictureStrip::removeWanted, this, &Composer::removeWanted);
    connect(m_pictures, &PictureStrip::thumbnailWanted, this, &Composer::thumbnailWanted);
    connect(m_pictures, &PictureStrip::activated, this, &Composer::pictureActivated);
    setContext(0, 0);
    refresh();
}

void Composer::setPictures(const QList<TurnPicture>& pictures) {
    m_pictures->setPictures(pictures);
    m_pictures->setVisible(!pictures.isEmpty());
    refresh();
}

void Composer::setThumbnail(const QString& key, const QImage& image) {
    m_pictures->setThumbnail(key, image);
}

void Composer::setModel(const ChatModelState& model) {
    m_model = model;
    refresh();
}

void Composer::setAnswering(bool answering, int waiting) {
    const bool hadFocus = m_stop->hasFocus() || m_send->hasFocus();
    m_answering = answering;
    m_waiting = waiting;
    refresh();
    if (hadFocus && !m_stop->isVisible() && !m_send->hasFocus()) m_edit->setFocus();
}

void Composer::setSpeed(const QString& text) {
    m_speed->setText(text);
}

void Composer::setContext(int used, int total) {
    const bool known = total > 0;
    m_context->setVisible(known);
    m_contextBar->setVisible(known);
    if (!known) return;
    m_context->setText(tr("Context %L1 of %L2").arg(used).arg(total));
    m_contextBar->setRange(0, total);
    m_contextBar->setValue(std::min(used, total));
    m_contextBar->setToolTip(m_context->text());
}

void Composer::clearText() {
    m_edit->clear();
}
QString Composer::text() const {
    return m_edit->toPlainText();
}
void Composer::setText(const QString& text) {
    m_edit->setPlainText(text);
    m_edit->moveCursor(QTextCursor::End);
}

// One button's place: Send, or Stop while nothing more is typed. Whatever cannot be done says why in the line below.
void Composer::refresh() {
    bool loading = false;
    bool broken = false;
    for (const TurnPicture& picture : m_pictures->pictures()) {
        loading = loading || picture.loading;
        broken = broken || !picture.problem.isEmpty();
    }
    const bool empty = m_edit->toPlainText().trimmed().isEmpty() && !hasPictures();
    const bool askable = m_model.whyNot.isEmpty();
    m_choose->setVisible(!askable && !m_model.loading);
    m_stop->setVisible(m_answering);
    m_send->setVisible(!m_answering || !empty);
    m_send->setText(m_answering ? tr("Send next") : tr("Send"));
    m_send->setEnabled(!empty && askable && !loading);
    QString hint = tr("Enter sends, Shift+Enter begins a new line");
    if (!askable)
        hint = m_model.whyNot;
    else if (loading)
        hint = tr("Reading the picture …");
    else if (broken)
        hint = tr("A picture with a warning is left out of the message");
    else if (m_waiting > 0)
        hint = tr("%n message(s) waiting", nullptr, m_waiting);
    else if (m_answering)
        hint = tr("Esc stops; a message sent now is answered next");
    m_hint->setText(hint);
    m_hint->setToolTip(hint);
    m_send->setToolTip(m_send->isEnabled() ? tr("Send (Enter)") : hint);
}

bool Composer::hasPictures() const {
    const QList<TurnPicture>& pictures = m_pictures->pictures();
    return std::any_of(pictures.begin(), pictures.end(),
                       [](const TurnPicture& picture) { return picture.problem.isEmpty() && !picture.loading; });
}

void Composer::send() {
    if (m_send->isEnabled() && !m_send->isHidden()) Q_EMIT sendWanted(m_edit->toPlainText());
}

void Composer::offer(const QMimeData& mime) {
    const DropData content = DropData::of(mime);
    QList<QUrl> files;
    for (const QString& file : content.files + content.folders) files += QUrl::fromLocalFile(file);
    if (files.isEmpty() && !content.hasImage()) files = mime.urls();  // refused with a reason
    if (!files.isEmpty()) {
        Q_EMIT filesOffered(files);
    } else {
        Q_EMIT imageOffered(content.image.isNull() ? QImage::fromData(content.imageBytes) : content.image);
    }
}

}  // namespace vitrine
