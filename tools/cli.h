/* SPDX-License-Identifier: MIT */
/* What the commands of `jit-gemm` share: options, problems, contexts, messages. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/nearest.h"
#include "cli_json.h"
#include "cli_terminal.h"
#include "jit_gemm/jit_gemm.h"
#include "jit_gemm/named_epilogues.h"

/* Exit codes of the program. USAGE: what was asked for is wrong, or not supported by this
 * version: words, names, types, sizes, architectures. FAILED: anything else. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* The exit code of a call's status. */
int cli_exit_code(jit_gemm_status status);
/* A compile may have been left to itself, because it was cancelled or took too long: the
 * program then ends without waiting for it, as an exit would. */
void cli_leave_compiles(void);
/* Ends the program with a code, for main. */
int cli_end(int code);

/* ------------------------------------------------------------------------- commands */

struct cli_command {
    const char *name;
    const char *summary; /* one line of `jit-gemm --help` */
    int (*run)(int argc,
               char **argv); /* argv[0] is the command's name; gives an exit code */
};

/* Commands that stand behind one word, or behind none, and what --help says of them. */
struct cli_family {
    const char *name;  /* behind "jit-gemm "; "" for the commands themselves */
    const char *about; /* lines, each ending in \n */
    const struct cli_command *commands;
    size_t count;
    const char *closing; /* lines behind the list */
};

