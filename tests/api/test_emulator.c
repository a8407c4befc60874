/* SPDX-License-Identifier: MIT */
/* Drivers that take PTX, and drivers with several devices: what a context makes of them. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "jit_gemm/device.h"

/* Options that name the fake emulator; its first device is of a chip that nobody has
 * kernels for, so that the second one, an H200, is what fits. */
static jit_gemm_context_options emulator_options(struct api_fixture *fixture)
{
    jit_gemm_context_options options = api_fixture_options(fixture);
    options.driver = JG_FAKE_EMULATOR;
    fixture->fake = api_fixture_driver_at(JG_FAKE_EMULATOR);
    fixture->fake->cc_major = 8;
    return options;
}

static jit_gemm *create(struct api_fixture *fixture, jit_gemm_info *ret_info)
{
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;
    cr_assert_eq(jit_gemm_create(fixture->context, &problem, &gemm), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    ret_info->struct_size = sizeof(*ret_info);
    cr_assert_eq(jit_gemm_get_info(gemm, ret_info), JIT_GEMM_OK);
    return gemm;
}

static jit_gemm_status try_context(const jit_gemm_context_options *options)
{
    jit_gemm_context *context = NULL;
    const jit_gemm_status status = jit_gemm_context_create(options, &context);
    cr_expect_eq(status == JIT_GEMM_OK, context != NULL);
    jit_gemm_context_destroy(&context);
    return status;
}

static jit_gemm_device_info device_of(const struct api_fixture *fixture)
{
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    cr_assert_eq(jit_gemm_device_get_info(fixture->context, &info), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return info;
}

/* ------------------------------------------------------------------------------- PTX */

Test(emulator, is_given_ptx_which_the_cache_keeps)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);
    jit_gemm_info compiled = {0};
    jit_gemm_info disk = {0};
    api_fixture_open_with(&fixture, &options, 0);

    jit_gemm *first = create(&fixture, &compiled);
    jit_gemm_destroy(&first);
    jit_gemm_context_destroy(&fixture.context);
    memset(fixture.fake->last_code, 0, sizeof(fixture.fake->last_code));
    api_fixture_open_with(&fixture, &options, 0);
    jit_gemm *second = create(&fixture, &disk);

    cr_expect_eq(strncmp(fixture.fake->last_code, "// dummy PTX\n.version", 21), 0, "%s",
                 fixture.fake->last_code);
    cr_expect_eq(compiled.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_eq(disk.origin, JIT_GEMM_ORIGIN_DISK);
    cr_expect_str_eq(disk.key, compiled.key);
    cr_expect_eq(jg_compiler_dummy_calls(fixture.compiler), 0);
    jit_gemm_destroy(&second);
    api_fixture_close(&fixture);
}

Test(emulator, key_is_not_that_of_machine_code)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = emulator_options(&fixture);
    jit_gemm_info emulated = {0};
    jit_gemm_info real = {0};
    api_fixture_open_with(&fixture, &options, 0);
    jit_gemm *gemm = create(&fixture, &emulated);
    jit_gemm_destroy(&gemm);
    jit_gemm_context_destroy(&fixture.context);
    options.driver = JG_FAKE_DRIVER;
    api_fixture_open_with(&fixture, &options, 0);

    gemm = create(&fixture, &real);

    cr_expect_eq(real.origin, JIT_GEMM_ORIGIN_COMPILED);
    cr_expect_str_eq(real.arch, emulated.arch);
    cr_expect_str_neq(real.key, emulated.key);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(emulator, registers_are_unknown_and_no_warning_speaks_of_them)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);
    jit_gemm_info info = {0};
    fixture.fake->registers = 255;
    fixture.fake->local_bytes = 1024;
    api_fixture_open_with(&fixture, &options, 0);

    jit_gemm *gemm = create(&fixture, &info);

    cr_expect_eq(info.registers, 0);
    cr_expect_eq(info.spill_bytes, 0);
    cr_expect_null(strstr(fixture.log, "local memory"), "%s", fixture.log);
    cr_expect_not_null(strstr(fixture.log, " to PTX in "), "%s", fixture.log);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(emulator, device_says_that_it_is_emulated)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);
    char text[4096];
    api_fixture_open_with(&fixture, &options, 0);

    const jit_gemm_device_info info = device_of(&fixture);

    cr_expect_eq(info.is_emulated, 1);
    cr_expect_eq(info.ordinal, 1);
    cr_expect_str_eq(info.name, "Fake H200");
    cr_assert_eq(jit_gemm_context_describe(fixture.context, text, sizeof(text), NULL),
                 JIT_GEMM_OK);
    cr_expect_not_null(strstr(text, "takes PTX: an emulator, no GPU is used\n"), "%s",
                       text);
    api_fixture_close(&fixture);
    api_fixture_open(&fixture);
    cr_expect_eq(device_of(&fixture).is_emulated, 0);
    api_fixture_close(&fixture);
}

