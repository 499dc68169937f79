#include "meshwright/cli/command_line.h"

int main(int argc, char** argv) { return meshwright::RunCommandLine(argc, argv); }
