#include "app/insight/insight_worker.h"

#include "app/names.h"

#include <pthread.h>

#include <algorithm>
#include <exception>

namespace vitrine {

InsightWorker::InsightWorker(QObject* parent)
    : QObject(parent), m_thread([this](const std::stop_token& quit) {
          pthread_setname_np(pthread_self(), "insight");
          run(quit);
      }) {}

InsightWorker::~InsightWorker() {
    forget();
    m_thread.request_stop();
    m_thread.join();
}

void InsightWorker::ask(Question question, Compute compute, int which) {
    bool replaced = false;
    {
        const std::lock_guard lock(m_mutex);
        Task task{question, which, m_epoch, std::move(compute), {}};
        const auto same = std::find_if(m_waiting.begin(), m_waiting.end(), [&](const Task& other) {
            return other.question == question && other.which == which;
        });
        replaced = same != m_waiting.end();
        if (replaced)
            *same = std::move(task);
        else
            m_waiting.push_back(std::move(task));
    }
    m_wake.notify_one();
    if (!replaced && ++m_open == 1) Q_EMIT busyChanged(true);
}

void InsightWorker::forget() {
    {
        const std::lock_guard lock(m_mutex);
        ++m_epoch;
        m_waiting.clear();
        m_running.request_stop();
    }
    if (std::exchange(m_open, 0) > 0) Q_EMIT busyChanged(false);
}

void InsightWorker::end(quint64 epoch, const Show& show) {
    if (epoch != m_epoch) return;
    if (show) show();
    if (--m_open == 0) Q_EMIT busyChanged(false);
}

void InsightWorker::run(const std::stop_token& quit) {
    while (true) {
        std::unique_lock lock(m_mutex);
        if (!m_wake.wait(lock, quit, [this] { return !m_waiting.empty(); })) return;
        Task task = std::move(m_waiting.front());
        m_waiting.erase(m_waiting.begin());
        m_running = task.stop;
        lock.unlock();

        Show show;
        try {
            show = task.compute(task.stop.get_token());
        } catch (const std::exception& error) {
            show = [this, question = task.question, message = wordsOf(error)] { Q_EMIT failed(question, message); };
        }
        task.compute = nullptr;  // whatever it holds goes here, not on the UI thread
        QMetaObject::invokeMethod(this, [this, epoch = task.epoch, show = std::move(show)] { end(epoch, show); });
    }
}

}  // namespace vitrine