static uint64_t findings_of(const struct api_fixture *fixture)
{
    uint64_t count = UINT64_MAX;
    cr_assert_eq(jit_gemm_device_findings(fixture->context, &count), JIT_GEMM_OK, "%s",
                 jit_gemm_last_error());
    return count;
}

Test(emulator, its_warnings_and_errors_are_counted_and_a_gpu_has_none)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);
    api_fixture_open_with(&fixture, &options, 0);

    const uint64_t before = findings_of(&fixture);
    fixture.fake->warnings = 2;
    fixture.fake->errors = 1;
    const uint64_t after = findings_of(&fixture);

    cr_expect_eq(before, 0);
    cr_expect_eq(after, 3);
    cr_expect_eq(jit_gemm_device_findings(fixture.context, NULL), JIT_GEMM_ERR_ARGUMENT);
    api_fixture_close(&fixture);
    api_fixture_open(&fixture);
    fixture.fake->warnings = 2;
    cr_expect_eq(findings_of(&fixture), 0);
    api_fixture_close(&fixture);
}

Test(emulator, forbidden_miss_is_mended_by_the_prewarm_that_it_names)
{
    static const char manifest[] = "jit_gemm manifest 1\nproblem 512x512x512 bf16\n";
    struct api_fixture fixture;
    jit_gemm_context_options options = emulator_options(&fixture);
    const jit_gemm_prewarm_options prewarm = {.struct_size = sizeof(prewarm), .ptx = 1};
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    jit_gemm *gemm = NULL;
    jit_gemm_info info = {0};
    options.policy = JIT_GEMM_POLICY_FORBID;
    api_fixture_open_with(&fixture, &options, 0);
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_NOT_CACHED);
    cr_expect(api_error_has("prewarm MANIFEST --arch sm_90a --device emulator"));
    jit_gemm_context_destroy(&fixture.context);

    /* As the command does it: an architecture, and no device. */
    options.no_device = 1;
    options.arch = "sm_90a";
    api_fixture_open_with(&fixture, &options, 0);
    cr_expect_eq(
        jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), &prewarm, &result),
        JIT_GEMM_OK, "%s", jit_gemm_last_error());
    jit_gemm_context_destroy(&fixture.context);

    cr_expect_eq(result.compiled, 1);
    options.no_device = 0;
    options.arch = NULL;
    api_fixture_open_with(&fixture, &options, 0);
    gemm = create(&fixture, &info);
    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(emulator, prewarm_builds_what_the_device_of_its_context_takes)
{
    static const char manifest[] = "jit_gemm manifest 1\nproblem 512x512x512 bf16\n";
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);
    jit_gemm_info info = {0};
    api_fixture_open_with(&fixture, &options, 0);

    cr_assert_eq(jit_gemm_prewarm(fixture.context, manifest, strlen(manifest), NULL, NULL),
                 JIT_GEMM_OK);

    jit_gemm *gemm = create(&fixture, &info);
    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(emulator, built_ptx_is_what_a_create_finds)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm_artifact *artifact = NULL;
    jit_gemm_info info = {0};
    api_fixture_open_with(&fixture, &options, 0);

    cr_assert_eq(jit_gemm_build(fixture.context, &problem, JIT_GEMM_EMIT_PTX, &artifact),
                 JIT_GEMM_OK);

    jit_gemm *gemm = create(&fixture, &info);
    cr_expect_eq(info.origin, JIT_GEMM_ORIGIN_DISK);
    jit_gemm_artifact_destroy(&artifact);
    jit_gemm_destroy(&gemm);
    api_fixture_close(&fixture);
}

