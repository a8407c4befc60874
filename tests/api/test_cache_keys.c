/* SPDX-License-Identifier: MIT */
/* Contexts that ask for signed roots: whose bundles they take, and what they say of others.
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_fixture.h"
#include "jg_cache.h"

static const char *const text = "512x512x512 bf16";

static struct api_fixture fixture;
static jit_gemm_context_options own_folder; /* compiles, and keeps what it has compiled */
static jg_cache_secret_key secrets[2];
static uint8_t keys[2][32];
static char digits[2][JG_CACHE_KEY_TEXT_SIZE];
static char plain[96], seventh[96]; /* bundles: unsigned; by the first key, number 7 */

static int add_entry(void *user, const jg_cache_entry *entry)
{
    void **both = user;
    return jg_cache_bundle_add(both[0], both[1], &entry->name) == JG_CACHE_OK ? 0 : 2;
}

/* Copies a bundle and signs the copy. */
static void sign_copy(const char *from, const char *to, uint64_t serial)
{
    const jg_cache_options options = {.folder = from, .read_only = true};
    jg_cache *bundle = NULL;
    jg_cache_bundle_writer *writer = NULL;
    cr_assert_eq(jg_cache_open(&options, &bundle, NULL, 0), JG_CACHE_OK);
    cr_assert_eq(jg_cache_bundle_begin(&writer), JG_CACHE_OK);
    void *both[] = {writer, bundle};
    cr_assert_eq(jg_cache_walk(bundle, false, add_entry, both), JG_CACHE_OK);
    jg_cache_bundle_sign(writer, &secrets[0], serial);
    cr_assert_eq(jg_cache_bundle_write(writer, to, NULL, NULL, 0), JG_CACHE_OK);
    jg_cache_bundle_end(writer);
    jg_cache_close(bundle);
}

static void begin(void)
{
    unsetenv("JIT_GEMM_CACHE_ROOTS");
    unsetenv("JIT_GEMM_CACHE_KEYS");
    unsetenv("JIT_GEMM_CACHE_LEAST_SERIAL");
    for (int i = 0; i < 2; i++) {
        memset(secrets[i].bytes, i + 1, sizeof(secrets[i].bytes));
        const jg_cache_public_key key = jg_cache_public_key_of(&secrets[i]);
        memcpy(keys[i], key.bytes, sizeof(keys[i]));
        jg_cache_key_print(keys[i], digits[i]);
    }
    own_folder = api_fixture_options(&fixture);
    api_fixture_open_with(&fixture, &own_folder, 0);
    snprintf(plain, sizeof(plain), "%s/plain.jgb", fixture.folder);
    snprintf(seventh, sizeof(seventh), "%s/seventh.jgb", fixture.folder);
    static const char manifest[] = "jit_gemm manifest 1\nproblem 512x512x512 bf16\n";
    const jit_gemm_prewarm_options options = {
        .struct_size = sizeof(options), .jobs = 1, .bundle = plain};
    cr_assert_eq(
        jit_gemm_prewarm(fixture.context, manifest, sizeof(manifest) - 1, &options, NULL),
        JIT_GEMM_OK, "%s", jit_gemm_last_error());
    jit_gemm_context_destroy(&fixture.context);
    sign_copy(plain, seventh, 7);
}

static void end(void)
{
    unsetenv("JIT_GEMM_CACHE_ROOTS");
    unsetenv("JIT_GEMM_CACHE_KEYS");
    unsetenv("JIT_GEMM_CACHE_LEAST_SERIAL");
    api_fixture_close(&fixture);
}

TestSuite(cache_keys, .init = begin, .fini = end);

/* No cache folder: a kernel comes from a root, or is compiled. */
static jit_gemm_context_options options_with(const uint8_t *list, size_t count,
                                             uint64_t least_serial)
{
    jit_gemm_context_options options = own_folder;
    options.cache_dir = NULL;
    options.no_cache = 1;
    options.cache_keys = list;
    options.cache_key_count = count;
    options.cache_least_serial = least_serial;
    return options;
}

static bool description_has(const char *words)
{
    char buffer[4096];
    (void)jit_gemm_context_describe(fixture.context, buffer, sizeof(buffer), NULL);
    return strstr(buffer, words) != NULL;
}

