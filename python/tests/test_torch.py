# SPDX-License-Identifier: MIT
"""The operator of torch: results, fake tensors, torch.compile, gradients, graphs."""

import unittest

from support import CompilerTest, in_turn, main
from torch_support import DEVICE, ON_GPU, WHERE, torch

if torch is not None:
    import jit_gemm
    import jit_gemm.torch as jt
    from torch import library

    DTYPE = torch.bfloat16


def random(*shape, dtype=None):
    return (torch.rand(shape, device=DEVICE) * 2 - 1).to(dtype or DTYPE)


def leaf(*shape):
    return random(*shape).requires_grad_()


@unittest.skipIf(torch is None, "there is no torch")
class TorchTest(CompilerTest):
    @classmethod
    def setUpClass(cls):
        if not ON_GPU:
            super().setUpClass()

    def expect_close(self, result, reference, k, dtype=None):
        """Within a rounding of the type and what f32 sums lose."""
        step = {torch.bfloat16: 2**-8, torch.float16: 2**-11, torch.float32: 2**-20}
        step = step[dtype or result.dtype]
        reference = reference.double().cpu()
        difference = (result.detach().double().cpu() - reference).abs()
        bound = 1.05 * step * reference.abs() + 2**-18 * k + 2e-3 * step * reference.abs().max()
        self.assertEqual(result.shape, reference.shape)
        worst = (difference - bound).max().item()
        self.assertLessEqual(worst, 0, f"beyond rounding by {worst}")


class Results(TorchTest):
    def test_a_product_is_torchs(self):
        a, weight, bias, r = random(72, 48), random(40, 48), random(40), random(72, 40)
        result = jit_gemm.gemm(a, weight.T, "d = relu(acc + bias) + r;", bias=bias, r=r, **WHERE)
        self.assertEqual((result.dtype, result.device.type), (DTYPE, DEVICE))
        sums = a.double() @ weight.double().T
        self.expect_close(result, torch.relu(sums + bias.double()) + r.double(), 48)
        op = jt.gemm(a, weight.T, "d = relu(acc + bias) + r;", bias=bias, r=r, **WHERE)
        self.assertTrue(torch.equal(op, result))

    def test_results_beside_d_come_back(self):
        a, b = random(40, 32), random(32, 48)
        sums = a.double() @ b.double()
        result, more = jt.gemm(
            a,
            b,
            "d = relu(acc); aux = acc; s = acc;",
            aux=jit_gemm.output(dtype="f32"),
            s=jit_gemm.reduction("sum", "row_vector"),
            dtype=torch.float32,
            **WHERE,
        )
        self.expect_close(result, torch.relu(sums), 32)
        self.expect_close(more["aux"], sums, 32)
        self.expect_close(more["s"], sums.sum(0), 32 * 40)

    def test_batches_and_gates_have_their_shapes(self):
        a, b = random(3, 24, 32), random(3, 32, 64)
        sums = a.double() @ b.double()
        gate, up = sums[..., ::2], sums[..., 1::2]
        result = jt.gemm(a, b, "swiglu", **WHERE)
        self.expect_close(result, torch.nn.functional.silu(gate) * up, 32)

    def test_floats_of_eight_bits_are_multiplied(self):
        a, b = random(48, 64), random(32, 64)
        a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
        scale = torch.tensor([0.5], device=DEVICE)
        result = jit_gemm.gemm(a8, b8.T, dtype="bf16", a_scale=scale, **WHERE)
        self.expect_close(result, 0.5 * (a8.double() @ b8.double().T), 64 * 2**6)

    def test_tensors_that_want_a_gradient_are_told_where_it_is_made(self):
        a = leaf(24, 32)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "jit_gemm.torch.gemm"):
            jit_gemm.gemm(a, random(32, 24), **WHERE)
        with torch.no_grad():
            jit_gemm.gemm(a, random(32, 24), **WHERE)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "'silu' has no backward form"):
            jt.gemm(a, random(32, 24), "silu", **WHERE)
        scale = torch.ones(1, device=DEVICE).requires_grad_()
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "scale: its gradient is not made"):
            jt.gemm(a, random(32, 24), "scale", scale=scale, **WHERE)