Test(emulator, code_of_an_unknown_form_is_refused)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = emulator_options(&fixture);

    fixture.fake->module_format = "fatbin";
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("takes code of the form 'fatbin', which is not made here"));
    fixture.fake->module_format = NULL;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    api_fixture_close(&fixture);
}

/* ---------------------------------------------------------------------------- lookup */

Test(emulator, missing_one_says_where_it_was_looked_for)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.driver = "emulator";
    if (dlopen("libjit_gemm_emulator.so", RTLD_LAZY | RTLD_LOCAL) != NULL) {
        api_fixture_close(&fixture);
        cr_skip_test("the loader finds an emulator: one is installed");
    }

    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("options.driver: the emulator cannot be opened (tried: "));
    cr_expect(api_error_has("/tests/api, "));
    cr_expect(api_error_has("/tests/emulator, libjit_gemm_emulator.so;"));
    options.driver = NULL;
    setenv("JIT_GEMM_DRIVER", "emulator", 1);
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_NO_DRIVER);
    cr_expect(api_error_has("JIT_GEMM_DRIVER: the emulator cannot be opened"));
    api_fixture_close(&fixture);
}

/* --------------------------------------------------------------------- several devices */

Test(devices, first_that_fits_is_taken_and_the_log_says_why)
{
    struct api_fixture fixture;
    const jit_gemm_context_options options = api_fixture_options(&fixture);
    fixture.fake->device_count = 3;
    fixture.fake->cc_major = 8;

    api_fixture_open_with(&fixture, &options, 0);

    cr_expect_eq(device_of(&fixture).ordinal, 1);
    cr_expect_eq(fixture.fake->last_retained, 1);
    cr_expect_eq(atomic_load(&fixture.fake->retains), 1);
    cr_expect_not_null(strstr(fixture.log,
                              "device 1 was taken: kernels for any "
                              "architecture do not run on device 0, Fake GPU 0 "
                              "(sm_80)"),
                       "%s", fixture.log);
    api_fixture_close(&fixture);
}

Test(devices, named_architecture_chooses_its_device)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    options.driver = JG_FAKE_EMULATOR; /* a B200, then an H200 */
    options.arch = "sm_90a";

    api_fixture_open_with(&fixture, &options, 0);

    cr_expect_eq(device_of(&fixture).ordinal, 1);
    cr_expect_str_eq(jit_gemm_context_arch(fixture.context), "sm_90a");
    api_fixture_close(&fixture);
}

Test(devices, each_that_does_not_fit_is_named)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm *gemm = NULL;
    fixture.fake->device_count = 2;
    fixture.fake->cc_major = 8;
    fixture.fake->other_cc_major = 7;
    fixture.fake->other_cc_minor = 5;

    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(
        api_error_has("no kernels for device 0, Fake GPU 0 (sm_80); device 1, Fake GPU "
                      "1 (sm_75)"));
    options.arch = "sm_90a"; /* builds, but does not create */
    api_fixture_open_with(&fixture, &options, 0);
    cr_expect_eq(jit_gemm_create(fixture.context, &problem, &gemm),
                 JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(
        api_error_has("kernels for sm_90a do not run on device 0, Fake GPU 0 (sm_80); "
                      "device 1, Fake GPU 1 (sm_75)"));
    cr_expect_eq(atomic_load(&fixture.fake->retains), 0);
    api_fixture_close(&fixture);
}

Test(devices, explicit_one_is_taken_though_another_fits)
{
    struct api_fixture fixture;
    jit_gemm_context_options options = api_fixture_options(&fixture);
    fixture.fake->device_count = 2;
    fixture.fake->cc_major = 8;

    options.exact_device = 1;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("no kernels for device 0, Fake GPU 0 (sm_80);"));
    options.exact_device = 0;
    fixture.fake->cc_major = 9;
    fixture.fake->other_cc_major = 8;
    options.device = 1;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_UNSUPPORTED);
    cr_expect(api_error_has("no kernels for device 1, Fake GPU 1 (sm_80);"));
    options.device = 2;
    cr_expect_eq(try_context(&options), JIT_GEMM_ERR_ARGUMENT);
    cr_expect(api_error_has("options.device: there is no device 2"));
    api_fixture_close(&fixture);
}
