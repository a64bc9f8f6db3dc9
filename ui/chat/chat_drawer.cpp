#include "ui/chat/chat_drawer.h"

#include "ui/icons.h"
#include "ui/theme.h"

#include <QAbstractItemModel>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QScopedValueRollback>
#include <QStyledItemDelegate>
#include <QTextLayout>
#include <QVBoxLayout>

#include <algorithm>

namespace vitrine {
namespace {

constexpr int kSearchPauseMs = 150;

// Draws a heading, or a title with the found passage below it.
class ConversationDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const int line = option.fontMetrics.height();
        if (index.data(ChatRoles::heading).toBool()) return {0, line * 2};
        const bool found = !index.data(ChatRoles::snippet).toString().isEmpty();
        return {0, line * (found ? 3 : 1) + 2 * theme::kSpace};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        // Not option.palette: the list is transparent, which would pass for dark.
        const theme::Colors& colors = theme::colors(option.widget->window()->palette());
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        const QString title = index.data(ChatRoles::title).toString();
        QRect text = option.rect.adjusted(theme::kSpace + 4, 0, -theme::kSpace, 0);
        if (index.data(ChatRoles::heading).toBool()) {
            painter->setFont(theme::smallFont(option.font));
            painter->setPen(colors.muted);
            painter->drawText(text.adjusted(0, 0, 0, -theme::kTight), Qt::AlignBottom | Qt::AlignLeft, title);
            painter->restore();
            return;
        }
        const bool selected = option.state & QStyle::State_Selected;
        const QRectF frame = QRectF(option.rect).adjusted(2, 1, -2, -1);
        if (selected || option.state & QStyle::State_MouseOver) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(colors.raised);
            painter->drawRoundedRect(frame, theme::kRadius, theme::kRadius);
        }
        if (selected) painter->fillRect(QRectF(frame.left(), frame.top() + 6, 3, frame.height() - 12), colors.accent);
        if (option.state & QStyle::State_HasFocus) {
            painter->setPen(QPen(colors.accent, 2));
            painter->setBrush(Qt::NoBrush);
            painter->drawRoundedRect(frame.adjusted(1, 1, -1, -1), theme::kRadius, theme::kRadius);
        }
        const int line = option.fontMetrics.height();
        text.adjust(0, theme::kSpace, 0, 0);
        if (index.data(ChatRoles::busy).toBool()) {
            icon(QStringLiteral("more")).paint(painter, QRect(text.right() - line, text.top(), line, line));
            text.setRight(text.right() - line - theme::kTight);
        }
        QFont font = option.font;
        if (selected) font.setWeight(QFont::DemiBold);
        painter->setFont(font);
        painter->setPen(colors.text);
        painter->drawText(QRect(text.topLeft(), QSize(text.width(), line)), Qt::AlignVCenter | Qt::AlignLeft,
                          QFontMetrics(font).elidedText(title, Qt::ElideRight, text.width()));
        const QString snippet = index.data(ChatRoles::snippet).toString();
        if (!snippet.isEmpty()) paintSnippet(painter, option, text.adjusted(0, line, 0, 0), snippet, colors);
        painter->restore();
    }

    void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option, const QModelIndex&) const override {
        const int height = std::max(editor->sizeHint().height(), option.fontMetrics.height() + theme::kSpace);
        editor->setGeometry(option.rect.left() + 2, option.rect.top() + 1, option.rect.width() - 4, height);
    }

