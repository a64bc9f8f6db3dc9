#include "ui/chat/chat_page.h"

#include "ui/chat/chat_drawer.h"
#include "ui/chat/chat_settings_panel.h"
#include "ui/chat/composer.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/picture_dialog.h"
#include "ui/empty_state.h"
#include "ui/icons.h"
#include "ui/message_bar.h"
#include "ui/theme.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QShortcut>
#include <QSplitter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

namespace vitrine {
namespace {

const QString kAttach = QStringLiteral("attach");
const QString kChooseModel = QStringLiteral("model");

}  // namespace

ChatPage::ChatPage(QWidget* parent) : QWidget(parent) {
    m_splitter = new QSplitter(this);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->setHandleWidth(5);
    m_drawer = new ChatDrawer(m_splitter);
    m_drawer->setMinimumWidth(fontMetrics().averageCharWidth() * 24);
    m_splitter->addWidget(m_drawer);
    m_splitter->addWidget(buildColumn());
    m_splitter->setStretchFactor(0, 0);
    m_splitter->setStretchFactor(1, 1);
    m_splitter->setSizes({fontMetrics().averageCharWidth() * 36, 900});
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_splitter);

    connect(m_drawer, &ChatDrawer::opened, this, &ChatPage::conversationOpened);
    connect(m_drawer, &ChatDrawer::newWanted, this, &ChatPage::newWanted);
    connect(m_drawer, &ChatDrawer::searchChanged, this, &ChatPage::searchChanged);
    connect(m_drawer, &ChatDrawer::deleteWanted, this, &ChatPage::deleteWanted);
    connect(m_drawer, &ChatDrawer::exportWanted, this, &ChatPage::exportWanted);
    connect(m_view, &ConversationView::thumbnailWanted, this, &ChatPage::thumbnailWanted);
    connect(m_view, &ConversationView::pictureActivated, this, &ChatPage::pictureWanted);
    connect(m_view, &ConversationView::linkClicked, this, &ChatPage::linkClicked);
    connect(m_view, &ConversationView::regenerateWanted, this, &ChatPage::regenerateWanted);
    connect(m_view, &ConversationView::insightWanted, this, &ChatPage::insightWanted);
    connect(m_view, &ConversationView::editWanted, this, &ChatPage::editWanted);
    connect(m_view, &ConversationView::branchWanted, this, &ChatPage::branchWanted);
    connect(m_view, &ConversationView::copied, this,
            [this] { m_messages->show(MessageBar::Kind::information, tr("Copied"), {}, {}, 2); });
    connect(m_composer, &Composer::sendWanted, this, &ChatPage::sendWanted);
    connect(m_composer, &Composer::stopWanted, this, &ChatPage::stopWanted);
    connect(m_composer, &Composer::attachWanted, this, &ChatPage::attachWanted);
    connect(m_composer, &Composer::filesOffered, this, &ChatPage::filesOffered);
    connect(m_composer, &Composer::imageOffered, this, &ChatPage::imageOffered);
    connect(m_composer, &Composer::removeWanted, this, &ChatPage::attachmentRemoved);
    connect(m_composer, &Composer::thumbnailWanted, this, &ChatPage::thumbnailWanted);
    connect(m_composer, &Composer::pictureActivated, this, &ChatPage::pictureWanted);
    connect(m_composer, &Composer::modelWanted, this, &ChatPage::modelWanted);
    connect(m_composer->settings(), &ChatSettingsPanel::changed, this, &ChatPage::settingsChanged);
    buildShortcuts();
    rebuildEmptyState();
    setTitle({});
    setFocusProxy(m_composer->edit());
}

void ChatPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (!isAncestorOf(QApplication::focusWidget())) m_composer->edit()->setFocus(Qt::OtherFocusReason);
}

