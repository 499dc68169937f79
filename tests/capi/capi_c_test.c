/* capi_c_test PROGRAM: plans the program as a C11 caller would. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshwright.h"

static void Check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "failed: %s\n", what);
  exit(1);
}

static char* ReadFile(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  Check(file != NULL, path);
  Check(fseek(file, 0, SEEK_END) == 0, "seek");
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = malloc(*size);
  Check(data != NULL && fread(data, 1, *size, file) == *size, "read");
  fclose(file);
  return data;
}

int main(int argc, char** argv) {
  Check(argc == 2, "one argument");
  Check(mw_abi_version() == MW_ABI_VERSION, "header and library belong together");

  size_t size = 0;
  char* program = ReadFile(argv[1], &size);
  mw_result* result = mw_plan(program, size, "{\"cluster\": \"8xh100-sxm\", \"mesh\": \"8\"}");
  free(program);
  Check(mw_error(result) == NULL, mw_message(result));

  size_t plan_size = 0;
  const char* plan = mw_text(result, "plan", &plan_size);
  Check(plan != NULL && strlen(plan) == plan_size, "the plan is text of its size");
  Check(mw_text(result, "plan", NULL) == plan, "a text stays where it is");
  size_t annotated_size = 0;
  Check(mw_text(result, "program", &annotated_size) != NULL && annotated_size > 0, "program");
  Check(mw_text(result, "no such text", &annotated_size) == NULL && annotated_size == 0, "no text");

  mw_result* read = mw_read_plan(plan, plan_size);
  Check(mw_error(read) == NULL, mw_message(read));
  Check(strcmp(mw_text(read, "table", NULL), mw_text(result, "table", NULL)) == 0,
        "a plan that was read has the table of the plan that was made");
  mw_free(read);
  mw_free(result);
  mw_free(NULL);
  return 0;
}
