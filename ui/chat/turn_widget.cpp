#include "ui/chat/turn_widget.h"

#include "ui/chat/picture_strip.h"
#include "ui/icons.h"
#include "ui/text/markdown_view.h"
#include "ui/theme.h"

#include <QClipboard>
#include <QFocusEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextCursor>
#include <QToolButton>
#include <QVBoxLayout>

namespace vitrine {
namespace {

constexpr qsizetype kFoldedCharacters = 6'000;  // of what a user pasted; more is shown when asked for

}  // namespace

TurnWidget::TurnWidget(QWidget* parent) : QWidget(parent) {
    m_layout = new QVBoxLayout(this);
    m_layout->setContentsMargins(theme::kGroup, theme::kSpace + 2, theme::kGroup, theme::kSpace);
    m_layout->setSpacing(theme::kTight + 2);

    m_speaker = new QLabel(this);
    m_speaker->setTextFormat(Qt::PlainText);
    QFont bold = theme::smallFont(font());
    bold.setWeight(QFont::DemiBold);
    m_speaker->setFont(bold);
    theme::setMuted(*m_speaker);
    m_layout->addWidget(m_speaker);

    m_body = new MarkdownView(this);
    m_body->installEventFilter(this);
    connect(m_body, &MarkdownView::linkClicked, this, &TurnWidget::linkClicked);
    connect(m_body, &MarkdownView::codeCopied, this, &TurnWidget::copied);
    m_layout->addWidget(m_body);

    m_problem = new QLabel(this);
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->setWordWrap(true);
    m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_problem->hide();
    m_layout->addWidget(m_problem);

    m_foot = new QWidget(this);
    auto* foot = new QHBoxLayout(m_foot);
    foot->setContentsMargins(0, 0, 0, 0);
    foot->setSpacing(2);
    m_copy = makeButton(QStringLiteral("copy"), tr("Copy this message"));
    m_edit = makeButton(QStringLiteral("edit"), tr("Edit and ask again (this version is kept)"));
    m_regenerate = makeButton(QStringLiteral("retry"), tr("Answer again (this answer is kept)"));
    m_insight = makeButton(QStringLiteral("insight"), tr("See where the model looked"));
    m_previous = makeButton(QStringLiteral("chevron-left"), tr("Previous version"));
    m_branch = new QLabel(m_foot);
    m_branch->setFont(theme::smallFont(font()));
    theme::setMuted(*m_branch);
    m_next = makeButton(QStringLiteral("chevron-right"), tr("Next version"));
    m_note = new QLabel(m_foot);
    m_note->setTextFormat(Qt::PlainText);
    m_note->setFont(theme::smallFont(font()));
    theme::setMuted(*m_note);
    m_note->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    for (QWidget* part :
         {static_cast<QWidget*>(m_copy), static_cast<QWidget*>(m_edit), static_cast<QWidget*>(m_regenerate),
          static_cast<QWidget*>(m_insight), static_cast<QWidget*>(m_previous), static_cast<QWidget*>(m_branch),
          static_cast<QWidget*>(m_next)})
        foot->addWidget(part);
    foot->addSpacing(theme::kSpace);
    foot->addWidget(m_note, 1);
    m_layout->addWidget(m_foot);

    connect(m_copy, &QToolButton::clicked, this, [this] {
        QGuiApplication::clipboard()->setText(m_turn.text);
        Q_EMIT copied();
    });
    connect(m_edit, &QToolButton::clicked, this, &TurnWidget::beginEdit);
    connect(m_regenerate, &QToolButton::clicked, this, [this] { Q_EMIT regenerateWanted(m_turn.id); });
    connect(m_insight, &QToolButton::clicked, this, [this] { Q_EMIT insightWanted(m_turn.id); });
    connect(m_previous, &QToolButton::clicked, this, [this] { Q_EMIT branchWanted(m_turn.id, -1); });
    connect(m_next, &QToolButton::clicked, this, [this] { Q_EMIT branchWanted(m_turn.id, 1); });
}

TurnWidget::~TurnWidget() = default;

QToolButton* TurnWidget::makeButton(const QString& iconName, const QString& name) {
    auto* button = new QToolButton(m_foot);
    button->setIcon(icon(iconName));
    button->setToolTip(name);
    button->setAccessibleName(name);
    const int side = fontMetrics().height();
    button->setIconSize({side, side});
    theme::setButtonKind(*button, "quiet");
    button->installEventFilter(this);
    return button;
}

void TurnWidget::setTurn(const Turn& turn, const QString& speaker) {
    const bool other = m_turn.id != turn.id;
    const bool goesOn = !other && turn.text.startsWith(m_turn.text);
    if (other) endEdit(false);
    const bool textChanged = other || turn.text != m_turn.text || m_read < 0;
    m_turn = turn;
    if (!goesOn) m_read = -1;

    if (!turn.pictures.isEmpty() && m_pictures == nullptr) {
        m_pictures = new PictureStrip(false, this);
        m_layout->insertWidget(1, m_pictures);
        connect(m_pictures, &PictureStrip::thumbnailWanted, this, &TurnWidget::thumbnailWanted);
        connect(m_pictures, &PictureStrip::activated, this, &TurnWidget::pictureActivated);
    }
    if (m_pictures != nullptr) {
        m_pictures->setPictures(turn.pictures);
        m_pictures->setVisible(!turn.pictures.isEmpty());
    }
    showReasoning();
    if (textChanged) showText();
    showFoot();
    describe(speaker);
    Q_EMIT heightChanged();
}

void TurnWidget::append(const QString& text, const QString& reasoning) {
    m_turn.text += text;
    m_turn.reasoning += reasoning;
    m_turn.state = TurnState::streaming;
    if (!m_turn.reasoning.isEmpty()) showReasoning();
    if (!text.isEmpty()) showText();
    showFoot();
    Q_EMIT heightChanged();
}

void TurnWidget::showText() {
    if (m_turn.role == Role::user) {
        const bool folded = !m_unfolded && m_turn.text.size() > kFoldedCharacters;
        if (folded && m_unfold == nullptr) {
            m_unfold = new QToolButton(this);
            m_unfold->setText(tr("Show all of it (%L1 characters)").arg(m_turn.text.size()));
            m_unfold->setAccessibleName(tr("Show all of it"));
            theme::setButtonKind(*m_unfold, "quiet");
            m_layout->insertWidget(m_layout->indexOf(m_body) + 1, m_unfold);
            connect(m_unfold, &QToolButton::clicked, this, [this] {
                m_unfolded = true;
                showText();
                Q_EMIT heightChanged();
            });
        }
        if (m_unfold != nullptr) m_unfold->setVisible(folded);
        m_body->setPlain(folded ? m_turn.text.left(kFoldedCharacters) + QStringLiteral(" …") : m_turn.text);
        m_read = m_turn.text.size();
    } else {
        if (m_read < 0) {
            m_reader = MarkdownReader();
            m_read = 0;
        }
        m_reader.append(QStringView(m_turn.text).mid(m_read));
        m_read = m_turn.text.size();
        m_body->setMarkdown(m_reader.blocks());
    }
    m_body->setVisible(!isEditing() && (!m_turn.text.isEmpty() || m_turn.role == Role::assistant));
}

void TurnWidget::showReasoning() {
    if (m_turn.reasoning.isEmpty()) {
        if (m_disclosure != nullptr) m_disclosure->hide();
        if (m_reasoning != nullptr) m_reasoning->hide();
        return;
    }
    if (m_disclosure == nullptr) {
        m_disclosure = new QToolButton(this);
        m_disclosure->setCheckable(true);
        m_disclosure->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        m_disclosure->setIcon(icon(QStringLiteral("chevron-right")));
        theme::setButtonKind(*m_disclosure, "quiet");
        m_disclosure->installEventFilter(this);
        m_layout->insertWidget(m_layout->indexOf(m_body), m_disclosure);
        m_reasoning = new MarkdownView(this);
        m_reasoning->setFont(theme::smallFont(font()));
        m_reasoning->setAccessibleName(tr("Thoughts"));
        m_reasoning->hide();
        m_layout->insertWidget(m_layout->indexOf(m_body), m_reasoning);
        connect(m_disclosure, &QToolButton::toggled, this, [this](bool open) {
            m_disclosure->setIcon(icon(open ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right")));
            m_reasoning->setVisible(open);
            showReasoning();
            Q_EMIT heightChanged();
        });
    }
    const bool thinking = m_turn.state == TurnState::streaming && m_turn.text.isEmpty();
    m_disclosure->setText(thinking ? tr("Thinking …") : tr("Thoughts"));
    m_disclosure->setAccessibleName(tr("Show the thoughts before this answer"));
    m_disclosure->show();
    // Folded thoughts are not laid out at all.
    if (!m_disclosure->isChecked() || m_shownThoughts == m_turn.reasoning) return;
    m_shownThoughts = m_turn.reasoning;
    m_reasoning->setPlain(m_shownThoughts.trimmed());
}

void TurnWidget::showFoot() {
    const bool user = m_turn.role == Role::user;
    const bool running = m_turn.state == TurnState::streaming || m_turn.state == TurnState::waiting;
    m_body->setCaret(m_turn.state == TurnState::streaming || (!user && m_turn.state == TurnState::waiting));
    m_copy->setEnabled(!m_turn.text.isEmpty());
    m_edit->setVisible(user);
    m_regenerate->setVisible(!user);
    m_regenerate->setEnabled(!running);
    m_insight->setVisible(!user);
    m_insight->setEnabled(!running && !m_turn.text.isEmpty());
    const bool branched = m_turn.branches > 1;
    m_previous->setVisible(branched);
    m_branch->setVisible(branched);
    m_next->setVisible(branched);
    m_previous->setEnabled(m_turn.branch > 1);
    m_next->setEnabled(m_turn.branch < m_turn.branches);
    m_branch->setText(QStringLiteral("%1/%2").arg(m_turn.branch).arg(m_turn.branches));
    m_branch->setAccessibleName(tr("Version %1 of %2").arg(m_turn.branch).arg(m_turn.branches));
    QString note = m_turn.note;
    const auto lead = [&note](const QString& word) {
        note = note.isEmpty() ? word : word + QStringLiteral(" · ") + note;
    };
    switch (m_turn.state) {
        case TurnState::stopped: lead(tr("Stopped")); break;
        case TurnState::interrupted: lead(tr("Interrupted: the program ended while this was written")); break;
        case TurnState::waiting: lead(user ? tr("Will be answered next") : tr("Reading …")); break;
        default: break;
    }
    m_note->setText(note);
    m_note->setToolTip(note);
    m_problem->setVisible(!m_turn.problem.isEmpty());
    if (!m_turn.problem.isEmpty()) {
        m_problem->setText(tr("No answer: %1").arg(m_turn.problem));
        QPalette palette = m_problem->palette();
        palette.setColor(QPalette::WindowText, theme::colors(*this).bad);
        m_problem->setPalette(palette);
    }
    m_foot->setVisible(!isEditing());
}

void TurnWidget::describe(const QString& speaker) {
    const QString who = m_turn.role == Role::user ? tr("You") : speaker;
    m_speaker->setText(who);
    setAccessibleName(QStringLiteral("%1: %2").arg(who, m_turn.text.left(120)));
    m_body->setAccessibleName(m_turn.role == Role::user ? tr("What you wrote") : tr("Answer of %1").arg(who));
}

void TurnWidget::setThumbnail(const QString& key, const QImage& image) {
    if (m_pictures == nullptr) return;
    m_pictures->setThumbnail(key, image);
    Q_EMIT heightChanged();
}

void TurnWidget::beginEdit() {
    if (isEditing()) return;
    m_editing = new QWidget(this);
    auto* column = new QVBoxLayout(m_editing);
    column->setContentsMargins(0, 0, 0, 0);
    m_editor = new QPlainTextEdit(m_turn.text, m_editing);
    m_editor->setTabChangesFocus(true);
    m_editor->setAccessibleName(tr("Edit what you wrote"));
    const int lines = std::clamp(static_cast<int>(m_turn.text.count(u'\n')) + 3, 4, 14);
    m_editor->setFixedHeight(fontMetrics().lineSpacing() * lines);
    m_editor->installEventFilter(this);
    column->addWidget(m_editor);
    auto* row = new QHBoxLayout;
    auto* hint = new QLabel(tr("Asks again from here. The old version stays one click away."), m_editing);
    hint->setFont(theme::smallFont(font()));
    hint->setWordWrap(true);
    theme::setMuted(*hint);
    auto* cancel = new QPushButton(tr("Cancel"), m_editing);
    auto* send = new QPushButton(tr("Ask again"), m_editing);
    theme::setButtonKind(*send, "primary");
    row->addWidget(hint, 1);
    row->addWidget(cancel);
    row->addWidget(send);
    column->addLayout(row);
    m_layout->insertWidget(m_layout->indexOf(m_body), m_editing);
    connect(cancel, &QPushButton::clicked, this, [this] { endEdit(false); });
    connect(send, &QPushButton::clicked, this, [this] { endEdit(true); });
    m_body->hide();
    m_foot->hide();
    m_editor->setFocus(Qt::OtherFocusReason);
    m_editor->moveCursor(QTextCursor::End);
    Q_EMIT heightChanged();
}

void TurnWidget::endEdit(bool send) {
    if (!isEditing()) return;
    const QString text = m_editor->toPlainText();
    m_editing->hide();
    m_editing->deleteLater();
    m_editing = nullptr;
    m_editor = nullptr;
    showText();
    showFoot();
    m_edit->setFocus(Qt::OtherFocusReason);
    Q_EMIT heightChanged();
    if (send && !(text.trimmed().isEmpty() && m_turn.pictures.isEmpty())) Q_EMIT editWanted(m_turn.id, text);
}

bool TurnWidget::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) {
        if (watched == m_body) update();
        const auto reason = static_cast<QFocusEvent*>(event)->reason();
        const bool byKey = reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason;
        if (event->type() == QEvent::FocusIn && byKey) Q_EMIT focused();
    } else if (watched == m_editor && event->type() == QEvent::ShortcutOverride) {
        // Esc ends the editing; to the page it would mean Stop.
        if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) event->accept();
    } else if (watched == m_editor && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
        if (enter && !(key->modifiers() & Qt::ShiftModifier)) {
            endEdit(true);
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            endEdit(false);
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

bool TurnWidget::holdsSelection() const {
    return m_body->textCursor().hasSelection() || (m_reasoning != nullptr && m_reasoning->textCursor().hasSelection());
}

QList<QWidget*> TurnWidget::controls() const {
    QList<QWidget*> controls;
    if (m_pictures != nullptr) {
        for (PictureTile* tile : m_pictures->tiles()) controls += tile;
    }
    if (m_disclosure != nullptr) controls += {m_disclosure, m_reasoning};
    controls += m_body;
    if (m_unfold != nullptr) controls += m_unfold;
    controls += {m_copy, m_edit, m_regenerate, m_insight, m_previous, m_next};
    return controls;
}

int TurnWidget::heightFor(int width) const {
    return m_layout->totalHeightForWidth(width);
}

void TurnWidget::paintEvent(QPaintEvent* /*event*/) {
    const theme::Colors& colors = theme::colors(*this);
    const bool user = m_turn.role == Role::user;
    if (!user && !m_body->hasFocus()) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (user) {
        painter.setPen(colors.border);
        painter.setBrush(colors.surface);
    }
    if (m_body->hasFocus()) painter.setPen(QPen(colors.accent, 2));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), theme::kRadius + 2, theme::kRadius + 2);
}

}  // namespace vitrine
