#include "meshwright/cli/interruption.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace meshwright {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // or a signal handler may not touch it

void EndSoonOrNow(int signal) {
  if (requested.exchange(true)) _exit(128 + signal);
}

}  // namespace

void Interruption::Await() {
  std::call_once(once_, [this] {
    awaited_ = true;
    requested = false;
    old_interrupt_ = std::signal(SIGINT, EndSoonOrNow);
    old_terminate_ = std::signal(SIGTERM, EndSoonOrNow);
  });
}

Interruption::~Interruption() {
  if (!awaited_) return;
  std::signal(SIGINT, old_interrupt_);
  std::signal(SIGTERM, old_terminate_);
}

bool Interruption::Requested() {
  Await();
  return requested;
}

}  // namespace meshwright
