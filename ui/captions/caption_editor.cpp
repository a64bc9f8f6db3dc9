#include "ui/captions/caption_editor.h"

#include "ui/captions/roles.h"
#include "ui/captions/state_text.h"
#include "ui/icons.h"
#include "ui/theme.h"

#include <QFrame>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextDocumentLayout>
#include <QPushButton>
#include <QTextCursor>
#include <QTextDocument>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace vitrine {
namespace {

constexpr int kPause = 400;      // ms without a key before an edit is announced
constexpr int kDocuments = 200;  // pictures whose history is kept
constexpr int kLiveCharacters = 160;

std::unique_ptr<QTextDocument> makeDocument(const QFont& font) {
    auto document = std::make_unique<QTextDocument>();
    document->setDocumentLayout(new QPlainTextDocumentLayout(document.get()));
    document->setDefaultFont(font);
    return document;
}

// As one step of the history.
void replaceText(QTextDocument& document, const QString& text) {
    QTextCursor cursor(&document);
    cursor.beginEditBlock();
    cursor.select(QTextCursor::Document);
    cursor.insertText(text);
    cursor.endEditBlock();
}

QFrame* makeBar(QWidget* parent) {
    auto* bar = new QFrame(parent);
    bar->setObjectName(QStringLiteral("bar"));
    bar->setStyleSheet(
        QStringLiteral("#bar { border: 1px solid palette(mid); border-radius: 6px; background: palette(base); }"));
    bar->hide();
    return bar;
}

}  // namespace

bool CaptionText::event(QEvent* event) {
    // Ctrl+Return belongs to the page's shortcut, not to the text.
    if (event->type() == QEvent::ShortcutOverride) {
        auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (enter && key->modifiers().testFlag(Qt::ControlModifier)) {
            event->ignore();
            return true;
        }
    }
    return QPlainTextEdit::event(event);
}

void CaptionText::keyPressEvent(QKeyEvent* event) {
    const auto modifiers = event->modifiers() & ~Qt::KeypadModifier;
    const bool drives = modifiers == Qt::ControlModifier || modifiers == Qt::AltModifier;
    if (drives && event->key() == Qt::Key_Up) {
        Q_EMIT stepWanted(-1);
    } else if (drives && event->key() == Qt::Key_Down) {
        Q_EMIT stepWanted(1);
    } else if (event->key() == Qt::Key_Escape) {
        Q_EMIT leaveWanted();
    } else {
        QPlainTextEdit::keyPressEvent(event);
    }
}

CaptionEditor::CaptionEditor(QWidget* parent) : QWidget(parent) {
    auto* title = new QLabel(tr("Caption"), this);
    title->setFont(theme::headingFont(font()));
    m_stateIcon = new QLabel(this);
    m_state = new QLabel(this);
    theme::setMuted(*m_state);
    m_text = new CaptionText(this);
    m_text->setAccessibleName(tr("Caption"));
    m_text->setTabChangesFocus(true);
    m_text->setPlaceholderText(tr("Write a caption, or let the model do it with Ctrl+Return."));
    title->setBuddy(m_text);
    m_none = makeDocument(m_text->font());
    m_provenance = new QLabel(this);
    m_provenance->setWordWrap(true);
    m_size = new QLabel(this);
    for (QLabel* label : {m_provenance, m_size}) {
        label->setFont(theme::smallFont(font()));
        theme::setMuted(*label);
    }
    m_live = new QPushButton(icon(QStringLiteral("play")), {}, this);
    m_live->setToolTip(tr("Go to the picture being captioned"));
    m_live->setStyleSheet(QStringLiteral("text-align: left"));
    theme::setButtonKind(*m_live, "quiet");
    m_live->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    m_live->hide();

    auto* heading = new QHBoxLayout;
    heading->setSpacing(theme::kTight);
    heading->addWidget(title);
    heading->addStretch(1);
    heading->addWidget(m_stateIcon);
    heading->addWidget(m_state);
    auto* foot = new QHBoxLayout;
    foot->addWidget(m_provenance, 1);
    foot->addStretch(0);  // keeps the size at the right where there is no provenance
    foot->addWidget(m_size, 0, Qt::AlignTop);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme::kTight);
    layout->addLayout(heading);
    layout->addWidget(m_text, 1);
    layout->addLayout(foot);
    layout->addWidget(buildFailure());
    layout->addWidget(buildQuestion());
    layout->addWidget(m_live);

    m_pause.setSingleShot(true);
    m_pause.setInterval(kPause);
    connect(&m_pause, &QTimer::timeout, this, &CaptionEditor::flush);
    setDocument(m_none.get(), true);
    connect(m_live, &QPushButton::clicked, this, [this] { Q_EMIT goToWanted(m_stream.path); });
    showState({});
}

