/* SPDX-License-Identifier: MIT */
/* jit-gemm cache keygen and sign: keys in files, and who answers for a bundle. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_tool.h"

/* A secret key's file: this, 64 digits, a newline. A public one's has no such beginning. */
static const char secret_word[] = "jit_gemm-secret-key-1 ";
enum {
    WORD_BYTES = sizeof(secret_word) - 1,
    SECRET_BYTES = WORD_BYTES + JG_CACHE_KEY_TEXT_SIZE,
    PATH_SIZE = PATH_MAX + 8
};

/* ----------------------------------------------------------------------------- files */

/* Makes a file that is not there yet. CLI_OK, or the error was printed and none is left. */
static int write_new_file(const char *path, mode_t mode, const char *text, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) {
        return cli_error("%s cannot be made: %s", path, strerror(errno));
    }
    const ssize_t written = write(fd, text, size);
    bool is_good = written >= 0 && (size_t)written == size && fsync(fd) == 0;
    is_good = close(fd) == 0 && is_good;
    if (!is_good) {
        const int error = errno;
        (void)unlink(path);
        return cli_error("%s cannot be written: %s", path, strerror(error));
    }
    return CLI_OK;
}

/* The file is one that only this user can read. */
static int check_secret_file(int fd, const char *path)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return cli_error("%s cannot be examined: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return cli_error("%s is no file", path);
    }
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        return cli_error("%s belongs to user %u, who knows the secret key: make a key of "
                         "your own by `jit-gemm cache keygen`",
                         path, (unsigned)st.st_uid);
    }
    if ((st.st_mode & 077) != 0) {
        return cli_error("%s is open to others (mode %04o), so that its key is no secret: "
                         "`chmod 600` it, or make another key if it was ever so",
                         path, (unsigned)st.st_mode & 07777);
    }
    return CLI_OK;
}

/* CLI_OK, or the error was printed; it never shows what the file holds. */
static int read_open_secret(int fd, const char *path, jg_cache_secret_key *ret_secret)
{
    char text[SECRET_BYTES + 1];
    if (check_secret_file(fd, path) != CLI_OK) {
        return CLI_FAILED;
    }
    const ssize_t size = read(fd, text, sizeof(text));
    const bool is_key =
        size == SECRET_BYTES && memcmp(text, secret_word, WORD_BYTES) == 0 &&
        text[SECRET_BYTES - 1] == '\n' &&
        jg_cache_key_read(text + WORD_BYTES, JG_CACHE_KEY_TEXT_SIZE - 1, ret_secret->bytes);
    explicit_bzero(text, sizeof(text));
    return is_key ? CLI_OK
                  : cli_error("%s holds no secret key: `jit-gemm cache keygen` makes one",
                              path);
}

static int read_secret(const char *path, jg_cache_secret_key *ret_secret)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return cli_error("%s cannot be opened: %s", path, strerror(errno));
    }
    const int code = read_open_secret(fd, path, ret_secret);
    close(fd);
    return code;
}

/* ---------------------------------------------------------------------------- keygen */

static const struct cli_help keygen_help = {
    "cache keygen -o NAME [--json]",
    "Makes a key pair to sign bundles with: the secret key in the file NAME, which nobody\n"
    "else may read, and the public one in NAME.pub, for those who verify. Neither file may\n"
    "be there yet.\n",
    "  jit-gemm cache keygen -o release\n",
};

