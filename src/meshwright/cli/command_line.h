#ifndef MESHWRIGHT_CLI_COMMAND_LINE_H_
#define MESHWRIGHT_CLI_COMMAND_LINE_H_

namespace meshwright {

// The program `meshwright VERB ...`. Results go to standard output, everything else to standard
// error. Returns the exit code: 0 done, 1 our bug, 2 bad input, 3 nothing fits, 4 a
// verification failed; 130 after an interrupt.
int RunCommandLine(int argc, char** argv);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMMAND_LINE_H_