int cmd_run(int argc, char **argv);
int cmd_build(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_prewarm(int argc, char **argv);
int cmd_verify_manifest(int argc, char **argv);
int cmd_epilogue(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_version(int argc, char **argv);
/* Not listed: all commands, options and variables as one JSON object, of which the manual
 * page and the completion of shells are made. */
int cmd_describe(const struct cli_family *all, int argc, char **argv);

/* Subcommands of `epilogue`, each in its own file. */
int epilogue_check(int argc, char **argv);
int epilogue_list(int argc, char **argv);
int epilogue_show(int argc, char **argv);

/* Runs the command that argv[0] names; `program` is what usage errors call the caller. */
int cli_dispatch(const char *program, const struct cli_command *table, size_t count,
                 int argc, char **argv);

/* The same behind a word that the caller knows, as `cache`: also --help, and no word at
 * all. */
int cli_run_family(const struct cli_family *family, int argc, char **argv);
void cli_print_family(const struct cli_family *family);

/* What `jit-gemm env` lists. */
struct cli_variable {
    const char *name;
    const char *help;
};
const struct cli_variable *cli_variables(size_t *ret_count);

/* -------------------------------------------------------------------------- options */

enum cli_option_kind {
    CLI_FLAG,   /* target: bool, set to true */
    CLI_TEXT,   /* target: const char * */
    CLI_CHOICE, /* the same, one of the words of `value`: "auto|gpu|emulator" */
    CLI_INT,    /* target: int64_t, not negative */
    CLI_NUMBER, /* target: double */
    CLI_BYTES,  /* target: uint64_t, with K, M or G for powers of 1024 */
    CLI_LIST    /* target: struct cli_list, one entry each time the option is given */
};

struct cli_option {
    const char *name;  /* with its dashes */
    const char *value; /* what the help calls the value; NULL for a flag */
    const char *help;
    enum cli_option_kind kind;
    void *target;
};

struct cli_list {
    const char *items[64];
    size_t count;
};

/* What a command says of itself. The options' table ends with a NULL name. */
struct cli_help {
    const char *usage;    /* after "jit-gemm " */
    const char *about;    /* paragraphs, each line ending in \n */
    const char *examples; /* lines, may be NULL */
};

/* Who writes what --help asks for: text for people, unless this is called. */
struct cli_help_form {
    void (*command)(const struct cli_help *help, const char *words_help,
                    const struct cli_option *const *groups);
    void (*family)(const struct cli_family *family);
};
void cli_set_help_form(const struct cli_help_form *form);

/*
 * Reads options and collects the other words, in their order, at the start of argv[1...].
 * Returns -1 to go on; otherwise the exit code: --help was printed, or the words are wrong
 * and the error was.
 */
int cli_parse(const struct cli_help *help, const struct cli_option *const *groups, int argc,
              char **argv, int *ret_words);
/* The same for a command that takes options only. */
int cli_parse_options(const struct cli_help *help, const struct cli_option *const *groups,
                      int argc, char **argv);
/* As cli_parse; `words_help` are lines of the help on how the other words are written. */
int cli_parse_words(const struct cli_help *help, const char *words_help,
                    const struct cli_option *const *groups, int argc, char **argv,
                    int *ret_words);

/* ------------------------------------------------------------------------- messages */

/* Prints "jit-gemm: error: ..." and gives CLI_USAGE. */
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "jit-gemm: error: ..." and gives CLI_FAILED. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "jit-gemm: ..." on standard error. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text whose lines a diagnostic may point into; NULL fields mean that there is none. In a
 * manifest there are snippets of many sources: a message names the source, and the
 * manifest's line, which is shown. */
struct cli_snippet {
    const char *text;
    bool is_manifest;
};

/*
 * Prints the thread's last error after a failed call: `line:column: error: ...` with the
 * line and a caret for snippets, `jit-gemm: error: ...` for everything else, then hints.
 * Gives the status's exit code.
 */
int cli_report(jit_gemm_status status, const struct cli_snippet *snippet, bool verbose);

/* Prints on standard error what a kernel with debug=1 said before it gave up, if it did. */
void cli_print_debug_report(const jit_gemm *gemm);

/* A log callback: lines go to standard error; errors only if `user` is not NULL, because a
 * failed call's error is printed by cli_report. */
void cli_log(void *user, jit_gemm_severity severity, const char *text);
/* True: cli_log prints nothing until this is called with false. */
void cli_log_mute(bool is_muted);

/* Memory that is there, or the program ends with a message. Freed with free(). */
void *cli_alloc(size_t bytes);
/* Reads a whole file, "-" for standard input, with a zero byte behind it. On failure
 * prints the error and gives NULL. */
char *cli_read_file(const char *path, size_t *ret_size);
/* What an option names as a file to write. CLI_OK, or CLI_FAILED after an error line that
 * names the option. The check is for before the work: "-" and no path at all are fine.
 * Closing leaves no file that is not whole, and removes nothing that is no regular file. */
int cli_check_output(const char *option, const char *path);
int cli_open_output(const char *option, const char *path, FILE **ret_file);
int cli_close_output(const char *option, const char *path, FILE *file);
/* All of it at once; standard output for "-". */
int cli_write_file(const char *option, const char *path, const void *data, size_t size);

/* ------------------------------------------------------------- contexts and problems */

/* Names the emulator, as a device here and as a driver in the library. */
#define CLI_EMULATOR "emulator"

/* Options of every command that opens a context. */
struct cli_context_options {
    const char *arch, *plan_for, *nvrtc, *cache_dir, *capsule_dir;
    const char *recipe; /* NULL: none */
    struct cli_list cache_roots, cache_keys;
    int64_t cache_least_serial;
    const char *driver, *device; /* NULL where the command has no such option */
    bool no_cache, verbose, nvtx;
    int64_t compile_limit_s; /* 0: the library's default */
    bool log_errors; /* print logged errors too: where one call can fail many times */
};
#define CLI_CONTEXT_OPTION_COUNT 15
/* Fills the first entries of a table with --cache-key and --cache-least-serial. */
#define CLI_SIGNER_OPTION_COUNT 2
void cli_signer_table(struct cli_context_options *options,
                      struct cli_option ret_table[CLI_SIGNER_OPTION_COUNT]);
/* Room for all the keys that a list names. */
typedef uint8_t cli_keys[64][32];
/* Reads public keys: 64 digits each, or the path of a file that has them in its one line.
 * CLI_OK, or the error was printed. */
int cli_read_public_keys(const struct cli_list *words, cli_keys keys);
/* Hands --cache-key and --cache-least-serial to a context's options, which borrow `keys`.
 * CLI_OK, or the error was printed. */
int cli_set_cache_keys(const struct cli_context_options *options, cli_keys keys,
                       jit_gemm_context_options *settings);
/* Fills a table whose targets are the fields of `options`. `with_device`: also --device,
 * which is `auto` by default, and --driver. */
void cli_context_table(struct cli_context_options *options, bool with_device,
                       struct cli_option ret_table[CLI_CONTEXT_OPTION_COUNT]);
/* CLI_OK if --device agrees with --driver; or the error was printed. */
int cli_check_device(const struct cli_context_options *options);
/* Puts the current folder in front of a relative path; `option` is who names it. CLI_OK, or
 * the error was printed. */
int cli_absolute_path(const char *option, const char *path, char *buffer, size_t size);
/*
 * Opens a context, and loads the recipe. Relative paths of cache folder, capsules and roots
 * are taken from the current folder; a root that cannot be used is an error. If no device
 * is needed and an architecture is named (--arch or JIT_GEMM_ARCH), no driver is opened.
 *
 * With --device `auto` the emulator stands in where there is no GPU, or no kernels for it,
 * unless a driver was named; a note on standard error says which device was taken. CLI_OK,
 * or the error was printed.
 */
int cli_context_open(const struct cli_context_options *options, bool needs_device,
                     jit_gemm_policy policy, jit_gemm_context **ret_context);

/* The same with a GPU whose place nothing takes: times of an emulated device say nothing of
 * it. `command` is for the message. */
int cli_context_open_gpu(const char *command, const struct cli_context_options *options,
                         jit_gemm_context **ret_context);

/* What jit_gemm_context_describe says, owned by the caller, and its status. */
jit_gemm_status cli_describe(jit_gemm_context *context, char **ret_text);
/* A line of a description behind "name: ", owned by the caller; NULL without one. `at` goes
 * behind it. */
char *cli_copy_fact(const char **at, const char *name);
/* Names an architecture where any will do: no driver is opened then. */
#define CLI_ANY_ARCH "sm_90a"

/* A manifest and what is done with it. The context's options are the command's. */
struct cli_manifest_job {
    const char *name; /* of the command, for messages */
    const char *path; /* "-" is standard input */
    const char *device;
    int64_t jobs;
    bool require_cached; /* nothing is compiled */
    const char *bundle;  /* file to write, or NULL */
    bool only_estimate;  /* nor looked for as a failure */
    bool json;           /* the outcome as one JSON object */
    int64_t deadline_s;  /* 0: none */
};
/* Prewarms, prints what came of it, and gives the exit code. */
int cli_run_manifest(const struct cli_manifest_job *job,
                     struct cli_context_options *options);

/* One of the library's own epilogues; false if it has none of this name. */
bool cli_find_named_epilogue(const char *name, jit_gemm_dtype d,
                             jit_gemm_named_epilogue *ret_named);

/* A hint for a name that the library has not, with the nearest that it has. */
struct jg_near_hint cli_near_epilogue(const char *name, const char *hint);

/* A problem and its epilogue, as the words and options give them. */
struct cli_problem {
    const char *epilogue_text, *epilogue_file, *code_file, *symbol, *config;
    struct cli_list operand_texts;
    /* The command line without --epilogue and --operand; empty of a command without a
     * problem, and of a line that is too long. */
    char command_line[1024];
    /* Filled by cli_problem_read. */
    jit_gemm_problem problem;
    char *snippet; /* owned; NULL without an epilogue, or with a compiled one */
    bool is_named; /* it is the library's own, which nobody registers */
    char *code;    /* owned; of a compiled epilogue, otherwise NULL */
    size_t code_size;
    char names[JIT_GEMM_MAX_OPERANDS][JIT_GEMM_NAME_SIZE];
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    size_t operand_count;
};
/* Joins the words to the problem's text and reads text, operands and snippet. CLI_OK, or
 * the error was printed. Free with cli_problem_free in either case. */
int cli_problem_read(struct cli_problem *problem, char **words, int count);
void cli_problem_free(struct cli_problem *problem);
/* Words up to where the next problem begins: at one that opens with a digit or `m=`. */
int cli_count_problem_words(char **words, int count);
/* Fills a table of --epilogue, --epilogue-file and --operand, for `problem`. */
#define CLI_EPILOGUE_OPTION_COUNT 6
void cli_epilogue_table(struct cli_problem *problem,
                        struct cli_option ret_table[CLI_EPILOGUE_OPTION_COUNT]);
/* Reads the snippet and operands of those options, as cli_problem_read does. */
int cli_epilogue_read(struct cli_problem *problem);
/* Prints that --epilogue has a name in the place of a text: of the library's epilogues the
 * operands, and the command line that works. Gives CLI_USAGE. */
int cli_refuse_epilogue_name(const struct cli_problem *problem);
/* Bytes of the command's one or two words, which begin its usage: "cache ls" of
 * "cache ls [--all]". */
int cli_count_command_bytes(const char *usage);
bool cli_problem_has_epilogue(const struct cli_problem *problem);
/* The epilogue as the library wants it; it points into the problem. */
jit_gemm_epilogue cli_problem_epilogue(const struct cli_problem *problem);
/* Registers the epilogue, if there is one. CLI_OK, or the error was printed. */
int cli_problem_register(const struct cli_problem *problem, jit_gemm_context *context,
                         bool verbose);
/*
 * cli_parse for a command on problems: its own options, then those of a problem and of a
 * context, with --device or without.
 */
int cli_parse_problem(const struct cli_help *help, const struct cli_option *own,
                      struct cli_problem *problem, struct cli_context_options *options,
                      bool with_device, int argc, char **argv, int *ret_words);
/* The problem's text; owned by the caller. */
char *cli_problem_text(const jit_gemm_problem *problem);

#endif