static int write_key_files(const char *name, const jg_cache_secret_key *secret, bool json)
{
    char path[PATH_SIZE], text[SECRET_BYTES + 1], public_text[JG_CACHE_KEY_TEXT_SIZE];
    const jg_cache_public_key key = jg_cache_public_key_of(secret);

    snprintf(path, sizeof(path), "%s.pub", name);
    memcpy(text, secret_word, WORD_BYTES);
    jg_cache_key_print(secret->bytes, text + WORD_BYTES);
    text[SECRET_BYTES - 1] = '\n';
    int code = write_new_file(name, 0600, text, SECRET_BYTES);
    explicit_bzero(text, sizeof(text));
    if (code != CLI_OK) {
        return code;
    }
    jg_cache_key_print(key.bytes, public_text);
    public_text[JG_CACHE_KEY_TEXT_SIZE - 1] = '\n';
    code = write_new_file(path, 0644, public_text, sizeof(public_text));
    if (code != CLI_OK) {
        (void)unlink(name);
        return code;
    }
    if (json) {
        struct cli_json writer = {.file = stdout};

        cli_json_open_command(&writer, "cache keygen");
        cli_json_add_bytes(&writer, "key", public_text, sizeof(public_text) - 1);
        cli_json_add_text(&writer, "secret", name);
        cli_json_add_text(&writer, "public", path);
        cli_json_close_object(&writer);
    } else {
        printf("keygen: key=%.*s secret=", (int)sizeof(public_text) - 1, public_text);
        cli_write_shown(stdout, name, strlen(name));
        fputs(" public=", stdout);
        cli_write_shown(stdout, path, strlen(path));
        fputc('\n', stdout);
    }
    return CLI_OK;
}

int cache_keygen(int argc, char **argv)
{
    const char *name = NULL;
    bool json = false;
    const struct cli_option own[] = {
        {"-o", "NAME", "the secret key's file; the public one is NAME.pub", CLI_TEXT,
         &name},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jg_cache_secret_key secret;
    int words = 0, code = cli_parse(&keygen_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words != 0 || name == NULL || name[0] == '\0') {
        return cli_usage_error(
            "cache keygen: name the file of the secret key with -o NAME");
    }
    if (strlen(name) >= PATH_MAX) {
        return cli_usage_error("-o: the path is too long");
    }
    if (getentropy(secret.bytes, sizeof(secret.bytes)) != 0) {
        return cli_error("the system gives no random numbers: %s", strerror(errno));
    }
    code = write_key_files(name, &secret, json);
    explicit_bzero(&secret, sizeof(secret));
    return code;
}

/* ------------------------------------------------------------------------------ sign */

static const struct cli_help sign_help = {
    "cache sign FILE --key SECRETFILE [--serial N] [--json]",
    "Signs a bundle, in its place: readers that are given the public key take it then, and\n"
    "nothing else. Its entries are verified first; a signature that it has is replaced.\n"
    "Readers can refuse serial numbers below one that they name, so that nobody hands them\n"
    "an older bundle: give each release a higher one.\n",
    "  jit-gemm cache sign model.jgb --key release --serial 7\n",
};

struct signing {
    jg_cache *bundle;
    jg_cache_bundle_writer *writer;
    uint64_t kernels, bad;
    jg_cache_result failure;
    bool json;
};

static int add_entry(void *user, const jg_cache_entry *entry)
{
    struct signing *state = user;

    if (!cache_check_entry(entry, state->json ? stderr : stdout)) {
        state->bad++;
        return 0;
    }
    state->kernels += cache_entry_is_kernel(entry);
    state->failure = jg_cache_bundle_add(state->writer, state->bundle, &entry->name);
    return state->failure == JG_CACHE_OK ? 0 : 2;
}

static int write_signed(struct signing *state, const char *path,
                        const jg_cache_secret_key *secret, uint64_t serial)
{
    char reason[512] = "", text[JG_CACHE_KEY_TEXT_SIZE];
    const jg_cache_public_key key = jg_cache_public_key_of(secret);
    jg_cache_result result = jg_cache_walk(state->bundle, true, add_entry, state);

    if (state->bad > 0) {
        return cli_error("bad entries of %s: %" PRIu64
                         "; make it again by `jit-gemm cache export`; it was not signed",
                         path, state->bad);
    }
    result = result == JG_CACHE_OK ? state->failure : result;
    if (result == JG_CACHE_OK) {
        jg_cache_bundle_sign(state->writer, secret, serial);
        result = jg_cache_bundle_write(state->writer, path, NULL, reason, sizeof(reason));
    }
    if (result != JG_CACHE_OK) {
        return cli_error("%s cannot be signed (%s): %s", path, jg_cache_result_name(result),
                         reason);
    }
    jg_cache_key_print(key.bytes, text);
    if (state->json) {
        struct cli_json writer = {.file = stdout};

        cli_json_open_command(&writer, "cache sign");
        cli_json_add_uint(&writer, "kernels", state->kernels);
        cli_json_add_uint(&writer, "serial", serial);
        cli_json_add_text(&writer, "key", text);
        cli_json_add_text(&writer, "path", path);
        cli_json_close_object(&writer);
    } else {
        printf("sign: kernels=%" PRIu64 " serial=%" PRIu64 " key=%s %s\n", state->kernels,
               serial, text, path);
    }
    return CLI_OK;
}

static int sign_bundle(const char *path, const jg_cache_secret_key *secret, uint64_t serial,
                       bool json)
{
    struct signing state = {.failure = JG_CACHE_OK, .json = json};

    if (cache_tool_open_bundle(path, NULL, &state.bundle) != CLI_OK) {
        return CLI_FAILED;
    }
    const int code = jg_cache_bundle_begin(&state.writer) == JG_CACHE_OK
                         ? write_signed(&state, path, secret, serial)
                         : cli_error("no memory for a bundle");
    jg_cache_bundle_end(state.writer);
    jg_cache_close(state.bundle);
    return code;
}

int cache_sign(int argc, char **argv)
{
    const char *key_path = NULL;
    int64_t serial = 0;
    bool json = false;
    const struct cli_option own[] = {
        {"--key", "SECRETFILE", "the secret key, as `cache keygen` made it", CLI_TEXT,
         &key_path},
        {"--serial", "N", "serial number of the bundle; default: 0", CLI_INT, &serial},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &json},
        {0},
    };
    const struct cli_option *groups[] = {own, NULL};
    jg_cache_secret_key secret;
    int words = 0, code = cli_parse(&sign_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words != 1) {
        return cli_usage_error("cache sign: name one bundle");
    }
    if (key_path == NULL) {
        return cli_usage_error("cache sign: name the secret key's file with --key FILE");
    }
    code = read_secret(key_path, &secret);
    if (code == CLI_OK) {
        code = sign_bundle(argv[1], &secret, (uint64_t)serial, json);
    }
    explicit_bzero(&secret, sizeof(secret));
    return code;
}