QWidget* ChatPage::buildColumn() {
    auto* column = new QWidget(m_splitter);
    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);

    auto* head = new QHBoxLayout;
    head->setContentsMargins(theme::kSpace, theme::kSpace, theme::kSpace, theme::kSpace);
    m_fold = new QToolButton(column);
    m_fold->setIcon(icon(QStringLiteral("list")));
    m_fold->setCheckable(true);
    m_fold->setChecked(true);
    m_fold->setToolTip(tr("Show or hide the list of chats (Ctrl+B)"));
    m_fold->setAccessibleName(tr("List of chats"));
    m_fold->setShortcut(QKeySequence(QStringLiteral("Ctrl+B")));
    theme::setButtonKind(*m_fold, "quiet");
    connect(m_fold, &QToolButton::toggled, this, [this](bool shown) { m_drawer->setVisible(shown); });
    m_title = new QLabel(column);
    m_title->setTextFormat(Qt::PlainText);
    m_title->setFont(theme::headingFont(font()));
    m_title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_menu = new QToolButton(column);
    m_menu->setIcon(icon(QStringLiteral("more")));
    m_menu->setToolTip(tr("Rename, export or delete this chat"));
    m_menu->setAccessibleName(tr("This chat"));
    m_menu->setPopupMode(QToolButton::InstantPopup);
    theme::setButtonKind(*m_menu, "quiet");
    auto* menu = new QMenu(m_menu);
    menu->addAction(icon(QStringLiteral("edit")), tr("Rename") + QStringLiteral("\tF2"), this, [this] {
        m_fold->setChecked(true);
        m_drawer->setCurrent(m_open);
        m_drawer->renameCurrent();
    });
    menu->addAction(icon(QStringLiteral("export")), tr("Export as Markdown …"), this,
                    [this] { Q_EMIT exportWanted(m_open, ChatExportFormat::markdown); });
    menu->addAction(icon(QStringLiteral("export")), tr("Export as JSON …"), this,
                    [this] { Q_EMIT exportWanted(m_open, ChatExportFormat::json); });
    menu->addSeparator();
    menu->addAction(icon(QStringLiteral("delete")), tr("Delete"), this, [this] { Q_EMIT deleteWanted(m_open); });
    m_menu->setMenu(menu);
    head->addWidget(m_fold);
    head->addSpacing(theme::kTight);
    head->addWidget(m_title, 1);
    head->addWidget(m_menu);
    layout->addLayout(head);

    m_body = new QStackedWidget(column);
    m_view = new ConversationView(m_body);
    m_body->addWidget(m_view);
    layout->addWidget(m_body, 1);
    m_messages = new MessageBar(column);
    layout->addWidget(m_messages);
    m_composer = new Composer(column);
    layout->addWidget(m_composer);
    return column;
}

void ChatPage::buildShortcuts() {
    const auto shortcut = [this](const QString& keys, auto wish) {
        auto* key = new QShortcut(QKeySequence(keys), this);
        key->setContext(Qt::WidgetWithChildrenShortcut);
        connect(key, &QShortcut::activated, this, wish);
    };
    shortcut(QStringLiteral("Ctrl+N"), [this] { Q_EMIT newWanted(); });
    shortcut(QStringLiteral("Ctrl+K"), [this] {
        m_fold->setChecked(true);
        m_drawer->focusSearch();
    });
    shortcut(QStringLiteral("F2"), [this] {
        if (m_open == 0) return;
        m_fold->setChecked(true);
        m_drawer->setCurrent(m_open);
        m_drawer->renameCurrent();
    });
    shortcut(QStringLiteral("Esc"), [this] { Q_EMIT stopWanted(); });
    shortcut(QStringLiteral("Ctrl+L"), [this] { m_composer->edit()->setFocus(Qt::ShortcutFocusReason); });
}

