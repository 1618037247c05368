// native/runtime/streams/callback.cpp
#include "runtime/streams/callback.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "runtime/explore/explore.h"
#include "runtime/gil.h"
#include "runtime/order/order.h"
#include "runtime/streams/host_task.h"

namespace opwright {
namespace {

struct Callback {
  aclrtCallback function;
  void* data;
  order::HostFunction::Call place;  // in the program's order
  bool done = false;
};

// One subscribed thread: what is waiting for it.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Callback>> waiting;
  bool open = true;
};

struct Subscription {
  uint64_t thread;
  std::weak_ptr<Stream> stream;  // expired: the stream is gone, and another one may have its address
};

struct Subscriptions {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Mailbox>> by_thread;
  std::map<const Stream*, Subscription> of_stream;

  // The live subscription of the stream, or nullptr.
  const Subscription* find(const std::shared_ptr<Stream>& stream) const {
    const auto it = of_stream.find(stream.get());
    return it != of_stream.end() && !it->second.stream.expired() ? &it->second : nullptr;
  }
};

Subscriptions& subscriptions() {
  static Subscriptions* const instance = new Subscriptions();
  return *instance;
}

std::shared_ptr<Mailbox> mailbox_of(uint64_t thread) {
  const std::lock_guard<std::mutex> lock(subscriptions().mutex);
  const auto it = subscriptions().by_thread.find(thread);
  require(it != subscriptions().by_thread.end(), ACL_ERROR_THREAD_NOT_SUBSCRIBE, "thread ", thread,
          " has not subscribed to a stream; call aclrtSubscribeReport first");
  return it->second;
}

}  // namespace

void subscribe(uint64_t thread, const std::shared_ptr<Stream>& stream) {
  const std::lock_guard<std::mutex> lock(subscriptions().mutex);
  require(subscriptions().find(stream) == nullptr, ACL_ERROR_RT_PARAM_INVALID, "stream ", stream->id(),
          " has a subscriber already");
  subscriptions().of_stream[stream.get()] = {thread, stream};
  auto& mailbox = subscriptions().by_thread[thread];
  if (mailbox == nullptr) mailbox = std::make_shared<Mailbox>();
}

void unsubscribe(uint64_t thread, const std::shared_ptr<Stream>& stream) {
  const std::lock_guard<std::mutex> lock(subscriptions().mutex);
  const Subscription* const subscription = subscriptions().find(stream);
  require(subscription != nullptr && subscription->thread == thread, ACL_ERROR_RT_PARAM_INVALID, "thread ", thread,
          " has not subscribed to stream ", stream->id());
  subscriptions().of_stream.erase(stream.get());
  for (const auto& entry : subscriptions().of_stream) {
    if (entry.second.thread == thread) return;  // it still serves another stream
  }
  const auto mailbox = subscriptions().by_thread.at(thread);
  subscriptions().by_thread.erase(thread);
  const std::lock_guard<std::mutex> mail(mailbox->mutex);
  mailbox->open = false;
  mailbox->changed.notify_all();
}

void launch_callback(aclrtCallback function, void* data, bool blocking, const std::shared_ptr<Stream>& stream) {
  std::shared_ptr<Mailbox> mailbox;
  {
    const std::lock_guard<std::mutex> lock(subscriptions().mutex);
    const Subscription* const subscription = subscriptions().find(stream);
    require(subscription != nullptr, ACL_ERROR_THREAD_NOT_SUBSCRIBE, "no thread has subscribed to stream ",
            stream->id(), "; call aclrtSubscribeReport first");
    mailbox = subscriptions().by_thread.at(subscription->thread);
  }
  stream->submit(make_host_task(
      "aclrtLaunchCallback", [mailbox, function, data, blocking](const order::HostFunction::Call& place) {
        const auto callback = std::make_shared<Callback>(Callback{function, data, place});  // one for each replay
        std::unique_lock<std::mutex> lock(mailbox->mutex);
        mailbox->waiting.push_back(callback);
        mailbox->changed.notify_all();
        if (!blocking) return;
        const auto done = [&] { return callback->done || !mailbox->open; };
        if (!explore::enabled()) return mailbox->changed.wait(lock, done);
        explore::wait_unlocked(lock, {"a callback on the host", explore::kAnyStream, done, /*ends_with_abort=*/false});
      }));
}

bool process_reports(uint64_t thread, Stream::Timeout timeout) {
  const auto mailbox = mailbox_of(thread);
  std::deque<std::shared_ptr<Callback>> ready;
  {
    const GilRelease released;
    std::unique_lock<std::mutex> lock(mailbox->mutex);
    const auto any = [&] { return !mailbox->waiting.empty() || !mailbox->open; };
    if (timeout) {
      mailbox->changed.wait_for(lock, *timeout, any);
    } else {
      mailbox->changed.wait(lock, any);
    }
    ready.swap(mailbox->waiting);
  }
  for (const auto& callback : ready) {
    {
      const order::RunningFunction running(callback->place);
      callback->function(callback->data);
    }
    const std::lock_guard<std::mutex> lock(mailbox->mutex);
    callback->done = true;
    mailbox->changed.notify_all();
  }
  return !ready.empty();
}

}  // namespace opwright