private:
    // Two lines; the found words stand out by weight and colour.
    static void paintSnippet(QPainter* painter, const QStyleOptionViewItem& option, const QRect& rect,
                             const QString& snippet, const theme::Colors& colors) {
        QString plain;
        QList<QTextLayout::FormatRange> marks;
        for (const QChar c : snippet) {
            if (c == kFoundBegin) {
                QTextLayout::FormatRange mark;
                mark.start = static_cast<int>(plain.size());
                mark.format.setFontWeight(QFont::Bold);
                mark.format.setForeground(colors.accent);
                marks += mark;
            } else if (c == kFoundEnd) {
                if (!marks.isEmpty()) marks.last().length = static_cast<int>(plain.size()) - marks.last().start;
            } else {
                plain += c.isSpace() ? QChar(u' ') : c;
            }
        }
        QTextLayout layout(plain, theme::smallFont(option.font));
        layout.setFormats(marks);
        layout.beginLayout();
        qreal y = 0;
        for (int i = 0; i < 2; ++i) {
            QTextLine line = layout.createLine();
            if (!line.isValid()) break;
            line.setLineWidth(rect.width());
            line.setPosition({0, y});
            y += line.height();
        }
        layout.endLayout();
        painter->setPen(colors.muted);
        layout.draw(painter, rect.topLeft());
    }
};

}  // namespace

ChatDrawer::ChatDrawer(QWidget* parent) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(theme::kSpace, theme::kSpace, theme::kTight, theme::kSpace);
    column->setSpacing(theme::kSpace);
    m_new = new QPushButton(icon(QStringLiteral("add")), tr("New chat"), this);
    m_new->setToolTip(tr("New chat (Ctrl+N)"));
    m_search = new QLineEdit(this);
    m_search->setPlaceholderText(tr("Search all chats (Ctrl+K)"));
    m_search->setAccessibleName(tr("Search all chats"));
    m_search->setClearButtonEnabled(true);
    m_search->addAction(icon(QStringLiteral("search")), QLineEdit::LeadingPosition);
    m_search->installEventFilter(this);
    m_list = new QListView(this);
    m_list->setAccessibleName(tr("Chats"));
    m_list->setItemDelegate(new ConversationDelegate(m_list));
    m_list->setEditTriggers(QAbstractItemView::EditKeyPressed);
    m_list->setContextMenuPolicy(Qt::CustomContextMenu);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_list->setMouseTracking(true);
    m_list->setResizeMode(QListView::Adjust);
    m_list->setStyleSheet(QStringLiteral("QListView, QListView:focus { border: none; background: transparent; }"));
    m_list->installEventFilter(this);
    m_empty = new QLabel(this);
    m_empty->setWordWrap(true);
    m_empty->setAlignment(Qt::AlignCenter);
    theme::setMuted(*m_empty);
    column->addWidget(m_new);
    column->addWidget(m_search);
    column->addWidget(m_empty);
    column->addWidget(m_list, 1);

    m_pause.setSingleShot(true);
    m_pause.setInterval(kSearchPauseMs);
    connect(&m_pause, &QTimer::timeout, this, [this] { Q_EMIT searchChanged(m_search->text()); });
    connect(m_search, &QLineEdit::textChanged, this, [this] { m_pause.start(); });
    connect(m_new, &QPushButton::clicked, this, &ChatDrawer::newWanted);
    connect(m_list, &QListView::customContextMenuRequested, this, &ChatDrawer::showMenu);
    connect(m_list, &QListView::clicked, this, &ChatDrawer::open);
    refreshEmpty();
}

void ChatDrawer::setModel(QAbstractItemModel* model) {
    m_list->setModel(model);
    if (model == nullptr) return;
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
        if (!m_restoring && m_list->hasFocus()) open(index);  // by keyboard; a click comes as clicked()
    });
    connect(model, &QAbstractItemModel::modelReset, this, &ChatDrawer::refreshEmpty);
    refreshEmpty();
}

void ChatDrawer::refreshEmpty() {
    const bool empty = m_list->model() == nullptr || m_list->model()->rowCount() == 0;
    m_empty->setVisible(empty);
    m_empty->setText(m_search->text().isEmpty() ? tr("Your chats will be listed here.")
                                                : tr("Nothing found for “%1”.").arg(m_search->text()));
}

void ChatDrawer::open(const QModelIndex& index) {
    const qint64 conversation = index.data(ChatRoles::conversation).toLongLong();
    if (conversation != 0) Q_EMIT opened(conversation, index.data(ChatRoles::message).toLongLong());
}

