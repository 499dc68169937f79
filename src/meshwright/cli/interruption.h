#ifndef MESHWRIGHT_CLI_INTERRUPTION_H_
#define MESHWRIGHT_CLI_INTERRUPTION_H_

#include <mutex>

namespace meshwright {

// For commands that have something to show for the time that they ran: from Await() on, while one
// of these lives, the first SIGINT or SIGTERM only asks to come to an end, and a second one ends
// the program at once with exit code 128 + signal. Before, as while input is waited for, the first
// one does. At most one may live at a time.
class Interruption {
 public:
  Interruption() = default;
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // From any thread, any number of times.
  void Await();
  // Whether a signal has come, which is awaited from the first call on; from any thread.
  bool Requested();

 private:
  std::once_flag once_;
  bool awaited_ = false;
  void (*old_interrupt_)(int) = nullptr;
  void (*old_terminate_)(int) = nullptr;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_INTERRUPTION_H_