// What can be asked, and how to begin.
void ChatPage::rebuildEmptyState() {
    QString title = tr("Ask about a picture");
    QString text = tr("Drop one anywhere on this page, paste it, or add it below. Everything stays on this computer.");
    if (!m_model.name.isEmpty() && !m_model.about.isEmpty())
        text += QStringLiteral("\n\n%1: %2").arg(m_model.name, m_model.about);
    auto* fresh = new EmptyState(QStringLiteral("chat"), title, text, m_body);
    fresh->addAction(tr("Add a picture"), QStringLiteral("attach"), kAttach);
    if (!m_model.whyNot.isEmpty() && !m_model.loading)
        fresh->addAction(tr("Choose a model"), QStringLiteral("models"), kChooseModel);
    for (const QString& suggestion : m_model.suggestions)
        fresh->addAction(suggestion, QStringLiteral("send"), suggestion);
    connect(fresh, &EmptyState::triggered, this, [this](const QString& wish) {
        if (wish == kAttach) return Q_EMIT attachWanted();
        if (wish == kChooseModel) return Q_EMIT modelWanted();
        m_composer->setText(wish);
        m_composer->edit()->setFocus(Qt::OtherFocusReason);
        if (m_composer->hasPictures()) m_composer->send();
    });
    if (m_empty != nullptr) {
        m_body->removeWidget(m_empty);
        m_empty->deleteLater();
    }
    m_empty = fresh;
    m_body->addWidget(m_empty);
    refreshBody();
}

void ChatPage::refreshBody() {
    m_body->setCurrentWidget(m_hasTurns ? static_cast<QWidget*>(m_view) : m_empty);
}

void ChatPage::setConversations(QAbstractItemModel* model) {
    m_drawer->setModel(model);
}

void ChatPage::showConversation(qint64 id, const QString& title, const QList<Turn>& turns, bool jumpToEnd) {
    m_open = id;
    m_hasTurns = !turns.isEmpty();
    refreshBody();
    m_view->setTurns(turns, jumpToEnd);
    m_drawer->setCurrent(id);
    setTitle(title);
}

void ChatPage::updateTurn(const Turn& turn) {
    m_view->updateTurn(turn);
}
void ChatPage::append(qint64 turn, const QString& text, const QString& reasoning) {
    m_view->append(turn, text, reasoning);
}
void ChatPage::showTurn(qint64 turn) {
    m_view->showTurn(turn);
}

void ChatPage::setTitle(const QString& title) {
    m_title->setText(m_open == 0 || title.isEmpty() ? tr("New chat") : title);
    m_title->setToolTip(m_title->text());
    m_menu->setEnabled(m_open != 0);
}

void ChatPage::setModel(const ChatModelState& model) {
    m_model = model;
    m_view->setSpeaker(model.name.isEmpty() ? tr("Answer") : model.name);
    m_composer->setModel(model);
    rebuildEmptyState();
}

void ChatPage::setAnswering(bool answering, int waiting) {
    m_composer->setAnswering(answering, waiting);
}
void ChatPage::setSpeed(const QString& text) {
    m_composer->setSpeed(text);
}
void ChatPage::setContext(int used, int total) {
    m_composer->setContext(used, total);
}
void ChatPage::setSettings(const ChatSettings& settings) {
    m_composer->settings()->setSettings(settings);
}
void ChatPage::setAttachments(const QList<TurnPicture>& pictures) {
    m_composer->setPictures(pictures);
}
void ChatPage::setThumbnail(const QString& key, const QImage& image) {
    m_view->setThumbnail(key, image);
    m_composer->setThumbnail(key, image);
}
void ChatPage::clearMessage() {
    m_composer->clearText();
}
void ChatPage::setMessage(const QString& text) {
    m_composer->setText(text);
}

void ChatPage::showPicture(const QString& name, const Picture& picture) {
    auto* dialog = new PictureDialog(name, picture, window());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

QByteArray ChatPage::saveState() const {
    return m_splitter->saveState();
}
void ChatPage::restoreState(const QByteArray& state) {
    m_splitter->restoreState(state);
}

}  // namespace vitrine