/* ------------------------------------------------------- who must have signed a bundle */

static int read_environment_keys(struct cache_signers *signers)
{
    const char *text = getenv("JIT_GEMM_CACHE_KEYS");
    const size_t room = sizeof(signers->keys) / sizeof(signers->keys[0]);

    if (text == NULL || text[0] == '\0') {
        return CLI_OK;
    }
    const size_t wrong = jg_cache_keys_read(text, (jg_cache_public_key *)signers->keys,
                                            room, &signers->count);
    return wrong == 0 && signers->count > 0
               ? CLI_OK
               : cli_error("JIT_GEMM_CACHE_KEYS: entry %zu is no public key: give 64 "
                           "hexadecimal digits each, with colons between them, at most %zu",
                           wrong > 0 ? wrong : 1, room);
}

static int read_environment_serial(struct cache_signers *signers)
{
    const char *text = getenv("JIT_GEMM_CACHE_LEAST_SERIAL");

    return text == NULL || text[0] == '\0' ||
                   jg_cache_serial_read(text, &signers->least_serial)
               ? CLI_OK
               : cli_error("JIT_GEMM_CACHE_LEAST_SERIAL: `%s` is no serial number", text);
}

int cache_read_signers(const struct cache_signer_words *words,
                       struct cache_signers *ret_signers)
{
    struct cache_signers signers = {.count = words->keys->count,
                                    .least_serial = (uint64_t)words->least_serial};

    if (cli_read_public_keys(words->keys, signers.keys) != CLI_OK ||
        (words->has_environment && signers.count == 0 &&
         read_environment_keys(&signers) != CLI_OK) ||
        (words->has_environment && signers.least_serial == 0 &&
         read_environment_serial(&signers) != CLI_OK)) {
        return CLI_FAILED;
    }
    if (signers.count == 0 && signers.least_serial > 0) {
        return cli_usage_error("%s needs the key that signs: give %s", words->serial_option,
                               words->key_option);
    }
    *ret_signers = signers;
    return CLI_OK;
}