void ChatDrawer::setCurrent(qint64 conversation) {
    const QScopedValueRollback<bool> ours(m_restoring, true);
    const QAbstractItemModel* model = m_list->model();
    for (int row = 0; model != nullptr && row < model->rowCount(); ++row) {
        const QModelIndex index = model->index(row, 0);
        if (index.data(ChatRoles::conversation).toLongLong() != conversation || conversation == 0) continue;
        m_list->setCurrentIndex(index);
        return;
    }
    if (m_list->selectionModel() != nullptr) m_list->selectionModel()->clear();
}

qint64 ChatDrawer::current() const {
    return m_list->currentIndex().data(ChatRoles::conversation).toLongLong();
}

void ChatDrawer::focusSearch() {
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

void ChatDrawer::focusList() {
    m_list->setFocus(Qt::ShortcutFocusReason);
}

void ChatDrawer::renameCurrent() {
    if (current() == 0) return;
    m_list->scrollTo(m_list->currentIndex());
    m_list->edit(m_list->currentIndex());
}

void ChatDrawer::deleteCurrent() {
    if (current() != 0) Q_EMIT deleteWanted(current());
}

void ChatDrawer::moveBy(int step) {
    const QAbstractItemModel* model = m_list->model();
    if (model == nullptr) return;
    int row = m_list->currentIndex().isValid() ? m_list->currentIndex().row() + step : 0;
    while (row >= 0 && row < model->rowCount() && model->index(row, 0).data(ChatRoles::heading).toBool())
        row += step == 0 ? 1 : step;
    if (row < 0 || row >= model->rowCount()) return;
    const QScopedValueRollback<bool> ours(m_restoring, true);
    m_list->setCurrentIndex(model->index(row, 0));
    open(model->index(row, 0));
}

bool ChatDrawer::eventFilter(QObject* watched, QEvent* event) {
    const bool claim = event->type() == QEvent::ShortcutOverride;
    if (event->type() != QEvent::KeyPress && !claim) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (claim) {
        // Esc empties the search; to the page it would mean Stop.
        if (watched == m_search && key->key() == Qt::Key_Escape && !m_search->text().isEmpty()) event->accept();
        return QWidget::eventFilter(watched, event);
    }
    if (watched == m_search) {
        switch (key->key()) {
            case Qt::Key_Down: moveBy(1); return true;
            case Qt::Key_Up: moveBy(-1); return true;
            case Qt::Key_Return:
            case Qt::Key_Enter:
                if (m_list->currentIndex().isValid())
                    open(m_list->currentIndex());
                else
                    moveBy(1);
                return true;
            case Qt::Key_Escape:
                if (m_search->text().isEmpty()) break;
                m_search->clear();
                return true;
            default: break;
        }
    } else if (watched == m_list && key->key() == Qt::Key_Delete) {
        deleteCurrent();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void ChatDrawer::showMenu(const QPoint& position) {
    const QModelIndex index = m_list->indexAt(position);
    const qint64 conversation = index.data(ChatRoles::conversation).toLongLong();
    if (conversation == 0) return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(icon(QStringLiteral("edit")), tr("Rename") + QStringLiteral("\tF2"), this,
                    [this, row = QPersistentModelIndex(index)] {
                        if (row.isValid()) m_list->edit(row);
                    });
    menu->addAction(icon(QStringLiteral("export")), tr("Export as Markdown …"), this,
                    [this, conversation] { Q_EMIT exportWanted(conversation, ChatExportFormat::markdown); });
    menu->addAction(icon(QStringLiteral("export")), tr("Export as JSON …"), this,
                    [this, conversation] { Q_EMIT exportWanted(conversation, ChatExportFormat::json); });
    menu->addSeparator();
    menu->addAction(icon(QStringLiteral("delete")), tr("Delete") + QStringLiteral("\tDel"), this,
                    [this, conversation] { Q_EMIT deleteWanted(conversation); });
    menu->popup(m_list->viewport()->mapToGlobal(position));
}

}  // namespace vitrine
