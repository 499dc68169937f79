/* Meshwright's C interface: programs and options in, plans out. The door for other languages; the
 * Python package goes through it.
 *
 *   const char* options = "{\"cluster\": \"8xh100-sxm\", \"mesh\": \"2x4\"}";
 *   mw_result* result = mw_plan(program, size, options);
 *   if (mw_error(result) == NULL) puts(mw_text(result, "table", NULL));
 *   else fprintf(stderr, "%s: %s\n", mw_error(result), mw_message(result));
 *   mw_free(result);
 *
 * Every function may be called from any thread at any time; one result, by one thread at a time.
 * Text is UTF-8 and ends with a zero byte, which its size does not count. The library prints
 * nothing, writes no files but the databases of mw_profile and mw_db, and reads only the files that
 * options name (a cluster's description, files of fixes, a model).
 */
#ifndef MESHWRIGHT_H_
#define MESHWRIGHT_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MW_API __attribute__((visibility("default")))
#else
#define MW_API
#endif

/* Grows with every change that a caller compiled against an older header would notice. */
#define MW_ABI_VERSION 2

/* What a call answered: an error, or texts by name. Owned by the caller. */
typedef struct mw_result mw_result;

/* MW_ABI_VERSION of the library, to be compared with that of the header. */
MW_API int mw_abi_version(void);

/* Version of Meshwright, such as "0.1.0". */
MW_API const char* mw_version(void);

/* Plans a program or a model. A program is HLO text, a serialized HloModuleProto, StableHLO as text
 * or bytecode, or what jax.export serializes; gzipped or not, told apart by content. A model is a
 * config.json. A null pointer: the option "program" is the path of a file in one of these forms, or
 * a model that is known by name.
 *
 * `options` is a JSON object. Its keys are the long options of `meshwright plan`, with their
 * meanings and defaults, less those that say what is printed; mw_tables lists them. Those that
 * name files ("output", "emit", "csv", "plot") are held to go with the rest; the caller writes
 * them.
 * Values are texts, lists of texts (options that may be repeated), numbers, true (flags). A number
 * in place of a text counts what the option's "unit" says:
 *   {"cluster": "8xh100-sxm", "memory": 6e10, "deadline": 30, "fix": ["tok=[x,_]"]}
 * "cluster" is required, of models "global-batch" too. "program" is beside that what errors and the
 * plan call what was given (default "program").
 *
 * Texts of the result:
 * - "plan": the plan as JSON, see docs/plan-schema.md; "cost-model": "fasop" gives none
 * - "table": the plan in short, for a terminal
 * - "csv", "plot": with "sweep" or "pareto": what --csv and --plot write
 * - "stages": with "pipeline" and "emit": the programs of the stages and what they take, a JSON
 *   list of objects with "name" and "contents" (docs/stages.md)
 *
 * and of a program that is planned as one, without "pipeline":
 * - "program": the program with the plan's shardings written into it, in the format that was given
 * - "proto": the same as a serialized HloModuleProto
 *
 * Blocks until the search ends, at the latest some moments after its deadline. Never NULL. */
MW_API mw_result* mw_plan(const void* program, size_t program_bytes, const char* options);

/* Costs a sharding: planning where fixes give most of the answer. Like mw_plan, but "mesh" is
 * required, "memory" is "unlimited" by default, and
 *   "rest"        text: what becomes of shardings that are not given: "xla" (default; as XLA's
 *                 partitioner propagates those that are) or "least-cost" (mw_plan's) */
MW_API mw_result* mw_estimate(const void* program, size_t program_bytes, const char* options);

/* Writes the shardings of a plan (its JSON, `plan_bytes` long) into the program that it was made
 * from. Texts: "program" and "proto", as above (the latter without calls), and
 *   "runnable"    the same to be compiled, with all that the plan moves: StableHLO with a function
 *                 of its own for every call, else "proto" */
MW_API mw_result* mw_annotate(const void* program, size_t program_bytes, const char* plan,
                              size_t plan_bytes);

/* Reads a program. Texts:
 * - "format": "hlo_text" or "hlo_proto", see "kind" in docs/plan-schema.md
 * - "parameters", "outputs": JSON lists of the leaves: objects with "name", "dtype", "shape", as in
 *   a plan; of parameters also "donated": whether an output takes over the buffer
 * - "bounded": a value with a dimension of which only a bound is known, with its type, as "p"
 *   f32[<=64,32]; empty if all sizes are known
 * - "fingerprint": 16 hexadecimal digits of what it computes, names and source lines apart, as in
 *   the "program" of a stages.json
 * - "rules": the calls without a sharding rule, as a file for the option "rules" to be completed
 * - "proto": of HLO: the program as a serialized HloModuleProto
 * - "stablehlo": of StableHLO: the program as text */
MW_API mw_result* mw_read_program(const void* program, size_t program_bytes);

/* Reads a plan's JSON (`plan_bytes` long) and checks it against the schema. Texts: "plan",
 * "table", "explanation": the plan in words, as `meshwright explain` prints it, and "headline": a
 * JSON list of the sentences that its report begins with. */
MW_API mw_result* mw_read_plan(const char* plan, size_t plan_bytes);