/* Where the kernel comes from when the bundle is a root of the options. */
static jit_gemm_origin origin_with(const char *root, jit_gemm_context_options options)
{
    const char *const roots[] = {root};
    options.cache_roots = roots;
    options.cache_root_count = 1;
    api_fixture_open_with(&fixture, &options, 0);
    const jit_gemm_origin origin = api_info_of(&fixture, text).origin;
    jit_gemm_context_destroy(&fixture.context);
    return origin;
}

Test(cache_keys, signed_bundle_is_used_with_its_key_and_without_any)
{
    cr_expect_eq(origin_with(seventh, options_with(NULL, 0, 0)), JIT_GEMM_ORIGIN_BUNDLE);
    cr_expect_eq(origin_with(seventh, options_with(keys[0], 1, 0)), JIT_GEMM_ORIGIN_BUNDLE);
    cr_expect_eq(origin_with(seventh, options_with(keys[0], 2, 7)), JIT_GEMM_ORIGIN_BUNDLE);
    cr_expect_eq(origin_with(plain, options_with(NULL, 0, 0)), JIT_GEMM_ORIGIN_BUNDLE);
}

Test(cache_keys, keys_are_copied)
{
    uint8_t own[32];
    memcpy(own, keys[0], sizeof(own));
    const jit_gemm_context_options options = options_with(own, 1, 7);
    api_fixture_open_with(&fixture, &options, 0);
    memset(own, 0, sizeof(own));

    cr_expect_eq(jit_gemm_context_add_cache_root(fixture.context, seventh), JIT_GEMM_OK);
    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_BUNDLE);
}