CaptionEditor::~CaptionEditor() {
    m_text->setDocument(nullptr);
}  // the documents go before their editor does

QWidget* CaptionEditor::buildFailure() {
    m_failure = makeBar(this);
    m_reason = new QLabel(m_failure);
    m_reason->setWordWrap(true);
    m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_reason->setAccessibleName(tr("Why it failed"));
    m_retry = new QPushButton(icon(QStringLiteral("retry")), tr("Retry"), m_failure);
    connect(m_retry, &QPushButton::clicked, this, [this] { Q_EMIT retryWanted(m_path); });
    auto* layout = new QVBoxLayout(m_failure);
    layout->setContentsMargins(theme::kSpace, theme::kSpace, theme::kSpace, theme::kSpace);
    layout->addWidget(m_reason);
    layout->addWidget(m_retry, 0, Qt::AlignRight);
    return m_failure;
}

QWidget* CaptionEditor::buildQuestion() {
    m_question = makeBar(this);
    auto* text = new QLabel(tr("This caption was written by hand. Replace it?"), m_question);
    text->setWordWrap(true);
    auto* keep = new QPushButton(tr("Keep"), m_question);
    auto* replace = new QPushButton(tr("Replace"), m_question);
    connect(keep, &QPushButton::clicked, m_question, &QWidget::hide);
    connect(replace, &QPushButton::clicked, this, [this] {
        m_question->hide();
        Q_EMIT replaceConfirmed();
    });
    auto* buttons = new QHBoxLayout;
    buttons->addStretch(1);
    buttons->addWidget(keep);
    buttons->addWidget(replace);
    auto* layout = new QVBoxLayout(m_question);
    layout->setContentsMargins(theme::kSpace, theme::kSpace, theme::kSpace, theme::kSpace);
    layout->addWidget(text);
    layout->addLayout(buttons);
    m_question->setFocusProxy(keep);
    return m_question;
}

void CaptionEditor::askReplace() {
    m_question->show();
    m_question->setFocus();
}

QTextDocument* CaptionEditor::documentOf(const QString& path, const QString& caption) {
    auto& document = m_documents[path];
    if (!document) {
        document = makeDocument(m_text->font());
        document->setPlainText(caption);
        document->setModified(false);
        connect(document.get(), &QTextDocument::contentsChanged, this, &CaptionEditor::typed);
    } else if (document->toPlainText() != caption) {
        m_syncing = true;
        replaceText(*document, caption);
        m_syncing = false;
    }
    QTextDocument* result = document.get();
    m_used.removeOne(path);
    m_used.append(path);
    while (m_used.size() > kDocuments) m_documents.erase(m_used.takeFirst());  // never the one just used
    return result;
}

void CaptionEditor::setDocument(QTextDocument* document, bool readOnly) {
    m_text->setReadOnly(readOnly);
    if (m_text->document() == document) return;
    m_text->setDocument(document);
    m_text->moveCursor(QTextCursor::End);
    showSize();
}

void CaptionEditor::typed() {
    if (m_syncing || sender() != m_text->document() || m_text->isReadOnly()) return;
    m_typed = true;
    m_pause.start();
    showSize();
}

void CaptionEditor::flush() {
    m_pause.stop();
    if (!std::exchange(m_typed, false)) return;
    const QString text = m_documents.at(m_path)->toPlainText();
    if (std::exchange(m_caption, text) != text) Q_EMIT edited(m_path, text);
}

