#ifndef MESHWRIGHT_CLI_INTERRUPTION_H_
#define MESHWRIGHT_CLI_INTERRUPTION_H_

namespace meshwright {

// For commands that have something to show for the time that they ran: while one of these lives,
// the first SIGINT or SIGTERM only asks to come to an end, and a second one ends the program at
// once with exit code 128 + signal. At most one may live at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Whether a signal has come; from any thread.
  bool Requested() const;

 private:
  void (*old_interrupt_)(int);
  void (*old_terminate_)(int);
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_INTERRUPTION_H_