Test(cache_keys, root_of_the_options_that_is_not_so_signed_is_left_out_with_a_warning)
{
    static const struct {
        const char *root;
        int first, count;
        uint64_t least;
        const char *reason;
    } rows[] = {
        {plain, 0, 2, 0, "/plain.jgb is not used: the bundle is not signed, and a trusted"},
        {seventh, 1, 1, 0, ", which is no trusted key (untrusted)"},
        {seventh, 0, 1, 8,
         "the bundle has serial number 7, and the least is 8 (untrusted)"},
        {fixture.folder, 0, 1, 0, " is not used: a folder has no signature: name a signed"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const jit_gemm_context_options options =
            options_with(keys[rows[i].first], (size_t)rows[i].count, rows[i].least);
        fixture.log_size = 0;
        cr_expect_eq(origin_with(rows[i].root, options), JIT_GEMM_ORIGIN_COMPILED, "%zu",
                     i);
        cr_expect_not_null(strstr(fixture.log, rows[i].reason), "%zu: %s", i, fixture.log);
    }
}

Test(cache_keys, root_that_is_added_and_not_so_signed_is_an_error)
{
    const jit_gemm_context_options options = options_with(keys[0], 1, 8);
    api_fixture_open_with(&fixture, &options, 0);

    cr_expect_eq(jit_gemm_context_add_cache_root(fixture.context, plain), JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("/plain.jgb cannot be used: the bundle is not signed"), "%s",
              jit_gemm_last_error());
    cr_expect(api_error_has("name a bundle that one of the trusted keys has signed"), "%s",
              jit_gemm_last_error());
    cr_expect_eq(jit_gemm_context_add_cache_root(fixture.context, seventh),
                 JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("the bundle has serial number 7, and the least is 8"), "%s",
              jit_gemm_last_error());
    sign_copy(plain, seventh, 8);
    cr_expect_eq(jit_gemm_context_add_cache_root(fixture.context, seventh), JIT_GEMM_OK);
    cr_expect_eq(api_info_of(&fixture, text).origin, JIT_GEMM_ORIGIN_BUNDLE);
}

Test(cache_keys, owner_rule_holds_beside_the_signature)
{
    const jit_gemm_context_options options = options_with(keys[0], 1, 0);
    api_fixture_open_with(&fixture, &options, 0);
    cr_assert_eq(chmod(seventh, 0666), 0);

    cr_expect_eq(jit_gemm_context_add_cache_root(fixture.context, seventh),
                 JIT_GEMM_ERR_IO);
    cr_expect(api_error_has("may be written by others"), "%s", jit_gemm_last_error());
}

Test(cache_keys, description_names_keys_and_who_signed)
{
    char words[256];
    const jit_gemm_context_options options = options_with(keys[0], 2, 3);
    api_fixture_open_with(&fixture, &options, 0);
    cr_assert_eq(jit_gemm_context_add_cache_root(fixture.context, seventh), JIT_GEMM_OK);

    snprintf(words, sizeof(words),
             "cache roots must be signed by: %s or %s, least serial number 3\n", digits[0],
             digits[1]);
    cr_expect(description_has(words));
    snprintf(
        words, sizeof(words),
        "/seventh.jgb, a bundle, signed by %s with serial number 7, read-only, trusted: ",
        digits[0]);
    cr_expect(description_has(words));
}

Test(cache_keys, environment_names_keys_and_serial_number_unless_the_options_do)
{
    char value[256];
    snprintf(value, sizeof(value), ":%s::%s:", digits[1], digits[0]);
    setenv("JIT_GEMM_CACHE_KEYS", value, 1);
    cr_expect_eq(origin_with(plain, options_with(NULL, 0, 0)), JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(origin_with(seventh, options_with(NULL, 0, 0)), JIT_GEMM_ORIGIN_BUNDLE);
    cr_expect_eq(origin_with(plain, options_with(keys[0], 0, 0)), JIT_GEMM_ORIGIN_BUNDLE,
                 "the options name none");
    cr_expect_eq(origin_with(seventh, options_with(keys[1], 1, 0)),
                 JIT_GEMM_ORIGIN_COMPILED, "the options name another");
    setenv("JIT_GEMM_CACHE_LEAST_SERIAL", "8", 1);
    cr_expect_eq(origin_with(seventh, options_with(NULL, 0, 0)), JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(origin_with(seventh, options_with(NULL, 0, 7)), JIT_GEMM_ORIGIN_BUNDLE,
                 "the options name a lower one");
    setenv("JIT_GEMM_CACHE_LEAST_SERIAL", "7", 1);
    cr_expect_eq(origin_with(seventh, options_with(keys[0], 1, 0)), JIT_GEMM_ORIGIN_BUNDLE);
}

static void expect_refused(const jit_gemm_context_options *options, const char *words)
{
    jit_gemm_context *context = NULL;
    cr_expect_eq(jit_gemm_context_create(options, &context), JIT_GEMM_ERR_ARGUMENT, "%s",
                 words);
    cr_expect(api_error_has(words), "%s: %s", words, jit_gemm_last_error());
    cr_expect_null(context);
}

Test(cache_keys, what_cannot_be_meant_is_refused_by_name)
{
    static const char *const wrong_serials[] = {"x",    "-1", "1x",
                                                "0x10", " 1", "18446744073709551616"};
    char value[256];
    jit_gemm_context_options options = options_with(NULL, 1, 0);
    expect_refused(&options, "options.cache_keys: is NULL; give options.cache_key_count");
    options = options_with(NULL, 0, 1);
    expect_refused(&options, "options.cache_least_serial: a serial number means nothing");
    options = options_with(keys[0], 0, 1);
    expect_refused(&options, "options.cache_least_serial: a serial number means nothing");

    options = options_with(NULL, 0, 0);
    setenv("JIT_GEMM_CACHE_LEAST_SERIAL", "1", 1);
    expect_refused(&options, "JIT_GEMM_CACHE_LEAST_SERIAL: a serial number means nothing");
    options = options_with(keys[0], 1, 0);
    for (size_t i = 0; i < sizeof(wrong_serials) / sizeof(wrong_serials[0]); i++) {
        setenv("JIT_GEMM_CACHE_LEAST_SERIAL", wrong_serials[i], 1);
        expect_refused(&options, "JIT_GEMM_CACHE_LEAST_SERIAL: '");
    }
    unsetenv("JIT_GEMM_CACHE_LEAST_SERIAL");

    options = options_with(NULL, 0, 0);
    setenv("JIT_GEMM_CACHE_KEYS", ":", 1);
    expect_refused(&options, "JIT_GEMM_CACHE_KEYS: there is no key in it; give");
    snprintf(value, sizeof(value), "%s:%.63s", digits[0], digits[1]);
    setenv("JIT_GEMM_CACHE_KEYS", value, 1);
    expect_refused(&options, "JIT_GEMM_CACHE_KEYS: entry 2 is no key");
    snprintf(value, sizeof(value), "%s%s", digits[0], digits[1]);
    setenv("JIT_GEMM_CACHE_KEYS", value, 1);
    expect_refused(&options, "JIT_GEMM_CACHE_KEYS: entry 1 is no key");
}
