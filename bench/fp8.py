"""Is FP8 worth it? One layer of a tower in bf16 and FP8, by several kernels, on one GPU.

    python bench/fp8.py --batch 8192 --channels 128

The layer is the one that dominates a residual tower: a 3x3 convolution of an 8x8 board with bias and ReLU. It is
measured as the evaluator runs it (bf16, cuDNN's fused kernel), through cuDNN's graphs in bf16 and FP8 (where
nvidia-cudnn-frontend is installed), as a Triton kernel in both precisions, and, as the upper limit, as a bare matrix
product of the same size. Errors are relative to the result in single precision.
"""

# mypy: ignore-errors
# (Triton and cuDNN's package have no types, and are not among our requirements)

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

SIDE: Final = 8
TAPS: Final = 9
FP8: Final = torch.float8_e4m3fn

try:
    import triton
    import triton.language as tl
except ImportError:  # a machine without a GPU
    triton = None

if triton is not None:

    @triton.autotune(
        [
            triton.Config({"lines": lines, "depth": depth}, num_warps=warps, num_stages=stages)
            for lines, warps in ((128, 4), (128, 8), (256, 8))
            for depth in (64, 128)
            for stages in (3, 4)
        ],
        key=["count"],
    )
    @triton.jit
    def board_conv(
        x, weight, bias, out, scale, count, channels: tl.constexpr, lines: tl.constexpr, depth: tl.constexpr
    ):
        """A 3x3 convolution as a product: a row is a square of a board, each tap is a shift of the rows."""
        row = tl.program_id(0) * lines + tl.arange(0, lines)
        rank, file = (row // 8) % 8, row % 8
        column, inner = tl.arange(0, channels), tl.arange(0, depth)
        total = tl.zeros((lines, channels), tl.float32)
        for part in range(9 * channels // depth):
            tap, first = part * depth // channels, (part * depth) % channels
            up, right = tap // 3 - 1, tap % 3 - 1
            on_board = (rank + up >= 0) & (rank + up < 8) & (file + right >= 0) & (file + right < 8) & (row < count)
            where = (row + 8 * up + right)[:, None] * channels + first + inner[None, :]
            a = tl.load(x + where, mask=on_board[:, None], other=0.0)
            b = tl.load(weight + column[None, :] * (9 * channels) + part * depth + inner[:, None])
            total = tl.dot(a, b, total)
        total = tl.maximum(total * scale + tl.load(bias + column)[None, :], 0.0)
        tl.store(
            out + row[:, None] * channels + column[None, :], total.to(out.dtype.element_ty), (row < count)[:, None]
        )


def by_triton(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Callable[[], Tensor]:
    """Return a call of the Triton kernel above; a row is a square, channels last."""
    boards, channels = x.shape[0], x.shape[1]
    rows = x.permute(0, 2, 3, 1).contiguous().view(-1, channels)
    taps = weight.permute(0, 2, 3, 1).contiguous().view(channels, -1)
    out = torch.empty_like(rows)

    def call() -> Tensor:
        board_conv[lambda meta: (triton.cdiv(len(rows), meta["lines"]),)](
            rows, taps, bias, out, scale, len(rows), channels=channels
        )
        return out.view(boards, SIDE, SIDE, channels).permute(0, 3, 1, 2)

    return call


def by_cudnn(x: Tensor, weight: Tensor, bias: Tensor, scale: float) -> Callable[[], Tensor]:
    """Return a call of a cuDNN graph."""
    import cudnn

    handle = cudnn.create_handle()
    kind = {torch.bfloat16: cudnn.data_type.BFLOAT16, FP8: cudnn.data_type.FP8_E4M3}[x.dtype]
    single = cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        handle=handle, io_data_type=kind, intermediate_data_type=single, compute_data_type=single, name="layer"
    )
    shape, strides = list(x.shape), list(x.stride())
    image = graph.tensor(name="x", dim=shape, stride=strides, data_type=kind)
    filters = graph.tensor(name="w", dim=list(weight.shape), stride=list(weight.stride()), data_type=kind)
    one = [1, 1, 1, 1]
    scaling = graph.tensor(name="s", dim=one, stride=one, data_type=single)
    channels = bias.numel()
    biases = graph.tensor(name="b", dim=[1, channels, 1, 1], stride=[channels, 1, channels, channels], data_type=single)
    found = graph.conv_fprop(image=image, weight=filters, padding=[1, 1], stride=[1, 1], dilation=[1, 1])
    found = graph.mul(a=found, b=scaling)
    found = graph.add(a=found, b=biases)
    found = graph.relu(input=found)
    found.set_output(True).set_data_type(kind).set_dim(shape).set_stride(strides)
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.check_support()
    graph.build_plans()
    workspace = torch.empty(max(1, graph.get_workspace_size()), device=x.device, dtype=torch.uint8)
    scale_there = torch.full((1, 1, 1, 1), scale, device=x.device)
    bias_there, out = bias.view(1, -1, 1, 1), torch.empty_like(x)
    pack = {image: x, filters: weight, scaling: scale_there, biases: bias_there, found: out}

    def call() -> Tensor:
        cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
        graph.execute(pack, workspace, handle=handle)
        return out

    return call


def measure(call: Callable[[], Any], seconds: float) -> float:
    """Return calls per second, measured on a CUDA graph of ten calls."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        for _ in range(10):
            call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    repeats, spent = 1, 0.0
    while spent < 1000 * seconds:
        begin.record()
        for _ in range(repeats):
            graph.replay()
        end.record()
        end.synchronize()
        spent, repeats = begin.elapsed_time(end), 2 * repeats
    return 10 * (repeats // 2) / spent * 1000


def main() -> None:
    """Measure the layer and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--channels", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each way")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("torch sees no GPU; FP8 is measured on one")
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    boards, channels = options.batch, options.channels
    # As in a trained net with folded norms: rectified activations of about one, weights that preserve their scale
    x = torch.randn(boards, channels, SIDE, SIDE, device="cuda").relu_().contiguous(memory_format=torch.channels_last)
    weight = (torch.randn(channels, channels, 3, 3, device="cuda") * (2 / (TAPS * channels)) ** 0.5).contiguous(
        memory_format=torch.channels_last
    )
    bias = 0.1 * torch.randn(channels, device="cuda")
    truth = functional.conv2d(x[:64], weight, bias, padding=1).relu()
    narrow = 256.0  # scale of the weights, about 1/30, into the range of e4m3
    half = [tensor.to(torch.bfloat16) for tensor in (x, weight, bias)]
    x8, weight8 = x.to(FP8), (weight * narrow).to(FP8)
    long = boards * SIDE * SIDE
    a = torch.randn(long, TAPS * channels, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(channels, TAPS * channels, device="cuda", dtype=torch.bfloat16)
    one = torch.ones((), device="cuda")
    a8, b8 = a.to(FP8), b.to(FP8)
    ways: dict[str, Callable[[], Callable[[], Tensor]]] = {
        "bf16, cuDNN's fused kernel (ours today)": lambda: (
            lambda: torch.cudnn_convolution_relu(half[0], half[1], half[2], (1, 1), (1, 1), (1, 1), 1)
        ),
        "bf16, a graph of cuDNN's": lambda: by_cudnn(half[0], half[1], bias, 1.0),
        "FP8, a graph of cuDNN's": lambda: by_cudnn(x8, weight8, bias, 1 / narrow),
        "bf16, a kernel of Triton's": lambda: by_triton(half[0], half[1], bias, 1.0),
        "FP8, a kernel of Triton's": lambda: by_triton(x8, weight8, bias, 1 / narrow),
        "bf16, the bare product": lambda: lambda: a @ b.T,
        "FP8, the bare product": lambda: (
            lambda: torch._scaled_mm(a8, b8.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
        ),
    }
    operations = 2 * long * TAPS * channels * channels
    rows: list[dict[str, Any]] = []
    for name, make in ways.items():
        try:
            call = make()
            found = call()
            speed = measure(call, options.seconds)
        except Exception as error:  # a kernel that this machine lacks is a row of the table
            torch.cuda.synchronize()
            rows.append({"way": name, "why_not": " ".join(f"{type(error).__name__}: {error}".split())[:300]})
            print(f"{name:42} cannot: {rows[-1]['why_not']}", flush=True)
            continue
        wrong = None
        if "product" not in name:
            wrong = float((found[:64].float() - truth).norm() / truth.norm())
        rows.append({"way": name, "layers_per_second": speed, "tflops": speed * operations / 1e12, "error": wrong})
        shown = "" if wrong is None else f", error {wrong:.2%}"
        print(
            f"{name:42} {speed * boards:>14,.0f} boards/s {speed * operations / 1e12:7.0f} TFLOP/s{shown}", flush=True
        )
    if options.json:
        options.json.write_text(json.dumps({"batch": boards, "channels": channels, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