class Tracing(TorchTest):
    def arguments(self, epilogue, tensors, forms):
        a, b = leaf(24, 32), leaf(32, 40)
        device = "" if ON_GPU else "emulator"
        return (a, b, epilogue, tensors, forms, [], "", "", "", "", device, False)

    def test_the_operator_is_what_torch_expects(self):
        for arguments in (
            self.arguments("", [], ""),
            self.arguments("bias_gelu_tanh_aux", [leaf(40)], "bias"),
        ):
            library.opcheck(jt.gemm_op, arguments)

    def test_fake_tensors_have_shapes_and_types_without_a_launch(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            a, b = (torch.empty(s, dtype=DTYPE, device=DEVICE) for s in ((3, 24, 32), (32, 40)))
            result, more = jt.gemm(a, b, "bias_gelu_aux", bias=b[0], dtype=torch.float32, **WHERE)
            self.assertEqual((tuple(result.shape), result.dtype), ((3, 24, 40), torch.float32))
            self.assertEqual(
                (tuple(more["aux"].shape), more["aux"].dtype), ((3, 24, 40), torch.float32)
            )
            self.assertEqual(tuple(jt.gemm(a[0], b, "swiglu", **WHERE).shape), (24, 20))
            _, more = jt.gemm(
                a[0],
                b,
                "d = acc; s = d; t = d;",
                **WHERE,
                s=jit_gemm.reduction("max", "scalar"),
                t=jit_gemm.reduction("sum", "1x32"),
            )
            self.assertEqual([tuple(more[name].shape) for name in "st"], [(), (24, 2)])

    def test_compiled_functions_give_the_same(self):
        def layer(x, w, bias):
            return torch.sin(jt.gemm(x, w.T, "bias_gelu", bias=bias, **WHERE)) * 2

        backends = ["aot_eager"] + (["inductor"] if ON_GPU else [])
        for backend in backends:
            with self.subTest(backend):
                torch._dynamo.reset()
                compiled = torch.compile(layer, fullgraph=True, backend=backend, dynamic=True)
                for m in (24, 56):
                    x, w, bias = random(m, 32), random(40, 32), random(40)
                    reference = layer(x, w, bias)
                    torch.testing.assert_close(
                        compiled(x, w, bias), reference, rtol=0.02, atol=0.02
                    )

    def test_compiled_training_gives_the_same_gradients(self):
        def loss(x, w, bias):
            return (jt.gemm(x, w.T, "bias_gelu_tanh", bias=bias, **WHERE).float() ** 2).sum()

        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        inputs = [leaf(24, 32), leaf(40, 32), leaf(40)]
        expected = torch.autograd.grad(loss(*inputs), inputs)
        found = torch.autograd.grad(compiled(*inputs), inputs)
        for one, other in zip(found, expected):
            torch.testing.assert_close(one, other)

    def test_a_compiled_perceptron_gives_the_same_gradients(self):
        def loss(*inputs):
            return (jt.mlp(*inputs, **WHERE).float() ** 2).sum()

        compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
        inputs = [leaf(24, 32), leaf(64, 32), leaf(64), leaf(40, 64), leaf(40)]
        expected = torch.autograd.grad(loss(*inputs), inputs)
        found = torch.autograd.grad(compiled(*inputs), inputs)
        for one, other in zip(found, expected):
            torch.testing.assert_close(one, other)


class Gradients(TorchTest):
    def expect_gradients(self, function, reference, inputs):
        """The same gradients as autograd's of f64, within what bf16 keeps."""
        result = function(*inputs)
        weights = torch.randn(result.shape, device=DEVICE, dtype=torch.float32)
        found = torch.autograd.grad((result.float() * weights).sum(), inputs)
        wide = [x.detach().double().requires_grad_() for x in inputs]
        expected = torch.autograd.grad((reference(*wide) * weights.double()).sum(), wide)
        for number, (one, other) in enumerate(zip(found, expected)):
            self.assertEqual((one.shape, one.dtype), (inputs[number].shape, inputs[number].dtype))
            error = (one.double() - other).norm() / other.norm()
            self.assertLess(error.item(), 0.01, f"input {number}")

    def test_named_epilogues_have_the_gradients_of_autograd(self):
        functional = torch.nn.functional
        activations = {
            "relu": functional.relu,
            "gelu": functional.gelu,
            "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        }
        for name, activation in activations.items():
            with self.subTest(name):
                self.expect_gradients(
                    lambda a, w: jt.gemm(a, w.T, name, **WHERE),
                    lambda a, w: activation(a @ w.T),
                    [leaf(40, 32), leaf(48, 32)],
                )
                self.expect_gradients(
                    lambda a, w, bias: jt.gemm(a, w.T, "bias_" + name, bias=bias, **WHERE),
                    lambda a, w, bias: activation(a @ w.T + bias),
                    [leaf(40, 32), leaf(48, 32), leaf(48)],
                )
        self.expect_gradients(
            lambda a, b, bias, r: jt.gemm(a, b, "bias_residual", bias=bias, residual=r, **WHERE),
            lambda a, b, bias, r: a @ b + bias + r,
            [leaf(40, 32), leaf(32, 48), leaf(48), leaf(40, 48)],
        )
        self.expect_gradients(
            lambda a, b: jt.gemm(a, b, "scale", scale=0.25, **WHERE),
            lambda a, b: a @ b * 0.25,
            [leaf(40, 32), leaf(32, 48)],
        )

    def test_dropout_drops_the_same_gradients(self):
        a, b, bias, r = leaf(40, 32), leaf(32, 48), leaf(48), leaf(40, 48)
        seed = torch.tensor([7.0], device=DEVICE)
        for scalars in ({"seed": 7.0, "keep": 0.6}, {"seed": seed, "keep": 0.6}):
            ones = jt.gemm(
                torch.zeros_like(a),
                b.detach(),
                "d = uniform(seed) < keep ? 1.0f : acc;",
                **scalars,
                **WHERE,
            )
            mask = ones.double()
            self.assertGreater(mask.mean().item(), 0.5)
            self.assertLess(mask.mean().item(), 0.7)
            self.expect_gradients(
                lambda a, b: jt.gemm(a, b, "dropout", scale=1.5, **scalars, **WHERE),
                lambda a, b: a @ b * mask * 1.5,
                [a, b],
            )
            self.expect_gradients(
                lambda a, b, bias, r: jt.gemm(
                    a,
                    b,
                    "bias_dropout_residual",
                    bias=bias,
                    residual=r,
                    scale=1.5,
                    **scalars,
                    **WHERE,
                ),
                lambda a, b, bias, r: (a @ b + bias) * mask * 1.5 + r,
                [a, b, bias, r],
            )

    def test_sums_that_are_kept_carry_gradients_too(self):
        def both(a, b):
            d, more = jt.gemm(a, b, "relu_aux", **WHERE)
            return d + 2 * more["aux"]

        self.expect_gradients(
            both, lambda a, b: torch.relu(a @ b) + 2 * (a @ b), [leaf(40, 32), leaf(32, 48)]
        )

    def test_what_batches_share_gets_the_sum_of_their_gradients(self):
        for shapes in (
            ((3, 24, 32), (3, 32, 40)),
            ((3, 24, 32), (32, 40)),
            ((24, 32), (3, 32, 40)),
        ):
            with self.subTest(shapes):
                self.expect_gradients(
                    lambda a, b, bias: jt.gemm(a, b, "bias_gelu_tanh", bias=bias, **WHERE),
                    lambda a, b, bias: torch.nn.functional.gelu(a @ b + bias, approximate="tanh"),
                    [leaf(*shapes[0]), leaf(*shapes[1]), leaf(40)],
                )

    def test_a_perceptron_takes_the_fused_backward_forms(self):
        for activation in ("gelu_tanh", "relu"):

            def reference(x, w1, b1, w2, b2):
                h = x @ w1.T + b1
                h = (
                    torch.relu(h)
                    if activation == "relu"
                    else torch.nn.functional.gelu(h, approximate="tanh")
                )
                return h @ w2.T + b2

            inputs = [leaf(2, 24, 32), leaf(64, 32), leaf(64), leaf(40, 64), leaf(40)]
            with self.subTest(activation):
                self.expect_gradients(
                    lambda *args: jt.mlp(*args, activation=activation, **WHERE), reference, inputs
                )
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "'gelu' has no fused backward form"):
            jt.mlp(*inputs, activation="gelu", **WHERE)


@unittest.skipUnless(ON_GPU, "torch sees no GPU")
class Graphs(TorchTest):
    def capture(self, function):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            function()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            function()
        return graph

    def test_launches_are_captured_and_replayed(self):
        a, b, bias = random(256, 128), random(128, 192), random(192)
        d = torch.empty(256, 192, device=DEVICE, dtype=DTYPE)
        s = torch.empty(256, device=DEVICE)
        total = jit_gemm.reduction("sum", "column_vector", s)

        def work():
            jit_gemm.gemm(a, b, "d = relu(acc + bias); s = d;", out=d, bias=bias, s=total)

        graph = self.capture(work)
        before = jit_gemm.default_context(0).stats()["creates"]
        for _ in range(2):
            a.copy_(random(256, 128))
            d.fill_(float("nan"))
            s.fill_(float("nan"))
            graph.replay()
            reference = torch.relu(a.double() @ b.double() + bias.double())
            self.expect_close(d, reference, 128)
            self.expect_close(s, reference.sum(1), 128 * 192)
        self.assertEqual(jit_gemm.default_context(0).stats()["creates"], before)

    def test_results_that_are_allocated_are_the_graphs(self):
        a, b = random(256, 128), random(128, 192)
        for problem in ("", "workspace=64m config=split_k=2"):
            made = []

            def work(problem=problem, made=made):
                made[:] = jit_gemm.gemm(
                    a, b, "d = acc; e = acc;", e=jit_gemm.output(), problem=problem
                )

            graph = self.capture(work)
            a.copy_(random(256, 128))
            graph.replay()
            self.expect_close(made[0], a.double() @ b.double(), 128)
            self.expect_close(made[1]["e"], a.double() @ b.double(), 128)

    def late_inputs(self):
        """Kernels are loaded, and A is NaN until a stream has slept: (A, how to fill it, B)."""
        a, b = random(512, 512), random(512, 512)
        late = torch.full_like(a, float("nan"))
        jit_gemm.gemm(a, b)
        torch.cuda.synchronize()

        def fill():
            torch.cuda._sleep(50_000_000)
            late.copy_(a)

        return late, fill, b, a.double() @ b.double()

    def test_a_kernel_runs_on_the_current_stream(self):
        late, fill, b, reference = self.late_inputs()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            fill()
            result = jit_gemm.gemm(late, b)
            op = jt.gemm(late, b)
        stream.synchronize()
        self.expect_close(result, reference, 512)
        self.assertTrue(torch.equal(op, result))

    def test_a_stream_that_is_named_waits_for_what_makes_its_inputs(self):
        late, fill, b, reference = self.late_inputs()
        result = torch.empty(512, 512, device=DEVICE, dtype=DTYPE)
        other = torch.cuda.Stream()
        fill()
        jit_gemm.gemm(late, b, out=result, stream=other)
        other.synchronize()
        self.expect_close(result, reference, 512)

    def test_arrays_are_given_to_torch_over_dlpack(self):
        context = jit_gemm.default_context(0)
        array = jit_gemm.DeviceArray.zeros(context, (4, 5), "bf16")
        tensor = torch.from_dlpack(array)
        self.assertEqual((tensor.data_ptr(), tensor.dtype), (array.pointer, torch.bfloat16))
        del array
        self.assertTrue((tensor == 0).all())


if __name__ == "__main__":
    main(in_turn)