/* What the commands of these names say of a plan (its JSON). `options`: a JSON object with the
 * command's long options, less those that say what is printed; NULL: none. Texts:
 * "text", for a terminal, and "json"; of mw_simulate also "trace", what --trace writes, and
 * "warning", what is to be said of that, empty if nothing is. mw_explain's `program`, for
 * "why-not", are the bytes of the program that was planned; a null pointer: they are where the
 * plan, or the option "program", says. */
MW_API mw_result* mw_explain(const char* plan, size_t plan_bytes, const void* program,
                             size_t program_bytes, const char* options);
MW_API mw_result* mw_simulate(const char* plan, size_t plan_bytes, const char* options);
MW_API mw_result* mw_diff(const char* before, size_t before_bytes, const char* after,
                          size_t after_bytes);

/* The launch of a plan, as `meshwright export`. Texts: "files", a JSON list of objects with "name",
 * "contents" and "executable", and "folder", the name that the command line gives their folder. */
MW_API mw_result* mw_export(const char* plan, size_t plan_bytes, const char* options);

/* The report of `documents`, a JSON list of objects with "name" and "text": plans, and what else
 * `meshwright report` takes. Texts: "page", one HTML file, if this library was built with it
 * (MESHWRIGHT_REPORT); "tables", a JSON object of CSV files by name; of one plan of a program also
 * "dot", the graph of its segments for Graphviz. */
MW_API mw_result* mw_report(const char* documents);

/* The curves that plans are costed with, as `meshwright calibrate`: from the measurements of the
 * file that the option "from" names, or, with "run", of this machine's GPUs, by a Python program
 * that the environment variable MESHWRIGHT_PYTHON (python3) runs. Texts: "yaml", and "warnings", a
 * JSON list. */
MW_API mw_result* mw_calibrate(const char* options);

/* Measures the segments of a program, as `meshwright profile`; the program as for mw_plan. This
 * writes the database that "db" names, and starts Python as mw_calibrate does. Texts: "text" and
 * "json"; with "layers-csv" and "calibrate" what the command line writes into these files. */
MW_API mw_result* mw_profile(const void* program, size_t program_bytes, const char* options);

/* Describes a transformer, as `meshwright model`: a config.json, or with a null pointer what the
 * option "model" names. Texts: "text" and "json". */
MW_API mw_result* mw_model(const char* model, size_t model_bytes, const char* options);

/* The ParallelBlocks of a program, as `meshwright blocks`; the program as for mw_plan. Texts:
 * "text" and "json"; with "emit" also the files of its folder, by their names, which are the JSON
 * list "names". */
MW_API mw_result* mw_blocks(const void* program, size_t program_bytes, const char* options);

/* What `meshwright db` does with a profile database: `action` is "list", "show", "merge", "export"
 * or "prune". Its arguments are options as well: "database", of "show" "program", of "merge" the
 * list "from". Writes that database where it merges or prunes. Texts: "text" and "json". */
MW_API mw_result* mw_db(const char* action, const char* options);

/* Solves an assignment problem, JSON of the IOPDDL contest, gzipped or not, as `meshwright solve`.
 * Texts: "text" and "json", what --output writes. */
MW_API mw_result* mw_solve(const void* problem, size_t problem_bytes, const char* options);

/* What this library knows. Texts, each a JSON list of objects:
 * - "devices": built-in device types: "name", "description", "memory_bytes", "devices_per_node"
 * - "operators": sharding rules: "opcode", "rule" (empty: replicated), "remark"
 * - "calls": rules of calls: "target" (with `*`), "rule" (empty: none; lines are alternatives),
 *   "remark"
 * - "models": built-in models: "name", "source"
 *
 * and "options", a JSON object of such lists, the options of each command ("plan", "estimate",
 * "blocks", "calibrate", "db list" and the like, "explain", "export", "model", "profile",
 * "simulate", "solve"): "name", "type" ("text", "texts", "integer", "number", "flag"), "unit",
 * "words" (the only ones that are taken), "known" (the same of options whose errors say more),
 * "path" (whether it names files or folders), "required", "group", "help", and where there are any
 * "default", "least" and "most"; "output": true of those that name files to be written */
MW_API mw_result* mw_tables(void);

/* NULL if the call went well, else what kind of error it was:
 *   "invalid argument"  something about the input is wrong; the message says what and where
 *   "not found"         a file or a device type that is not there
 *   "unsupported"       input that cannot be handled
 *   "infeasible"        nothing fits into memory; the message says what would
 *   "internal"          a bug of Meshwright's, or no memory left */
MW_API const char* mw_error(const mw_result* result);

/* The error's message, empty if there is none. Valid until mw_free. */
MW_API const char* mw_message(const mw_result* result);

/* A text of the result by name; its size goes into `size` unless that is NULL. NULL if the result
 * has no such text. May hold zero bytes if the program was given in a binary format. Valid until
 * mw_free. */
MW_API const char* mw_text(mw_result* result, const char* name, size_t* size);

/* Frees a result and its texts; NULL is allowed. */
MW_API void mw_free(mw_result* result);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MESHWRIGHT_H_ */