void CaptionEditor::show(const QModelIndex& row) {
    flush();
    m_path = row.data(CaptionRoles::path).toString();
    m_question->hide();
    refresh(row);
}

void CaptionEditor::refresh(const QModelIndex& row) {
    if (!row.isValid()) {
        setDocument(m_none.get(), true);
    } else if (m_stream.document && m_stream.path == m_path) {
        setDocument(m_stream.document.get(), true);
    } else if (!m_typed) {  // what is being typed is newer than what the row says
        m_caption = row.data(CaptionRoles::caption).toString();
        setDocument(documentOf(m_path, m_caption), false);
    }
    showState(row);
    showLive();
    showSize();
}

void CaptionEditor::showState(const QModelIndex& row) {
    const bool any = row.isValid();
    m_text->setEnabled(any);
    m_state->setVisible(any);
    m_stateIcon->setVisible(any);
    const StateText state = any ? stateText(row) : StateText{};
    m_state->setText(state.word);
    if (std::exchange(m_stateIconName, state.iconName) != state.iconName) drawStateIcon();
    const QString provenance = row.data(CaptionRoles::provenance).toString();
    m_provenance->setText(provenance);
    m_provenance->setVisible(!provenance.isEmpty());
    const QString reason = row.data(CaptionRoles::reason).toString();
    const bool idle = row.data(CaptionRoles::work).value<CaptionWork>() == CaptionWork::idle;
    m_reason->setText(reason);
    m_failure->setVisible(any && idle && row.data(CaptionRoles::state).value<CaptionState>() == CaptionState::failed);
}

void CaptionEditor::drawStateIcon() {
    const int side = m_state->fontMetrics().height();
    m_stateIcon->setPixmap(icon(m_stateIconName).pixmap(QSize(side, side), devicePixelRatioF()));
}

void CaptionEditor::showSize() {
    const QString text = m_text->toPlainText();
    const auto words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts).size();
    m_size->setText(text.isEmpty() ? QString() : tr("%1 words, %2 characters").arg(words).arg(text.size()));
    m_size->setVisible(!text.isEmpty());
}

void CaptionEditor::beginStream(const QString& path, const QString& name) {
    flush();
    if (m_stream.document && m_text->document() == m_stream.document.get()) setDocument(m_none.get(), true);
    m_stream = {path, name, makeDocument(m_text->font())};
    if (path == m_path) setDocument(m_stream.document.get(), true);
    m_question->hide();
    showLive();
}

void CaptionEditor::appendStream(const QString& path, const QString& piece) {
    if (!m_stream.document || path != m_stream.path) return;
    QTextCursor cursor(m_stream.document.get());
    cursor.movePosition(QTextCursor::End);
    cursor.insertText(piece);
    if (path == m_path) {
        m_text->moveCursor(QTextCursor::End);
        showSize();
    }
    showLive();
}

void CaptionEditor::endStream(const QString& path) {
    if (!m_stream.document || path != m_stream.path) return;
    if (m_text->document() == m_stream.document.get()) setDocument(m_none.get(), true);  // the page refreshes next
    m_stream = {};
    showLive();
}

void CaptionEditor::showLive() {
    const bool elsewhere = m_stream.document && m_stream.path != m_path;
    m_live->setVisible(elsewhere);
    if (!elsewhere) return;
    // The end of the text is where something happens.
    const QString text = m_stream.document->toPlainText().right(kLiveCharacters).simplified();
    const int room = width() - m_live->iconSize().width() - 2 * theme::kGroup;  // it is as wide as all of this
    const QString name = fontMetrics().elidedText(m_stream.name, Qt::ElideMiddle, room / 2);
    const QString head = tr("%1: ").arg(name);
    m_live->setText(head + fontMetrics().elidedText(text, Qt::ElideLeft, room - fontMetrics().horizontalAdvance(head)));
    m_live->setAccessibleName(tr("Being captioned: %1").arg(m_stream.name));
}

void CaptionEditor::resizeEvent(QResizeEvent*) {
    showLive();
}

void CaptionEditor::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_stateIcon != nullptr) drawStateIcon();
}

}  // namespace vitrine
